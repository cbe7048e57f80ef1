"""Whether groups of values lie at different levels."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from netsonde.stats.arrays import as_samples


def levels_differ_p(groups: Sequence[npt.ArrayLike]) -> float:
    """The p-value of "all groups lie at one level", of groups of shape (n_i,); 1 where all values
    are equal, or fewer than two groups have any.

    Source: Kruskal and Wallis, Use of Ranks in One-Criterion Variance Analysis, Journal of the
    American Statistical Association 1952; chi-squared approximation.
    """
    arrays = [array for group in groups if (array := as_samples(group)).size]
    if len(arrays) < 2 or np.ptp(np.concatenate(arrays)) == 0.0:
        return 1.0
    return float(stats.kruskal(*arrays).pvalue)
