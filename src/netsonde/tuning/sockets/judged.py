"""What launches in pairs say of a change. Pure; definitions are in docs/methods/tune-sockets.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from netsonde.stats.pairs import paired_interval
from netsonde.tuning.sockets.data import Gain, Goal

FALSE_ALARMS = 0.05
"""The chance that anything is called better or worse where nothing changed, in one set of pairs."""
SCREENED = 3
"""Pairs that a value is looked at with."""
PAIRS = 8
"""Pairs that a step is judged by, and the proof."""
LEAST_GAIN = 0.02

Values = Sequence[tuple[float, float]]
"""Of each pair the figure without and with the change."""


@dataclass(frozen=True)
class Rules:
    """How steps are judged: ``least_gain`` is the share that a gain must exceed for certain."""

    least_gain: float = LEAST_GAIN
    pairs: int = PAIRS
    screened: int = SCREENED


def gain_of(goal: Goal, values: Values, confidence: float) -> Gain:
    """How many times as good the goal is with the change, with its interval.

    The Hodges-Lehmann centre of the logarithms of the ratios of pairs. Raises ValueError for no
    values or one that is not above 0.
    """
    logs = [math.log(after / before) * (1 if goal.more else -1) for before, after in values]
    found = paired_interval(logs, confidence)
    low, high = (None if bound is None else math.exp(bound) for bound in (found.low, found.high))
    return Gain(
        math.exp(found.estimate),
        low,
        high,
        confidence,
        median(before for before, _ in values),
        median(after for _, after in values),
        len(values),
    )


def gains_of(
    goals: Sequence[Goal], values: Mapping[str, Values], false_alarms: float = FALSE_ALARMS
) -> dict[str, Gain]:
    """Of every goal; the chance of a false alarm is that of all of them together."""
    confidence = 1.0 - false_alarms / len(goals)
    return {goal.name: gain_of(goal, values[goal.name], confidence) for goal in goals}


def promise_of(goal: Goal, values: Values, least_gain: float) -> float | None:
    """How many times as good a few pairs say a goal is; None where that is no reason to measure
    more: a pair says no, or their median is less than half of the least gain."""
    ratios = [(after / before) if goal.more else (before / after) for before, after in values]
    middle = median(ratios)
    return middle if min(ratios) > 1.0 and middle > 1.0 + 0.5 * least_gain else None
