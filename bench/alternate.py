"""Rounds of runs, one of each tool, in an order drawn anew for each round."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from bench.comparisons import Comparison
from bench.figure import Figure
from bench.measured import Extent, Measured
from bench.peers import Route, measured_usage, missing_peer
from netsonde.errors import HostError
from netsonde.peers.output import UnreadableOutputError

OURS = "netsonde"


@dataclass
class Outcome:
    """All runs of one comparison on one path.

    ``absent`` says of each peer that was not run why; ``skipped`` why nothing was.
    """

    route: str
    comparison: Comparison
    extent: Extent
    runs: list[dict[str, Any]] = field(default_factory=list)
    absent: Mapping[str, str] = field(default_factory=dict)
    skipped: str | None = None

    def pairs(self, figure: Figure, peer: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """netsonde's and the peer's runs of the rounds in which both have the figure."""
        rounds: dict[int, dict[str, dict[str, Any]]] = {}
        for run in self.runs:
            if run["error"] is None and figure.id in run["figures"]:
                rounds.setdefault(run["pair"], {})[run["tool"]] = run
        return [(r[OURS], r[peer]) for r in rounds.values() if OURS in r and peer in r]

    def values(self, figure: Figure, peer: str) -> tuple[list[float], list[float]]:
        """The figure of these runs, netsonde's and the peer's."""
        pairs = self.pairs(figure, peer)
        return (
            [ours["figures"][figure.id] for ours, _ in pairs],
            [theirs["figures"][figure.id] for _, theirs in pairs],
        )


def present_peers(route: Route, comparison: Comparison) -> tuple[list[str], dict[str, str]]:
    """The peers that can be run there, and of the others the reason why not."""
    reasons = {peer: missing_peer(peer, route) for peer in comparison.peers}
    present = [peer for peer, reason in reasons.items() if reason is None]
    return present, {peer: reason for peer, reason in reasons.items() if reason is not None}


def compare(
    route: Route,
    comparison: Comparison,
    pairs: int,
    duration_s: int,
    draw: random.Random,
    tell: Callable[[], None],
) -> Outcome:
    """Measures rounds; a run that fails is recorded with its error and nothing is repeated."""
    outcome = Outcome(route.name, comparison, Extent(duration_s))
    present, outcome.absent = present_peers(route, comparison)
    if not present:
        outcome.skipped = "; ".join(outcome.absent.values())
        return outcome
    if comparison.repeats is not None:
        try:
            repeats = comparison.repeats(route, duration_s)
        except HostError as error:
            outcome.skipped = f"the pilot failed: {error}"
            return outcome
        outcome.extent = Extent(duration_s, repeats)
    tools = {OURS: comparison.ours, **{peer: comparison.peers[peer] for peer in present}}
    for pair in range(pairs):
        order = list(tools)
        draw.shuffle(order)
        for place, tool in enumerate(order):
            tell()
            run = _one_run(partial(tools[tool], route, outcome.extent))
            run["figures"] = {} if run["error"] else _figures(comparison, run)
            outcome.runs.append({"pair": pair, "place": place, "tool": tool, **run})
    return outcome


def _figures(comparison: Comparison, run: Mapping[str, Any]) -> dict[str, float]:
    found = {figure.id: figure.of(run) for figure in comparison.figures}
    return {name: value for name, value in found.items() if value is not None and value > 0.0}


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
            if not (math.isfinite(measured.value) and measured.value > 0.0):
                run["error"] = f"it found {measured.value:g}, and a ratio needs more than 0"
    run["elapsed_s"] = time.time() - begun
    run["usage"] = asdict(meter.usage) if meter.usage is not None else None
    return run
