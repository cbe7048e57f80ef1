"""The checks that every statistic makes of its samples."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
_FEW = 2000
_DIGIT_BITS = 16
_MOST_DIGITS = 3


def as_samples(samples: npt.ArrayLike, *, least: int = 0) -> FloatArray:
    """Samples as a float64 array of shape (n,), unit unchanged; no copy where possible.

    Raises ``ValueError`` for another shape, for values that are not finite, and for n < ``least``.
    """
    array = np.asarray(samples, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"samples have {array.ndim} dimensions; one is expected")
    if array.size < least:
        raise ValueError(f"{array.size} samples given; at least {least} are needed")
    if not np.isfinite(array).all():
        raise ValueError("samples hold a value that is not finite; remove it and say why")
    return array


def check_share(name: str, value: float) -> float:
    """``value`` if it lies strictly between 0 and 1; ``ValueError`` that names it otherwise."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} is {value}; expected a number between 0 and 1, both excluded")
    return value


def sorting_order(samples: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """The indices that sort samples, shape (n,), equal ones in their order.

    Many integers of no great range, as times in ns are, are sorted by their digits of 16 bits from
    the last to the first (Knuth, The Art of Computer Programming 3, section 5.2.5), for which numpy
    counts; on some CPUs that takes a fifth of the time of a sort by comparisons.
    """
    array = np.asarray(samples)
    if array.size < _FEW or not np.issubdtype(array.dtype, np.signedinteger):
        return np.argsort(array, kind="stable")
    least = array.min()
    digits = -(-(int(array.max()) - int(least)).bit_length() // _DIGIT_BITS)
    if digits > _MOST_DIGITS:
        return np.argsort(array, kind="stable")
    rest = (array - least).astype(np.uint64)
    order = np.argsort(rest.astype(np.uint16), kind="stable")
    for digit in range(1, digits):
        values = (rest >> np.uint64(_DIGIT_BITS * digit)).astype(np.uint16)
        order = order[np.argsort(values[order], kind="stable")]
    return order


def midranks(samples: FloatArray, order: npt.NDArray[np.intp] | None = None) -> FloatArray:
    """Ranks 1..n of the samples, ties sharing the mean of their ranks. Shape (n,) to (n,).

    ``order`` is ``argsort(samples)`` where the caller has it. Source: Lehmann, Nonparametrics:
    Statistical Methods Based on Ranks, 1975, section 1.4 (midranks).
    """
    if order is None:
        order = np.argsort(samples)
    ordered = samples[order]
    is_new = np.ones(ordered.size, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    begins = np.flatnonzero(is_new)
    lengths = np.diff(begins, append=ordered.size)
    ranks = np.empty(samples.size, dtype=np.float64)
    ranks[order] = np.repeat(begins + 0.5 * (lengths + 1), lengths)
    return ranks
