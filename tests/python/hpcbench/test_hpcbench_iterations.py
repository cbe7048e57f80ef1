"""The number of iterations against links whose time for each number is known."""

import pytest

from netsonde.hpcbench.iterations import LEAST_ITERATIONS, estimate_iterations


@pytest.mark.parametrize("message_s", [1e-7, 2e-5, 1e-3, 0.02, 0.1])
@pytest.mark.parametrize("start_s", [0.0, 0.003])
def test_a_repetition_lasts_within_ten_percent_of_what_was_asked(message_s, start_s):
    """A repetition takes start_s and message_s for each message, as behind a delay."""

    def elapsed_s(count):
        return start_s + count * message_s

    count = estimate_iterations(elapsed_s, 5.0, most=1 << 40)
    assert elapsed_s(count) == pytest.approx(5.0, rel=0.1)


def test_there_is_a_least_number():
    assert estimate_iterations(lambda count: 40.0 * count, 5.0) == LEAST_ITERATIONS


def test_there_is_a_largest_number():
    assert estimate_iterations(lambda count: 1e-9 * count, 5.0, most=1000) == 1000
    assert estimate_iterations(lambda _: 0.0, 5.0, most=1000) == 1000


def test_a_trial_that_stalled_does_not_count():
    trials = []

    def elapsed_s(count):
        trials.append(count)
        stalled = trials.count(8) == 1 and count == 8
        return 2.0 if stalled else count * 1e-3

    assert estimate_iterations(elapsed_s, 5.0) == pytest.approx(5000, rel=0.01)
    assert trials[:5] == [1, 2, 4, 8, 8]
    assert trials[-2:] == [1024, 1024]
