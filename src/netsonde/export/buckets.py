"""HdrHistogram's buckets of many values at once, and its text of percentiles: the library counts
and walks value by value, which takes minutes for a run of thousands of points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

SIGNIFICANT_DIGITS = 3
LARGEST_NS = 3600 * 10**9
_BITS = 11
"""Of a value are kept: 2048 steps tell three digits apart."""
_TICKS = 5
"""Percentiles for each time that the distance to 100 % is halved."""
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Buckets:
    """How many values lie in each bucket that has any: ``lowest`` is the smallest value that it
    takes, ns, ascending, and ``counts`` of the same shape."""

    lowest: Integers
    counts: Integers

    @property
    def highest(self) -> Integers:
        """The largest value that each bucket takes."""
        return np.asarray(self.lowest + (np.int64(1) << _shift(self.lowest)) - 1)

    def histogram(self) -> HdrHistogram:
        """The library's own, with the same counts."""
        made = HdrHistogram(1, LARGEST_NS, SIGNIFICANT_DIGITS)
        for value, count in zip(self.lowest.tolist(), self.counts.tolist(), strict=True):
            made.record_value(value, count)
        return made

    def percentiles(self, unit_ns: int) -> Iterator[str]:
        """The lines of the text that HdrHistogram's plotter takes, values in that unit."""
        yield f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}\n"
        yield "\n"
        highest, so_far = self.highest / unit_ns, np.cumsum(self.counts)
        total = int(so_far[-1])
        for level, place in _levels(100.0 * so_far / total):
            line = f"{highest[place]:12.3f} {level / 100:2.12f} {so_far[place]:10d}"
            yield f"{line}\n" if level == 100.0 else f"{line} {1 / (1 - level / 100):14.2f}\n"
        middles = (self.lowest + (np.int64(1) << _shift(self.lowest)) // 2) / unit_ns
        mean = float(np.average(middles, weights=self.counts))
        spread = math.sqrt(float(np.average((middles - mean) ** 2, weights=self.counts)))
        yield f"#[Mean    = {mean:12.3f}, StdDeviation   = {spread:12.3f}]\n"
        yield f"#[Max     = {highest[-1]:12.3f}, TotalCount     = {total:12.3f}]\n"
        of = HdrHistogram(1, LARGEST_NS, SIGNIFICANT_DIGITS)
        yield f"#[Buckets = {of.bucket_count:12d}, SubBuckets     = {of.sub_bucket_count:12d}]\n"


def buckets_of(values_ns: Integers) -> Buckets:
    """Values of shape (n,), n at least 1, in buckets of three digits; those below 1 count as 1,
    those beyond an hour as an hour."""
    values = np.clip(values_ns, 1, LARGEST_NS).astype(np.int64)
    shift = _shift(values)
    lowest, counts = np.unique((values >> shift) << shift, return_counts=True)
    return Buckets(lowest, counts.astype(np.int64))


def together(parts: Iterable[Buckets]) -> Buckets:
    """All of them in one; at least one is given."""
    found = list(parts)
    lowest, places = np.unique(np.concatenate([p.lowest for p in found]), return_inverse=True)
    counts = np.zeros(lowest.size, np.int64)
    np.add.at(counts, places, np.concatenate([p.counts for p in found]))
    return Buckets(lowest, counts)


def _shift(values: Integers) -> Integers:
    """The bits of each value that its bucket does not tell apart."""
    bits = np.frexp(values.astype(np.float64))[1]
    return np.asarray(np.maximum(bits - _BITS, 0), np.int64)


def _levels(reached: npt.NDArray[np.float64]) -> Iterator[tuple[float, int]]:
    """Each percentile that is told, up to 100, with the place of the bucket that reaches it."""
    level, last = 0.0, reached.size - 1
    place = 0
    while place < last:
        place = max(place, int(np.searchsorted(reached, level)))
        yield level, place
        level += 100.0 / (_TICKS * 2.0 ** (math.log(100.0 / (100.0 - level)) / math.log(2.0) + 1.0))
    if last == 0:
        yield 0.0, 0
    yield 100.0, last
