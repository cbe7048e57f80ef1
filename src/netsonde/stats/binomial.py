"""Quantiles of the binomial distribution, without the library that has all distributions: every
command that measures needs these, and loading it takes a quarter of a second."""

import math

import numpy as np

_REACH_DEVIATIONS = 12.0
_REACH_LEAST = 40
"""What is further from the mean has less than 1e-30 of the probability."""
_ROUNDING = 1e-12


def binomial_quantile(share: float, n: int, q: float) -> int:
    """The least k with P(B <= k) >= share, B binomial(n, q), n >= 1 and 0 < q < 1.

    Probabilities are sums of those near the mean, each made of its neighbour's by
    P(k + 1) / P(k) = (n - k) q / ((k + 1) (1 - q)), over their sum.
    """
    mean = n * q
    reach = _REACH_DEVIATIONS * math.sqrt(mean * (1.0 - q)) + _REACH_LEAST
    first, last = max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach))
    k = np.arange(first, last, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - k) / (k + 1.0) * (q / (1.0 - q))))])
    below = np.cumsum(np.exp(logs - logs.max()))
    return first + int(np.searchsorted(below, share * (1.0 - _ROUNDING) * below[-1]))
