"""Messages in a second, of every pair of ranks and of all together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netsonde.ranks.repetitions import repetition_times_ns
from netsonde.records.data import Batch

Rates = npt.NDArray[np.float64]


def message_rates_per_s(batch: Batch) -> Rates | None:
    """Of each repetition, shape (repetitions,): the messages of all ranks over the slowest rank's
    time; None where no rank counted messages."""
    messages = sum(end.counters.get("window_messages", 0) for end in batch.ends.values())
    if not messages:
        return None
    times_ns = repetition_times_ns(batch).astype(np.float64)
    rates: Rates = 1e9 * messages / np.maximum(times_ns, 1.0)
    return rates


def sender_rates_per_s(batch: Batch) -> dict[int, Rates]:
    """By rank that sends, of each repetition: its own messages over its own time; empty of a batch
    that was summarised."""
    return {
        rank: 1e9 * messages / np.maximum(end.series["duration_ns"].astype(np.float64), 1.0)
        for rank, end in batch.ends.items()
        if "duration_ns" in end.series and (messages := end.counters.get("window_messages", 0))
    }
