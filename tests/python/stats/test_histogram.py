"""The histogram keeps its error bound and its counts, alone and merged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.stats.histogram import LogLinearHistogram

VALUES = st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=50)
BITS = st.integers(1, 10)


@given(VALUES, BITS, st.floats(0, 1))
def test_quantiles_are_within_the_relative_error(values: list[int], bits: int, q: float) -> None:
    histogram = LogLinearHistogram.of(values, precision_bits=bits)
    truth = sorted(values)[max(1, int(np.ceil(q * len(values)))) - 1]
    found = histogram.quantile(q)
    assert abs(found - truth) <= histogram.largest_relative_error * truth * (1 + 1e-12)


@given(VALUES, BITS)
def test_every_sample_lies_in_a_bucket_of_its_own_size(values: list[int], bits: int) -> None:
    buckets = LogLinearHistogram.of(values, precision_bits=bits).buckets()
    assert sum(bucket.count for bucket in buckets) == len(values)
    for bucket in buckets:
        assert sum(bucket.low <= value < bucket.high for value in values) == bucket.count
        assert bucket.high - bucket.low <= max(1, bucket.low >> bits)


@given(VALUES, VALUES, BITS)
def test_merging_is_counting_together(one: list[int], other: list[int], bits: int) -> None:
    merged = LogLinearHistogram.of(one, precision_bits=bits).merged(
        LogLinearHistogram.of(other, precision_bits=bits)
    )
    together = LogLinearHistogram.of(one + other, precision_bits=bits)
    assert np.array_equal(merged.counts, together.counts)


@given(VALUES)
def test_a_coarser_histogram_is_that_of_the_samples(values: list[int]) -> None:
    coarse = LogLinearHistogram.of(values, precision_bits=8).coarser(3)
    assert np.array_equal(coarse.counts, LogLinearHistogram.of(values, precision_bits=3).counts)


def test_octaves_begin_where_they_should() -> None:
    for power in range(63):
        for value in {2**power - 1, 2**power, 2**power + 1}:
            bucket = LogLinearHistogram.of([value]).buckets()[0]
            assert bucket.low <= value < bucket.high


def test_an_empty_histogram_has_no_quantile() -> None:
    empty = LogLinearHistogram.of(np.zeros(0, np.int64))
    assert empty.total == 0
    assert empty.buckets() == []
    with pytest.raises(ValueError, match="empty"):
        empty.quantile(0.5)


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="outside"):
        LogLinearHistogram.of([-1])
    with pytest.raises(ValueError, match="integers"):
        LogLinearHistogram.of([1.5])
    with pytest.raises(ValueError, match="bits"):
        LogLinearHistogram.of([1], precision_bits=0)
    with pytest.raises(ValueError, match="merged"):
        LogLinearHistogram.of([1]).merged(LogLinearHistogram.of([1], precision_bits=3))


def test_buckets_lie_where_the_engine_has_them() -> None:
    """tests/engine/histogram.cpp has the same pairs."""
    known = {0: 0, 127: 127, 128: 128, 255: 255, 256: 256, 257: 256, 258: 257, 1000: 506,
             65535: 1279, 65536: 1280, 1_000_000: 1780, 2**63 - 1: 7295}  # fmt: skip
    for value, place in known.items():
        assert np.flatnonzero(LogLinearHistogram.of([value]).counts).tolist() == [place]


def test_filled_buckets_give_the_histogram_back() -> None:
    whole = LogLinearHistogram.of(np.random.default_rng(1).integers(0, 10**7, 5000))
    places = np.flatnonzero(whole.counts)
    again = LogLinearHistogram.from_buckets(places, whole.counts[places])
    assert (again.counts == whole.counts).all()
    assert again.total == 5000
    for wrong in (([1, 1], [2, 3]), ([1], [0]), ([7296], [1]), ([-1], [1]), ([1, 2], [1])):
        with pytest.raises(ValueError, match="bucket"):
            LogLinearHistogram.from_buckets(*wrong)
