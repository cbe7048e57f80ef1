"""Periods of loss cycles in queues that were made of known ones."""

import numpy as np
import pytest

from netsonde.model.loss_cycles import loss_cycles, mean_cycle

SENDERS, BUFFER, WINDOW = 7, 43, 48


def queue(cycles, good=30):
    """A queue that is served each SENDERS slots: filled by a window from its bottom on, full while
    ``good`` packets and another window pass, then drained to its bottom."""
    times, lengths, now, length = [0.0], [BUFFER], 0.0, BUFFER

    def change(to, after):
        nonlocal now, length
        now, length = now + after, to
        times.append(now)
        lengths.append(length)

    for _ in range(cycles):
        for _ in range(good + WINDOW // SENDERS):  # each that leaves is replaced a slot later
            change(length - 1, SENDERS - 1)
            change(length + 1, 1)
        while length > 5:
            change(length - 1, SENDERS)
        for sent in range(WINDOW):
            served = sent % SENDERS == SENDERS - 1
            if length < BUFFER:
                change(length + 1, 0.5)
            change(length - 1, 0.5) if served else change(length, 0.5)
        while length < BUFFER:
            change(length + 1, 0.0)
    return times, lengths


def test_periods_are_told_apart():
    times, lengths = queue(5)
    found = loss_cycles(times, lengths, BUFFER, WINDOW, 1.0)
    assert len(found) == 4
    means = mean_cycle(found)
    assert means is not None
    a, b, c = means
    assert a == pytest.approx(BUFFER - 5 + WINDOW / SENDERS, abs=1.5)
    assert b == pytest.approx(WINDOW / SENDERS, abs=1.5)
    assert c == pytest.approx(30, abs=1.5)


def test_a_queue_that_never_drains_has_none():
    lengths = [BUFFER - n % 2 for n in range(1000)]
    assert loss_cycles(np.arange(1000.0), lengths, BUFFER, WINDOW, 1.0) == []
    assert mean_cycle([]) is None


def test_an_empty_series_has_none():
    assert loss_cycles([], [], BUFFER, WINDOW, 1.0) == []


def test_series_of_two_lengths_are_refused():
    with pytest.raises(ValueError, match="not as many"):
        loss_cycles([1.0], [1, 2], BUFFER, WINDOW, 1.0)
