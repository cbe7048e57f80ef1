"""Quantiles and their intervals: known ranks, and coverage that is what was promised."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from netsonde.stats.quantiles import (
    interval_ranks,
    quantile,
    quantile_interval,
    quantiles,
    samples_needed,
)

Array = npt.NDArray[np.float64]
RUNS = 2000
VALUES = st.lists(st.integers(0, 10**9), min_size=1, max_size=60)


def exponential(generator: np.random.Generator, n: int) -> Array:
    return generator.exponential(1.0, n)


def lognormal(generator: np.random.Generator, n: int) -> Array:
    return generator.lognormal(0.0, 1.0, n)


def bimodal(generator: np.random.Generator, n: int) -> Array:
    late = generator.random(n) < 0.3
    return np.where(late, generator.normal(55.0, 3.0, n), generator.normal(12.0, 1.0, n))


def bimodal_truth(q: float) -> float:
    grid = np.linspace(5.0, 75.0, 700_001)
    below = 0.3 * special.ndtr((grid - 55.0) / 3.0) + 0.7 * special.ndtr(grid - 12.0)
    return float(grid[np.searchsorted(below, q)])


TRUTH: dict[str, tuple[Callable[[np.random.Generator, int], Array], Callable[[float], float]]] = {
    "exponential": (exponential, lambda q: float(stats.expon.ppf(q))),
    "lognormal": (lognormal, lambda q: float(np.exp(stats.norm.ppf(q)))),
    "bimodal": (bimodal, bimodal_truth),
}


@pytest.mark.parametrize("shape", list(TRUTH))
@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_the_interval_covers_the_truth_as_often_as_promised(shape: str, q: float) -> None:
    generator = np.random.default_rng(20240501)
    draw, truth = TRUTH[shape][0], TRUTH[shape][1](q)
    hits = 0
    for _ in range(RUNS):
        interval = quantile_interval(draw(generator, 3000), q)
        assert interval is not None
        hits += interval.low <= truth <= interval.high
    assert 0.935 <= hits / RUNS <= 0.97


def test_known_ranks_of_the_median() -> None:
    # Le Boudec 2010, table A.1.
    assert interval_ranks(5, 0.5) is None
    assert interval_ranks(6, 0.5) == (1, 6)
    assert interval_ranks(10, 0.5) == (2, 9)
    assert interval_ranks(30, 0.5) == (10, 21)
    assert interval_ranks(70, 0.5) == (27, 44)


def test_of_large_samples_ranks_are_those_of_hoefler_and_belli() -> None:
    n, z = 1000, 1.959964
    expected = (int((n - z * n**0.5) // 2), int(np.ceil(1 + (n + z * n**0.5) / 2)))
    exact = interval_ranks(n, 0.5)
    assert exact is not None
    assert abs(exact[0] - expected[0]) <= 1
    assert abs(exact[1] - expected[1]) <= 1


@pytest.mark.parametrize("q", [0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_ranks_keep_the_confidence_exactly(q: float, confidence: float) -> None:
    for n in [2, 6, 10, 50, 100, 299, 300, 459, 1000, 3000, 10_000]:
        ranks = interval_ranks(n, q, confidence)
        if ranks is None:
            assert q**n + (1 - q) ** n > 1 - confidence
            continue
        low, high = ranks
        covered = stats.binom.cdf(high - 1, n, q) - stats.binom.cdf(low - 1, n, q)
        assert covered >= confidence - 1e-9


def test_samples_needed_is_the_least_number() -> None:
    assert samples_needed(0.5) == 6
    assert samples_needed(0.99) == 299
    assert samples_needed(0.01) == 299
    assert interval_ranks(298, 0.99) is None
    assert interval_ranks(299, 0.99) is not None


def test_fewer_effective_samples_widen_the_interval_by_the_root() -> None:
    samples = np.random.default_rng(7).normal(size=10_000)
    plain = quantile_interval(samples, 0.5)
    dependent = quantile_interval(samples, 0.5, n_eff=10_000 / 9)
    assert plain is not None
    assert dependent is not None
    assert dependent.half_width / plain.half_width == pytest.approx(3.0, rel=0.15)
    assert quantile_interval(samples, 0.5, n_eff=5.0) is None
    assert quantile_interval(samples, 0.5, n_eff=10_000.0) == plain


@given(VALUES, st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_quantiles_rise_with_their_order_and_agree_with_numpy(
    values: list[int], orders: list[float]
) -> None:
    orders = sorted(orders)
    found = quantiles(values, orders)
    assert (np.diff(found) >= 0).all()
    assert found == pytest.approx(np.quantile(values, orders), rel=1e-9, abs=1e-6)


@given(VALUES, st.randoms(use_true_random=False), st.integers(-8, 8))
def test_order_and_unit_of_the_samples_do_not_matter(
    values: list[int], random: object, power: int
) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert quantile(shuffled, 0.9) == quantile(values, 0.9)
    assert quantile_interval(shuffled, 0.5) == quantile_interval(values, 0.5)
    scale = 2.0**power  # exact in binary
    scaled = quantile_interval(np.array(values) * scale, 0.5)
    plain = quantile_interval(values, 0.5)
    assert (scaled is None) == (plain is None)
    if scaled is not None and plain is not None:
        assert (scaled.low, scaled.high) == (plain.low * scale, plain.high * scale)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 1000), min_size=6, max_size=60))
def test_the_interval_holds_the_sample_median(values: list[int]) -> None:
    interval = quantile_interval(values, 0.5)
    assert interval is not None
    assert interval.low <= quantile(values, 0.5) <= interval.high


@pytest.mark.parametrize(
    ("samples", "q"), [([], 0.5), ([1.0], 1.5), ([[1.0]], 0.5), ([float("nan")], 0.5)]
)
def test_bad_input_is_refused_in_words(samples: list[float], q: float) -> None:
    with pytest.raises(ValueError, match=r"samples|quantile"):
        quantile(samples, q)


@given(
    n=st.integers(2, 200_000),
    q=st.floats(0.001, 0.999),
    confidence=st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999999]),
)
@settings(max_examples=300)
def test_ranks_are_the_quantiles_of_the_binomial_distribution(
    n: int, q: float, confidence: float
) -> None:
    alpha = 1.0 - confidence
    if q**n > alpha / 2 or (1.0 - q) ** n > alpha / 2:
        return  # one side has less than its half
    low = max(1, int(stats.binom.ppf(alpha / 2, n, q)))
    high = min(n, int(stats.binom.isf(alpha / 2, n, q)) + 1)
    assert interval_ranks(n, q, confidence) == ((low, high) if low < high else None)
