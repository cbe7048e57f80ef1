"""Peaks of all ranks' times, and the ranks that make them."""

from __future__ import annotations

import numpy as np
import pytest

from netsonde.stats.peaks import find_peaks

COUNT = 300


def around(location, seed):
    return location * np.random.default_rng(seed).lognormal(0.0, 0.05, COUNT)


def test_levels_of_a_tree_have_their_ranks():
    levels = {0: 10.0, 1: 10.0, 2: 20.0, 3: 40.0, 4: 40.0, 5: 40.0}
    peaks = find_peaks({rank: around(level, rank) for rank, level in levels.items()})
    assert [peak.members for peak in peaks] == [(0, 1), (2,), (3, 4, 5)]
    assert [peak.location for peak in peaks] == pytest.approx([10, 20, 40], rel=0.05)
    assert [peak.share for peak in peaks] == pytest.approx([1 / 3, 1 / 6, 1 / 2], abs=0.02)


def test_a_rank_that_moves_between_peaks_has_none():
    turns = np.where(np.arange(COUNT) % 2, around(10.0, 1), around(40.0, 2))
    peaks = find_peaks({0: around(10.0, 3), 1: around(40.0, 4), 2: turns})
    assert [peak.members for peak in peaks] == [(0,), (1,)]


def test_one_peak_is_everybodys():
    (peak,) = find_peaks({"a": around(10.0, 1), "b": around(10.0, 2)})
    assert (peak.members, peak.share) == (("a", "b"), 1)
