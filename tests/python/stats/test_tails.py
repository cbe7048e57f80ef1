"""Tails and limits against a library that has all distributions, over a wide grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from netsonde.stats.tails import (
    chi_square_above,
    chi_square_reach,
    f_reach,
    normal_below,
    poisson_from,
    student_reach,
)

CHANCES = (1e-12, 1e-6, 1e-3, 0.01, 0.05, 0.3, 0.49)
FREEDOMS = (0.5, 1, 2, 3.7, 10, 63, 500, 20_000)
CLOSE = 1e-9


def test_normal():
    z = np.linspace(-37, 9, 4001)
    assert normal_below(z) == pytest.approx(special.ndtr(z), rel=1e-12)
    assert float(normal_below(0.0)) == 0.5


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_chi_square(freedom):
    for value in freedom * np.array([1e-3, 0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 5.0]):
        expected = float(special.chdtrc(freedom, value))
        assert chi_square_above(value, freedom) == pytest.approx(expected, rel=CLOSE, abs=1e-300)
    for chance in (*CHANCES, 0.9, 0.999):
        expected = float(special.chdtri(freedom, chance))
        assert chi_square_reach(freedom, chance) == pytest.approx(expected, rel=CLOSE)
    assert chi_square_above(0.0, freedom) == 1.0


@pytest.mark.parametrize("first", [1, 2, 5, 17.5, 200])
@pytest.mark.parametrize("second", [1, 3, 8.5, 40, 1000])
def test_f(first, second):
    for confidence in (0.05, 0.5, 0.9, 0.95, 0.999):
        expected = float(special.fdtri(first, second, confidence))
        assert f_reach(first, second, confidence) == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_student(freedom):
    for chance in CHANCES:
        expected = -float(special.stdtrit(freedom, chance))
        assert student_reach(freedom, chance) == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize("mean", [1e-6, 0.3, 1, 7.5, 60, 3000])
def test_poisson(mean):
    for least in {1, 2, max(1, round(mean)), round(2 * mean) + 3}:
        expected = float(special.pdtrc(least - 1, mean))
        assert poisson_from(least, mean) == pytest.approx(expected, rel=CLOSE)
