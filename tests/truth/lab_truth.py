"""The harness of truth tests: a cluster that is known, and what moved in it.

::

    with scenario_lab(hosts=2, link={"rate": "100M", "delay": "1ms"}) as lab:
        ...measure...
        stats = switch_stats(lab)

Figures that need the machine's attention are measured by ``attempts``: again where the switch
itself says that it could not keep time, and skipped with that evidence where it never could. A
wrong figure of a run that was honest is a failure at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from netsonde.lab import Lab, lab_up
from netsonde.lab.observe import switch_stats
from netsonde.lab.scenario import lab_spec, scenario_of

ROOT = os.geteuid() == 0
LOAD_TIMEOUT_S = 120
SETTLE_TIMEOUT_S = 60


@contextlib.contextmanager
def scenario_lab(**tables: Any) -> Iterator[Lab]:
    """A lab with a switch, from the tables of a scenario file."""
    with lab_up(lab_spec(scenario_of({"links": "switch", **tables}))) as lab:
        yield lab


def attempts(measure: Callable[[], tuple[list[str], dict[str, Any]]], most: int = 3) -> None:
    """measure gives what is wrong, in words, and the switch's stats of that run."""
    for _ in range(most):
        problems, stats = measure()
        if not problems:
            return
        if stats["honest"]["valid"]:
            pytest.fail("; ".join(problems))
    late = 100 * stats["honest"]["late_share"]
    pytest.skip(f"this machine cannot play the scenario: {late:.1f} % of the frames were late")


def load(
    lab: Lab,
    pairs: Sequence[tuple[int, int]],
    *,
    frames: int = 0,
    frames_per_s: int = 0,
    seconds: float = 30.0,
    payload_bytes: int = 1472,
) -> list[int]:
    """UDP frames from host to host, by their numbers: so many for each pair, or paced for a time.

    Returns how many each sent.
    """
    holders = lab.made["hosts"]
    request = {
        "port": 9,
        "payload_bytes": payload_bytes,
        "duration_ns": round(seconds * 1e9),
        "flows": [
            {
                "from": holders[f"h{origin}"]["lab_pid"],
                "address": lab.host(f"h{target}").address("ipv4"),
                "frames": frames,
                "frames_per_s": frames_per_s,
            }
            for origin, target in pairs
        ],
        "sinks": [holders[f"h{number}"]["lab_pid"] for number in {target for _, target in pairs}],
    }
    done = subprocess.run(
        lab.switch_command("load"),
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=LOAD_TIMEOUT_S,
        check=True,
    )
    sent: list[int] = json.loads(done.stdout)["sent"]
    return sent


def settle(lab: Lab, is_settled: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The switch's stats as soon as they are as wanted."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        stats = switch_stats(lab)
        if is_settled(stats):
            return stats
        assert time.monotonic() < deadline, "the switch did not settle"
        time.sleep(0.05)


def links_of(stats: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {link["name"]: link for link in stats["links"]}
