"""Searches for settings over labs with a planted fault, whose best answer is known."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from netsonde.lab import Lab, LabSpec
from netsonde.lab.registry import start_named, take_down
from netsonde.lab.scenario import lab_spec, parse_scenario
from netsonde.tuning.sockets.bench import GOALS, Asked, Bounds
from netsonde.tuning.sockets.data import Setup
from netsonde.tuning.sockets.ends import Ends
from netsonde.tuning.sockets.judged import Rules
from netsonde.tuning.sockets.run import Outcome, Request, tune

BOTH = ("h1", "h2")
SIZES = {"rate": "128k", "latency": "64"}


@contextlib.contextmanager
def lab_of(scenario: str = "") -> Iterator[Lab]:
    """Of two hosts; without a scenario with links that are as fast as they are."""
    name = f"tuned{os.getpid()}"
    unshaped = LabSpec(name=name, rate_bit_per_s=None)
    text = f'name = "{name}"\n{scenario}'
    lab = start_named(lab_spec(parse_scenario(text, "test")) if scenario else unshaped)
    try:
        yield lab
    finally:
        take_down(lab)


def at_both(lab: Lab, *argv: str) -> None:
    for name in BOTH:
        lab.in_host(lab.host(name), argv)


def target_of(lab: Lab) -> str:
    return f"lab:{lab.spec.name}/h1,h2"


def asked_of(lab: Lab, goals: Sequence[str], cap: str, sizes=SIZES, call=None) -> Asked:
    path = {"kind": "hosts", "target": target_of(lab)}
    return Asked(path, [GOALS[goal] for goal in goals], cap, sizes, call, ["test"])


def tuned(
    lab: Lab,
    out: Path,
    goals: Sequence[str] = ("rate",),
    options: dict[str, Any] | None = None,
    **fields: Any,
) -> Outcome:
    """A search that keeps what the lab had, or fails."""
    cap = fields.pop("cap", "400ms")
    asked = asked_of(lab, goals, cap, fields.pop("sizes", SIZES), fields.pop("call", None))
    rules = Rules(pairs=fields.pop("pairs", 8))
    bounds = Bounds(fields.pop("levels", ("socket", "host")), other_hosts=False)
    before = states_of(lab, out / "states-before")
    request = Request(asked, Setup(options or {}), rules, bounds, 1200.0, out, **fields)
    outcome = tune(request, print, lambda step: print(step.knob, step.outcome, step.reason))
    print(outcome.tuning.verdict, outcome.tuning.proof)
    if not request.apply:
        assert states_of(lab, out / "states-after") == before
    return outcome


def states_of(lab: Lab, folder: Path) -> dict[str, dict[str, str]]:
    with Ends([lab.host(name) for name in BOTH], folder) as ends:
        return ends.before()


def kept(outcome: Outcome) -> list[str]:
    return [step.knob for step in outcome.tuning.kept]
