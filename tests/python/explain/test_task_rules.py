"""Which way messages of tasks went, and what the way through daemons is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netsonde.explain.data import Seen
from netsonde.explain.layers import layers
from netsonde.explain.task_rules import route_not_taken, route_of_daemons
from netsonde.figures.compute import figures_of
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot

US = 1000


def point(number: int, transport: str, size: int, trip_us: int, target: str, **more: Any) -> Point:
    """Round trips that all took so long."""
    asked = {"message_bytes": size, "cap_ns": 10**9, "interval": 0.01, "options": {}, **more}
    made = Point(f"p{number:03d}", transport, "latency", asked)
    made.status, made.ended_by = "finished", "count"
    trips = np.full(40, trip_us * US, dtype=np.int64)
    counters = {"messages_sent": 40, "bytes_sent": 40 * size}
    origin = EndData(0, "h1", {"round_trip_ns": trips}, counters)
    made.batches = [Batch(0, {0: origin, 1: EndData(1, target)})]
    return made


def task(number: int, size: int, trip_us: int, route: str, taken: str = "", **more: Any) -> Point:
    """One of PVM; of the route local both ends are on one host."""
    target = "h1" if route == "local" else "h2"
    made = point(number, "pvm", size, trip_us, target, options={"route": route}, label=route)
    asked = "normal" if route == "local" else route
    made.opened = {
        0: {"route_asked": asked, "route": taken or asked, "encoding": "default", **more}
    }
    return made


def seen(*points: Point) -> Seen:
    run = Run(Path("run"), {"origin": "emulated", "path": {"kind": "lab"}}, list(points), True)
    return Seen(run, figures_of(run))


def test_a_direct_route_that_was_not_had_is_a_warning() -> None:
    (found,) = route_not_taken(seen(task(1, 8, 90, "direct", "normal"), task(2, 8, 30, "direct")))
    assert found.level == "warning"
    assert found.points == ("p001",)
    assert "1 point asked for the direct route" in found.claim


@pytest.mark.parametrize("route", ["direct", "normal"])
def test_a_route_that_was_had_is_none(route: str) -> None:
    assert list(route_not_taken(seen(task(1, 8, 90, route)))) == []


def test_the_hops_are_put_beside_the_whole() -> None:
    points = (
        *(task(1, 40, 100, "normal"), task(2, 40, 50, "local")),
        *(task(3, 400, 120, "normal"), task(4, 400, 60, "local")),
        *(point(5, "udp", 40, 30, "h2"), point(6, "udp", 400, 36, "h2")),
    )
    (found,) = route_of_daemons(seen(*points))
    assert "40 bytes through the daemons takes 100" in found.claim
    assert "the local hops 50" in found.claim
    assert "the UDP hop 30" in found.claim
    assert found.evidence.count("+20% are left") == 2
    assert set(found.points) == {"p001", "p002", "p003", "p004", "p005", "p006"}


@pytest.mark.parametrize(
    "points",
    [
        (task(1, 40, 100, "normal"), point(2, "udp", 40, 30, "h2")),
        (task(1, 40, 100, "normal"), task(2, 40, 50, "local")),
        (task(1, 40, 100, "normal"), task(2, 40, 50, "local"), point(3, "udp", 400, 30, "h2")),
        (task(1, 8000, 100, "normal"), task(2, 8000, 50, "local"), point(3, "udp", 8000, 9, "h2")),
        (
            task(1, 40, 100, "normal", encoding="raw"),
            task(2, 40, 50, "local"),
            point(3, "udp", 40, 30, "h2"),
        ),
        (task(1, 40, 100, "direct"), task(2, 40, 50, "local"), point(3, "udp", 40, 30, "h2")),
    ],
    ids=["no local", "no udp", "other size", "several fragments", "other encoding", "direct"],
)
def test_without_all_hops_there_is_no_sum(points: tuple[Point, ...]) -> None:
    assert list(route_of_daemons(seen(*points))) == []


def with_daemons(point: Point, *cpu_us: int) -> Point:
    """The same with what the daemon of each end took of CPU time for a round trip."""
    for end, spent in zip(point.batches[0].ends.values(), cpu_us, strict=True):
        name = "pvm.daemon_cpu_ns"
        end.before = Snapshot("before", 0, 0, {name: 1000})
        end.after = Snapshot("after", 1, 0, {name: 1000 + 40 * spent * US})
    return point


def test_what_two_daemons_do_more_than_one_stands_beside_what_is_left() -> None:
    points = (
        with_daemons(task(1, 40, 100, "normal"), 35, 30),
        with_daemons(task(2, 40, 50, "local"), 25, 25),
        point(3, "udp", 40, 30, "h2"),
    )
    (found,) = route_of_daemons(seen(*points))
    assert "the two daemons take 65" in found.evidence
    assert "40 µs more than the one" in found.evidence.replace("40.00", "40")
    assert "20 µs are left" in found.evidence.replace("20.00", "20")


def test_both_routes_are_layers_over_tcp() -> None:
    points = (
        *(point(1, "udp", 40, 20, "h2"), point(2, "tcp", 40, 22, "h2")),
        *(task(3, 40, 30, "direct"), task(4, 40, 90, "normal")),
    )
    (found,) = layers(seen(*points))
    assert "UDP 20" in found.claim
    assert "PVM (route direct) 30" in found.claim
    assert "PVM (route normal) 90" in found.claim
    assert "PVM (route direct) adds 8" in found.evidence
    assert "PVM (route normal) adds 68" in found.evidence
    assert found.evidence.count("to TCP") == 2
