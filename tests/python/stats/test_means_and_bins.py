"""Means, outliers and bins against answers known by hand."""

import numpy as np
import pytest

from netsonde.stats.bins import even_bins, log_bins
from netsonde.stats.means import least_of_means, standard_error, trimmed_mean
from netsonde.stats.outliers import beyond_factor


def test_a_trimmed_mean_leaves_out_a_quarter_at_either_end():
    samples = [1000, 5, 1, 6, 7, 2, 8, 900]  # in order: 1 2 | 5 6 7 8 | 900 1000
    assert trimmed_mean(samples) == 6.5
    assert trimmed_mean(samples, 0.0) == np.mean(samples)
    assert trimmed_mean([4.0]) == 4.0
    assert trimmed_mean([1, 2, 30]) == 11  # a quarter of three is less than one sample
    for share in (0.5, -0.1):
        with pytest.raises(ValueError, match="share"):
            trimmed_mean(samples, share)


def test_the_least_of_means_of_consecutive_parts():
    samples = [9, 9, 3, 5, 8, 8]
    assert least_of_means(samples, 3) == 4
    assert least_of_means(samples, 1) == 7
    assert least_of_means(samples, 100) == 3  # parts without samples are none
    with pytest.raises(ValueError, match="parts"):
        least_of_means(samples, 0)
    with pytest.raises(ValueError, match="least 1"):
        least_of_means([], 2)


def test_the_standard_error_of_four():
    assert standard_error([2, 4, 4, 6]) == pytest.approx(np.sqrt(8 / 3) / 2)
    assert np.isnan(standard_error([5]))  # not 0: nobody knows


def test_outliers_exceed_a_factor_of_the_mean():
    samples = [10, 10, 10, 10, 60]  # mean 20
    assert beyond_factor(samples, 2.5).tolist() == [False] * 4 + [True]
    assert not beyond_factor(samples, 3.0).any()  # 60 is not more than three times 20
    assert not beyond_factor([7, 7, 7], 1.0).any()
    assert beyond_factor([], 2.0).tolist() == []
    for factor in (0.9, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="factor"):
            beyond_factor(samples, factor)


def test_even_bins_hold_every_sample():
    found = even_bins([0, 1, 2, 3, 4, 10], 5)
    assert found.edges.tolist() == [0, 2, 4, 6, 8, 10]
    assert found.counts.tolist() == [2, 2, 1, 0, 1]
    assert (found.below, found.above, found.total) == (0, 0, 6)
    same = even_bins([7, 7], 3)
    assert (same.counts.sum(), same.edges[0]) == (2, 7)


def test_bins_of_a_width_count_what_lies_above():
    found = even_bins([11, 12, 19, 25, 500], 2, 5.0)
    assert found.edges.tolist() == [10, 15, 20]
    assert found.counts.tolist() == [2, 1]
    assert (found.below, found.above, found.total) == (0, 2, 5)


def test_bins_of_a_ratio():
    found = log_bins([0, 1, 2, 9, 50, 1000], 3)
    assert found.edges == pytest.approx([1, 10, 100, 1000])
    assert found.counts.tolist() == [3, 1, 1]
    assert (found.below, found.total) == (1, 6)
    with pytest.raises(ValueError, match="more than 0"):
        log_bins([0, 0], 3)


def test_impossible_bins():
    for bins in (0, 1_000_000):
        with pytest.raises(ValueError, match="bins"):
            even_bins([1], bins)
    with pytest.raises(ValueError, match="width"):
        even_bins([1], 2, 0.0)


def test_totals_are_conserved():
    samples = np.random.default_rng(1).lognormal(3, 1, 5000)
    for found in (even_bins(samples, 37), even_bins(samples, 9, 2.5), log_bins(samples, 20)):
        assert found.total == 5000
