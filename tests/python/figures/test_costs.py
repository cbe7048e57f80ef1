"""Figures of sends, overheads, pairs and bursts, from batches that are made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netsonde.figures.costs import bursts, overheads, pair_trips, send_costs
from netsonde.figures.maker import MAKERS, Maker
from netsonde.records.data import Batch, EndData, Point, Snapshot


def end(rank: int, host: str = "h1", counters: dict[str, int] | None = None, **series: Any):
    values = {name: np.asarray(value, np.int64) for name, value in series.items()}
    return EndData(rank, host, values, counters or {})


def point(test: str, *batches: dict[int, EndData]) -> Point:
    made = [Batch(number, ends) for number, ends in enumerate(batches)]
    return Point("p001", "udp", test, {"message_bytes": 1000}, "finished", batches=made)


def figures(of: Point) -> dict[str, float]:
    return {figure.name: figure.value for figure in MAKERS[of.test](Maker(of))}


def test_sends() -> None:
    def series(count: int) -> dict[int, EndData]:
        times = np.arange(1, count + 1) * 2_000 + np.maximum(0, np.arange(count) - 99) * 8_000
        return {0: end(0, sent_ns=times)}

    made = point("send-series", *(series(n) for n in (8, 16, 24, 32, 64, 128, 256, 512, 1024)))
    found = send_costs(made)
    assert found is not None
    assert found.gap_ns == pytest.approx(10_000)
    said = figures(made)
    assert said["send_cost_median_ns"] == 2_000
    assert said["send_equilibrium_ns"] == pytest.approx(10_000)
    assert said["send_ring_messages"] == 64
    assert figures(point("send-series", series(8)))["send_cost_median_ns"] == 2_000


def test_overheads() -> None:
    count, trip = 500, 100_000
    gaps = np.full(count, 3_030)
    gaps[:100], gaps[100:150] = 35, 70_000  # too short, too long
    made = point(
        "overheads",
        {0: end(0, round_trip_ns=np.full(64, trip))},
        {
            0: end(
                0,
                send_call_ns=np.full(count, 1_500),
                receive_call_ns=np.full(count, 700),
                longest_gap_ns=gaps,
                readings=np.round((2 * trip - gaps) / 30 + 1),
            )
        },
    )
    found = overheads(made)
    assert found is not None
    assert (found.arrivals.short, found.arrivals.long) == (100, 50)
    said = figures(made)
    assert said["send_cost_median_ns"] == 1_500
    assert said["receive_cost_median_ns"] == 700
    assert said["arrival_cost_median_ns"] == pytest.approx(3_000, abs=1)
    assert said["arrivals_rejected_ratio"] == pytest.approx(0.3)


def test_arrivals_that_cannot_be_told_have_no_figure() -> None:
    made = point(
        "overheads",
        {0: end(0, round_trip_ns=[100_000])},
        {
            0: end(
                0,
                send_call_ns=[1],
                receive_call_ns=[1],
                longest_gap_ns=[40],
                readings=[200_000 // 30],
            )
        },
    )
    said = figures(made)
    assert "arrival_cost_median_ns" not in said
    assert said["arrivals_rejected_ratio"] == 1.0


def test_bisection() -> None:
    def trips(*each_ns: int) -> dict[int, EndData]:
        return {2 * i: end(2 * i, round_trip_ns=np.full(50, ns)) for i, ns in enumerate(each_ns)}

    made = point("bisection", trips(9), trips(100), trips(110, 130), trips(150, 150, 170, 190))
    found = list(pair_trips(made))
    assert [one.pairs for one in found] == [1, 2, 4]
    said = figures(made)
    assert said["one_pair_round_trip_median_ns"] == 100
    assert said["bisection_round_trip_median_ns"] == 160
    assert said["bisection_slowdown_times"] == pytest.approx(1.6)


def burst(sources: int, sinks: int, each: int, spilled: int = 0) -> dict[int, EndData]:
    free = sources * each * sinks // sources + 95 * sinks
    came = min(sources * each, free)
    ends: dict[int, EndData] = {}
    for source in range(sources):
        sent = {"messages_sent": each, "start_late_ns": 100 * source}
        ends[2 * source] = end(2 * source, f"h{source}", sent)
        got = {"messages_received": came // sources + (source < came % sources)}
        sink = end(2 * source + 1, f"sink{source % sinks}", got)
        name = "snmp.Udp.RcvbufErrors"
        sink.before = Snapshot("before", 0, 0, {name: 0})
        sink.after = Snapshot("after", 1, 0, {name: spilled})
        ends[2 * source + 1] = sink
    return ends


def test_bursts() -> None:
    sizes = [(2, 1, n) for n in (32, 64, 128, 192, 256, 512)]
    sizes += [(4, 2, n) for n in (64, 128, 192, 256, 512)]
    made = point("bursts", burst(1, 1, 400), *(burst(*size) for size in sizes))
    found = list(bursts(made))
    assert {(one.sources, one.sinks) for one in found} == {(2, 1), (4, 2)}
    assert max(one.late_ns for one in found) == 300
    said = figures(made)
    assert said["burst_passed_messages"] == 4 * 64
    assert said["burst_room_messages"] == pytest.approx(95, abs=1)
    assert said["burst_lost_ratio"] == pytest.approx(1 - (1024 + 190) / 2048)


def test_what_sockets_dropped_is_counted_apart() -> None:
    made = point("bursts", burst(1, 1, 400), burst(2, 1, 256, spilled=7))
    assert [one.spilled for one in bursts(made)] == [7]
