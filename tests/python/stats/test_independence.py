"""Dependence of samples, and intervals that stay true in spite of it."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy import signal, stats

from netsonde.stats.independence import (
    effective_at_value,
    effective_sample_size,
    integrated_autocorrelation_time,
)
from netsonde.stats.quantiles import quantile_interval


def ar1(
    generator: np.random.Generator, n: int, coefficient: float, runs: int = 1
) -> npt.NDArray[np.float64]:
    """Stationary AR(1) series with standard normal values, shape (runs, n)."""
    noise = generator.normal(size=(runs, n + 200)) * np.sqrt(1.0 - coefficient**2)
    series = signal.lfilter([1.0], [1.0, -coefficient], noise, axis=1)[:, 200:]
    return np.asarray(series, np.float64)


def effective_at(series: npt.NDArray[np.float64], q: float) -> float:
    return effective_at_value(series, float(np.quantile(series, q)))


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("coefficient", [0.5, 0.8])
def test_the_interval_covers_the_truth_on_dependent_samples(q: float, coefficient: float) -> None:
    runs, truth = 600, float(stats.norm.ppf(q))
    hits = naive = 0
    for series in ar1(np.random.default_rng(11), 4000, coefficient, runs):
        interval = quantile_interval(series, q, n_eff=effective_at(series, q))
        plain = quantile_interval(series, q)
        assert interval is not None
        assert plain is not None
        hits += interval.low <= truth <= interval.high
        naive += plain.low <= truth <= plain.high
    assert 0.925 <= hits / runs <= 0.975
    # Without n_eff the promise is broken, which shows that this test can fail.
    assert naive < hits
    if q == 0.5:
        assert naive / runs < 0.9


@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.9])
def test_the_effective_size_of_an_ar1_series_is_the_known_one(coefficient: float) -> None:
    series = ar1(np.random.default_rng(3), 100_000, coefficient)[0]
    known = 100_000 * (1 - coefficient) / (1 + coefficient)
    centred = series - series.mean()
    assert integrated_autocorrelation_time(centred) == pytest.approx(100_000 / known, rel=0.15)
    # Ranks of a normal series correlate a little less: 6/pi asin(rho/2) instead of rho.
    assert effective_sample_size(series) == pytest.approx(known, rel=0.2)


def test_at_the_median_the_effective_size_follows_the_sign_correlation() -> None:
    series = ar1(np.random.default_rng(4), 200_000, 0.8)[0]
    lags = np.arange(1, 200)
    known = 200_000 / (1 + 2 * np.sum(2 / np.pi * np.arcsin(0.8**lags)))
    assert effective_at(series, 0.5) == pytest.approx(known, rel=0.1)


def test_heavy_tails_do_not_hide_dependence() -> None:
    series = np.exp(3.0 * ar1(np.random.default_rng(5), 20_000, 0.9)[0])
    assert effective_sample_size(series) == pytest.approx(20_000 / 19, rel=0.3)


def test_independent_samples_are_worth_as_many_as_they_are() -> None:
    samples = np.random.default_rng(6).pareto(1.1, 10_000)
    assert effective_sample_size(samples) > 8_500


@pytest.mark.parametrize("n", [300, 3000])
def test_autocorrelation_by_fft_is_that_of_the_definition(n: int) -> None:
    series = ar1(np.random.default_rng(8), n, 0.99)[0]
    centred = series - series.mean()
    by_fft = integrated_autocorrelation_time(centred, direct_lags=0)
    direct = integrated_autocorrelation_time(centred, direct_lags=n)
    assert by_fft == pytest.approx(direct, rel=1e-9)


def test_long_correlation_takes_the_fft_and_gives_the_same() -> None:
    series = ar1(np.random.default_rng(9), 50_000, 0.99)[0]
    assert effective_sample_size(series) == pytest.approx(50_000 / 199, rel=0.4)


def test_constant_alternating_and_short_series() -> None:
    assert effective_sample_size(np.full(100, 0.1)) == 100
    alternating = np.tile([1.0, 2.0], 500)
    assert effective_sample_size(alternating) == 1000
    assert effective_sample_size([1.0]) == 1.0
    rising = np.arange(40.0)
    assert effective_sample_size(rising[:19]) == effective_at(rising[:19], 0.5) == 19
    assert effective_sample_size(rising) < 10


def test_ties_at_the_median_do_not_hide_dependence() -> None:
    series = np.round(ar1(np.random.default_rng(10), 20_000, 0.9)[0])
    assert effective_at(series, 0.5) < 20_000 / 5
