import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from netsonde.stats.groups import levels_differ_p, neighbours_alike_p
from netsonde.stats.multiplicity import holm
from netsonde.stats.shift import (
    falls_p_rows,
    fewest_values,
    is_within_rows,
    rises_p_rows,
    shift_interval,
    shift_p,
    shift_p_rows,
)

VALUES = st.lists(st.floats(-100, 100), min_size=2, max_size=12)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 9), (12, 12), (50, 50)])
def test_p_is_that_of_scipy_where_no_values_are_equal(n: int, m: int) -> None:
    random = np.random.default_rng(n)
    a, b = random.normal(size=n), random.normal(0.6, 1.0, m)
    expected = stats.mannwhitneyu(a, b, method="exact").pvalue
    assert shift_p(a, b) == pytest.approx(expected, rel=1e-9)


def test_p_of_many_values_is_near_the_normal_one() -> None:
    random = np.random.default_rng(2)
    a, b = random.normal(size=80), random.normal(0.4, 1.0, 90)
    expected = stats.mannwhitneyu(a, b, method="asymptotic").pvalue
    assert shift_p(a, b) == pytest.approx(expected, rel=0.02)


def test_known_interval() -> None:
    """Differences 1..9 of three by three; P(U = 0) is 1/20, so 90 % takes the extremes."""
    found = shift_interval([0.0, 1.0, 2.0], [3.0, 6.0, 9.0], 0.9)
    assert (found.low, found.estimate, found.high) == (1.0, 5.0, 9.0)
    assert shift_interval([0.0, 1.0, 2.0], [3.0, 6.0, 9.0], 0.95).low is None


@given(VALUES, VALUES)
def test_the_interval_excludes_no_shift_exactly_where_p_is_small(
    first: list[float], second: list[float]
) -> None:
    p = shift_p(first, second)
    for confidence in (0.9, 0.95, 0.999):
        found = shift_interval(first, second, confidence)
        excluded = found.low is not None and found.high is not None and (
            found.low > 0.0 or found.high < 0.0
        )  # fmt: skip
        assert excluded == (p <= (1.0 - confidence) * (1.0 + 1e-9))


@given(VALUES, VALUES, st.floats(-10, 10))
def test_a_shift_of_one_set_moves_the_estimate(
    first: list[float], second: list[float], by: float
) -> None:
    moved = shift_interval(first, [value + by for value in second]).estimate
    assert moved == pytest.approx(shift_interval(first, second).estimate + by, abs=1e-9)


def test_levels_are_kept_with_and_without_equal_values() -> None:
    random = np.random.default_rng(7)
    for drawn in (random.normal(size=(20_000, 17)), random.integers(0, 4, (20_000, 17))):
        values = drawn.astype(np.float64)
        share = (shift_p_rows(values[:, :8], values[:, 8:]) <= 0.05).mean()
        assert share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 20_000)


def test_coverage_of_the_interval() -> None:
    random = np.random.default_rng(8)
    held = 0
    for _ in range(1500):
        a, b = random.standard_t(3, 8), random.standard_t(3, 9) + 2.0
        found = shift_interval(a, b, 0.9)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 2.0 <= found.high
    assert 0.9 - 3 * math.sqrt(0.09 / 1500) <= held / 1500 <= 0.95


def test_one_sided_and_equivalence() -> None:
    near = np.array([[1.0, 1.01, 0.99, 1.02, 0.98, 1.0]])
    assert is_within_rows(near, near + 0.005, 0.05)[0]
    assert not is_within_rows(near, near + 0.05, 0.05)[0]
    assert rises_p_rows(near, near + 1.0, 0.0)[0] == pytest.approx(1 / math.comb(12, 6))
    assert falls_p_rows(near, near + 1.0, 0.0)[0] == 1.0


def test_the_fewest_values_that_can_prove_anything() -> None:
    assert fewest_values(0.05) == 4  # 2 / C(8, 4) = 0.029
    n = fewest_values(0.05 / 100)
    assert 2 / math.comb(2 * n, n) <= 0.0005 < 2 / math.comb(2 * n - 2, n - 1)


def test_holm() -> None:
    """The example of Holm's procedure: 0.01 and 0.015 of four are kept to 0.05 / 4 and 0.05 / 3."""
    found = holm([0.04, 0.01, 0.03, 0.015])
    assert [t.rejected for t in found] == [False, True, False, True]
    assert [t.adjusted for t in found] == pytest.approx([0.06, 0.04, 0.06, 0.045])
    assert [t.level for t in found] == pytest.approx([0.025, 0.0125, 0.025, 0.05 / 3])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_rejects_what_its_adjusted_values_say(p_values: list[float]) -> None:
    for p, tested in zip(p_values, holm(p_values), strict=True):
        assert tested.adjusted >= p
        assert tested.rejected == (tested.adjusted <= 0.05 * (1 + 1e-9))
        assert tested.rejected == (p <= tested.level * (1 + 1e-9))


def test_groups_at_different_levels() -> None:
    assert levels_differ_p([[1.0, 1.1, 0.9, 1.05], [5.0, 5.1, 4.9, 5.2]]) < 0.05
    assert levels_differ_p([[1.0, 1.2, 1.1], [1.1, 1.0, 1.2]]) > 0.5
    assert levels_differ_p([[1.0, 1.0], [1.0]]) == levels_differ_p([[2.0]]) == 1.0


def test_neighbours_that_are_alike() -> None:
    random = np.random.default_rng(5)
    drift = np.arange(16) / 4 + random.normal(size=16)
    assert neighbours_alike_p(drift) < 0.02
    assert neighbours_alike_p([1.0, 9.0] * 6) > 0.99
    assert neighbours_alike_p([1.0, 2.0, 3.0]) == neighbours_alike_p([5.0] * 20) == 1.0
    share = np.mean([neighbours_alike_p(random.standard_t(4, 10)) <= 0.05 for _ in range(2000)])
    assert abs(share - 0.05) < 0.02
