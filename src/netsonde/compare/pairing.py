"""Launches before and after that took turns, in pairs: what drifted over the hours is then in both
of a pair alike. Whether they are judged so, as asked or as their times prove; and how far those
after lie from those before. Definitions are in docs/methods/comparison.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

from netsonde.compare.data import Launch, Pair, Side
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


_MOST_LEFT_OUT = 0.2
"""Launches without a partner, as a share: more of them, and the two sides did not take turns."""


@dataclass(frozen=True)
class Turns:
    """``pairs`` in the order of time. ``is_proven``: the times say that the sides took turns;
    ``problem`` is why not, as the end of a sentence."""

    pairs: tuple[Pair, ...]
    is_proven: bool
    problem: str = ""


@dataclass(frozen=True)
class _Event:
    """A launch in time: its side (0 is before), its place in it, seconds."""

    side: int
    place: int
    begin_s: float
    end_s: float


def turns_of(before: Sequence[Launch], after: Sequence[Launch]) -> Turns:
    """Pairs of launches that follow each other in time, each launch in one pair at most.

    Launches that one program made for both sides belong together by their number.
    """
    together = _of_one_launch(before, after)
    if together:
        return Turns(together, is_proven=True)
    sides = (before, after)
    events = [_event(s, i, launch) for s in (0, 1) for i, launch in enumerate(sides[s])]
    known = sorted((e for e in events if e is not None), key=lambda e: e.begin_s + e.end_s)
    if len(known) < len(events):
        return Turns((), is_proven=False, problem="the times of some launches are not known")
    pairs = _neighbours(known)
    if 2 * len(pairs) < (1.0 - _MOST_LEFT_OUT) * len(known):
        return Turns(pairs, is_proven=False, problem="they did not take turns")
    if any(a.end_s > b.begin_s for a, b in pairwise(known)):
        return Turns(pairs, is_proven=False, problem="some of them overlap in time")
    return Turns(pairs, is_proven=True)


def differences(
    pairs: Sequence[Pair], before: Sequence[Launch], after: Sequence[Launch], values: FloatArray
) -> FloatArray:
    """After less before of each pair, shape (pairs,), less what drifted from the one launch to the
    other; ``values`` are those of the launches before and then of those after.

    The drift is that of the means of the pairs right before and after, in which a change is no
    part: a parabola through three pairs has this slope at the middle one, if they are as far from
    each other. At both ends it is that of the pair and its one neighbour.
    """
    old = values[[pair.before for pair in pairs]]
    new = values[len(before) + np.array([pair.after for pair in pairs])]
    times = [[_middle_s(before[p.before]), _middle_s(after[p.after])] for p in pairs]
    seconds = np.array(times)
    middles, levels = seconds.mean(axis=1), 0.5 * (old + new)
    places = np.arange(len(pairs))
    first, last = np.maximum(places - 1, 0), np.minimum(places + 1, len(pairs) - 1)
    apart, gaps = middles[last] - middles[first], seconds[:, 1] - seconds[:, 0]
    # Not beyond the neighbours, as where one of a pair was measured again a day later.
    known = (apart > 0.0) & (np.abs(gaps) <= apart)
    rises = np.divide(levels[last] - levels[first], apart, out=np.zeros(len(pairs)), where=known)
    return np.asarray(new - old - rises * gaps)


def _of_one_launch(before: Sequence[Launch], after: Sequence[Launch]) -> tuple[Pair, ...]:
    """Pairs by run and number, where the sides are two conditions of one run."""
    places = {(launch.run, launch.number): place for place, launch in enumerate(before)}
    return tuple(
        Pair(places[name], place)
        for place, launch in enumerate(after)
        if (name := (launch.run, launch.number)) in places
    )


def _event(side: int, place: int, launch: Launch) -> _Event | None:
    begin, end = _seconds(launch.started_utc), _seconds(launch.ended_utc)
    return None if begin is None or end is None else _Event(side, place, begin, end)


def _middle_s(launch: Launch) -> float:
    times = [s for s in (_seconds(launch.started_utc), _seconds(launch.ended_utc)) if s is not None]
    return sum(times) / len(times) if times else 0.0


def _seconds(text: str | None) -> float | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _neighbours(events: Sequence[_Event]) -> tuple[Pair, ...]:
    """Of events in the order of time, those of different sides that follow each other, two by two;
    one that has no such neighbour left is left out."""
    found, place = [], 0
    while place + 1 < len(events):
        first, second = events[place], events[place + 1]
        if first.side == second.side:
            place += 1
            continue
        old, new = (first, second) if first.side == 0 else (second, first)
        found.append(Pair(old.place, new.place))
        place += 2
    return tuple(found)
