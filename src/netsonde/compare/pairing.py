"""Whether launches are judged in pairs, as asked or as their times prove; and how far those after
lie from those before: all with all, or pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netsonde.compare.data import Launch, Pair, Side
from netsonde.compare.turns import Turns, differences, turns_of
from netsonde.errors import UsageError
from netsonde.stats.arrays import FloatArray
from netsonde.stats.pairs import fewest_pairs, paired_interval, paired_p
from netsonde.stats.shift import ShiftInterval, fewest_values, shift_interval, shift_p

Sides = tuple[Sequence[Launch], Sequence[Launch]]


@dataclass(frozen=True)
class Pairing:
    """``pairs`` of each figure, none where they are not judged by pairs. ``note`` is a sentence on
    what was chosen and why; empty where nothing is to be said."""

    paired: bool
    pairs: tuple[tuple[Pair, ...], ...]
    note: str = ""


def pairing_of(figures: Sequence[Sides], asked: bool | None, level: float) -> Pairing:
    """How the launches of each figure, before and after, are held together.

    ``asked`` is what the user wants, None for what the times prove. ``level`` is the false alarms
    that the first of all figures may have. Raises UsageError where pairs are asked for and there
    are none.
    """
    apart = Pairing(False, ((),) * len(figures))
    several = [i for i, (old, new) in enumerate(figures) if min(len(old), len(new)) > 1]
    if asked is False or (asked is None and not several):
        return apart
    turns = {i: turns_of(*figures[i]) for i in several}
    found = [turns[i].pairs if i in turns else () for i in range(len(figures))]
    problem = next((t.problem for t in turns.values() if not t.is_proven), "")
    fewest = min((len(t.pairs) for t in turns.values()), default=0)
    if asked:
        if fewest < 1:
            why = problem or "a side has one launch"
            raise UsageError(
                f"launches before and after cannot be paired: {why}; measure in turns, or leave "
                "out --paired"
            )
        return Pairing(True, tuple(found), _words(list(turns.values()), fewest, problem))
    if any(not t.is_proven for t in turns.values()):
        return apart
    if fewest < (least := fewest_pairs(level)):
        return Pairing(
            False,
            apart.pairs,
            f"Launches before and after took turns, but {fewest} pairs are too few, where "
            f"{least} can prove a change. They are compared all with all, and what drifted is in "
            "their scatter.",
        )
    return Pairing(True, tuple(found), _words(list(turns.values()), fewest, ""))


def _words(turns: Sequence[Turns], fewest: int, problem: str) -> str:
    counts = sorted({len(t.pairs) for t in turns})
    number = str(fewest) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    if problem:
        return f"Compared in {number} pairs as asked, but {problem}."
    return (
        f"Launches before and after took turns, so they are compared in {number} pairs: "
        "each launch is held beside its neighbour in time, which takes off what drifted meanwhile "
        "(--unpaired compares all with all)."
    )


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
