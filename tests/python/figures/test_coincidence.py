"""Slow operations and what happened meanwhile: simulated batches whose causes are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from netsonde.explain.data import Finding, Seen
from netsonde.explain.slow_operations import slow_operations
from netsonde.figures.coincidence import Coincidence, SlowOnes, slow_ones
from netsonde.figures.events import KINDS, events_of
from netsonde.records.data import Batch, EndData, Point, Run

US, MS = 1_000, 1_000_000
USUAL_NS = 20 * US
Times = npt.NDArray[np.int64]


def watched(rank: int, events: list[tuple[int, int, str, str]], lost: int = 0) -> EndData:
    """An end with events (begin, duration, kind, who), in the order of their ends."""
    data = EndData(rank, f"h{rank + 1}")
    ordered = sorted(events, key=lambda event: event[0] + event[1])
    names = list(dict.fromkeys(who for *_, who in ordered if who))
    columns = {
        "begin_ns": [begin for begin, *_ in ordered],
        "duration_ns": [duration for _, duration, *_ in ordered],
        "kind": [KINDS.index(kind) for _, _, kind, _ in ordered],
        "processor": [0 for _ in ordered],
        "detail": [3 for _ in ordered],
        "name": [names.index(who) + 1 if who else 0 for *_, who in ordered],
    }
    data.series = {f"event_{name}": np.array(column, np.int64) for name, column in columns.items()}
    data.done["event_names"] = "".join("\n" + name for name in names)
    data.counters["events_lost"] = lost
    return data


def begins(trips: Times) -> Times:
    return np.cumsum(trips) - trips


def point_of(trips: Times, origin: EndData, target: EndData | None = None) -> Point:
    origin.series["round_trip_ns"] = trips
    origin.counters |= {"start_ns": 5_000_000, "peer_clock_low_ns": 690, "peer_clock_high_ns": 710}
    other = target or watched(1, [])
    # The target's clock is 700 ns ahead, and its own start came 40 µs after the origin's.
    other.counters["start_ns"] = 5_000_000 + 40 * US + 700
    ends = {0: origin, 1: other}
    return Point("p001", "tcp", "latency", {"message_bytes": 64}, batches=[Batch(0, ends)])


def findings(point: Point) -> list[Finding]:
    run = Run(Path("nowhere"), {"origin": "real", "hosts": {}}, [point], finished=True)
    return list(slow_operations(Seen(run, [])))


def slowed(count: int = 5000, every: int = 50, by_ns: int = 3 * MS) -> tuple[Times, list[int]]:
    """Round trips, and which of them are slow."""
    trips = np.random.default_rng(1).normal(USUAL_NS, US, count).astype(np.int64)
    slow = list(range(every // 2, count, every))[: count // 100]
    trips[slow] += by_ns
    return trips, slow


def of_kind(found: SlowOnes | None, kind: str, rank: int = 0) -> Coincidence:
    assert found is not None
    return next(c for c in found.coincidences if (c.kind, c.rank) == (kind, rank))


def test_what_made_each_of_them_slow_is_found() -> None:
    trips, slow = slowed()
    at = begins(trips)
    events = [(int(at[i]) + 5 * US, 3 * MS, "preempted", "burner") for i in slow]
    point = point_of(trips, watched(0, events))
    found = slow_ones(point)
    preempted = of_kind(found, "preempted")
    assert found is not None
    assert (found.slow, found.operations, found.unseen) == (len(slow), len(trips), 0)
    assert preempted.hits == len(slow)
    assert preempted.explained == pytest.approx(1.0, abs=0.02)
    assert preempted.others == 0.0
    assert preempted.names == {"burner": len(slow)}
    (finding,) = findings(point)
    assert finding.kind == "slow-operations-preempted"
    assert finding.level == "warning"
    assert finding.place == "h1"
    assert "50 of the 50 slow round trips" in finding.claim
    assert "at the origin put off its CPU for burner" in finding.claim


def test_the_other_ends_events_are_put_on_the_same_clock() -> None:
    trips, slow = slowed(by_ns=200 * US)
    at = begins(trips)
    # By the target's own start and clock.
    events = [(int(at[i]) + 50 * US - 40 * US, 100 * US, "softirq", "") for i in slow]
    found = slow_ones(point_of(trips, watched(0, []), watched(1, events)))
    softirq = of_kind(found, "softirq", 1)
    assert softirq.hits == len(slow)
    assert softirq.explained == pytest.approx(0.5, abs=0.02)
    assert softirq.others < 0.001


def test_events_at_any_time_are_no_cause() -> None:
    """Long operations have more of them, but no more than by chance."""
    trips, slow = slowed()
    draw = np.random.default_rng(2)
    whole = int(trips.sum())
    for kind, length in (("interrupt", 20 * US), ("retransmitted", 0)):
        events = [(int(b), length, kind, "") for b in draw.integers(0, whole, 100)]
        point = point_of(trips, watched(0, events))
        found = of_kind(slow_ones(point), kind)
        assert found.hits > 10
        assert found.explained < 0.2
        assert findings(point) == []
    assert len(slow) == 50


def test_chance_is_what_simulation_says() -> None:
    """Of 200 simulated runs without a cause, at most a few find one."""
    draw = np.random.default_rng(3)
    wrong = 0
    for number in range(200):
        trips = (USUAL_NS * draw.lognormal(0, 0.8, 1000)).astype(np.int64)
        count = int(draw.integers(5, 400))
        events = [
            (int(b), int(draw.exponential(30 * US)), "softirq", "")
            if number % 2
            else (int(b), 0, "moved", "")
            for b in draw.integers(0, int(trips.sum()), count)
        ]
        wrong += bool(findings(point_of(trips, watched(0, events))))
    assert wrong <= 2


def test_retransmitted_segments_have_no_length_and_still_explain() -> None:
    trips, slow = slowed(count=3000, every=100, by_ns=200 * MS)
    at = begins(trips)
    events = [(int(at[i]) + 199 * MS, 0, "retransmitted", "") for i in slow]
    (finding,) = findings(point_of(trips, watched(0, events)))
    assert finding.kind == "slow-operations-retransmitted"
    assert "had TCP at the origin retransmit segments" in finding.claim


def test_without_room_only_what_was_seen_counts() -> None:
    trips, slow = slowed()
    at = begins(trips)
    events = [(int(at[i]) + 5 * US, 3 * MS, "preempted", "burner") for i in slow[:20]]
    found = slow_ones(point_of(trips, watched(0, events, lost=30)))
    assert found is not None
    assert found.unseen == len(trips) - slow[19]
    assert of_kind(found, "preempted").hits >= 19


def test_gaps_of_a_stream_are_operations() -> None:
    gaps, slow = slowed()
    target = watched(1, [])
    at = np.cumsum(gaps)
    events = [(int(at[i]) - 3 * MS, 3 * MS, "preempted", "other") for i in slow]
    target = watched(1, events)
    target.series["received_ns"] = np.concatenate([[0], at])
    point = Point("p001", "udp", "stream", {"message_bytes": 64})
    point.batches = [Batch(0, {0: EndData(0, "h1"), 1: target})]
    found = slow_ones(point)
    assert found is not None
    assert found.what == "gaps between arrivals"
    assert of_kind(found, "preempted", 1).hits == len(slow)


@pytest.mark.parametrize("broken", ["unanswered", "stamped", "unwatched", "even"])
def test_where_nothing_can_be_said_nothing_is(broken: str) -> None:
    trips, slow = slowed()
    origin = watched(0, [(int(begins(trips)[i]), 3 * MS, "preempted", "x") for i in slow])
    if broken == "even":
        trips = np.full(5000, USUAL_NS, np.int64)
    point = point_of(trips, origin)
    if broken == "unanswered":
        origin.counters["unanswered"] = 1
    if broken == "stamped":
        origin.series["stamped_index"] = np.arange(3)
    if broken == "unwatched":
        for end in point.batches[0].ends.values():
            end.series.pop("event_kind")
        assert events_of(origin) is None
    assert slow_ones(point) is None
    assert findings(point) == []
