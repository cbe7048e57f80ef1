"""What a path answers at most, from batches that offer more than it can take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netsonde.records.data import Batch

PILOTS = 3
"""So many batches at the begin of an open-loop point find its capacity; the median, because one of
them alone differs from the next by up to twice where CPUs are shared."""


def answered_per_s(pilot: Batch) -> float:
    """Answers a second of one batch, from its start to its last answer."""
    counters = pilot.ends[0].counters
    elapsed_ns = counters["last_answer_ns"] - counters["start_ns"]
    return counters["messages_received"] * 1e9 / elapsed_ns if elapsed_ns > 0 else 0.0


def capacity_per_s(batches: Sequence[Batch]) -> float:
    """The median of the pilots among the batches of a point."""
    return float(np.median([answered_per_s(batch) for batch in batches[:PILOTS]]))
