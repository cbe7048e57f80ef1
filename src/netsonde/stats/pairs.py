"""How far the differences of pairs lie from 0, by signed ranks: nothing is assumed of how they are
distributed but that they are symmetric around the shift, as differences of values of one shape are.

The statistic is Wilcoxon's: how many of the n (n + 1) / 2 means of two differences (each with
itself as well, Walsh's averages) lie above 0. Its distribution without a shift is counted exactly
for up to ``EXACT_PAIRS`` pairs. Means of exactly 0 count against the claim that is tested, which
keeps every level.

Sources: Wilcoxon, Biometrics Bulletin 1945; Tukey 1949 and Hodges and Lehmann, Annals of
Mathematical Statistics 1963 (estimate); Lehmann, Nonparametrics, 1975, sections 3.2 and 4.3
(interval by ordered averages).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, check_share
from netsonde.stats.shift import ShiftInterval
from netsonde.stats.tails import normal_below

EXACT_PAIRS = 100
"""Beyond, the normal distribution is good to 1 % of p."""


def paired_interval(differences: npt.ArrayLike, confidence: float = 0.95) -> ShiftInterval:
    """The Hodges-Lehmann centre of differences of shape (n,), and its interval.

    The estimate is the median of all Walsh averages; the interval are those whose ranks the
    statistic's distribution gives. It excludes 0 exactly where :func:`paired_p` is at most
    1 - confidence. Raises ``ValueError`` for no values.
    """
    averages = np.sort(_walsh(as_samples(differences, least=1)))
    check_share("confidence", confidence)
    estimate = float(np.median(averages))
    # 1 - 0.95 is not exactly 0.05; rounding must not cost a rank.
    tail = 0.5 * (1.0 - confidence) * (1.0 + 1e-9)
    rank = int(np.searchsorted(_cumulative(np.size(differences)), tail, side="right"))
    if rank < 1:
        return ShiftInterval(estimate, None, None, confidence)
    return ShiftInterval(estimate, float(averages[rank - 1]), float(averages[-rank]), confidence)


def paired_p(differences: npt.ArrayLike) -> float:
    """The two-sided p-value of no shift, of differences of shape (n,)."""
    averages = _walsh(as_samples(differences, least=1))
    against = min(int((averages <= 0.0).sum()), int((averages >= 0.0).sum()))
    return min(1.0, 2.0 * float(_cumulative(np.size(differences))[against]))


def paired_p_rows(differences: FloatArray) -> FloatArray:
    """The p-values of :func:`paired_p` of each row of shape (rows, n), no two of whose differences
    are of one size: the means above 0 are then the ranks of the positive ones, added up."""
    above = _ranks_above(differences)
    most = differences.shape[1] * (differences.shape[1] + 1) // 2
    against = np.minimum(above, most - above)
    return np.asarray(np.minimum(1.0, 2.0 * _cumulative(differences.shape[1])[against]))


def are_pairs_within(
    differences: FloatArray, margin: float, confidence: float = 0.9
) -> npt.NDArray[np.bool_]:
    """Of each row, whether the interval of :func:`paired_interval` lies within the margin either
    way: one-sided tests at both ends, each at half of what the confidence leaves."""
    chances = _cumulative(differences.shape[1])
    most = differences.shape[1] * (differences.shape[1] + 1) // 2
    tail = 0.5 * (1.0 - confidence) * (1.0 + 1e-9)
    below = chances[_ranks_above(differences - margin)] <= tail
    above = chances[most - _ranks_above(differences + margin)] <= tail
    return np.asarray(below & above)


def _ranks_above(differences: FloatArray) -> npt.NDArray[np.int64]:
    """The ranks, by size, of each row's positive differences, added up."""
    order = np.argsort(np.abs(differences), axis=1)
    positive = np.take_along_axis(differences > 0.0, order, axis=1)
    return np.asarray(positive @ np.arange(1, differences.shape[1] + 1))


def fewest_pairs(significance: float) -> int:
    """So many pairs can prove a shift, two-sided, at that level: all of one sign have
    p = 2 / 2^n."""
    check_share("significance", significance)
    return max(1, math.ceil(math.log2(2.0 / significance) - 1e-9))


def _walsh(differences: FloatArray) -> FloatArray:
    """The means of all pairs of values, each with itself as well; shape (n (n + 1) / 2,)."""
    first, second = np.triu_indices(differences.size)
    return np.asarray(0.5 * (differences[first] + differences[second]))


@lru_cache(maxsize=128)
def _cumulative(n: int) -> FloatArray:
    """P(at most t of the averages of n pairs lie above 0), t = 0..n (n + 1) / 2, without a shift:
    each rank from 1 to n belongs to a positive difference or not, with equal chances."""
    most = n * (n + 1) // 2
    if n > EXACT_PAIRS:
        t = np.arange(most + 1, dtype=np.float64)
        spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
        return normal_below((t + 0.5 - 0.5 * most) / spread)
    chances = np.zeros(most + 1)
    chances[0] = 1.0
    for rank in range(1, n + 1):
        moved = np.zeros_like(chances)
        moved[rank:] = chances[:-rank]
        chances = 0.5 * (chances + moved)
    return np.cumsum(chances)
