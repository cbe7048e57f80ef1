"""Student's distribution for whole degrees of freedom, without the library that has all
distributions: intervals of means and fits need it, and loading that takes a quarter of a second."""

import math
from statistics import NormalDist

_HALVINGS = 60
_MANY = 200
"""Degrees of freedom from which on four terms of the expansion are exact to 1e-8."""


def two_sided_reach(confidence: float, freedom: int) -> float:
    """The t with P(|T| <= t) = confidence, 0 < confidence < 1, freedom >= 1.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4: a finite
    sum in the angle atan(t / sqrt(freedom)), which is found by halving; and 26.7.5, an expansion in
    1 / freedom, where that is many.
    """
    if freedom >= _MANY:
        return _expanded(NormalDist().inv_cdf(0.5 + 0.5 * confidence), freedom)
    low, high = 0.0, 0.5 * math.pi
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return math.sqrt(freedom) * math.tan(0.5 * (low + high))


def _within(angle: float, freedom: int) -> float:
    """P(|T| <= sqrt(freedom) tan(angle))."""
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = freedom % 2
    term = cosine if is_odd else 1.0
    total = 0.0
    for k in range(2 + is_odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (k - 1) / k
    return 2.0 / math.pi * (angle + sine * total) if is_odd else sine * total


def _expanded(z: float, freedom: int) -> float:
    """From the quantile of the normal distribution."""
    first = z * (z**2 + 1.0) / 4.0
    second = z * (5.0 * z**4 + 16.0 * z**2 + 3.0) / 96.0
    third = z * (3.0 * z**6 + 19.0 * z**4 + 17.0 * z**2 - 15.0) / 384.0
    return z + (first + (second + third / freedom) / freedom) / freedom
