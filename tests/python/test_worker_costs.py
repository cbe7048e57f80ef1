"""What two workers say of messages whose sender watches its own time, and of a silent start."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from raw_worker import RawPair, counters, pair, series

from netsonde.launch.flows import Gate, _hold

pytestmark = pytest.mark.worker

WAIT_NS = 400_000


@pytest.fixture(params=["udp", "tcp"])
def ends(request: pytest.FixtureRequest, sonde_worker: Path) -> Iterator[RawPair]:
    with pair(sonde_worker, request.param) as both:
        yield both


def test_each_exchange_has_its_costs(ends: RawPair) -> None:
    fields: dict[str, Any] = {"count": 100, "message_bytes": 64, "wait_ns": WAIT_NS}
    origin, target = ends.run(test="overheads", **fields)
    found = {
        name: series(origin, name)
        for name in ("send_call_ns", "longest_gap_ns", "readings", "receive_call_ns")
    }
    answered = counters(origin)["messages_received"]
    assert answered >= 90  # datagrams of a busy machine may be late
    assert {len(values) for values in found.values()} == {answered}
    assert (found["send_call_ns"] > 0).all()
    # It reads its clock all the while, and the longest gap is one of those between readings.
    gaps = found["longest_gap_ns"] * found["readings"]
    assert (gaps >= WAIT_NS).all()
    assert counters(target)["messages_received"] >= answered
    spent_ns = counters(origin)["end_ns"] - counters(origin)["start_ns"]
    assert spent_ns >= 100 * WAIT_NS


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"test": "overheads"}, "wait_ns goes with test overheads"),
        ({"test": "latency", "wait_ns": 1}, "wait_ns goes with test overheads"),
        ({"test": "overheads", "wait_ns": 2_000_000_000}, "wait_ns"),
        ({"test": "latency", "silent_start": True}, "silent_start goes with start_at_ns"),
    ],
)
def test_what_makes_no_sense_is_refused(ends: RawPair, fields: dict[str, Any], says: str) -> None:
    asked = {"count": 5, "message_bytes": 64, "timeout_ns": 1_000_000_000, **fields}
    answer = ends.origin.ask("run", **asked)[-1]
    assert (answer["record"], answer["code"]) == ("error", "bad_request")
    assert says in answer["message"]


def test_a_silent_start_says_its_last_word_before_it_waits(ends: RawPair) -> None:
    """The target's clock starts with that word, and both ends still move every message."""
    lead_ns = 200_000_000
    starts = {}
    for silent in (False, True):
        at = time.monotonic_ns() + lead_ns
        own = {"silent_start": True} if silent else {}
        origin, target = ends.run(test="stream", count=20, message_bytes=200, start_at_ns=at, **own)
        assert counters(origin)["messages_sent"] == counters(target)["messages_received"] == 20
        starts[silent] = counters(target)["start_ns"] - counters(origin)["start_ns"]
    assert starts[True] < -lead_ns / 4  # one clock, both ends being here
    assert starts[False] > -lead_ns / 4


class _Noted:
    def __init__(self) -> None:
        self.at: list[tuple[str, int]] = []

    def close(self) -> None:
        self.at.append(("closed", time.monotonic_ns()))

    def open(self) -> None:
        self.at.append(("opened", time.monotonic_ns()))


def test_a_gate_is_closed_around_the_start() -> None:
    gate = _Noted()
    start_ns = time.monotonic_ns() + 80_000_000
    _hold(gate, start_ns, 30_000_000)
    (closed, closed_ns), (opened, opened_ns) = gate.at
    assert (closed, opened) == ("closed", "opened")
    assert closed_ns < opened_ns
    assert opened_ns >= start_ns + 30_000_000


def test_a_gate_that_cannot_be_closed_is_opened_again() -> None:
    class Stuck(_Noted):
        def close(self) -> None:
            super().close()
            raise OSError("it is stuck")

    gate: Gate = Stuck()
    with pytest.raises(OSError, match="stuck"):
        _hold(gate, time.monotonic_ns(), 0)
    assert isinstance(gate, Stuck)
    assert [word for word, _ in gate.at] == ["closed", "opened"]
