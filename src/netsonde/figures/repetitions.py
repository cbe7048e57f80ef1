"""One time per repetition, whatever is repeated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netsonde.records.data import Batch, Series

LATE_NS = 1000
"""A rank that enters its window so much after the window began was still busy, or asleep."""


def has_summary(batch: Batch) -> bool:
    """Whether the batch was summarised where it was measured."""
    return 0 in batch.ends and "completion_ns" in batch.ends[0].series


def has_windows(batch: Batch) -> bool:
    return any(
        name in end.series for end in batch.ends.values() for name in ("late_ns", "late_max_ns")
    )


def is_late(batch: Batch) -> npt.NDArray[np.bool_]:
    """Shape (repetitions,): whether any rank was late for its window."""
    if has_summary(batch):
        return np.asarray(batch.ends[0].series["late_max_ns"] > LATE_NS)
    late = [end.series["late_ns"] for end in batch.ends.values() if "late_ns" in end.series]
    missed: npt.NDArray[np.bool_] = np.any(np.stack(late) > LATE_NS, axis=0)
    return missed


def repetition_times_ns(batch: Batch) -> Series:
    """Shape (repetitions,), ns: the round trip; for a collective, the slowest rank's duration.

    With windows, from the begin of the window to the end of the slowest rank; repetitions for
    which a rank was late are left out.
    """
    if has_summary(batch):
        completion = batch.ends[0].series["completion_ns"]
        return completion[~is_late(batch)] if has_windows(batch) else completion
    ends = [end for end in batch.ends.values() if "duration_ns" in end.series]
    if not ends:
        return batch.ends[0].series["round_trip_ns"]
    begun_late = ["late_ns" in end.series for end in ends]
    stays = [
        end.series["duration_ns"] + (end.series["late_ns"] if windowed else 0)
        for end, windowed in zip(ends, begun_late, strict=True)
    ]
    slowest: Series = np.max(np.stack(stays), axis=0)
    return slowest[~is_late(batch)] if any(begun_late) else slowest
