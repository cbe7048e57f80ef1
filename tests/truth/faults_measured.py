"""One command of netsonde over a lab: what a user reads of it, and what the harness counted.

The counters are the harness's own: who used the CPUs, what the lab's devices, network and
sockets dropped, and what is arithmetic with the run's figures.
"""

from __future__ import annotations

import contextlib
import functools
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.testing
from machine_watch import watched
from statements import Statement, heard
from typer.main import get_command
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.figures.compute import figures_of
from netsonde.lab import Lab
from netsonde.lab.observe import switch_stats
from netsonde.records.data import Run
from netsonde.records.rundir import open_run

# The whole command line takes a tenth of a second to describe, on a busy machine ten seconds: once.
typer.testing._get_command = functools.cache(get_command)  # type: ignore[attr-defined]

RUN_LIMIT_S = 60
"""For one command: one that hangs is a finding, not the end of the harness."""
ENDS_DIFFER = 0.002
REACHED = 0.9
"""Of the rate that was asked for."""
LINK_SHARE = 0.955
"""Of a link's rate: below it a stream has less than 98 % of what any headers leave."""


@dataclass
class Measured:
    """What is said above a note, all findings, the harness's counters, and the run; None where the
    command left none."""

    statements: list[Statement]
    findings: list[dict[str, Any]]
    counters: dict[str, float]
    run: Run | None


class TooLongError(Exception):
    """A command of netsonde did not end in time."""


def measured(lab: Lab, words: Sequence[str], out: Path) -> Measured:
    """Runs ``netsonde WORDS`` and explains what came of it; what a fault counts for itself is for
    the caller to add."""
    before = _lab_counters(lab)
    with watched(lab.made["keeper_pid"]) as use:
        code, text = _invoke((*words, "--seed", "1", "--quiet", "--out", str(out)))
    after = _lab_counters(lab)
    counters = {name: max(0.0, after[name] - before[name]) for name in after}
    counters |= {f"others_on_{number}": share for number, share in use.of_processor.items()}
    counters |= {"others": use.others, "others_most": use.others_most, "stolen": use.stolen}
    counters |= {"own_most": use.own_most, "failed": float(code != 0)}
    runs = [path for path in out.iterdir() if (path / "manifest.json").exists()]
    if not runs:
        raise RuntimeError(f"netsonde {' '.join(words)} ended with {code}: {text[-300:]}")
    run = open_run(runs[0])
    code, text = _invoke(("explain", str(runs[0]), "--json"))
    if code:
        raise RuntimeError(f"netsonde explain ended with {code}: {text[-300:]}")
    findings = json.loads(text)["findings"]
    return Measured(heard(findings), findings, counters | _arithmetic(run), run)


def _arithmetic(run: Run) -> dict[str, float]:
    """What can be told of a run by its own figures alone; judged anew here."""
    rate = (run.manifest.get("path") or {}).get("rate_bit_per_s") or 0
    rates: dict[str, dict[str, float]] = {}
    for figure in figures_of(run):
        if figure.name.startswith("throughput"):
            rates.setdefault(figure.point, {})[figure.name] = figure.value
    here = [found.get("throughput_bit_per_s", 0.0) for found in rates.values()]
    ends = [point.checks.get("ends", {}).get("ratio") or 1.0 for point in run.points]
    alone = all(len({r for b in point.batches for r in b.ends}) <= 2 for point in run.points)
    asked = [point.parameters.get("rate_bit_per_s") or 0 for point in run.points]
    sent = [found.get("throughput_origin_bit_per_s", 0.0) for found in rates.values()]
    return {
        "capped": float(any(point.ended_by == "time" for point in run.points)),
        "below_link": float(bool(here) and bool(rate) and max(here) < LINK_SHARE * rate),
        "above_link": float(alone and bool(here) and bool(rate) and max(here) > rate),
        "below_asked": float(bool(sent) and min(sent) < REACHED * max(asked, default=0)),
        "ends_differ": float(any(abs(ratio - 1) > ENDS_DIFFER for ratio in ends)),
    }


def _lab_counters(lab: Lab) -> dict[str, float]:
    """What the lab's devices, its network and its hosts' sockets dropped so far."""
    found: dict[str, float] = {}
    for name in ("h1", "h2"):
        shown = json.loads(
            lab.in_host(lab.host(name), ["tc", "-s", "-j", "qdisc", "show", "dev", "v0"])
        )
        found[f"drops_{name}"] = sum(queue["drops"] for queue in shown)
        udp = _snmp(lab.host(name).holder, "Udp")
        found[f"rcvbuf_{name}"] = udp.get("RcvbufErrors", 0)
        found[f"sndbuf_{name}"] = udp.get("SndbufErrors", 0)
    if lab.spec.fabric is None:
        shown = json.loads(lab.in_switch(["tc", "-s", "-j", "qdisc", "show"]))
        found["drops_network"] = sum(queue["drops"] for queue in shown)
    else:
        found["drops_network"] = 0
        for link in switch_stats(lab)["links"]:
            ways = (link["up"], link["down"])
            lost = sum(n for way in ways for k, n in way.items() if k.startswith("lost_"))
            found["drops_network"] += lost + link["upper_port"]["dropped"]
    return found


def _snmp(pid: int, protocol: str) -> dict[str, int]:
    """A protocol's counters in the network namespace of a process."""
    lines = [
        line.split()[1:]
        for line in Path(f"/proc/{pid}/net/snmp").read_text().splitlines()
        if line.startswith(f"{protocol}:")
    ]
    return dict(zip(lines[0], map(int, lines[1]), strict=True))


def _invoke(words: Sequence[str]) -> tuple[int, str]:
    argv, sys.argv = sys.argv, ["netsonde", *words]
    try:
        with _limited(RUN_LIMIT_S):
            done = CliRunner().invoke(app, list(words))
        return done.exit_code, done.stdout if done.exit_code == 0 else done.output
    except TooLongError:
        return 124, ""
    finally:
        sys.argv = argv


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def late(_signal: int, _frame: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
