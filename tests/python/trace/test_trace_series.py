"""What counters counted between samples: wraps, resets, what comes and goes."""

import numpy as np
import pytest
from trace_made import made_trace, trace_text, write_file

from netsonde.trace.journal import Counter
from netsonde.trace.series import Column, increments, load_pieces, load_trace

GONE = None


def counted(values, name="interface.eth0.rx_bytes", kind="c", starts_at_zero=False):
    array = np.array([0 if v is None else v for v in values], dtype=np.int64)
    present = np.array([v is not None for v in values])
    return increments(Column(Counter(name, kind, "bytes", starts_at_zero), array, present))


@pytest.mark.parametrize(
    ("values", "amounts", "went_back", "wrapped"),
    [
        ([5, 5, 9], [0, 4], [], []),
        ([2**32 - 10, 6], [16], [], [0]),  # 32 bits that were full
        ([2**31, 6], [np.nan], [0], []),  # too little for that: it was set anew
        ([2**40, 6], [np.nan], [0], []),
        ([2**63 - 1, -(2**63) + 1], [2], [], []),  # 64 bits without sign, over the sign
        ([-3, 4], [7], [], []),
        ([5, GONE, 9, 10], [np.nan, np.nan, 1], [], []),
        ([GONE, 5, 6], [np.nan, 1], [], []),
    ],
)
def test_increments(values, amounts, went_back, wrapped):
    found = counted(values)
    np.testing.assert_array_equal(found.amounts, amounts)
    assert list(np.flatnonzero(found.went_back)) == went_back
    assert list(np.flatnonzero(found.wrapped)) == wrapped


def test_a_sum_of_counters_of_32_bits_wraps_beyond_32_bits():
    found = counted([3 * 2**32 - 5, 2 * 2**32 + 5], name="interrupt.eth0")
    np.testing.assert_array_equal(found.amounts, [10])
    assert np.isnan(counted([3 * 2**32 - 5, 2 * 2**32 + 5]).amounts).all()


def test_a_value_of_the_moment_may_fall():
    found = counted([9, 4], kind="g")
    assert not found.wrapped.any()


def test_what_is_left_out_while_zero_counts_from_zero():
    found = counted([GONE, 7, 9], name="interrupt_cpu.1.eth0", starts_at_zero=True)
    np.testing.assert_array_equal(found.amounts, [7, 2])


def test_another_interface_of_the_same_name(tmp_path):
    """Removed and made again between two samples: the larger value is not taken for traffic."""
    trace = load_trace(
        made_trace(
            tmp_path,
            [
                {"interface.v0.rx_bytes": 100, "interface.v0.index": 4},
                {"interface.v0.rx_bytes": 150, "interface.v0.index": 4},
                {"interface.v0.rx_bytes": 900, "interface.v0.index": 9},
                {"interface.v0.rx_bytes": 950, "interface.v0.index": 9},
            ],
        )
    )
    found = trace.increments("interface.v0.rx_bytes")
    np.testing.assert_array_equal(found.amounts, [50, np.nan, 50])
    assert list(np.flatnonzero(found.went_back)) == [1]


def test_samples_that_were_missed_make_longer_windows(tmp_path):
    trace = load_trace(
        made_trace(tmp_path, [{"a.x": 0}, {"a.x": 10}, {"a.x": 40}], numbers=[0, 1, 4])
    )
    np.testing.assert_allclose(trace.windows_s, [1, 3])
    rates = trace.rates("a.x")
    assert rates is not None
    assert list(rates) == [10, 10]
    assert trace.missed == 2


def test_pieces_are_the_whole(tmp_path):
    """Whatever the length of the pieces, they hold every window once."""
    draw = np.random.default_rng(7)
    samples, value = [], 0
    for place in range(60):
        value += int(draw.integers(0, 3))
        sample = {"a.x": value, "b.y": 5}
        if place % 7 == 3:
            del sample["a.x"]
        if place > 40:
            sample["c.z"] = place
        samples.append(sample)
    write_file(tmp_path, trace_text(samples[:25]), 1)
    write_file(tmp_path, trace_text(samples[25:], numbers=range(25, 60)), 2)
    whole = load_trace(tmp_path)
    for length in (1, 2, 5, 17, 59, 1000):
        pieces = list(load_pieces(tmp_path, None, length))
        for name in ("a.x", "b.y"):
            joined = np.concatenate([p.increments(name).amounts for p in pieces])
            np.testing.assert_array_equal(joined, whole.increments(name).amounts)
        assert sum(len(p.windows_s) for p in pieces) == 59
        np.testing.assert_allclose(np.concatenate([p.windows_s for p in pieces]), 1.0)
