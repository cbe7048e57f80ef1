"""Where the sum of pairs stops growing, of sums that are known."""

from __future__ import annotations

import pytest

from netsonde.model.capacity import ceiling


def sums(each: float, most: float, pairs: int) -> dict[int, float]:
    return {n: min(n * each, most) for n in range(1, pairs + 1)}


def test_a_limit_is_found_where_it_begins() -> None:
    end = ceiling(sums(10.0, 35.0, 6))
    assert end is not None
    assert (end.pairs, end.rate, end.free) == (4, pytest.approx(35.0), 60.0)


@pytest.mark.parametrize(
    "given",
    [
        sums(10.0, 1000.0, 6),  # it grows to the last
        sums(10.0, 55.0, 6),  # full with the last alone
        {1: 10.0, 2: 10.0},  # of two numbers nothing is said
        {},
    ],
)
def test_where_it_grows_on_nothing_is_said(given: dict[int, float]) -> None:
    assert ceiling(given) is None


def test_numbers_may_be_apart_and_sums_scatter() -> None:
    end = ceiling({1: 9.8, 4: 40.2, 8: 61.0, 12: 58.5, 16: 60.1})
    assert end is not None
    assert end.pairs == 8
    assert end.rate == pytest.approx(60.0, rel=0.02)
