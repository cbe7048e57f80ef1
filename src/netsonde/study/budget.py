"""Keeps a study within its budget: what is left out before, what has been spent, when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from time import monotonic_ns
from typing import Any

from netsonde.errors import UsageError
from netsonde.records.journal import read_journal
from netsonde.study.budget_table import BudgetTable
from netsonde.study.estimate import Estimate, estimate, estimate_of, on_wire_bytes
from netsonde.study.plan import PlannedPoint
from netsonde.study.spec import StudySpec
from netsonde.units import format_bytes, format_duration


def left_out(spec: StudySpec, order: Sequence[PlannedPoint]) -> list[PlannedPoint]:
    """The points at the end of the order that do not fit the budget; none where all fit.

    Raises UsageError where the study is to be refused then, and where not one point fits.
    """
    budget = spec.budget
    kept = list(order)
    total = estimate(spec, kept)
    if _fits(budget, total):
        return []
    if budget.over == "refuse":
        raise UsageError(
            f"the study takes up to {in_words(total)}, its budget is {budget_in_words(budget)}; "
            "raise it, measure less, or let over = 'drop' leave points out"
        )
    while kept and not _fits(budget, estimate(spec, kept)):
        kept.pop()
    if not kept:
        raise UsageError(f"not one point fits the budget of {budget_in_words(budget)}")
    return list(order[len(kept) :])


def fits_beside(
    spec: StudySpec, planned: Sequence[PlannedPoint], added: Sequence[PlannedPoint]
) -> bool:
    """Whether points that nobody asked for fit the budget beside all that were planned."""
    return not spec.budget.is_given or _fits(spec.budget, estimate(spec, [*planned, *added]))


def _fits(budget: BudgetTable, total: Estimate) -> bool:
    in_time = budget.time is None or total.time_ns <= budget.time
    return in_time and (budget.traffic is None or total.traffic_bytes <= budget.traffic)


def in_words(total: Estimate) -> str:
    """``3 min 20 s and 1.2 GB``."""
    return f"{format_duration(total.time_ns)} and {format_bytes(total.traffic_bytes)}"


def budget_in_words(budget: BudgetTable) -> str:
    words = [] if budget.time is None else [format_duration(budget.time)]
    words += [] if budget.traffic is None else [format_bytes(budget.traffic)]
    return " and ".join(words)


class Spent:
    """What a run has taken until now, over all of its sessions."""

    def __init__(self, spec: StudySpec, directory: Path, planned: Sequence[PlannedPoint]) -> None:
        self._spec = spec
        self._before_ns, self._traffic_bytes = 0, 0.0
        if spec.budget.is_given:  # else nobody asks, and a long journal takes its time
            self._before_ns, self._traffic_bytes = _in_journal(directory, planned)
        self._begin = monotonic_ns()

    def add(self, point: PlannedPoint, records: Sequence[dict[str, Any]]) -> None:
        """Takes note of a batch."""
        self._traffic_bytes += _traffic_bytes(point, records)

    @property
    def so_far(self) -> Estimate:
        time_ns = self._before_ns + monotonic_ns() - self._begin
        return Estimate(time_ns, round(self._traffic_bytes))

    def why_not(self, group: Sequence[PlannedPoint]) -> str | None:
        """Why a group of points cannot be measured within the budget, or None."""
        budget = self._spec.budget
        if not budget.is_given:
            return None
        found = [estimate_of(self._spec, point) for point in group]
        so_far = self.so_far
        after = Estimate(
            so_far.time_ns + max(one.time_ns for one in found),
            so_far.traffic_bytes + sum(one.traffic_bytes for one in found),
        )
        if _fits(budget, after):
            return None
        return (
            f"{in_words(so_far)} of the budget of {budget_in_words(budget)} are spent, and another "
            f"point may take {in_words(found[0])}"
        )


def _in_journal(directory: Path, planned: Sequence[PlannedPoint]) -> tuple[int, float]:
    """Nanoseconds and bytes of the sessions before; of one that was killed, until its last entry
    that has a time."""
    points = {point.id: point for point in planned}
    total_s = traffic_bytes = 0.0
    begin: datetime | None = None
    last: datetime | None = None
    for entry in read_journal(directory):
        if entry["entry"] == "batch" and entry["point"] in points:
            traffic_bytes += _traffic_bytes(points[entry["point"]], entry["records"])
        if "time_utc" not in entry:
            continue
        now = datetime.fromisoformat(entry["time_utc"])
        if entry["entry"] == "session_started":
            total_s += (last - begin).total_seconds() if begin and last else 0.0
            begin = now
        last = now
    total_s += (last - begin).total_seconds() if begin and last else 0.0
    return round(max(total_s, 0.0) * 1e9), traffic_bytes


def _traffic_bytes(point: PlannedPoint, records: Sequence[dict[str, Any]]) -> float:
    """What the ends' counters say that they sent, with headers; 0 where they do not say."""
    sent = 0.0
    for record in records:
        if record.get("record") == "counters":
            bytes_sent = record["values"].get("bytes_sent", 0)
            messages = record["values"].get("messages_sent", 0)
            sent += on_wire_bytes(point, bytes_sent, messages)
    return sent
