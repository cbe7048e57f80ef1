"""One number for a matrix of pairs, and which values it leaves out."""

import numpy as np
import pytest

from netsonde.stats.matrices import mean_of_pairs_interval, reduce_matrix


def matrix(*rows):
    return np.array(rows, np.float64)


def test_the_diagonal_is_apart():
    found = reduce_matrix(matrix([1, 10, 10], [10, 2, 10], [10, 10, 3]))
    assert (found.mean, found.plain, found.median, found.diagonal) == (10, 10, 10, 2)
    assert found.count_left_out == 0


def test_what_is_far_from_the_median_is_left_out_both_ways():
    values = np.full((4, 4), 100.0) + np.arange(16).reshape(4, 4) / 10
    values[0, 1], values[2, 3] = 300.0, 20.0
    found = reduce_matrix(values)
    assert np.argwhere(found.left_out).tolist() == [[0, 1], [2, 3]]
    assert found.mean == pytest.approx(100.75, abs=0.2)
    assert found.plain == pytest.approx(found.mean + (200 - 80) / 12, abs=1)
    assert (found.least, found.most) == (20.0, 300.0)


def test_a_spread_of_nothing_leaves_out_nothing_within_a_tenth():
    values = np.full((4, 4), 100.0)
    values[0, 1], values[1, 0] = 109.0, 111.0
    assert np.argwhere(reduce_matrix(values).left_out).tolist() == [[1, 0]]


def test_of_two_pairs_none_is_left_out():
    found = reduce_matrix(matrix([0, 1], [1000, 0]))
    assert (found.count_left_out, found.mean) == (0, 500.5)


def test_pairs_that_were_not_measured_do_not_count():
    nan = float("nan")
    found = reduce_matrix(matrix([nan, 4, nan], [nan, nan, 8], [nan, nan, nan]))
    assert (found.mean, found.plain) == (6, 6)
    assert np.isnan(found.diagonal)
    assert np.isnan(reduce_matrix(matrix([nan, nan], [nan, nan])).mean)


def test_another_shape_is_refused():
    with pytest.raises(ValueError, match="no pairs of the same places"):
        reduce_matrix(np.zeros((2, 3)))


def test_the_interval_of_a_mean_over_pairs_holds_the_truth_as_often_as_it_says():
    """Twelve pairs of different speed, 20 round trips each, one in twenty ten times as long."""
    chance = np.random.default_rng(7)
    speeds = np.linspace(80, 120, 12)
    truth = float(speeds.mean() * (0.95 + 0.05 * 10))
    held = 0
    for _ in range(400):
        hiccups = np.where(chance.random((12, 20)) < 0.05, 10.0, 1.0)
        trips = speeds[:, None] * chance.gamma(50, 1 / 50, (12, 20)) * hiccups
        found = mean_of_pairs_interval(list(trips))
        held += found.low <= truth <= found.high
    assert 0.92 <= held / 400 <= 0.98


def test_an_interval_needs_ten_repetitions_and_something_that_varies():
    assert mean_of_pairs_interval([np.arange(9.0), np.arange(20.0)]) is None
    assert mean_of_pairs_interval([]) is None
    assert mean_of_pairs_interval([np.ones(20)]) is None
    with pytest.raises(ValueError, match="confidence"):
        mean_of_pairs_interval([np.arange(20.0)], 1.0)
