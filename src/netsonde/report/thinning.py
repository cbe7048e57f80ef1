"""Making 10^6 samples into a few hundred things to draw, without losing an extreme."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.records.data import Series
from netsonde.stats.histogram import LogLinearHistogram

HISTOGRAM_BITS = 5
"""Bins no wider than 3 % of their value: finer than modes that matter, coarse enough to draw."""
TAIL_POINTS = 240
SEQUENCE_POINTS = 600
"""Samples up to this number are drawn one by one; beyond, that many stretches are."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Density:
    """A histogram as a step line: ``edges`` in ns, shape (n + 1,); ``share_per_percent``, shape
    (n,): the share of samples per relative width of 1 %, so that bins of unequal width compare."""

    edges: Floats
    share_per_percent: Floats


def density(samples: Series) -> Density:
    """The log-linear histogram of positive samples, from the lowest to the highest, gaps as 0."""
    buckets = LogLinearHistogram.of(np.maximum(samples, 1)).coarser(HISTOGRAM_BITS).buckets()
    edges: list[float] = [float(buckets[0].low)]
    heights: list[float] = []
    for bucket in buckets:
        if bucket.low > edges[-1]:
            edges.append(float(bucket.low))
            heights.append(0.0)
        edges.append(float(bucket.high))
        width = np.log(bucket.high / bucket.low) / np.log(1.01)
        heights.append(bucket.count / len(samples) / width)
    return Density(np.array(edges), np.array(heights))


def slower_than(samples: Series, points: int = TAIL_POINTS) -> tuple[Floats, Floats]:
    """(times, share of samples that took longer or as long), both falling towards the tail.

    Every one of the slowest ranks is kept, then ever fewer; the least and largest are always there.
    """
    ordered = np.sort(samples)[::-1]
    n = len(ordered)
    ranks = np.unique(np.geomspace(1, n, min(points, n)).astype(np.int64))
    bulk = np.unique(np.linspace(1, n, min(points // 2, n)).astype(np.int64))
    ranks = np.union1d(ranks, bulk)
    return ordered[ranks - 1].astype(np.float64), ranks / n


def slower_than_counts(
    histogram: LogLinearHistogram, points: int = TAIL_POINTS
) -> tuple[Floats, Floats]:
    """The same of what is only counted: the upper end of each bucket's values, which is off by the
    bucket's width at most."""
    buckets = histogram.buckets()[::-1]
    counts = np.cumsum([bucket.count for bucket in buckets])
    places = np.unique(np.linspace(0, len(buckets) - 1, min(points, len(buckets))).astype(np.intp))
    times = np.array([float(buckets[place].high - 1) for place in places])
    return times, counts[places] / histogram.total


@dataclass(frozen=True)
class Sequence:
    """Samples in order: index of each stretch's first sample, and its least, median and largest;
    where nothing was thinned all three are the sample itself."""

    index: npt.NDArray[np.int64]
    least: Floats
    middle: Floats
    largest: Floats
    thinned: bool


def sequence(samples: Series, points: int = SEQUENCE_POINTS) -> Sequence:
    """Samples in order, in at most ``points`` stretches of (nearly) equal length."""
    n = len(samples)
    if n <= points:
        values = samples.astype(np.float64)
        return Sequence(np.arange(n), values, values, values, thinned=False)
    bounds = np.linspace(0, n, points + 1).astype(np.int64)
    begins = bounds[:-1]
    parts = [samples[a:b] for a, b in zip(begins, bounds[1:], strict=True)]
    return Sequence(
        begins,
        np.minimum.reduceat(samples, begins).astype(np.float64),
        np.array([float(np.median(p)) for p in parts]),
        np.maximum.reduceat(samples, begins).astype(np.float64),
        thinned=True,
    )


def interval_rates(
    times_ns: Series, message_bytes: int, interval_ns: float
) -> tuple[Floats, Floats, Floats]:
    """(begin, end, bit/s) of stretches that each last ``interval_ns`` or longer.

    A stretch ends with a message's completion, so its rate is exact: whole messages over the time
    between two completions. What is left at the end belongs to the last stretch.
    """
    ordered = np.sort(times_ns)
    ends = [0]
    while ordered[-1] - ordered[ends[-1]] >= interval_ns:
        ends.append(int(np.searchsorted(ordered, ordered[ends[-1]] + interval_ns)))
    if len(ends) == 1:
        ends.append(len(ordered) - 1)
    ends[-1] = len(ordered) - 1
    edges = ordered[ends].astype(np.float64)
    lengths = np.diff(edges)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.diff(ends) * message_bytes * 8e9 / lengths
    known = lengths > 0
    return edges[:-1][known], edges[1:][known], rates[known]
