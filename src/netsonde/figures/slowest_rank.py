"""Which rank of an MPI operation took longest, by its own times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netsonde.ranks.summaries import summary_of
from netsonde.records.data import Batch, Series


@dataclass(frozen=True)
class SlowestRank:
    """``times_ns``, shape (n,): its time in each repetition; where batches were summarised, its
    median of each batch, and ``is_summarised``."""

    rank: int
    times_ns: Series
    is_summarised: bool


def slowest_rank(batches: Sequence[Batch]) -> SlowestRank | None:
    """The rank with the largest median, of several the first; None where no rank has times."""
    summaries = [summary_of(batch) for batch in batches]
    is_summarised = any(summary is not None for summary in summaries)
    own: dict[int, list[Series]] = {}
    for batch, summary in zip(batches, summaries, strict=True):
        if summary is not None:
            for rank, median in enumerate(summary.rank_ns["rank_median_ns"]):
                own.setdefault(rank, []).append(np.array([median], np.int64))
            continue
        for rank, end in batch.ends.items():
            times = end.series.get("duration_ns")
            if times is not None and len(times):
                kept = np.array([np.median(times)], np.int64) if is_summarised else times
                own.setdefault(rank, []).append(kept)
    if not own:
        return None
    joined = {rank: np.concatenate(parts) for rank, parts in sorted(own.items())}
    rank = max(joined, key=lambda rank: float(np.median(joined[rank])))
    return SlowestRank(rank, joined[rank], is_summarised)
