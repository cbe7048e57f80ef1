"""Pairs of runs, one of each tool, in an order drawn anew for each pair."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from bench.comparisons import Comparison
from bench.measured import Extent, Measured
from bench.peers import Route, measured_usage, missing_peer
from netsonde.errors import HostError
from netsonde.peers.output import UnreadableOutputError

OURS = "netsonde"


@dataclass
class Outcome:
    """All runs of one comparison on one path; ``skipped`` says why there are none."""

    route: str
    comparison: Comparison
    extent: Extent
    runs: list[dict[str, Any]] = field(default_factory=list)
    skipped: str | None = None

    def values(self) -> tuple[list[float], list[float]]:
        """netsonde's and the peer's figures of the pairs in which both succeeded."""
        pairs: dict[int, dict[str, float]] = {}
        for run in self.runs:
            if run["error"] is None:
                pairs.setdefault(run["pair"], {})[run["tool"]] = run["value"]
        whole = [pair for pair in pairs.values() if len(pair) == 2]
        return [p[OURS] for p in whole], [p[self.comparison.peer] for p in whole]


def compare(
    route: Route,
    comparison: Comparison,
    pairs: int,
    duration_s: int,
    draw: random.Random,
    tell: Callable[[], None],
) -> Outcome:
    """Measures pairs; a run that fails is recorded with its error and nothing is repeated."""
    outcome = Outcome(route.name, comparison, Extent(duration_s))
    outcome.skipped = missing_peer(comparison.peer)
    if outcome.skipped is not None:
        return outcome
    if comparison.repeats is not None:
        try:
            repeats = comparison.repeats(route, duration_s)
        except HostError as error:
            outcome.skipped = f"the pilot failed: {error}"
            return outcome
        outcome.extent = Extent(duration_s, repeats)
    sides = {OURS: comparison.ours, comparison.peer: comparison.theirs}
    for pair in range(pairs):
        order = list(sides)
        draw.shuffle(order)
        for place, tool in enumerate(order):
            tell()
            run = _one_run(partial(sides[tool], route, outcome.extent))
            outcome.runs.append({"pair": pair, "place": place, "tool": tool, **run})
    return outcome


def _one_run(measure: Callable[[], Measured]) -> dict[str, Any]:
    begun = time.time()
    run: dict[str, Any] = {"begun_unix_s": begun, "value": None, "error": None, "details": {}}
    with measured_usage() as meter:
        try:
            measured = measure()
        except (HostError, UnreadableOutputError, ValueError) as error:
            run["error"] = str(error)
        else:
            run["value"] = measured.value
            run["details"] = measured.details
    run["elapsed_s"] = time.time() - begun
    run["usage"] = asdict(meter.usage) if meter.usage is not None else None
    return run
