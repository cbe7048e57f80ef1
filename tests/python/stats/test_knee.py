"""Knees of curves whose form is known."""

import numpy as np
import pytest

from netsonde.stats.knee import knee_load


def test_a_queue_with_random_arrivals_doubles_at_half_its_capacity():
    """M/M/1: response = service / (1 - load)."""
    loads = [0.05 * i for i in range(20)]
    responses = [10.0 / (1 - load) for load in loads]
    assert knee_load(loads, responses) == pytest.approx(0.5, abs=0.01)
    assert knee_load(loads, responses, factor=10) == pytest.approx(0.9, abs=0.01)


def test_a_simulated_queue():
    """Lindley's recursion with random arrivals and services; 1 % of load is as good as none."""
    rng = np.random.default_rng(5)
    services = rng.exponential(1.0, 200_000)
    loads = [0.01, 0.25, 0.4, 0.6, 0.75, 0.9]
    means = []
    for load in loads:
        gaps = rng.exponential(1.0 / load, len(services))
        wait, total = 0.0, 0.0
        for gap, service in zip(gaps.tolist(), services.tolist(), strict=True):
            wait = max(0.0, wait - gap) + service
            total += wait
        means.append(total / len(services))
    assert knee_load(loads, means) == pytest.approx(0.5, abs=0.03)


def test_no_knee_in_what_was_measured():
    assert knee_load([0, 50, 90], [10, 12, 19]) is None
    assert knee_load([50], [10]) is None


def test_a_peak_that_passes_is_no_knee():
    assert knee_load([0, 1, 2, 3], [10, 50, 10, 30]) == pytest.approx(2.5)


def test_what_is_no_curve():
    with pytest.raises(ValueError, match="2 loads and 1 responses"):
        knee_load([1, 2], [1])
    with pytest.raises(ValueError, match="increase"):
        knee_load([1, 1], [1, 2])
