"""The line through the smallest and the largest message, and how far the others are off."""

import pytest

from netsonde.model.delay_line import delay_line


def test_a_line_is_found_again():
    line = delay_line({size: 1000.0 + size / 0.5 for size in (0, 100, 10_000)})
    assert line.latency_ns == 1000.0
    assert line.bytes_per_ns == pytest.approx(10_000 / 21_000)
    assert line.delay_ns(0) == 1000.0
    assert line.half_rate_bytes == pytest.approx(1000 * 10_000 / 21_000)


def test_what_is_off_is_said_as_a_share_of_what_was_measured():
    line = delay_line({0: 100.0, 50: 400.0, 1000: 1000.0})
    assert line.off(50, 400.0) == pytest.approx(150 / 400 - 1)


def test_one_size_is_no_line():
    assert delay_line({64: 1.0}) is None
