"""The times of every rank in every repetition of an MPI operation, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import Collective
from netsonde.operations import operations
from netsonde.ranks.clocks import common_repetitions
from netsonde.ranks.repetitions import has_summary, is_late
from netsonde.records.data import Batch, Point

Times = npt.NDArray[np.float64]
ONE_WAY = ("one_way", "one_way_isend")


@dataclass(frozen=True)
class RankTimes:
    """``times_ns`` of shape (ranks, repetitions), row i that of ``ranks[i]``; NaN where a rank had
    none: it sent a message whose time is its receiver's, or it has no partner.

    ``repetition`` of shape (repetitions,) numbers them from 0 as they were made, those left out
    counted. ``late`` were left out because a rank missed its window. ``uncertainty_ns`` is how
    wrong a time may be because of the clocks; 0 where one clock gave both ends of it."""

    ranks: tuple[int, ...]
    repetition: npt.NDArray[np.int64]
    times_ns: Times
    late: int = 0
    uncertainty_ns: float = 0.0

    @property
    def slowest_ns(self) -> Times:
        """Of each repetition, shape (repetitions,): the largest time of any rank."""
        return np.asarray(np.nanmax(self.times_ns, axis=0), np.float64)

    @property
    def slowest_rank(self) -> npt.NDArray[np.int64]:
        """Which rank that was."""
        rows = np.nanargmax(self.times_ns, axis=0)
        return np.asarray(np.asarray(self.ranks)[rows], np.int64)

    def of(self, ranks: Sequence[int]) -> RankTimes:
        """Only of these ranks, and of the repetitions in which one of them has a time."""
        rows = [self.ranks.index(rank) for rank in ranks]
        chosen = self.times_ns[rows]
        has = ~np.isnan(chosen).all(axis=0)
        return RankTimes(
            tuple(ranks), self.repetition[has], chosen[:, has], self.late, self.uncertainty_ns
        )

    def without_first(self, repetitions: int) -> RankTimes:
        """Without those numbered less than ``repetitions``: a warm-up."""
        kept = self.repetition >= repetitions
        return RankTimes(
            self.ranks,
            self.repetition[kept],
            self.times_ns[:, kept],
            self.late,
            self.uncertainty_ns,
        )


def is_message(operation: str) -> bool:
    """Whether a time is that of a message between two ranks and not of all ranks together."""
    known = operations().get(operation)
    return known is not None and known.is_between_two


def rank_times(point: Point) -> RankTimes:
    """Of an operation: how long each rank was inside; with windows, since the window began, without
    the repetitions for which a rank was late. Of one-way messages: from the sender's entry to the
    receiver's exit, on the clock of rank 0, at the receiver.

    Raises ValueError where the ranks' clocks are not known and a message went one way, and where
    samples were not kept.
    """
    if any(has_summary(batch) for batch in point.batches):
        raise ValueError(
            f"the samples of point {point.id} were summarised by the ranks; measure with a larger "
            "--keep"
        )
    one_way = point.operation in ONE_WAY
    parts, numbers = list[Times](), list[npt.NDArray[np.int64]]()
    made = late = 0
    uncertainty = 0.0
    for batch in point.batches:
        if one_way:
            times, wrong_ns = _message_times(batch, point.spec.of(Collective).pattern or "half")
            uncertainty = max(uncertainty, wrong_ns)
        else:
            times = _stays(batch)
        kept = _in_time(batch, times.shape[1])
        numbers.append(made + np.flatnonzero(kept))
        parts.append(times[:, kept])
        made += len(kept)
        late += int((~kept).sum())
    ranks = tuple(sorted(point.batches[0].ends))
    joined = np.concatenate(parts, axis=1)
    has = ~np.isnan(joined).all(axis=0)
    return RankTimes(ranks, np.concatenate(numbers)[has], joined[:, has], late, uncertainty)


def _stays(batch: Batch) -> Times:
    rows = []
    for rank in sorted(batch.ends):
        series = batch.ends[rank].series
        rows.append(series["duration_ns"] + series.get("late_ns", 0))
    return np.stack(rows).astype(np.float64)


def _in_time(batch: Batch, repetitions: int) -> npt.NDArray[np.bool_]:
    if any("late_ns" in end.series for end in batch.ends.values()):
        return np.asarray(~is_late(batch))
    return np.ones(repetitions, np.bool_)


def _message_times(batch: Batch, pattern: str) -> tuple[Times, float]:
    common = common_repetitions(batch)
    if common is None:
        raise ValueError("the clocks of the ranks were not compared; a message has no time then")
    ranks, repetitions = common.enter_ns.shape
    even = np.arange(repetitions) % 2 == 0
    times = np.full((ranks, repetitions), np.nan)
    for rank, partner in partners_in(batch, pattern).items():
        receives = even if partner < rank else ~even
        took = common.leave_ns[rank] - common.enter_ns[partner]
        times[rank, receives] = took[receives]
    return times, common.uncertainty_ns


def partners_in(batch: Batch, pattern: str) -> dict[int, int]:
    """Whom each rank sends to, without ranks that have no partner: as the ranks recorded it, which
    holds for a file of pairs and every pattern; where records have none, by the pattern."""
    ends = batch.ends
    if any("partner" in end.counters for end in ends.values()):
        told = {rank: int(end.counters.get("partner", -1)) for rank, end in ends.items()}
    else:
        found = {rank: partner_of(pattern, rank, len(ends)) for rank in ends}
        told = {rank: -1 if to is None else to for rank, to in found.items()}
    return {rank: to for rank, to in sorted(told.items()) if to in ends}


def partner_of(pattern: str, rank: int, ranks: int) -> int | None:
    """Whom a rank sends to and receives from; None for the last of an odd number."""
    paired = ranks // 2 * 2
    if rank >= paired:
        return None
    if pattern == "pairs":
        return rank + 1 if rank % 2 == 0 else rank - 1
    return (rank + paired // 2) % paired
