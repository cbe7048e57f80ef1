"""What is taken from a run, and what netsonde's is to be of a peer's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

RunRecord = Mapping[str, Any]
GIGABYTE = 1e9
LEAST_TAIL_OBSERVATIONS = 10_000


@dataclass(frozen=True)
class Figure:
    """A number of each run. ``of`` gives it from the run's record, None where the run has none.

    ``unit`` is bit_per_s (more is better), ns or s_per_gigabyte (less is better). ``goal`` is what
    netsonde's number over the peer's is to be: that or more, or that or less; ``goals`` holds, by
    peer, what differs from it. A figure needs ``least_observations`` of each tool, all runs
    together, before it is compared.
    """

    id: str
    title: str
    unit: str
    definition: str
    goal: float
    goals: Mapping[str, float] = field(default_factory=dict)
    least_observations: int = 0
    of: Callable[[RunRecord], float | None] = lambda run: run["value"]

    @property
    def more_is_better(self) -> bool:
        return self.unit == "bit_per_s"

    def goal_beside(self, peer: str) -> float:
        """The goal for the ratio to this peer."""
        return self.goals.get(peer, self.goal)

    def meets(self, ratio: float, peer: str) -> bool:
        """Whether a ratio of netsonde to this peer reaches the goal."""
        goal = self.goal_beside(peer)
        return ratio >= goal if self.more_is_better else ratio <= goal

    def margin(self, ratio: float, peer: str) -> float:
        """How far a ratio is on the right side of the goal: 1 is at the goal, more is better."""
        share = ratio / self.goal_beside(peer)
        return share if self.more_is_better else 1.0 / share


def throughput(title: str, goal: float, goals: Mapping[str, float] | None = None) -> Figure:
    """What arrived."""
    return Figure(
        "throughput",
        title,
        "bit_per_s",
        "payload received over the receiver's time",
        goal,
        goals or {},
    )


def processor_time(title: str, goal: float) -> Figure:
    """What it costs both ends."""
    return Figure(
        "cpu",
        title,
        "s_per_gigabyte",
        "user and system time of all processes of both ends, from start to end, over the payload "
        "received in units of 10^9 bytes",
        goal,
        of=_processor_s_per_gigabyte,
    )


def median_round_trip(title: str, goal: float) -> Figure:
    return Figure(
        "median",
        title,
        "ns",
        "median full round trip; the first 400 ms and the last 50 ms left out",
        goal,
    )


def tail_round_trip(title: str, goal: float) -> Figure:
    """Of each run; a run has some thousands of round trips, the comparison the sum of them."""
    return Figure(
        "p999",
        title,
        "ns",
        "99.9th percentile of the full round trips of a run; the first 400 ms and the last 50 ms "
        "left out",
        goal,
        least_observations=LEAST_TAIL_OBSERVATIONS,
        of=lambda run: run["details"].get("p999_ns"),
    )


def _processor_s_per_gigabyte(run: RunRecord) -> float | None:
    used, received = run["usage"], run["details"].get("received_bytes")
    if used is None or not received:
        return None
    return float((used["user_s"] + used["system_s"]) * GIGABYTE / received)
