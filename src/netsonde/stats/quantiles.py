"""Sample quantiles and intervals for the quantile of the population that assume no distribution.

The interval of a quantile is a pair of order statistics. How many of n independent samples lie
below the true quantile is binomial whatever the distribution is, so the ranks follow from n, q and
the confidence alone.

Sources: Le Boudec, Performance Evaluation of Computer and Communication Systems, EPFL Press 2010,
theorem 2.1 and appendix A; Hoefler and Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015, section 3.1.3.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, check_share
from netsonde.stats.binomial import binomial_quantile


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval, in the unit of the samples, that holds the truth at ``confidence``."""

    low: float
    high: float
    confidence: float

    @property
    def half_width(self) -> float:
        """Half of high - low, in the unit of the samples."""
        return 0.5 * (self.high - self.low)


def quantile(samples: npt.ArrayLike, q: float, *, presorted: bool = False) -> float:
    """The sample quantile of order q (0 <= q <= 1), in the unit of the samples.

    Linear between order statistics: Hyndman and Fan, Sample Quantiles in Statistical Packages, The
    American Statistician 1996, definition 7. ``presorted`` spares the sort. Raises ``ValueError``
    for no samples or q outside 0..1.
    """
    return float(quantiles(samples, [q], presorted=presorted)[0])


def quantiles(samples: npt.ArrayLike, q: npt.ArrayLike, *, presorted: bool = False) -> FloatArray:
    """Sample quantiles, shape (n,) and (m,) to (m,); see :func:`quantile`."""
    array = as_samples(samples, least=1)
    orders = np.asarray(q, dtype=np.float64)
    if orders.ndim != 1 or not ((orders >= 0.0) & (orders <= 1.0)).all():
        raise ValueError(f"orders of quantiles are {orders}; expected a list of numbers in 0..1")
    if not presorted:
        array = np.sort(array)
    place = orders * (array.size - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, array.size - 1)
    # This form keeps the result between its neighbours and rising with q in spite of rounding.
    value = array[below] + (place - below) * (array[above] - array[below])
    return np.clip(value, array[below], array[above])


def interval_ranks(n: int, q: float, confidence: float = 0.95) -> tuple[int, int] | None:
    """Ranks (j, k), 1 <= j < k <= n, of the order statistics that enclose the quantile of order q.

    With B binomial(n, q): P(x_(j) <= quantile <= x_(k)) >= P(j <= B <= k - 1) >= ``confidence``.
    The error is shared equally between the two sides; where one side cannot reach its half even
    with the extreme sample, the other side gets what is left. None where n is too small for the
    confidence.

    Source: Le Boudec 2010, theorem 2.1. Raises ``ValueError`` for q or confidence outside (0, 1) or
    n < 0.
    """
    check_share("order of the quantile", q)
    check_share("confidence", confidence)
    if n < 0:
        raise ValueError(f"number of samples is {n}; expected 0 or more")
    miss_above, miss_below = q**n, (1.0 - q) ** n
    alpha = 1.0 - confidence
    # 1 - 0.95 is not exactly 0.05; rounding must not ask for one sample more.
    if n < 2 or miss_above + miss_below > alpha * (1.0 + 1e-12):
        return None
    below = max(alpha / 2, miss_below) if miss_above <= alpha / 2 else alpha - miss_above
    above = max(alpha / 2, miss_above) if miss_below <= alpha / 2 else alpha - miss_below
    low = max(1, binomial_quantile(below, n, q))
    high = min(n, binomial_quantile(1.0 - above, n, q) + 1)
    return (low, high) if low < high else None


def quantile_interval(
    samples: npt.ArrayLike,
    q: float,
    confidence: float = 0.95,
    *,
    n_eff: float | None = None,
    presorted: bool = False,
) -> Interval | None:
    """Two-sided interval of the quantile of order q, unit of the samples; None if n is short.

    ``n_eff`` is the effective number of samples where they are autocorrelated (see
    :func:`netsonde.stats.independence.effective_at_value`). The ranks (j, k) are those of
    n_eff independent samples; rank j of n_eff has the expected level j / (n_eff + 1), and the order
    statistic of the n samples at that level is taken, rounded outwards. With n_eff = n this is the
    plain interval. It is justified because the variance of a sample quantile of a stationary mixing
    sequence is that of n_eff independent samples (Sen, Journal of Multivariate Analysis 1972).

    Source: Le Boudec 2010, theorem 2.1. Raises ``ValueError`` for no samples, n_eff <= 0, or shares
    outside (0, 1).
    """
    array = as_samples(samples, least=1)
    n = array.size
    if n_eff is not None and not n_eff > 0:
        raise ValueError(f"effective number of samples is {n_eff}; expected more than 0")
    effective = n if n_eff is None else min(n, math.floor(n_eff))
    ranks = interval_ranks(effective, q, confidence)
    if ranks is None:
        return None
    ordered = array if presorted else np.sort(array)
    scale = (n + 1) / (effective + 1)
    low = max(1, math.floor(ranks[0] * scale))
    high = min(n, math.ceil(ranks[1] * scale))
    return Interval(float(ordered[low - 1]), float(ordered[high - 1]), confidence)


def least_samples(q: float) -> int:
    """The fewest samples of which a quantile of order q above the median is more than the largest
    of them by another name: of 1 / (1 - q) one is expected beyond it. 10 for p90, 100 for p99,
    1000 for p99.9; 1 up to the median. Raises ``ValueError`` for q outside (0, 1).
    """
    check_share("order of the quantile", q)
    return 1 if q <= 0.5 else math.ceil(1.0 / (1.0 - q) - 1e-6)


def samples_needed(q: float, confidence: float = 0.95) -> int:
    """The smallest number of independent samples for which the interval of order q exists.

    Smallest n with q^n + (1 - q)^n <= 1 - confidence: 6 for the median at 0.95, 299 for p99.
    Source: Le Boudec 2010, theorem 2.1 with j = 1, k = n. Raises ``ValueError`` for shares
    outside (0, 1).
    """
    check_share("order of the quantile", q)
    check_share("confidence", confidence)
    larger = max(q, 1.0 - q)
    n = max(2, math.floor(math.log(1.0 - confidence) / math.log(larger)) - 1)
    while interval_ranks(n, q, confidence) is None:
        n += 1
    return n
