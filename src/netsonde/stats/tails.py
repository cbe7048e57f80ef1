"""Tails and limits of the normal, chi-square, F, Student's and Poisson's distribution, without the
library that has all distributions: what every measurement and report needs of them is this.

Sources: Abramowitz and Stegun, Handbook of Mathematical Functions, chapters 6 and 26 (series and
continued fractions of the incomplete gamma and beta functions); W. Lentz, Applied Optics 15, 1976
(how continued fractions are evaluated). Right to 1e-10 of themselves, which tests hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
_SMALLEST = 1e-300
_LARGEST = 1e300
_HALVINGS = 80
_EXACT = 1e-16
_MOST_TERMS = 100_000
_erfc = np.frompyfunc(math.erfc, 1, 1)


def normal_below(z: npt.ArrayLike) -> FloatArray:
    """P(Z <= z) of the standard normal distribution, of any shape."""
    places = np.asarray(z, np.float64)
    return 0.5 * np.asarray(_erfc(-places / math.sqrt(2.0)), np.float64)


def chi_square_above(value: float, freedom: float) -> float:
    """P(X >= value) for ``freedom`` > 0 degrees of freedom."""
    return _gamma(0.5 * freedom, 0.5 * value)[1]


def chi_square_reach(freedom: float, chance: float) -> float:
    """The value that X exceeds with ``chance``, 0 < chance < 1."""
    return _where(lambda value: chi_square_above(value, freedom) > chance)


def f_reach(first: float, second: float, confidence: float) -> float:
    """The value that F of these degrees of freedom stays below with ``confidence``."""

    def is_below(value: float) -> bool:
        share = 1.0 / (1.0 + value * (first / second))
        return _beta(0.5 * second, 0.5 * first, share) > 1.0 - confidence

    return _where(is_below)


def student_reach(freedom: float, chance: float) -> float:
    """The value that T exceeds with ``chance``, 0 < chance < 0.5."""

    def is_below(value: float) -> bool:
        share = 1.0 / (1.0 + value * (value / freedom))
        return 0.5 * _beta(0.5 * freedom, 0.5, share) > chance

    return _where(is_below, most=1e150)


def poisson_from(least: int, mean: float) -> float:
    """P(N >= least), least >= 1."""
    return _gamma(least, mean)[0]


def _where(is_below: Callable[[float], bool], most: float = _LARGEST) -> float:
    """The positive value up to which it holds, by halving on a logarithmic scale."""
    low, high = math.log(_SMALLEST), math.log(most)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_below(math.exp(middle)) else (low, middle)
    return math.exp(0.5 * (low + high))


def _gamma(a: float, x: float) -> tuple[float, float]:
    """The incomplete gamma function's shares (P, Q) below and above x; the smaller one is exact."""
    if x <= 0.0:
        return 0.0, 1.0
    size = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        for k in range(1, _MOST_TERMS):
            term *= x / (a + k)
            total += term
            if term < _EXACT * total:
                break
        return size * total, 1.0 - size * total
    terms = ((-k * (k - a), x + 1.0 - a + 2 * k) for k in count(1))
    above = size / _fraction(x + 1.0 - a, terms)
    return 1.0 - above, above


def _beta(a: float, b: float, x: float) -> float:
    """The incomplete beta function's share below x, 0 <= x <= 1."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta(b, a, 1.0 - x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    size = math.exp(logarithm + a * math.log(x) + b * math.log1p(-x)) / a
    return size / _fraction(1.0, ((term, 1.0) for term in _beta_terms(a, b, x)))


def _beta_terms(a: float, b: float, x: float) -> Iterator[float]:
    for k in count():
        yield -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        yield (k + 1) * (b - k - 1) * x / ((a + 2 * k + 1) * (a + 2 * k + 2))


def _fraction(first: float, terms: Iterator[tuple[float, float]]) -> float:
    """first + a1 / (b1 + a2 / (b2 + ...)) of pairs (a, b)."""
    value = above = first or _SMALLEST
    below = 0.0
    for _, (a, b) in zip(range(_MOST_TERMS), terms, strict=False):
        below = 1.0 / ((b + a * below) or _SMALLEST)
        above = (b + a / above) or _SMALLEST
        factor = above * below
        value *= factor
        if abs(factor - 1.0) < _EXACT:
            break
    return value
