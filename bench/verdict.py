"""Whether netsonde keeps up with its peers, and what the figures say where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.alternate import OURS, Outcome
from bench.figure import Figure
from netsonde.stats.compare import RatioInterval, ratio_interval


@dataclass(frozen=True)
class Verdict:
    """One figure beside one peer's: the medians, netsonde's over the peer's, and the goal.

    ``sure`` is False where the interval reaches to the other side of the goal, or is missing.
    ``best`` marks the peer that the goal is decided by: the one nearest to beating netsonde, or
    ahead of it by most. ``observations`` are netsonde's and the peer's, all runs together, where
    the figure needs a number of them.
    """

    figure: str
    peer: str
    ours: float
    theirs: float
    ratio: RatioInterval
    goal: float
    met: bool
    sure: bool
    best: bool = False
    observations: tuple[int, int] | None = None


def judge(outcome: Outcome, seed: int) -> list[Verdict]:
    """The verdict on each figure beside each peer, in their order.

    There is none where no round succeeded, or with too few observations; why_none() says so.
    """
    verdicts = []
    for figure in outcome.comparison.figures:
        beside = [
            verdict
            for peer in outcome.comparison.peers
            if (verdict := _judge(outcome, figure, peer, seed)) is not None
        ]
        hardest = min((figure.margin(v.ratio.ratio, v.peer) for v in beside), default=None)
        verdicts += [_marked(v, figure.margin(v.ratio.ratio, v.peer) == hardest) for v in beside]
    return verdicts


def missed(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those that decide about a figure and say that its goal is missed."""
    return [verdict for verdict in verdicts if verdict.best and not verdict.met]


def certain_misses(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those of missed() that more rounds would not turn."""
    return [verdict for verdict in missed(verdicts) if verdict.sure]


def why_none(outcome: Outcome, figure: Figure, peer: str) -> str:
    """Why there is no verdict on the figure beside the peer."""
    if peer in outcome.absent or outcome.skipped:
        return f"skipped: {outcome.absent.get(peer) or outcome.skipped}"
    pairs = outcome.pairs(figure, peer)
    if pairs and figure.least_observations:
        ours, theirs = _observations(pairs)
        return (
            f"not compared: {ours} round trips beside {theirs}, and it takes "
            f"{figure.least_observations} of each; more or longer runs give them"
        )
    errors = [run["error"] for run in outcome.runs if run["error"] and run["tool"] in (OURS, peer)]
    return f"skipped: {errors[0] if errors else 'nothing was measured'}"


def circumstances(outcome: Outcome) -> list[str]:
    """What the tools used and lost, a line each; medians over the runs of a comparison."""
    lines = []
    for tool in (OURS, *outcome.comparison.peers):
        runs = [run for run in outcome.runs if run["tool"] == tool and run["error"] is None]
        if runs:
            lines.append(f"{tool}: {', '.join(_parts(runs))}")
    return lines


def _judge(outcome: Outcome, figure: Figure, peer: str, seed: int) -> Verdict | None:
    pairs = outcome.pairs(figure, peer)
    if not pairs:
        return None
    observations = _observations(pairs) if figure.least_observations else None
    if observations is not None and min(observations) < figure.least_observations:
        return None
    ours, theirs = outcome.values(figure, peer)
    ratio = ratio_interval(ours, theirs, paired=True, seed=seed)
    met = figure.meets(ratio.ratio, peer)
    sure = (
        ratio.low is not None
        and ratio.high is not None
        and figure.meets(ratio.low, peer) == met
        and figure.meets(ratio.high, peer) == met
    )
    return Verdict(
        figure.id,
        peer,
        float(np.median(ours)),
        float(np.median(theirs)),
        ratio,
        figure.goal_beside(peer),
        met,
        sure,
        observations=observations,
    )


def _marked(verdict: Verdict, best: bool) -> Verdict:
    return Verdict(**{**vars(verdict), "best": best})


def _observations(pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> tuple[int, int]:
    ours = sum(int(run["details"].get("observations") or 0) for run, _ in pairs)
    theirs = sum(int(run["details"].get("observations") or 0) for _, run in pairs)
    return ours, theirs


def _parts(runs: list[dict[str, Any]]) -> list[str]:
    def middle(part: str, name: str) -> float | None:
        values = [run[part].get(name) for run in runs if run[part] is not None]
        known = [float(value) for value in values if value is not None]
        return float(np.median(known)) if known else None

    parts = []
    for part, name, form in (
        ("usage", "user_s", "CPU {:.2f} s user"),
        ("usage", "system_s", "{:.2f} s system"),
        ("usage", "voluntary_switches", "{:.0f} waits"),
        ("usage", "involuntary_switches", "{:.0f} preemptions"),
        ("details", "origin_calls_sent", "{:.0f} send calls"),
        ("details", "target_calls_received", "{:.0f} receive calls"),
        ("details", "retransmits", "{:.0f} retransmits"),
        ("details", "p99_ns", "p99 {:.0f} ns"),
        ("details", "minimum_ns", "min {:.0f} ns"),
    ):
        value = middle(part, name)
        if value is not None:
            parts.append(form.format(value))
    lost = middle("details", "lost_ratio")
    if lost:
        parts.append(f"lost {100 * lost:.2f} %")
    return parts
