"""Large messages over slow paths: the first batch is short, and no limit ends it too early."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from planned_points import planned_point

from netsonde.study.measure import measure_point
from netsonde.study.series import SLOWEST_BIT_PER_S

MI = 1 << 20


class SlowSession:
    """Round trips over a path of so many bits a second, in no time."""

    def __init__(self, bit_per_s: float) -> None:
        self._bit_per_s = bit_per_s
        self.requests: list[dict[str, Any]] = []

    def run(self, request: dict[str, Any], timeout_s: float) -> list[dict[str, Any]]:
        count, size = request["count"], request["message_bytes"]
        trip_ns = int(16e9 * size / self._bit_per_s)
        assert count * trip_ns <= request["timeout_ns"] <= timeout_s * 1e9
        self.requests.append(request)
        values = np.full(count, trip_ns, "<i8")
        end = {"rank": 0, "host": "h1"}
        series = {"name": "round_trip_ns", "offset": 0, "count": count, "total": count}
        text = base64.b64encode(values.tobytes()).decode()
        return [
            {"record": "series", **end, **series, "values": text},
            {"record": "counters", **end, "values": {"messages_sent": count}},
        ]


def first_count(size: int, transport: str = "tcp", **parameters: Any) -> int:
    session = SlowSession(SLOWEST_BIT_PER_S)
    given = {"message_bytes": size, "cap_ns": 1_000_000, "interval": 0.01, **parameters}
    point = planned_point(transport, "latency", given)
    measure_point(session, point, lambda *_: None)  # type: ignore[arg-type]
    return int(session.requests[0]["count"])


@pytest.mark.parametrize(
    ("size", "count"), [(0, 16), (64, 16), (64 << 10, 16), (256 << 10, 4), (MI, 1), (16 * MI, 1)]
)
def test_the_first_batch_is_short_where_messages_are_large(size: int, count: int) -> None:
    assert first_count(size) == count


def test_no_message_is_so_large_that_the_worker_refuses_the_limit() -> None:
    session = SlowSession(bit_per_s=1e9)
    given = {"message_bytes": 4096 * MI, "cap_ns": 1_000_000, "interval": 0.01}
    point = planned_point("tcp", "latency", given)
    measure_point(session, point, lambda *_: None)  # type: ignore[arg-type]
    assert session.requests[0]["timeout_ns"] <= 86_400 * 10**9  # as the worker's own limit is


def test_a_loop_of_another_tool_may_take_as_long_as_the_slowest_path_does() -> None:
    assert first_count(4 * MI, "mpi", like="mpptest", warm_up=2, count=50) == 50
