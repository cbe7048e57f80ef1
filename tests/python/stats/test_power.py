import math

import numpy as np
import pytest
from scipy import stats

from netsonde.stats.pairs import are_pairs_within, paired_interval, paired_p, paired_p_rows
from netsonde.stats.power import drawn_like, plan_launches, power_of
from netsonde.stats.shift import fewest_values


def test_a_plan_of_normal_noise_is_near_the_textbook_one() -> None:
    """Of the t test n = 2 ((z_a + z_b) s / d)^2; ranks need pi / 3 times as many."""
    pilot = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    plan = plan_launches(pilot, 0.7, 0.9, significance=0.05)
    textbook = 2 * ((stats.norm.ppf(0.975) + stats.norm.ppf(0.9)) / 0.7) ** 2 * math.pi / 3
    assert plan.launches is not None
    assert abs(plan.launches / textbook - 1.0) < 0.12
    assert plan.noise == pytest.approx(1.0, rel=0.01)
    assert plan.power >= 0.9


def test_a_plan_gets_dearer_with_noise_fewer_launches_and_a_stricter_level() -> None:
    pilot = np.random.default_rng(1).normal(size=8) * 0.01
    plain = plan_launches(pilot, 0.03, 0.9)
    strict = plan_launches(pilot, 0.03, 0.9, significance=0.001)
    noisy = plan_launches(3 * pilot, 0.03, 0.9)
    assert plain.launches is not None
    assert strict.launches is not None
    assert noisy.launches is not None
    assert plain.launches_safe is not None
    assert plain.launches < strict.launches
    assert plain.launches < noisy.launches
    assert plain.launches <= plain.launches_safe
    assert plain.noise < plain.noise_high
    assert plain.launches >= fewest_values(0.05)


def test_too_much_noise_has_no_plan() -> None:
    pilot = np.random.default_rng(1).normal(size=30)
    assert plan_launches(pilot, 0.001, 0.9, rounds=400).launches is None


def test_power_without_a_shift_is_the_level() -> None:
    pilot = np.random.default_rng(3).standard_t(4, 50)
    assert power_of(pilot, 0.0, 12, significance=0.05) <= 0.05 + 3 * math.sqrt(0.0475 / 2000)


def test_a_shift_within_the_margin_is_not_found() -> None:
    pilot = np.random.default_rng(3).normal(size=50) * 0.001
    assert power_of(pilot, 0.01, 30) == 1.0
    assert power_of(pilot, 0.01, 30, margin=0.03) == 0.0


def test_draws_keep_spread_and_shape() -> None:
    random = np.random.default_rng(4)
    values = random.standard_t(3, 3000)
    drawn = drawn_like(values, (200_000,), random)
    assert drawn.std() == pytest.approx(values.std(ddof=1), rel=0.05)
    assert stats.kurtosis(drawn) > 2.0
    assert abs(stats.kurtosis(drawn_like(values[:6], (200_000,), random))) < 1.5


def test_what_cannot_be_planned_is_refused() -> None:
    for pilot, shift in (([1.0, 1.0, 1.0], 0.1), ([1.0, 2.0, 3.0], 0.0), ([1.0, 2.0], 0.1)):
        with pytest.raises(ValueError, match=r"needs|needed"):
            plan_launches(pilot, shift)


def test_rows_of_pairs_are_judged_as_each_alone() -> None:
    drawn = np.random.default_rng(8).standard_normal((40, 9)) + 0.6
    assert paired_p_rows(drawn).tolist() == [paired_p(row) for row in drawn]
    ends = [paired_interval(row, 0.9) for row in drawn]
    within = [(e.low or 0.0) > -1.0 and (e.high or 9.0) < 1.0 for e in ends]
    assert are_pairs_within(drawn, 1.0).tolist() == within
    assert 0 < sum(within) < 40


def test_nothing_is_found_in_pairs_more_often_than_may_be() -> None:
    pilot = np.random.default_rng(3).standard_normal(50)
    assert power_of(pilot, 0.0, 12, paired=True) <= 0.05 + 3 * math.sqrt(0.0475 / 2000)
    assert plan_launches(pilot, 1.0, 0.9, paired=True).noise == pytest.approx(
        np.sqrt(np.mean(pilot**2))
    )
    with pytest.raises(ValueError, match="a plan needs"):
        plan_launches([0.0, 0.0, 0.0], 1.0, paired=True)
