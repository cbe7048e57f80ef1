import math

import numpy as np
import pytest

from netsonde.stats.change_points import change_points


def test_a_step_is_found_where_it_is() -> None:
    random = np.random.default_rng(1)
    values = np.concatenate([random.normal(10, 0.1, 12), random.normal(11, 0.1, 15)])
    (change,) = change_points(values)
    assert change.index == 12
    assert change.first <= 12 <= change.last
    assert change.p < 0.001


def test_steps_up_and_down_are_two() -> None:
    random = np.random.default_rng(2)
    levels = np.repeat([10.0, 12.0, 10.5], [10, 9, 14])
    found = change_points(levels + random.standard_t(4, 33) * 0.1)
    assert [change.index for change in found] == [10, 19]


def test_one_slow_run_is_no_change() -> None:
    values = np.random.default_rng(3).normal(10, 0.1, 30)
    values[[7, 20]] = 40.0
    assert change_points(values) == []


def test_short_and_equal_series_have_none() -> None:
    assert change_points([1.0, 2.0, 3.0, 4.0, 5.0]) == []
    assert change_points([]) == []
    assert change_points([5.0] * 40) == []


def test_quiet_series_are_split_as_rarely_as_said() -> None:
    random = np.random.default_rng(4)
    split = sum(
        bool(change_points(random.standard_t(3, 25), 0.05, rounds=400, seed=i)) for i in range(250)
    )
    assert split / 250 <= 0.05 + 3 * math.sqrt(0.0475 / 250)


@pytest.mark.parametrize(("shift", "least"), [(3.0, 0.9), (6.0, 0.99)])
def test_power_and_the_interval_of_the_place(shift: float, least: float) -> None:
    """Shifts of 3 and 6 standard deviations after 15 of 30 runs."""
    random = np.random.default_rng(5)
    found, held = 0, 0
    for i in range(80):
        values = random.normal(size=30)
        values[15:] += shift
        changes = change_points(values, rounds=500, seed=i)
        found += len(changes) == 1
        held += any(change.first <= 15 <= change.last for change in changes)
    assert found / 80 >= least - 3 * math.sqrt(least * (1 - least) / 80)
    assert held / 80 >= 0.85


def test_the_same_seed_gives_the_same() -> None:
    values = np.random.default_rng(6).normal(size=40)
    values[22:] += 1.5
    assert change_points(values, seed=9) == change_points(values, seed=9)
