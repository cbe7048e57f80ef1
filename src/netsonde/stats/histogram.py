"""Log-linear histograms: fixed memory, a known relative error, merged without averaging.

Every power of two is divided into 2^precision_bits equal buckets, so a bucket is never wider than
2^-precision_bits of its values. Histograms of many ranks or intervals are added bucket by bucket,
which is exact; averaging their percentiles is not.

Source: the layout of HdrHistogram (Tene 2012), with a power of two where it has a decimal digit.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

LARGEST_PRECISION_BITS = 14  # 0.006 %: 800,000 buckets; more is a copy of the samples


@dataclass(frozen=True, slots=True)
class Bucket:
    """``count`` samples with low <= x < high, in the unit of the samples."""

    low: int
    high: int
    count: int


@dataclass(frozen=True)
class LogLinearHistogram:
    """Counts of integers 0..2^63 - 1, shape (buckets,); the unit is that of the samples.

    ``precision_bits`` b, 1..14: values below 2^b are exact, others lie in a bucket no wider than
    2^-b of them. 7 (0.8 %) is finer than a plot can show and takes 57 kB.
    """

    counts: IntArray
    precision_bits: int = 7

    @classmethod
    def of(cls, samples: npt.ArrayLike, *, precision_bits: int = 7) -> Self:
        """The histogram of samples, shape (n,), integers 0..2^63 - 1.

        Raises ``ValueError`` for a negative sample, a sample that is no integer, or a precision
        outside 1..14.
        """
        if not 1 <= precision_bits <= LARGEST_PRECISION_BITS:
            raise ValueError(
                f"precision is {precision_bits} bits; expected 1..{LARGEST_PRECISION_BITS}"
            )
        places = _bucket_index(_as_integers(samples), precision_bits)
        counts = np.bincount(places, minlength=_bucket_count(precision_bits))
        return cls(counts.astype(np.int64), precision_bits)

    @classmethod
    def from_buckets(
        cls, places: npt.ArrayLike, counts: npt.ArrayLike, *, precision_bits: int = 7
    ) -> Self:
        """The histogram whose buckets at these places (0 is that of the value 0) have these counts;
        the others are empty. Both of shape (m,), integers.

        Raises ``ValueError`` for places out of range or twice, counts below 1, or shapes that
        differ.
        """
        if not 1 <= precision_bits <= LARGEST_PRECISION_BITS:
            raise ValueError(
                f"precision is {precision_bits} bits; expected 1..{LARGEST_PRECISION_BITS}"
            )
        where, what = np.asarray(places, np.int64), np.asarray(counts, np.int64)
        whole = np.zeros(_bucket_count(precision_bits), np.int64)
        if where.shape != what.shape or where.ndim != 1:
            raise ValueError(f"{where.size} buckets have {what.size} counts")
        if where.size and (where.min() < 0 or where.max() >= len(whole) or what.min() < 1):
            raise ValueError("a bucket is out of range, or its count below 1")
        whole[where] = what
        if np.count_nonzero(whole) != where.size:
            raise ValueError("a bucket is given twice")
        return cls(whole, precision_bits)

    @property
    def total(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())

    @property
    def largest_relative_error(self) -> float:
        """How far :meth:`quantile` may be from the sample of that rank, relative to it."""
        return 0.5 * 2.0**-self.precision_bits

    def merged(self, other: Self) -> Self:
        """Both histograms added; exact. Raises ``ValueError`` where their precision differs."""
        if self.precision_bits != other.precision_bits:
            raise ValueError(
                f"histograms have {self.precision_bits} and {other.precision_bits} precision bits;"
                " only equal ones can be merged"
            )
        return type(self)(self.counts + other.counts, self.precision_bits)

    def quantile(self, q: float) -> float:
        """Middle of the bucket of the sample of rank max(1, ceil(q n)), unit of the samples.

        That is Hyndman and Fan 1996, definition 1, within ``largest_relative_error``. Raises
        ``ValueError`` for an empty histogram or q outside 0..1.
        """
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"order of the quantile is {q}; expected 0..1")
        total = self.total
        if total == 0:
            raise ValueError("the histogram is empty; a quantile needs at least one sample")
        rank = max(1, int(np.ceil(q * total)))
        place = int(np.searchsorted(np.cumsum(self.counts), rank))
        low, high = _bucket_bounds(place, self.precision_bits)
        return 0.5 * (low + high - 1)

    def buckets(self) -> list[Bucket]:
        """The buckets that are not empty, in rising order."""
        filled = np.flatnonzero(self.counts)
        return [
            Bucket(*_bucket_bounds(int(i), self.precision_bits), int(self.counts[i]))
            for i in filled
        ]

    def coarser(self, precision_bits: int) -> Self:
        """The same samples at a lower precision, for a plot of fewer bars; exact.

        Raises ``ValueError`` for a precision outside 1..own precision.
        """
        if not 1 <= precision_bits <= self.precision_bits:
            raise ValueError(f"precision is {precision_bits}; expected 1..{self.precision_bits}")
        filled = np.flatnonzero(self.counts)
        lows = np.array([_bucket_bounds(int(i), self.precision_bits)[0] for i in filled], np.int64)
        counts = np.zeros(_bucket_count(precision_bits), np.int64)
        np.add.at(counts, _bucket_index(lows, precision_bits), self.counts[filled])
        return type(self)(counts, precision_bits)


def _as_integers(samples: npt.ArrayLike) -> IntArray:
    array = np.asarray(samples)
    if array.ndim != 1:
        raise ValueError(f"samples have {array.ndim} dimensions; one is expected")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"samples are {array.dtype}; a histogram holds integers: round them first")
    if array.min() < 0 or array.max() > np.iinfo(np.int64).max:
        raise ValueError("samples lie outside 0..2^63 - 1, which is what a histogram holds")
    return array.astype(np.int64, copy=False)


def _bucket_count(bits: int) -> int:
    return (64 - bits) << bits


def _bucket_index(values: IntArray, bits: int) -> IntArray:
    """Below 2^bits the value itself; above, (octave << bits) + the bits after the leading one."""
    # A float keeps 53 bits, so 2^k - 1 may round up to the next octave. It then gets one bucket
    # before that octave's first, which is where it belongs.
    exponent = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(exponent - 1 - bits, 0)
    mantissa = values >> shift
    octave = np.maximum(exponent - bits, 0)
    below = mantissa - np.where(octave > 0, 1 << bits, 0)
    return np.asarray((octave << bits) + below, dtype=np.int64)


def _bucket_bounds(index: int, bits: int) -> tuple[int, int]:
    octave, below = index >> bits, index & ((1 << bits) - 1)
    if octave == 0:
        return below, below + 1
    shift = octave - 1
    low = ((1 << bits) + below) << shift
    return low, low + (1 << shift)
