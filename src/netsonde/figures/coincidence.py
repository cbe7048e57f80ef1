"""Which of a point's operations took long, and what happened on the hosts in just that time.

An operation is a round trip, or the time between two arrivals of a stream. It has an event where
the two overlap. Long operations have more events by chance, so each has a chance of its own: events
that come at any time, so many in all, leave an operation of length L without one with
exp(-r (L + d)), where r is their rate over the whole time and d their mean length (a Poisson
process). How many long operations would have one is then a sum of independent draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.figures.events import KINDS, Events, events_of
from netsonde.records.data import Batch, Point
from netsonde.stats.recurrence import chance_of_hits

Floats = npt.NDArray[np.float64]
SLOW_SHARE = 0.01
"""At most so many of the operations are slow ones,"""
SLOW_FACTOR = 2.0
"""and each takes at least so many times the median."""
LEAST_EXCESS_NS = 10_000
"""No event that is kept is shorter, unless it has no length."""
MOST_SLOW = 500
"""So many slow ones tell all there is to tell; the slowest are taken."""
ENDS = {0: "origin", 1: "target"}


@dataclass(frozen=True)
class Coincidence:
    """Slow operations and one kind of event at one end.

    ``hits`` of ``slow`` operations had such an event, ``by_chance`` would have had one; ``chance``
    is that of so many hits or more. ``excess_ns`` is what the slow ones took beyond the median of
    all, ``taken_ns`` how much of that the events themselves lasted. ``others`` is the share of the
    remaining operations with such an event.
    """

    kind: str
    rank: int
    slow: int
    hits: int
    by_chance: float
    chance: float
    excess_ns: float
    taken_ns: float
    others: float
    names: Mapping[str, int]
    details: Mapping[int, int]


@dataclass(frozen=True)
class SlowOnes:
    """The slow operations of a point; ``least_ns`` is what the fastest of them took. ``unseen``
    operations came when no more events were kept."""

    what: str
    operations: int
    slow: int
    least_ns: float
    median_ns: float
    all_ns: float
    excess_ns: float
    unseen: int
    coincidences: tuple[Coincidence, ...]


@dataclass(frozen=True)
class _Part:
    """Operations of one batch, by the start of the end that timed them, and the events of each end
    by the same clock. Shapes (operations,)."""

    begin_ns: Floats
    length_ns: Floats
    events: Mapping[int, Events]


def slow_ones(point: Point) -> SlowOnes | None:
    """None where nothing was watched, or no operation is slow."""
    what, parts = _parts(point)
    if not parts:
        return None
    covered = [_covered(part) for part in parts]
    unseen = sum(len(p.length_ns) for p in parts) - sum(len(p.length_ns) for p in covered)
    lengths = np.concatenate([part.length_ns for part in covered])
    slow = _slow(lengths)
    if slow is None:
        return None
    median, least = slow
    chosen = lengths >= least
    return SlowOnes(
        what,
        len(lengths),
        int(chosen.sum()),
        least,
        median,
        float(lengths.sum()),
        float((lengths[chosen] - median).sum()),
        unseen,
        tuple(_coincidences(covered, median, least)),
    )


def _slow(lengths: Floats) -> tuple[float, float] | None:
    """(the median, what a slow one takes at least); None where none is slow."""
    if len(lengths) < 2:
        return None
    median = float(np.median(lengths))
    most = min(MOST_SLOW, max(1, int(SLOW_SHARE * len(lengths))))
    least = float(np.partition(lengths, -most)[-most])
    least = max(least, SLOW_FACTOR * median, median + LEAST_EXCESS_NS)
    return (median, least) if lengths.max() >= least else None


def _parts(point: Point) -> tuple[str, list[_Part]]:
    trips = point.test in ("latency", "pingpong")
    made = [_round_trips(b) if trips else _arrivals(b) for b in point.batches]
    return "round trips" if trips else "gaps between arrivals", [p for p in made if p is not None]


def _round_trips(batch: Batch) -> _Part | None:
    """They follow each other without a gap, or their times are not known."""
    origin = batch.ends.get(0)
    if origin is None or "round_trip_ns" not in origin.series:
        return None
    lengths = origin.series["round_trip_ns"].astype(np.float64)
    # With times of the kernel each begins a little after the one before.
    if origin.counters.get("unanswered") or "stamped_index" in origin.series:
        return None
    return _part(batch, 0, np.cumsum(lengths) - lengths, lengths)


def _arrivals(batch: Batch) -> _Part | None:
    target = batch.ends.get(1)
    if target is None or "received_ns" not in target.series:
        return None
    times = target.series["received_ns"].astype(np.float64)
    return _part(batch, 1, times[:-1], np.diff(times)) if len(times) > 2 else None


def _part(batch: Batch, rank: int, begin: Floats, lengths: Floats) -> _Part | None:
    events = {}
    for other in ENDS:
        found = events_of(batch.ends[other]) if other in batch.ends else None
        if found is not None:
            events[other] = _shifted(found, _lead_ns(batch, rank, other))
    return _Part(begin, lengths, events) if events else None


def _lead_ns(batch: Batch, rank: int, other: int) -> int:
    """What turns a time since the other end's start into one since this end's."""
    if rank == other:
        return 0
    origin = batch.ends[0].counters
    low, high = origin.get("peer_clock_low_ns", 0), origin.get("peer_clock_high_ns", 0)
    target_ahead = low + (high - low) // 2
    starts = {0: origin.get("start_ns", 0), 1: batch.ends[1].counters.get("start_ns", 0)}
    ahead = target_ahead if other == 1 else -target_ahead
    return starts[other] - ahead - starts[rank]


def _shifted(events: Events, lead_ns: int) -> Events:
    return Events(
        events.begin_ns + lead_ns,
        events.duration_ns,
        events.kind,
        events.detail,
        events.name,
        events.names,
        events.lost,
    )


def _covered(part: _Part) -> _Part:
    """Only the operations for which the events of every end are there."""
    until = min(events.covered_ns for events in part.events.values())
    seen = part.begin_ns + part.length_ns <= until
    return _Part(part.begin_ns[seen], part.length_ns[seen], part.events)


def _coincidences(parts: list[_Part], median: float, least: float) -> Iterator[Coincidence]:
    for rank in ENDS:
        for kind in KINDS:
            found = _coincidence(parts, rank, kind, median, least)
            if found is not None:
                yield found


def _coincidence(
    parts: list[_Part], rank: int, kind: str, median: float, least: float
) -> Coincidence | None:
    hits = slow_count = others = other_hits = 0
    excess = taken = 0.0
    chances: list[float] = []
    names: dict[str, int] = {}
    details: dict[int, int] = {}
    for part in parts:
        events = part.events.get(rank)
        if events is None or not len(part.length_ns):
            continue
        events = _within(events.of_kind(kind), part)
        slow = part.length_ns >= least
        hit, overlap = _overlaps(events, part.begin_ns, part.length_ns)
        beyond = part.length_ns[slow] - median
        hits += int(hit[slow].sum())
        slow_count += int(slow.sum())
        others += int((~slow).sum())
        other_hits += int(hit[~slow].sum())
        excess += float(beyond.sum())
        taken += float(np.minimum(overlap[slow], beyond).sum())
        chances += list(_chances(events, part, slow))
        _note_who(events, part.begin_ns[slow & hit], part.length_ns[slow & hit], names, details)
    if not hits:
        return None
    return Coincidence(
        kind,
        rank,
        slow_count,
        hits,
        sum(chances),
        chance_of_hits(chances, hits),
        excess,
        taken,
        other_hits / others if others else 0.0,
        dict(sorted(names.items(), key=lambda item: -item[1])),
        dict(sorted(details.items(), key=lambda item: -item[1])),
    )


def _within(events: Events, part: _Part) -> Events:
    """Only the events of the operations' time: before and after it the worker does other things."""
    begin, end = part.begin_ns[0], part.begin_ns[-1] + part.length_ns[-1]
    return events.where((events.begin_ns + events.duration_ns > begin) & (events.begin_ns < end))


