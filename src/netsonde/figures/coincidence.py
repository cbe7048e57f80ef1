"""Which of a point's operations took long, and what happened on the hosts in just that time.

An operation is a round trip, or the time between two arrivals of a stream; a slow one takes twice
the median and 10 µs more. It has an event where the two overlap.

What an event with a length explains of a slow operation is the time in which they overlap, less
what as much of any other operation's time would have of such events. An event without a length (a
retransmitted segment) explains an operation whole. But long operations have more of them by chance:
if they came at any time, one of length L would have one with 1 - exp(-r L), where r is their rate
over the whole time (a Poisson process), and how many slow ones would have one is a sum of
independent draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from netsonde.figures.events import KINDS, Events, events_of
from netsonde.records.data import Batch, Point
from netsonde.stats.recurrence import chance_of_hits

Floats = npt.NDArray[np.float64]
SLOW_FACTOR = 2.0
"""A slow operation takes at least so many times the median,"""
LEAST_EXCESS_NS = 10_000
"""and so much more than it: no event that is kept is shorter, unless it has no length."""
ENDS = {0: "origin", 1: "target"}


@dataclass(frozen=True)
class Coincidence:
    """Slow operations and one kind of event at one end.

    ``hits`` of the slow operations had such an event, and ``others`` is the share of the remaining
    ones that did. ``explained`` is the share of what the slow ones took beyond the median that such
    events explain, more than by chance; ``chance`` is that of so many hits or more, if the events
    have no length, else 0. ``names`` and ``details`` say how often the longest event of an
    operation was whose and of which sort.
    """

    kind: str
    rank: int
    hits: int
    others: float
    explained: float
    chance: float
    names: Mapping[str, int]
    details: Mapping[int, int]


@dataclass(frozen=True)
class SlowOnes:
    """The slow operations of a point; ``least_ns`` is what one takes at least, ``excess_ns`` what
    they took beyond the median together, of ``all_ns`` that all operations took. ``unseen``
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
    least = max(SLOW_FACTOR * median, median + LEAST_EXCESS_NS)
    return (median, least) if lengths.max() >= least else None


def _parts(point: Point) -> tuple[str, list[_Part]]:
    trips = point.kind.is_round_trip
    made = [_round_trips(b) if trips else _arrivals(b) for b in point.batches]
    return "round trips" if trips else "gaps between arrivals", [p for p in made if p is not None]


def _round_trips(batch: Batch) -> _Part | None:
    """They follow each other without a gap, or their times are not known."""
    origin = batch.ends.get(0)
    if origin is None or "round_trip_ns" not in origin.series:
        return None
    lengths = origin.series["round_trip_ns"].astype(np.float64)
    # With times of the kernel, or a look at content, each begins a little after the one before.
    apart = "stamped_index" in origin.series or "corrupt" in origin.counters
    if origin.counters.get("unanswered") or apart:
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
    found = _Sums()
    for part in parts:
        events = part.events.get(rank)
        if events is not None and len(part.length_ns):
            found.add(_within(events.of_kind(kind), part), part, median, least)
    if not found.hits:
        return None
    return Coincidence(
        kind,
        rank,
        found.hits,
        found.other_hits / found.others if found.others else 0.0,
        found.explained(),
        found.chance(),
        dict(sorted(found.names.items(), key=lambda item: -item[1])),
        dict(sorted(found.details.items(), key=lambda item: -item[1])),
    )


@dataclass
class _Sums:
    """What is added up over batches."""

    hits: int = 0
    others: int = 0
    other_hits: int = 0
    event_ns: float = 0.0
    excess_ns: float = 0.0
    slow_ns: float = 0.0
    other_ns: float = 0.0
    taken_ns: float = 0.0
    other_taken_ns: float = 0.0
    hit_excess_ns: float = 0.0
    chance_excess_ns: float = 0.0
    chances: list[float] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    details: dict[int, int] = field(default_factory=dict)

    def add(self, events: Events, part: _Part, median: float, least: float) -> None:
        lengths = part.length_ns
        slow = lengths >= least
        hit, overlap = _overlaps(events, part.begin_ns, lengths)
        beyond = lengths - median
        chances = _chances(events, part, slow)
        self.hits += int(hit[slow].sum())
        self.others += int((~slow).sum())
        self.other_hits += int(hit[~slow].sum())
        self.event_ns += float(events.duration_ns.sum())
        self.excess_ns += float(beyond[slow].sum())
        self.slow_ns += float(lengths[slow].sum())
        self.other_ns += float(lengths[~slow].sum())
        self.taken_ns += float(np.minimum(overlap, beyond)[slow].sum())
        self.other_taken_ns += float(overlap[~slow].sum())
        self.hit_excess_ns += float(beyond[slow & hit].sum())
        self.chance_excess_ns += float((beyond[slow] * chances).sum())
        self.chances += chances.tolist()
        both = slow & hit
        _note_who(events, part.begin_ns[both], lengths[both], self.names, self.details)

    def explained(self) -> float:
        """Of the excess, more than by chance."""
        if self.event_ns:
            share = self.other_taken_ns / self.other_ns if self.other_ns else 0.0
            more = self.taken_ns - share * self.slow_ns
        else:
            more = self.hit_excess_ns - self.chance_excess_ns
        return max(0.0, more / self.excess_ns)

    def chance(self) -> float:
        if self.event_ns:
            return 0.0
        return chance_of_hits(self.chances, self.hits)


def _within(events: Events, part: _Part) -> Events:
    """Only the events of the operations' time: before and after it the worker does other things."""
    begin, end = part.begin_ns[0], part.begin_ns[-1] + part.length_ns[-1]
    return events.where((events.begin_ns + events.duration_ns > begin) & (events.begin_ns < end))


def _overlaps(
    events: Events, begin: Floats, lengths: Floats
) -> tuple[npt.NDArray[np.bool_], Floats]:
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
    return np.asarray(-np.expm1(-count / max(whole, 1.0) * part.length_ns[slow]), np.float64)


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
