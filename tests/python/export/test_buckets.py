"""Values in HdrHistogram's buckets all at once, beside the library that takes one by one."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from netsonde.export.buckets import LARGEST_NS, Buckets, Integers, buckets_of, together


def by_the_library(values: Integers) -> HdrHistogram:
    made = HdrHistogram(1, LARGEST_NS, 3)
    for value in values.tolist():
        made.record_value(value)
    return made


def lines(buckets: Buckets) -> list[str]:
    return "".join(buckets.percentiles(1000)).splitlines()


@given(st.lists(st.integers(1, LARGEST_NS), min_size=1, max_size=60))
def test_counts_are_the_librarys(given_values: list[int]) -> None:
    values = np.array(given_values, np.int64)
    assert list(buckets_of(values).histogram().counts) == list(by_the_library(values).counts)


@pytest.mark.parametrize("count", [1, 2, 10, 1000, 20_000])
def test_percentiles_are_the_librarys(count: int) -> None:
    drawn = np.exp(0.6 * np.random.default_rng(count).standard_normal(count))
    values = np.maximum(50_000 * drawn, 1).astype(np.int64)
    text = io.BytesIO()
    by_the_library(values).output_percentile_distribution(text, 1000)
    told, own = text.getvalue().decode().splitlines(), lines(buckets_of(values))
    spread = own[-3].split("StdDeviation   =")[1].strip(" ]")
    assert float(spread) == pytest.approx(values.std() / 1000, rel=0.002, abs=0.001)
    # The library tells the deviation in nanoseconds, whatever the unit of all others.
    told[-3], own[-3] = (line.split(", Std")[0] for line in (told[-3], own[-3]))
    assert own == told


def test_batches_together_are_all_values_at_once() -> None:
    values = np.random.default_rng(4).integers(1, 10**7, 3000)
    parts = together(buckets_of(part) for part in np.split(values, 3))
    assert lines(parts) == lines(buckets_of(values))


def test_values_that_no_bucket_takes_are_moved_to_the_ends() -> None:
    made = buckets_of(np.array([-5, 0, 1, 2 * LARGEST_NS]))
    assert made.counts.tolist() == [3, 1]
    assert made.lowest[0] == 1 <= made.lowest[1] <= LARGEST_NS <= made.highest[1]
