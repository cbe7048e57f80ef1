"""An interval is never narrower than what the samples resolve."""

from __future__ import annotations

import numpy as np
import pytest

from netsonde.figures.headlines import LaunchValue, over_launches
from netsonde.figures.maker import Maker
from netsonde.records.data import Point
from netsonde.stats.quantiles import Interval, quantile_interval
from netsonde.stats.resolution import grid_of, with_width


@pytest.mark.parametrize("tick", [1, 7, 1000, 40_000_000])
def test_the_grid_of_a_clock_is_found_from_its_samples(tick: int) -> None:
    random = np.random.default_rng(tick)
    assert grid_of(random.integers(1, 50, 40) * tick) == tick
    assert grid_of(np.full(40, 3 * tick)) == 0.0
    assert grid_of(random.normal(size=40)) == 0.0
    assert grid_of([]) == 0.0


@pytest.mark.parametrize("tick", [100, 1000, 10_000])
def test_what_a_coarse_clock_says_holds_the_truth(tick: int) -> None:
    """Durations of two stamps, each rounded down to the clock's tick; their median is known."""
    random = np.random.default_rng(tick)
    held = narrow = made = 0
    for _ in range(400):
        begin = random.uniform(0, 1e6, 60)
        true = random.normal(30_000 + random.uniform(0, tick), 10, 60)
        told = (begin + true) // tick * tick - begin // tick * tick
        found = with_width(quantile_interval(told, 0.5), told, 1.0)
        if found is None:  # all alike
            continue
        made += 1
        narrow += quantile_interval(told, 0.5).half_width == 0.0
        held += found.low <= float(np.median(true)) <= found.high
    assert held >= 0.95 * made
    assert made > 200
    assert narrow > 100


def test_an_interval_with_a_width_stays_as_it_is() -> None:
    own = Interval(3.0, 5.0, 0.95)
    assert with_width(own, [3.0, 4.0, 5.0], 1.0) is own
    assert with_width(None, [3.0], 1.0) is None


def test_times_that_are_all_alike_have_none_and_rates_that_of_a_clock() -> None:
    alike = Interval(20_000.0, 20_000.0, 0.95)
    assert with_width(alike, np.full(9, 20_000), 1.0) is None
    nearly = np.array([20_000] * 9 + [20_001])
    assert with_width(alike, nearly, 1.0) == Interval(19_999.0, 20_001.0, 0.95)
    rates = with_width(Interval(1e9, 1e9, 0.95), np.full(9, 1e9))
    assert rates == Interval(999_999_000.0, 1_000_001_000.0, 0.95)
    often_none = np.array([0.0] * 9 + [3.0])
    assert with_width(Interval(0.0, 0.0, 0.95), often_none, 1.0) == Interval(0.0, 3.0, 0.95)
    assert with_width(Interval(0.0, 0.0, 0.95), np.zeros(9)) is None


def test_a_ratio_of_one_or_two_is_no_grid() -> None:
    found = with_width(Interval(1.0, 1.0, 0.95), [1.0] * 8 + [2.0])
    assert found is not None
    assert found.high - found.low == pytest.approx(2e-6)


def test_nothing_that_was_received_at_all_has_no_interval_and_says_why() -> None:
    maker = Maker(Point("p001", "udp", "stream", {"message_bytes": 64}, "finished"))
    figure = maker.quantile("throughput_bit_per_s", np.zeros(8), 0.5, method="throughput#stream")
    assert (figure.low, figure.high) == (None, None)
    assert figure.why_no_interval == "no interval: one value of all of it"


@pytest.mark.parametrize("count", [2, 5, 6, 9])
def test_launches_that_are_alike_are_known_as_exactly_as_each_of_them(count: int) -> None:
    launches = [LaunchValue(n, 20.0, 19.0 - n / 100, 21.0) for n in range(count)]
    over = over_launches(launches)
    assert (over.low, over.high, over.basis) == (min(v.low or 0 for v in launches), 21.0, "span")
    counted = over_launches([LaunchValue(n, 3.0, None, None, (), True) for n in range(count)])
    assert (counted.low, counted.high, counted.basis) == (None, None, "none")
