"""Spearman's rank correlation and its interval."""

import math

import numpy as np
import pytest
from scipy import stats

from netsonde.stats.correlation import rank_correlation

RUNS = 600


def test_it_is_that_of_scipy_with_ties() -> None:
    generator = np.random.default_rng(5)
    x = generator.integers(0, 8, 30).astype(float)
    y = x + generator.normal(0, 3, 30)
    found = rank_correlation(x, y)
    assert found is not None
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.pairs == 30


@pytest.mark.parametrize(("x", "y"), [([], []), ([1, 2], [3, 4]), ([1, 1, 1], [1, 2, 3])])
def test_too_few_or_all_the_same_have_none(x: list[float], y: list[float]) -> None:
    assert rank_correlation(x, y) is None
    assert rank_correlation(y, x) is None


def test_three_pairs_have_no_interval() -> None:
    found = rank_correlation([1, 2, 3], [10, 30, 20])
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert found.interval is None


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize(("n", "bound"), [(4, -0.82), (5, -0.17), (10, 0.93)])
def test_perfect_order_of_few_is_not_certain(n: int, bound: float, way: int) -> None:
    """By hand: tanh(atanh(r) - 1.96 sqrt((1 + r^2 / 2) / (n - 3))), r = 1 - 12 / (n (n^2 - 1))."""
    x = np.arange(n, dtype=float)
    found = rank_correlation(x, way * x)
    assert found is not None
    assert found.value == pytest.approx(way)
    assert found.interval is not None
    ends = sorted((way * found.interval.low, way * found.interval.high))
    assert ends == pytest.approx([bound, 1.0], abs=0.01)


@pytest.mark.parametrize("truth", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("n", [5, 10, 30])
def test_the_interval_holds_the_truth(n: int, truth: float) -> None:
    """Normal pairs whose Spearman correlation is known: 6/pi asin(r/2) (Pearson 1907)."""
    pearson = 2 * math.sin(math.pi * truth / 6)
    generator = np.random.default_rng([n, round(10 * truth)])
    held = 0
    for _ in range(RUNS):
        x = generator.normal(size=n)
        y = pearson * x + math.sqrt(1 - pearson**2) * generator.normal(size=n)
        found = rank_correlation(x, y)
        assert found is not None
        assert found.interval is not None
        held += found.interval.low <= truth <= found.interval.high
    assert held / RUNS >= 0.90


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="a pair needs one of each"):
        rank_correlation([1, 2, 3], [1, 2])
