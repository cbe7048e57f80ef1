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
_LEAST_OTHER_ORDER = 0.25
"""Share of pairs that begin with the side which does so less often: with fewer, a steady drift
would not fall on both sides alike."""


@dataclass(frozen=True)
class Turns:
    """``pairs`` in the order of time. ``is_proven``: the times say that the sides took turns and
    that no drift falls on one of them; ``problem`` is why not, as the end of a sentence."""

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

    Launches that one program made for both sides belong together by their number. Else, where pairs
    begin now with one side and now with the other, a pair is two launches; where it is always the
    same one, as in A B A B, it is a launch with those right before and after it, of the other side.
    """
    together = _of_one_launch(before, after)
    if together:
        return Turns(together, is_proven=True)
    sides = (before, after)
    events = [_event(s, i, launch) for s in (0, 1) for i, launch in enumerate(sides[s])]
    known = sorted((e for e in events if e is not None), key=lambda e: e.begin_s + e.end_s)
    if len(known) < len(events):
        return Turns((), is_proven=False, problem="the times of some launches are not known")
    couples, by_three = _groups(known, 2), _groups(known, 3)
    apart = all(a.end_s <= b.begin_s for a, b in pairwise(known))
    firsts = sum(group[0].side == 0 for group in couples)
    in_both_orders = min(firsts, len(couples) - firsts) >= _LEAST_OTHER_ORDER * len(couples)
    for groups, is_fair in ((couples, in_both_orders), (by_three, True)):
        if is_fair and groups and _are_most(groups, known):
            problem = "" if apart else "some of them overlap in time"
            return Turns(_pairs(groups), is_proven=apart, problem=problem)
    if not _are_most(couples, known):
        return Turns(_pairs(couples), is_proven=False, problem="they did not take turns")
    return Turns(
        _pairs(couples),
        is_proven=False,
        problem="nearly all begin with the same side, so that a steady drift is in the change",
    )


def differences(
    pairs: Sequence[Pair], before: Sequence[Launch], after: Sequence[Launch], values: FloatArray
) -> FloatArray:
    """After minus before of each pair, shape (pairs,); ``values`` are those of the launches before
    and then of those after. Of two launches around one, the value at its time between them."""
    old, new = values[: len(before)], values[len(before) :]
    found = []
    for pair in pairs:
        alone = before[pair.before[0]] if len(pair.before) == 1 else after[pair.after[0]]
        found.append(_at(alone, pair.after, after, new) - _at(alone, pair.before, before, old))
    return np.array(found)


def _at(alone: Launch, places: Sequence[int], side: Sequence[Launch], values: FloatArray) -> float:
    if len(places) == 1:
        return float(values[places[0]])
    first, last = (_middle_s(side[place]) for place in places)
    share = (_middle_s(alone) - first) / (last - first) if last > first else 0.5
    return float((1.0 - share) * values[places[0]] + share * values[places[1]])


def _of_one_launch(before: Sequence[Launch], after: Sequence[Launch]) -> tuple[Pair, ...]:
    """Pairs by run and number, where the sides are two conditions of one run."""
    places = {(launch.run, launch.number): place for place, launch in enumerate(before)}
    return tuple(
        Pair((places[name],), (place,))
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


def _groups(events: Sequence[_Event], size: int) -> list[Sequence[_Event]]:
    """Runs of so many events whose sides alternate, one behind the other; what fits in none is left
    out."""
    found, place = [], 0
    while place + size <= len(events):
        group = events[place : place + size]
        if all(a.side != b.side for a, b in pairwise(group)):
            found.append(group)
            place += size
        else:
            place += 1
    return found


def _are_most(groups: Sequence[Sequence[_Event]], events: Sequence[_Event]) -> bool:
    used = sum(len(group) for group in groups)
    return used >= (1.0 - _MOST_LEFT_OUT) * len(events)


def _pairs(groups: Sequence[Sequence[_Event]]) -> tuple[Pair, ...]:
    return tuple(
        Pair(
            tuple(e.place for e in group if e.side == 0),
            tuple(e.place for e in group if e.side == 1),
        )
        for group in groups
    )
