"""Whether ends slept or spun, from switches that are known."""

from __future__ import annotations

import numpy as np
import pytest

from netsonde.figures.waiting import SWITCHES, waits_of
from netsonde.records.data import Batch, EndData, Point, Snapshot


def point(*switches, test="latency", messages=1000):
    ends = {}
    for rank, grown in enumerate(switches):
        end = EndData(rank, f"h{rank}")
        if rank == 0:
            end.series["round_trip_ns"] = np.full(messages, 50_000)
        if grown is not None:
            end.before = Snapshot("before", 0, 0, {SWITCHES: 7})
            end.after = Snapshot("after", 1, 0, {SWITCHES: 7 + grown})
        ends[rank] = end
    return Point("p001", "tcp", test, {"message_bytes": 64}, "finished", batches=[Batch(0, ends)])


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ((1450, 1460), "sleeps"),
        ((700, 700), "sleeps"),
        ((18, 16), "spins"),
        ((300, 310), "spins"),
        ((1000, 10), None),  # one does the one, one the other
        ((500, 500), None),
        ((None, 1000), None),
        ((1000,), None),
    ],
)
def test_switches_for_each_message(switches, expected):
    assert waits_of(point(*switches)) == expected


def test_only_of_round_trips():
    assert waits_of(point(1000, 1000, test="stream")) is None
    assert waits_of(point(1000, 1000, messages=0)) is None
