"""Whether intervals of means hold the truth as often as they say, and when there is none."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import signal

from netsonde.stats.means import LEAST_FOR_A_MEAN, mean_interval, standard_error

Floats = npt.NDArray[np.float64]
RUNS = 1000
SAMPLES = 600
SPIKE = 10.0


def dependent(random: np.random.Generator, rho: float) -> Floats:
    """Standard normal, with that lag-1 autocorrelation, shape (RUNS, SAMPLES)."""
    noise = random.standard_normal((RUNS, SAMPLES + 100)) * math.sqrt(1 - rho * rho)
    return np.asarray(signal.lfilter([1.0], [1.0, -rho], noise, axis=-1)[:, 100:])


def spikes(random: np.random.Generator) -> Floats:
    return np.where(random.random((RUNS, SAMPLES)) < 0.01, SPIKE, 1.0)


KINDS: dict[str, tuple[Callable[[np.random.Generator], Floats], float]] = {
    "even": (lambda r: np.exp(0.3 * dependent(r, 0.0)), math.exp(0.045)),
    "heavy": (lambda r: np.exp(dependent(r, 0.0)), math.exp(0.5)),
    "power law": (lambda r: r.pareto(3.0, (RUNS, SAMPLES)) + 1.0, 1.5),
    "late ones": (lambda r: np.exp(0.1 * dependent(r, 0.0)) * spikes(r), math.exp(0.005) * 1.09),
    "dependent": (lambda r: np.exp(0.3 * dependent(r, 0.6)), math.exp(0.045)),
    "very dependent": (lambda r: np.exp(0.3 * dependent(r, 0.9)), math.exp(0.045)),
    "dependent with late ones": (
        lambda r: np.exp(0.15 * dependent(r, 0.6)) * spikes(r),
        math.exp(0.01125) * 1.09,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_interval_of_a_mean_holds_it_as_often_as_it_says(kind: str) -> None:
    draw, truth = KINDS[kind]
    found = [mean_interval(row) for row in draw(np.random.default_rng(5))]
    held = sum(i is not None and i.low <= truth <= i.high for i in found) / RUNS
    assert held >= 0.92, held
    assert all(i is not None and i.low < i.high for i in found)


def test_dependence_makes_it_wider_than_independent_samples_would() -> None:
    row = np.exp(0.3 * dependent(np.random.default_rng(2), 0.9)[0])
    found = mean_interval(row)
    assert found is not None
    assert found.half_width > 2 * 1.96 * standard_error(row)


def test_of_few_samples_and_of_one_nothing_is_said() -> None:
    values = np.arange(float(LEAST_FOR_A_MEAN))
    assert mean_interval(values) is not None
    assert mean_interval(values[1:]) is None
    assert math.isnan(standard_error([7.0]))
    same = mean_interval(np.full(600, 40.0))
    assert same is not None
    assert (same.low, same.high) == (40.0, 40.0)


def test_skewness_shifts_it_towards_the_tail() -> None:
    row = np.random.default_rng(3).normal(10.0, 0.1, LEAST_FOR_A_MEAN)
    row[-50:] += 5.0  # one part of ten
    above, below = mean_interval(row), mean_interval(-row)
    assert above is not None
    assert below is not None
    mean = float(row.mean())
    assert above.high - mean > 1.2 * (mean - above.low)
    assert (below.low, below.high) == pytest.approx((-above.high, -above.low))
