"""Bounds that follow from settings: printed figures, and proportions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model.limits import (
    bandwidth_delay_bytes,
    recommended_buffer_bytes,
    window_limited_bit_per_s,
)
from netsonde.model.packets import packet_interval_ns

ROUND_TRIP_NS = 2.9e6  # of the 150 km in B. Huang 2004


def test_window_over_round_trip() -> None:
    assert window_limited_bit_per_s(5 * 1024, ROUND_TRIP_NS) == pytest.approx(14.12e6, abs=5e3)
    # Printed 144.63 Mbit/s for a buffer of 100 KiB: that is with 51.2 KiB of window; half the
    # buffer, as in the case before, gives 141.24.
    assert window_limited_bit_per_s(50 * 1024, ROUND_TRIP_NS) == pytest.approx(141.24e6, abs=5e3)
    assert window_limited_bit_per_s(51.2 * 1024, ROUND_TRIP_NS) == pytest.approx(144.63e6, abs=5e3)


def test_bandwidth_delay_and_buffer() -> None:
    # Printed as a quotient, 10^9 / 0.0029, and once as 365.2; the product is meant.
    assert bandwidth_delay_bytes(1e9, ROUND_TRIP_NS) == 362_500
    assert recommended_buffer_bytes(1e9, ROUND_TRIP_NS) == 725_000


def test_pauses() -> None:
    assert packet_interval_ns(600e6, 1500) == pytest.approx(20_000)


@given(st.floats(1e3, 1e12), st.floats(1e2, 1e11))
def test_a_window_of_the_product_fills_the_path(rate: float, round_trip_ns: float) -> None:
    product = bandwidth_delay_bytes(rate, round_trip_ns)
    assert window_limited_bit_per_s(product, round_trip_ns) == pytest.approx(rate)
    assert 2 * product <= recommended_buffer_bytes(rate, round_trip_ns) < 2 * product + 1


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_what_must_be_positive_is(value: float) -> None:
    calls = [
        lambda: window_limited_bit_per_s(value, 1),
        lambda: window_limited_bit_per_s(1, value),
        lambda: bandwidth_delay_bytes(value, 1),
        lambda: bandwidth_delay_bytes(1, value),
        lambda: recommended_buffer_bytes(1, value),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="expected more than 0"):
            call()
