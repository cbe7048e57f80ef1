"""What was measured of one routine and size, as MPIBench sums it up: pure functions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from netsonde.errors import HostError, UsageError
from netsonde.mpibench.options import Summing
from netsonde.ranks.times import RankTimes, is_message, rank_times
from netsonde.records.data import Point
from netsonde.records.timer import costs_ns, is_taken_off, without_overhead
from netsonde.stats.bins import Bins, even_bins, log_bins
from netsonde.stats.means import least_of_means, standard_error, trimmed_mean
from netsonde.stats.outliers import beyond_factor
from netsonde.stats.quantiles import least_samples, quantile

Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Of one size. ``values_ns`` are what MPIBench averages: of messages the time of each, of a
    collective that of the slowest chosen process of each repetition; ``value_rank`` and
    ``value_repetition`` say whose. ``outlier`` marks those that are listed and left out.

    ``times`` are of the chosen processes, after the warm-up; repetitions count from the first that
    was made.
    """

    message_bytes: int
    times: RankTimes
    values_ns: Times
    value_rank: npt.NDArray[np.int64]
    value_repetition: npt.NDArray[np.int64]
    outlier: npt.NDArray[np.bool_]

    @property
    def kept_ns(self) -> Times:
        return self.values_ns[~self.outlier]


SUMMARY = (
    *("Size", "Values", "Outliers", "Min", "Mean", "StdErr", "StdDev"),
    *("Median", "P90", "P95", "P99", "Max", "TrimMean", "MinMean", "AllMean", "MB/s"),
)
"""The columns of ``.summary``, in their order."""


def column_of(name: str) -> int:
    """The number of a column of ``.summary``, as gnuplot counts, from 1."""
    return SUMMARY.index(name) + 1


@dataclass(frozen=True)
class Row:
    """The line of a size in ``.summary``, in the order of SUMMARY; times in ns. ``all_mean_ns`` is
    the mean over all chosen processes and repetitions, outliers among them: what MPIBench gave of
    collectives before 2008."""

    message_bytes: int
    values: int
    outliers: int
    min_ns: float
    mean_ns: float
    error_ns: float
    deviation_ns: float
    median_ns: float
    p90_ns: float | None  # none where there are fewer values than reach a quantile
    p95_ns: float | None
    p99_ns: float | None
    max_ns: float
    trimmed_mean_ns: float
    least_mean_ns: float
    all_mean_ns: float
    mbyte_per_s: float


class NothingLeftError(HostError):
    """No repetition of a size counts: all were warm-up, or a process was late for its window."""


def measured(point: Point, summing: Summing) -> Measured:
    """Raises UsageError where a chosen process was not there, NothingLeftError where nothing is
    left."""
    if summing.without_timer:
        point = _without_timer(point)
    try:
        every = rank_times(point)
    except ValueError as error:
        raise UsageError(str(error)) from error
    chosen = summing.ranks or every.ranks
    missing = sorted(set(chosen) - set(every.ranks))
    if missing:
        raise UsageError(
            f"--ranks: process {missing[0]} was not there; the last is {every.ranks[-1]}"
        )
    times = every.without_first(summing.warm_up).of(chosen)
    if not times.times_ns.size:
        raise NothingLeftError(
            f"{point.operation} of {point.message_bytes} bytes: no repetition is left; "
            f"{summing.warm_up} are warm-up, and in {every.late} a process was late"
        )
    if is_message(str(point.operation)):
        rows, columns = np.nonzero(~np.isnan(times.times_ns.T))
        values = times.times_ns.T[rows, columns]
        ranks, repetitions = np.asarray(times.ranks, np.int64)[columns], times.repetition[rows]
    else:
        values, ranks, repetitions = times.slowest_ns, times.slowest_rank, times.repetition
    outlier = (
        np.zeros(len(values), np.bool_)
        if summing.outlier_factor is None
        else beyond_factor(values, summing.outlier_factor)
    )
    size = point.message_bytes * (len(every.ranks) if summing.size_of == "total" else 1)
    return Measured(size, times, values, ranks, repetitions, outlier)


def _without_timer(point: Point) -> Point:
    """Raises UsageError where nobody measured what a reading takes."""
    if not all(len(costs_ns([end])) for batch in point.batches for end in batch.ends.values()):
        raise UsageError(
            "--without-timer-overhead: this run holds no readings of its timer; one that netsonde "
            "mpibench measures does"
        )
    if is_taken_off(point):  # when it was read
        return point
    return replace(point, batches=[without_overhead(batch) for batch in point.batches])


def summary_row(found: Measured, parts: int) -> Row:
    kept = found.kept_ns
    mean = float(kept.mean())
    p90, p95, p99 = (
        quantile(kept, q) if len(kept) >= least_samples(q) else None for q in (0.9, 0.95, 0.99)
    )
    return Row(
        found.message_bytes,
        len(kept),
        int(found.outlier.sum()),
        float(kept.min()),
        mean,
        standard_error(kept),
        float(kept.std(ddof=1)) if len(kept) > 1 else math.nan,
        quantile(kept, 0.5),
        p90,
        p95,
        p99,
        float(kept.max()),
        trimmed_mean(kept),
        least_of_means(kept, parts),
        float(np.nanmean(found.times.times_ns)),
        found.message_bytes * 1e3 / mean if mean > 0 else float("nan"),
    )


def histogram(found: Measured, summing: Summing) -> Bins:
    """Of the values that are kept, in ns."""
    if summing.log_bins:
        return log_bins(found.kept_ns, summing.bins)
    return even_bins(found.kept_ns, summing.bins, summing.bin_width_ns)


def process_rows(found: Measured) -> list[tuple[int, int, float, float, float]]:
    """(process, how many times, least, mean, largest) of each chosen process that has any, ns."""
    rows = []
    for rank, times in zip(found.times.ranks, found.times.times_ns, strict=True):
        own = times[~np.isnan(times)]
        if len(own):
            rows.append((rank, len(own), float(own.min()), float(own.mean()), float(own.max())))
    return rows
