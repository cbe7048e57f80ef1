"""Launches before and after that took turns, in pairs: what drifted over the hours is then in both
of a pair alike. Definitions are in docs/methods/comparison.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

from netsonde.compare.data import Launch, Pair
from netsonde.stats.arrays import FloatArray

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
