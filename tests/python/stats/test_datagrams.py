"""Streams of datagrams whose gaps, order and losses are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.stats.datagrams import (
    delay_variation_ns,
    gaps_ns,
    interarrival_jitter_ns,
    loss_runs,
    reordering_extents,
    transit_ns,
)


def array(*values):
    return np.array(values, np.int64)


def test_gaps():
    assert gaps_ns(array(5, 7, 20)).tolist() == [2, 13]
    assert gaps_ns(array(5)).tolist() == []


def test_transit_follows_the_numbers_and_the_offset_cancels():
    sent, sequence = array(0, 100, 200, 300), array(0, 2, 1)
    received = array(50, 260, 270)
    assert transit_ns(sent, received, sequence).tolist() == [50, 60, 170]
    for offset in (0, -10_000, 7):
        variation = delay_variation_ns(transit_ns(sent, received + offset, sequence))
        assert variation.tolist() == [0, 10, 120]
    with pytest.raises(ValueError, match="not sent"):
        transit_ns(sent, array(1), array(4))


def test_jitter_by_hand():
    """Two steps of the RFC's recursion: 16 -> 1; then 1 + (32 - 1) / 16."""
    assert interarrival_jitter_ns(array(100, 116)) == 1.0
    assert interarrival_jitter_ns(array(100, 116, 84)) == pytest.approx(1 + 31 / 16)
    assert interarrival_jitter_ns(array(100)) == 0.0


def test_jitter_of_a_steady_swing_is_the_swing():
    swing = np.tile(array(0, 1000), 200)
    assert interarrival_jitter_ns(swing) == pytest.approx(1000, rel=1e-6)


def test_extents():
    """7, 8 and 9 overtake 4, 5 and 6; the earliest that overtook each is 7."""
    assert reordering_extents(array(1, 2, 3, 7, 8, 9, 4, 5, 6)).tolist() == [3, 4, 5]
    assert reordering_extents(array(0, 1, 2)).tolist() == []
    assert reordering_extents(array()).tolist() == []
    assert reordering_extents(array(1, 2, 3, 4, 0)).tolist() == [4]


@given(st.permutations(range(12)))
def test_extents_against_the_definition(order):
    expected = []
    for place, number in enumerate(order):
        greater = [i for i in range(place) if order[i] > number]
        if greater:
            expected.append(place - min(greater))
    assert reordering_extents(array(*order)).tolist() == expected


def test_loss_runs():
    assert loss_runs(array(0, 1, 4, 5, 9), 12).tolist() == [2, 3, 2]
    assert loss_runs(array(0, 1, 2), 3).tolist() == []
    assert loss_runs(array(), 4).tolist() == [4]
    assert loss_runs(array(3), 4).tolist() == [3]


@given(st.sets(st.integers(0, 30)), st.integers(31, 40))
def test_loss_runs_hold_all_that_is_lost(arrived, sent):
    runs = loss_runs(array(*sorted(arrived)), sent)
    assert runs.sum() == sent - len(arrived)
    assert (runs > 0).all()
