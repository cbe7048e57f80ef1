"""Whether groups of values lie at different levels, and whether neighbours are alike."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples, midranks
from netsonde.stats.tails import chi_square_above, normal_below

_LEAST_NEIGHBOURS = 8
"""Fewer values do not tell, and the normal form of the statistic does not hold."""


def levels_differ_p(groups: Sequence[npt.ArrayLike]) -> float:
    """The p-value of "all groups lie at one level", of groups of shape (n_i,); 1 where all values
    are equal, or fewer than two groups have any.

    Source: Kruskal and Wallis, Use of Ranks in One-Criterion Variance Analysis, Journal of the
    American Statistical Association 1952; chi-squared approximation.
    """
    arrays = [array for group in groups if (array := as_samples(group)).size]
    if len(arrays) < 2 or np.ptp(np.concatenate(arrays)) == 0.0:
        return 1.0
    together = np.concatenate(arrays)
    n = together.size
    ranks = np.split(midranks(together), np.cumsum([array.size for array in arrays])[:-1])
    between = sum(float(part.sum()) ** 2 / part.size for part in ranks)
    ties = np.unique(together, return_counts=True)[1].astype(np.float64)
    untied = 1.0 - float((ties**3 - ties).sum()) / (float(n) ** 3 - n)
    statistic = (12.0 / (n * (n + 1.0)) * between - 3.0 * (n + 1.0)) / untied
    return chi_square_above(max(0.0, statistic), len(arrays) - 1)


def neighbours_alike_p(values: npt.ArrayLike) -> float:
    """The one-sided p-value of "the order means nothing" against "neighbours are alike", of values
    of shape (n,) in the order they were measured; 1 for fewer than 8, or equal ones.

    Source: Bartels, The Rank Version of von Neumann's Ratio Test for Randomness, Journal of the
    American Statistical Association 1982; normal approximation.
    """
    array = as_samples(values)
    n = array.size
    if n < _LEAST_NEIGHBOURS or np.ptp(array) == 0.0:
        return 1.0
    ranks = midranks(array)
    ratio = float((np.diff(ranks) ** 2).sum() / ((ranks - ranks.mean()) ** 2).sum())
    variance = 4.0 * (n - 2) * (5.0 * n**2 - 2.0 * n - 9.0) / (5.0 * n * (n + 1) * (n - 1.0) ** 2)
    return float(normal_below((ratio - 2.0) / variance**0.5))
