"""How far a figure's launches after lie from those before: all with all, or pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netsonde.compare.data import Launch, Pair, Side
from netsonde.compare.turns import differences
from netsonde.stats.arrays import FloatArray
from netsonde.stats.pairs import fewest_pairs, paired_interval, paired_p
from netsonde.stats.shift import ShiftInterval, fewest_values, shift_interval, shift_p


def has_ratio(before: Side, after: Side) -> bool:
    """Whether every value is above 0."""
    return min(before.values + after.values) > 0.0


def change_p(before: Side, after: Side, pairs: Sequence[Pair]) -> float:
    """The two-sided p-value of no change; by pairs where there are some."""
    if pairs:
        return paired_p(log_differences(before.launches, after.launches, pairs))
    return shift_p(before.values, after.values)


def log_change(
    before: Side, after: Side, pairs: Sequence[Pair], confidence: float = 0.95
) -> ShiftInterval:
    """The logarithm of after over before, with its interval; all values are above 0."""
    if pairs:
        found = log_differences(before.launches, after.launches, pairs)
        return paired_interval(found, confidence)
    return shift_interval(np.log(before.values), np.log(after.values), confidence)


def log_differences(
    before: Sequence[Launch], after: Sequence[Launch], pairs: Sequence[Pair]
) -> FloatArray:
    """Of each pair the logarithm of after over before; where a value is 0, after less before."""
    values = np.array([launch.value for launch in (*before, *after)])
    if values.min() > 0.0:
        values = np.log(values)
    return differences(pairs, before, after, values)


def fewest(paired: bool, significance: float) -> int:
    """So many launches a side, or pairs, can prove a change at that level."""
    return fewest_pairs(significance) if paired else fewest_values(significance)
