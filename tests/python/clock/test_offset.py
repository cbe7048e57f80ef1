"""Offsets and drifts that are known, found from bounds as exchanges give them."""

import numpy as np
import pytest
from scipy import optimize

from netsonde.clock import OffsetBounds, offset_at
from netsonde.clock.offset import MOST_DRIFT, _extremes, _that_bound

SECOND = 10**9


def exchanges(rng, seconds, offset_ns, drift, least_ns, mean_ns, asymmetry=0.5):
    """Bounds from exchanges whose legs take least_ns and an exponential wait more."""
    at = np.sort(rng.integers(0, seconds * SECOND, 40)) + 7 * 10**15
    truth = offset_ns + drift * (at - at[0])
    there = least_ns * 2 * asymmetry + rng.exponential(mean_ns, len(at))
    back = least_ns * 2 * (1 - asymmetry) + rng.exponential(mean_ns, len(at))
    low, high = np.floor(truth - back), np.ceil(truth + there)
    return OffsetBounds(at, low.astype(np.int64), high.astype(np.int64)), truth


@pytest.mark.parametrize("offset_ns", [0, 3 * SECOND, -(10**17)])
@pytest.mark.parametrize("drift", [0, 80e-6, -40e-6])
@pytest.mark.parametrize("asymmetry", [0.5, 0.1, 1.0])
def test_the_truth_is_always_within(offset_ns, drift, asymmetry):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        bounds, truth = exchanges(rng, 60, offset_ns, drift, 20_000, 50_000, asymmetry)
        for index in (0, 20, 39):
            found = offset_at(bounds, float(bounds.at_ns[index]))
            rounding_ns = 64  # an offset of 10**17 has no more digits in double precision
            assert found.low_ns - rounding_ns <= truth[index] <= found.high_ns + rounding_ns


def test_many_exchanges_say_more_than_the_best_of_them():
    rng = np.random.default_rng(1)
    bounds, truth = exchanges(rng, 60, 10**6, 30e-6, 0, 50_000)
    middle = offset_at(bounds, float(bounds.at_ns[20]))
    best = int(np.argmin(bounds.high_ns - bounds.low_ns))
    every = (bounds.at_ns, bounds.low_ns, bounds.high_ns)
    alone = OffsetBounds(*(values[best : best + 1] for values in every))
    assert middle.uncertainty_ns < offset_at(alone, float(bounds.at_ns[20])).uncertainty_ns / 4
    assert abs(middle.middle_ns - truth[20]) <= middle.uncertainty_ns


def test_a_symmetric_way_is_found_in_its_middle():
    rng = np.random.default_rng(2)
    bounds, truth = exchanges(rng, 60, 5000, 0, 100_000, 1_000)
    found = offset_at(bounds, float(bounds.at_ns[5]))
    assert abs(found.middle_ns - truth[5]) < 2_000 < found.uncertainty_ns


def test_outside_the_comparisons_the_drift_makes_it_less_certain():
    bounds = OffsetBounds(np.array([0]), np.array([-10]), np.array([10]))
    assert offset_at(bounds, 0.0).uncertainty_ns == pytest.approx(10)
    assert offset_at(bounds, 1e9).uncertainty_ns == pytest.approx(10 + MOST_DRIFT * 1e9)


def test_a_clock_that_was_set_leaves_the_nearest_comparison():
    at = np.array([0, SECOND, 2 * SECOND])
    offset = np.array([0, 0, 50_000_000])
    bounds = OffsetBounds(at, offset - 100, offset + 100)
    assert offset_at(bounds, 2.0e9).middle_ns == pytest.approx(50_000_000)
    assert offset_at(bounds, 0.1e9).middle_ns == pytest.approx(0)


def test_bounds_have_one_length():
    with pytest.raises(ValueError, match="one length"):
        OffsetBounds(np.array([1]), np.array([], np.int64), np.array([2]))


def solved(low, high, distance_s, steepest):
    """The same by a solver of linear programs."""
    lines = np.column_stack([np.ones_like(distance_s), distance_s])
    ends = []
    for sign in (1.0, -1.0):
        found = optimize.linprog(
            [sign, 0.0],
            A_ub=np.vstack([lines, -lines]),
            b_ub=np.concatenate([high, -low]),
            bounds=[(None, None), (-steepest, steepest)],
            method="highs",
        )
        if not found.success or found.x is None:
            return None
        ends.append(float(found.x[0]))
    return min(ends), max(ends)


@pytest.mark.parametrize("seed", range(60))
def test_few_bounds_give_what_the_solver_gives(seed):
    """In closed form, with lines that fit and without."""
    rng = np.random.default_rng(seed)
    bounds = int(rng.integers(1, 10))
    distance_s = rng.uniform(-3, 2, bounds).round(int(rng.integers(0, 4)))
    truth = rng.normal(0, 1e5) + rng.normal(0, 1e5) * distance_s
    low, high = (truth + sign * rng.exponential(5e4, bounds) for sign in (-1, 1))
    if seed % 3 == 0:
        number = int(rng.integers(bounds))
        low[number], high[number] = low[number] + 3e5, high[number] + 3e5
    found, wanted = (find(low, high, distance_s, 1e9 * MOST_DRIFT) for find in (_extremes, solved))
    assert (found is None) == (wanted is None)
    if found is not None:
        assert found == pytest.approx(wanted, abs=2)


@pytest.mark.parametrize("seed", range(60))
def test_of_many_bounds_those_of_the_hull_are_enough(seed):
    """Also with instants that coincide, bounds of one width, and none that a line fits."""
    rng = np.random.default_rng(1000 + seed)
    bounds = int(rng.integers(65, 3000))
    distance_s = rng.uniform(-30, 20, bounds).round(int(rng.integers(0, 5)))
    truth = rng.normal(0, 1e5) + rng.normal(0, 2e4) * distance_s
    low, high = (truth + sign * rng.exponential(5e4, bounds) for sign in (-1, 1))
    if seed % 4 == 0:
        low, high = truth - 300, truth + 300
    if seed % 5 == 0:
        number = int(rng.integers(bounds))
        low[number], high[number] = low[number] + 3e6, high[number] + 3e6
    kept = _that_bound(low, high, distance_s)
    assert len(kept) <= bounds
    found = _extremes(low[kept], high[kept], distance_s[kept], 1e9 * MOST_DRIFT)
    wanted = solved(low, high, distance_s, 1e9 * MOST_DRIFT)
    assert (found is None) == (wanted is None)
    if found is not None:
        assert found == pytest.approx(wanted, abs=2)