def _overlaps(events: Events, begin: Floats, lengths: Floats) -> tuple[npt.NDArray[np.bool_], Floats]:
    """(whether each operation has an event, how much of it events last)."""
    begins = np.sort(events.begin_ns.astype(np.float64))
    ends = np.sort((events.begin_ns + events.duration_ns).astype(np.float64))
    begun = np.searchsorted(begins, begin + lengths, "right")
    ended = np.searchsorted(ends, begin, "left")
    overlap = _lasted(begins, ends, begin + lengths) - _lasted(begins, ends, begin)
    return begun > ended, np.minimum(overlap, lengths)


def _lasted(begins: Floats, ends: Floats, times: Floats) -> Floats:
    """How long events had lasted until each of the times, added up."""

    def since(instants: Floats) -> Floats:
        count = np.searchsorted(instants, times, "right")
        sums = np.concatenate([[0.0], np.cumsum(instants)])
        return np.asarray(count * times - sums[count], np.float64)

    return since(begins) - since(ends)


def _chances(events: Events, part: _Part, slow: npt.NDArray[np.bool_]) -> Floats:
    """That each slow operation has an event, if these came at any time."""
    count = len(events.begin_ns)
    if not count:
        return np.zeros(int(slow.sum()))
    whole = float(part.begin_ns[-1] + part.length_ns[-1] - part.begin_ns[0])
    length = float(events.duration_ns.mean())
    reach = part.length_ns[slow] + length
    return np.asarray(-np.expm1(-count / max(whole + length, 1.0) * reach), np.float64)


def _note_who(
    events: Events,
    begin: Floats,
    lengths: Floats,
    names: dict[str, int],
    details: dict[int, int],
) -> None:
    """Adds, for the longest event of each of these operations, its name and detail."""
    order = np.argsort(events.begin_ns, kind="stable")
    begins = events.begin_ns[order]
    longest = int(events.duration_ns.max(initial=0))
    for at, length in zip(begin, lengths, strict=True):
        first = np.searchsorted(begins, at - longest, "left")
        last = np.searchsorted(begins, at + length, "right")
        near = order[first:last]
        near = near[events.begin_ns[near] + events.duration_ns[near] >= at]
        if len(near):
            which = near[np.argmax(events.duration_ns[near])]
            name = events.names[int(events.name[which])]
            detail = int(events.detail[which])
            names[name] = names.get(name, 0) + 1
            details[detail] = details.get(detail, 0) + 1
