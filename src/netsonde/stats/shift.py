"""How far one set of values lies above another, by ranks: nothing is assumed of how they are
distributed but that both sets have the same shape.

The statistic is that of Wilcoxon, Mann and Whitney: how many pairs of a first and a second value
are in order. Its distribution without a shift is counted exactly for up to ``EXACT_PAIRS`` pairs.
Equal values count against the claim that is tested, which keeps every level.

Sources: Mann and Whitney, Annals of Mathematical Statistics 1947; Hodges and Lehmann, Annals of
Mathematical Statistics 1963 (estimate); Lehmann, Nonparametrics, 1975, sections 2.3 and 2.5
(interval by ordered differences).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, check_share
from netsonde.stats.tails import normal_below

EXACT_PAIRS = 2500
"""Up to 50 by 50 values the distribution is counted; beyond, the normal one is good to 1 % of p."""


@dataclass(frozen=True, slots=True)
class ShiftInterval:
    """Second minus first, in the unit of the values. ``low`` and ``high`` are None where there are
    too few values for the confidence."""

    estimate: float
    low: float | None
    high: float | None
    confidence: float


def shift_interval(
    first: npt.ArrayLike, second: npt.ArrayLike, confidence: float = 0.95
) -> ShiftInterval:
    """The Hodges-Lehmann shift of values of shapes (n,) and (m,), and its interval.

    The estimate is the median of all n m differences; the interval are those differences whose
    ranks the statistic's distribution gives. It excludes 0 exactly where :func:`shift_p` is at most
    1 - confidence. Raises ``ValueError`` for no values.
    """
    a, b = as_samples(first, least=1), as_samples(second, least=1)
    check_share("confidence", confidence)
    differences = np.sort((b[:, None] - a[None, :]).ravel())
    estimate = float(np.median(differences))
    # 1 - 0.95 is not exactly 0.05; rounding must not cost a rank.
    tail = 0.5 * (1.0 - confidence) * (1.0 + 1e-9)
    rank = int(np.searchsorted(_cumulative(a.size, b.size), tail, side="right"))
    if rank < 1:
        return ShiftInterval(estimate, None, None, confidence)
    return ShiftInterval(
        estimate, float(differences[rank - 1]), float(differences[-rank]), confidence
    )


def shift_p(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The two-sided p-value of no shift between values of shapes (n,) and (m,)."""
    a, b = as_samples(first, least=1), as_samples(second, least=1)
    return float(shift_p_rows(a[None, :], b[None, :])[0])


def shift_p_rows(first: FloatArray, second: FloatArray) -> FloatArray:
    """:func:`shift_p` of many pairs of sets at once, shapes (r, n) and (r, m) to (r,)."""
    sides = np.minimum(rises_p_rows(first, second, 0.0), falls_p_rows(first, second, 0.0))
    return np.asarray(np.minimum(1.0, 2.0 * sides))


def rises_p_rows(first: FloatArray, second: FloatArray, offset: float) -> FloatArray:
    """One-sided p-values of "the shift is ``offset`` at most", shapes (r, n) and (r, m) to (r,)."""
    return _p_of_counts(first, second, offset, rises=True)


def falls_p_rows(first: FloatArray, second: FloatArray, offset: float) -> FloatArray:
    """One-sided p-values of "the shift is ``offset`` at least"."""
    return _p_of_counts(first, second, offset, rises=False)


def is_within_rows(
    first: FloatArray, second: FloatArray, margin: float, significance: float = 0.05
) -> npt.NDArray[np.bool_]:
    """Whether each shift is proven to lie between -margin and margin: two one-sided tests.

    That is the case where the interval at 1 - 2 significance lies inside. Source: Schuirmann,
    Journal of Pharmacokinetics and Biopharmaceutics 1987; by ranks: Wellek, Testing Statistical
    Hypotheses of Equivalence and Noninferiority, 2010, section 6.2.
    """
    level = significance * (1.0 + 1e-9)
    above = rises_p_rows(first, second, -margin) <= level
    below = falls_p_rows(first, second, margin) <= level
    return np.asarray(above & below)


def fewest_values(significance: float) -> int:
    """So many values of each set can prove a shift, two-sided, at that level: all of one set above
    all of the other has p = 2 / C(2n, n)."""
    check_share("significance", significance)
    n = 1
    while 2.0 / math.comb(2 * n, n) > significance * (1.0 + 1e-9):
        n += 1
    return n


def _p_of_counts(first: FloatArray, second: FloatArray, offset: float, rises: bool) -> FloatArray:
    """How likely so few pairs against the claim are, where the claim is not true."""
    n, m = first.shape[1], second.shape[1]
    moved = second - offset
    # Pairs out of order by a stable sort, in which an equal pair stands as the claim would not have
    # it; all rows at once.
    parts = (moved, first) if rises else (first, moved)
    order = np.argsort(np.concatenate(parts, axis=1), axis=1, kind="stable")
    is_front = order < parts[0].shape[1]
    against = (np.cumsum(is_front, axis=1) * ~is_front).sum(axis=1)
    return np.asarray(_cumulative(n, m)[against])


@lru_cache(maxsize=256)
def _cumulative(n: int, m: int) -> FloatArray:
    """P(at most u of the n m pairs are in order), u = 0..n m, where there is no shift."""
    if n * m > EXACT_PAIRS:
        u = np.arange(n * m + 1, dtype=np.float64)
        spread = math.sqrt(n * m * (n + m + 1) / 12.0)
        return normal_below((u + 0.5 - 0.5 * n * m) / spread)
    ways = _ways(n, m)
    total = math.comb(n + m, n)
    running, found = 0, []
    for count in ways:
        running += count
        found.append(running / total)
    return np.array(found)


def _ways(n: int, m: int) -> list[int]:
    """How many of the C(n + m, n) orders have u pairs in order: the Gaussian binomial coefficient,
    the product of (1 - q^(n+i)) / (1 - q^i) over i = 1..m, in whole numbers."""
    size = n * m + 1
    ways = [1] + [0] * (size - 1)
    for i in range(1, m + 1):
        for u in range(size - 1, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, size):
            ways[u] += ways[u - i]
    return ways
