"""Distributions that times were drawn from are found, and others are told to be others; bands."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from netsonde.stats.bands import shares_by_deviation, shares_by_multiple
from netsonde.stats.distributions import LEAST_SAMPLES, fit_distributions

COUNT = 800
TRUTHS = {
    "log-normal": stats.lognorm(0.6, scale=20_000.0),
    "shifted log-normal": stats.lognorm(0.8, loc=50_000.0, scale=5_000.0),
    "gamma": stats.gamma(6.0, scale=9_000.0),
    "Weibull": stats.weibull_min(3.2, scale=30_000.0),
}


def drawn(name, count=COUNT, seed=11):
    return TRUTHS[name].rvs(size=count, random_state=np.random.default_rng(seed))


@pytest.mark.parametrize("name", list(TRUTHS))
def test_the_truth_fits_and_is_hardly_ever_rejected(name):
    fits = {fit.name: fit for fit in fit_distributions(drawn(name))}
    assert fits[name].p_value > 0.01
    best = min(fits.values(), key=lambda fit: fit.statistic)
    # A shifted log-normal with a shift of about 0 is a log-normal, and imitates a gamma well.
    assert best.name == name or best.name == "shifted log-normal"


def test_parameters_are_those_of_the_truth():
    fits = {fit.name: fit.parameters for fit in fit_distributions(drawn("log-normal"))}
    assert np.exp(fits["log-normal"]["log_mean"]) == pytest.approx(20_000, rel=0.08)
    assert fits["log-normal"]["log_deviation"] == pytest.approx(0.6, rel=0.08)
    fits = {fit.name: fit.parameters for fit in fit_distributions(drawn("shifted log-normal"))}
    assert fits["shifted log-normal"]["shift"] == pytest.approx(50_000, rel=0.05)
    fits = {fit.name: fit.parameters for fit in fit_distributions(drawn("gamma"))}
    assert fits["gamma"] == pytest.approx({"shape": 6.0, "scale": 9_000}, rel=0.12)
    fits = {fit.name: fit.parameters for fit in fit_distributions(drawn("Weibull"))}
    assert fits["Weibull"] == pytest.approx({"shape": 3.2, "scale": 30_000}, rel=0.08)


@pytest.mark.parametrize("name", ["gamma", "Weibull"])
def test_estimates_are_those_of_scipy(name):
    samples = drawn(name, 400)
    fit = next(f for f in fit_distributions(samples) if f.name == name)
    family = {"gamma": stats.gamma, "Weibull": stats.weibull_min}[name]
    shape, _, scale = family.fit(samples, floc=0)
    # As many samples are left out as they seem to depend on each other.
    assert fit.n > 350
    assert list(fit.parameters.values()) == pytest.approx([shape, scale], rel=1e-2)


def test_two_modes_are_none_of_them():
    modes = np.random.default_rng(4).permutation(
        np.concatenate([drawn("log-normal"), 20 * drawn("log-normal")])
    )
    assert all(fit.p_value <= 0.02 for fit in fit_distributions(modes))


def test_too_few_equal_or_negative_ones():
    assert fit_distributions(drawn("gamma", LEAST_SAMPLES - 1)) == ()
    assert fit_distributions(np.full(500, 7.0)) == ()
    with pytest.raises(ValueError, match="0 or less"):
        fit_distributions([1.0, 0.0])


def test_the_same_samples_give_the_same_answer():
    assert fit_distributions(drawn("gamma")) == fit_distributions(drawn("gamma"))


def test_bands_by_hand():
    times = [10, 19.9, 20, 29, 30, 45, 55, 60, 600, 10]
    assert shares_by_multiple(times) == pytest.approx([0.3, 0.2, 0.1, 0.1, 0.1, 0.2])
    assert sum(shares_by_multiple(times, 3)) == pytest.approx(1)
    times = [0.0] * 99 + [100.0]  # mean 1, deviation 9.95
    assert shares_by_deviation(times) == pytest.approx([0.99, 0, 0, 0, 0.01])
    assert shares_by_deviation([5, 5]) == (1, 0, 0, 0, 0)


def test_bands_of_a_normal_and_of_a_log_normal_distribution():
    normal = np.random.default_rng(1).normal(100, 10, 200_000)
    assert shares_by_deviation(normal) == pytest.approx(
        [0.8413, 0.1359, 0.0214, 0.00132, 0.00003], abs=0.002
    )
    assert shares_by_multiple(drawn("log-normal", 50_000))[-1] > 0.5  # the least one is far off


@pytest.mark.parametrize("bad", [[], [0.0, 1.0], [-1.0]])
def test_bands_refuse_nonsense(bad):
    with pytest.raises(ValueError, match=r".+"):
        shares_by_multiple(bad)
