"""One time per repetition, whatever is repeated."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from netsonde.records.data import Batch, Series

LATE_NS = 1000
"""A rank that enters its window so much after the window began was still busy, or asleep."""
LATE_MOST_NS = 100_000
"""What that is widened to at most, unless another bound was set: a run that says nothing of it is
of a version that did not widen."""
LATE_SHARE = 0.05
"""And never above this share of a typical repetition, which lateness is a part of."""
KEPT_SHARE = 0.5
"""It is widened until so many repetitions are in time."""


def has_summary(batch: Batch) -> bool:
    """Whether the batch was summarised where it was measured."""
    return 0 in batch.ends and "completion_ns" in batch.ends[0].series


def has_windows(batch: Batch) -> bool:
    return any(
        name in end.series for end in batch.ends.values() for name in ("late_ns", "late_max_ns")
    )


def lateness_ns(batch: Batch) -> Series:
    """Shape (repetitions,): how much after the window's begin the last rank entered."""
    if has_summary(batch):
        return batch.ends[0].series["late_max_ns"]
    late = [end.series["late_ns"] for end in batch.ends.values() if "late_ns" in end.series]
    latest: Series = np.max(np.stack(late), axis=0)
    return latest


def late_after_ns(batch: Batch) -> int:
    """How much after the window's begin a rank counts as late, ns: what was asked for, doubled
    within its bounds until half of the repetitions are in time."""
    counters = batch.ends[0].counters if 0 in batch.ends else {}
    tolerance = counters.get("late_after_ns", LATE_NS)
    late, whole = lateness_ns(batch), _completions_ns(batch)
    if not len(late):
        return tolerance
    most = min(counters.get("late_most_ns", 0), int(LATE_SHARE * float(np.median(whole))))
    while tolerance < most and np.mean(late <= tolerance) < KEPT_SHARE:
        tolerance = min(max(1, 2 * tolerance), most)
    return tolerance


def is_late(batch: Batch) -> npt.NDArray[np.bool_]:
    """Shape (repetitions,): whether any rank was late for its window."""
    return np.asarray(lateness_ns(batch) > late_after_ns(batch))


def repetition_times_ns(batch: Batch) -> Series:
    """Shape (repetitions,), ns: the round trip; for a collective, the slowest rank's duration.

    With windows, from the begin of the window to the end of the slowest rank; repetitions for
    which a rank was late are left out.
    """
    times = _completions_ns(batch)
    return times[~is_late(batch)] if has_windows(batch) else times


def completion_times_ns(batches: Iterable[Batch]) -> Series:
    """Those of all batches, one after the other."""
    return np.concatenate([repetition_times_ns(batch) for batch in batches])


def _completions_ns(batch: Batch) -> Series:
    """The same with all repetitions."""
    if has_summary(batch):
        return batch.ends[0].series["completion_ns"]
    ends = [end for end in batch.ends.values() if "duration_ns" in end.series]
    if not ends:
        return batch.ends[0].series["round_trip_ns"]
    stays = [end.series["duration_ns"] + end.series.get("late_ns", 0) for end in ends]
    slowest: Series = np.max(np.stack(stays), axis=0)
    return slowest
