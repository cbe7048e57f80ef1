"""Whether two figures rise and fall together: Spearman's rank correlation."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples, check_share, midranks
from netsonde.stats.quantiles import Interval

LEAST_PAIRS = 3
LEAST_FOR_INTERVAL = 4
"""The interval's standard error has n - 3 below."""


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """``value`` is from -1 to 1; ``interval`` is None for fewer than four pairs."""

    value: float
    interval: Interval | None
    pairs: int


def rank_correlation(
    x: npt.ArrayLike, y: npt.ArrayLike, confidence: float = 0.95
) -> RankCorrelation | None:
    """Spearman's correlation of pairs, shapes (n,) and (n,), any unit; ties have their mean rank.

    None for fewer than three pairs, or where all x or all y are equal. The interval is that of
    Fisher's transformation with the standard error sqrt((1 + r^2 / 2) / (n - 3)). At r = 1 or -1,
    which few pairs reach by chance, that formula has no width; the other bound is then taken at the
    next value that n pairs without ties can have, 1 - 12 / (n (n^2 - 1)), and r is a bound itself.

    Source: D. Bonett, T. Wright, Sample Size Requirements for Estimating Pearson, Kendall and
    Spearman Correlations, Psychometrika 65, 2000. Raises ``ValueError`` for unequal shapes.
    """
    xs, ys = as_samples(x), as_samples(y)
    if xs.size != ys.size:
        raise ValueError(f"{xs.size} x and {ys.size} y given; a pair needs one of each")
    check_share("confidence", confidence)
    n = xs.size
    if n < LEAST_PAIRS or np.ptp(xs) == 0.0 or np.ptp(ys) == 0.0:
        return None
    ranks = np.corrcoef(midranks(xs), midranks(ys))
    value = float(np.clip(ranks[0, 1], -1.0, 1.0))
    if n < LEAST_FOR_INTERVAL:
        return RankCorrelation(value, None, n)
    most = 1.0 - 12.0 / (n * (n * n - 1.0))
    inner = min(max(value, -most), most)
    reach = NormalDist().inv_cdf(0.5 + 0.5 * confidence)
    reach *= math.sqrt((1.0 + inner * inner / 2.0) / (n - 3))
    low, high = (math.tanh(math.atanh(inner) + way * reach) for way in (-1.0, 1.0))
    return RankCorrelation(value, Interval(min(low, value), max(high, value), confidence), n)
