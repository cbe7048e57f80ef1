"""A batch of an MPI operation that was summarised where it was measured, since the samples of all
ranks would have been too many: what rank 0 wrote of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.errors import HostError
from netsonde.ranks.repetitions import has_summary
from netsonde.records.data import Batch, Series
from netsonde.stats.histogram import LogLinearHistogram

RANK_QUANTILES = ("rank_median_ns", "rank_p90_ns", "rank_p99_ns", "rank_max_ns")


@dataclass(frozen=True)
class Summary:
    """What describes all ranks of one batch.

    Shape (repetitions,): completion_ns, the longest time of any rank in the operation, exact;
    start_spread_ns, from the first entry to the last on rank 0's clock; the ranks that entered
    last, and left last. Shape (ranks,): the order statistics of each rank's own
    durations. ``durations`` are those of all ranks and repetitions, to within its largest relative
    error. Shape (slowest, ranks): the entries (ns of rank 0's clock since its start) and durations
    in the slowest repetitions, whose numbers are ``slow_index``, the slowest first.
    """

    completion_ns: Series
    start_spread_ns: Series
    last_in: Series
    last_out: Series
    late_ns: Series | None
    durations: LogLinearHistogram
    rank_ns: dict[str, Series]
    slow_index: Series
    slow_begin_ns: Series
    slow_duration_ns: Series
    uncertainty_ns: float

    @property
    def ranks(self) -> int:
        return len(self.rank_ns["rank_max_ns"])


def summary_of(batch: Batch) -> Summary | None:
    """None of a batch whose samples were kept. Raises HostError where what rank 0 wrote does not
    fit together."""
    if not has_summary(batch):
        return None
    end = batch.ends[0]
    ranks = end.counters.get("summarised_ranks", 0)
    try:
        series = end.series
        slow = [series[name].reshape(ranks, -1).T for name in ("slow_begin_ns", "slow_duration_ns")]
        return Summary(
            series["completion_ns"],
            series["start_spread_ns"],
            series["last_in_rank"],
            series["last_out_rank"],
            series.get("late_max_ns"),
            LogLinearHistogram.from_buckets(
                series["histogram_bucket"],
                series["histogram_count"],
                precision_bits=end.counters["histogram_precision_bits"],
            ),
            {name: series[name] for name in RANK_QUANTILES},
            series["slow_index"],
            slow[0],
            slow[1],
            2.0 * end.counters["clock_uncertainty_ns"],
        )
    except (KeyError, ValueError) as error:
        raise HostError(f"rank 0's summary of {ranks} ranks is damaged: {error}") from error


def durations_of(batches: list[Batch]) -> LogLinearHistogram:
    """Durations of all ranks and repetitions of batches of either kind, ns."""
    found: LogLinearHistogram | None = None
    for batch in batches:
        summary = summary_of(batch)
        own = summary.durations if summary else LogLinearHistogram.of(raw_durations_ns(batch))
        found = own if found is None else found.merged(own)
    if found is None:
        raise ValueError("no batch has durations")
    return found


def raw_durations_ns(batch: Batch) -> Series:
    """Those of every rank, one after the other; of a batch whose samples were kept."""
    parts = [e.series["duration_ns"] for e in batch.ends.values() if "duration_ns" in e.series]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def shares(whose: Series, ranks: int) -> npt.NDArray[np.float64]:
    """By rank, in how many of the repetitions it was the one, shape (ranks,)."""
    found: npt.NDArray[np.float64] = np.bincount(whose, minlength=ranks)[:ranks] / max(
        1, len(whose)
    )
    return found
