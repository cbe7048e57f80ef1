"""One time per repetition, whatever is repeated."""

from __future__ import annotations

import numpy as np

from netsonde.records.data import Batch, Series


def repetition_times_ns(batch: Batch) -> Series:
    """Shape (repetitions,), ns: the round trip; for a collective, the slowest rank's duration."""
    durations = [
        end.series["duration_ns"] for end in batch.ends.values() if "duration_ns" in end.series
    ]
    if durations:
        slowest: Series = np.max(np.stack(durations), axis=0)
        return slowest
    return batch.ends[0].series["round_trip_ns"]
