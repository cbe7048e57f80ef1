"""Whether netsonde keeps up with a peer, and what the figures say where it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.alternate import OURS, Outcome
from netsonde.stats.compare import RatioInterval, ratio_interval

LEAST_THROUGHPUT_RATIO = 0.97
MOST_LATENCY_RATIO = 1.03


@dataclass(frozen=True)
class Verdict:
    """The medians, netsonde's over the peer's, and whether the goal is met.

    ``sure`` is False where the interval reaches to the other side of the goal, or is missing.
    """

    ours: float
    peer: float
    ratio: RatioInterval
    goal: float
    met: bool
    sure: bool


def judge(outcome: Outcome, seed: int) -> Verdict | None:
    """The verdict; None where no pair succeeded."""
    ours, peer = outcome.values()
    if not ours:
        return None
    ratio = ratio_interval(ours, peer, paired=True, seed=seed)
    more_is_better = outcome.comparison.unit == "bit_per_s"
    goal = LEAST_THROUGHPUT_RATIO if more_is_better else MOST_LATENCY_RATIO

    def meets(value: float) -> bool:
        return value >= goal if more_is_better else value <= goal

    met = meets(ratio.ratio)
    sure = (
        ratio.low is not None
        and ratio.high is not None
        and meets(ratio.low) == met
        and meets(ratio.high) == met
    )
    return Verdict(float(np.median(ours)), float(np.median(peer)), ratio, goal, met, sure)


def circumstances(outcome: Outcome) -> list[str]:
    """What both tools used and lost, a line each; medians over the runs of a comparison."""
    lines = []
    for tool in (OURS, outcome.comparison.peer):
        runs = [run for run in outcome.runs if run["tool"] == tool and run["error"] is None]
        if runs:
            lines.append(f"{tool}: {', '.join(_parts(runs))}")
    return lines


def _parts(runs: list[dict[str, Any]]) -> list[str]:
    def middle(part: str, name: str) -> float | None:
        values = [run[part].get(name) for run in runs]
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
