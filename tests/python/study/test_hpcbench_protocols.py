"""The study of Hpcbench's experiments by protocol has every row of the tables that it names."""

from pathlib import Path

import pytest

from netsonde.study.plan import PlannedPoint, plan_points
from netsonde.study.spec import read_study

STUDY = Path(__file__).parents[3] / "studies" / "hpcbench-protocols.toml"

# Protocol, test, size, wait of a socket or messages of MPI on their way; what is None is usual.
ROWS = {
    "4-1, 4-8: UDP": ("udp", "stream", 1460, "block"),
    "4-2, 4-9: TCP": ("tcp", "stream", 65536, "block"),
    "4-4, 4-10: MPI": ("mpi", "stream", 65536, None),
    "4-13: TCP uni blocking": ("tcp", "stream", 65536, "block"),
    "4-13: TCP uni non-blocking": ("tcp", "stream", 65536, "ready"),
    "4-13: TCP bi blocking (ping-pong)": ("tcp", "pingpong", 65536, "block"),
    "4-13: TCP bi non-blocking": ("tcp", "duplex", 65536, "ready"),
    "4-13: MPI uni blocking": ("mpi", "stream", 65536, None),
    "4-13: MPI uni non-blocking": ("mpi", "stream", 65536, 16),
    "4-13: MPI bi blocking (ping-pong)": ("mpi", "pingpong", 65536, None),
    "4-13: MPI bi non-blocking": ("mpi", "duplex", 65536, None),
    "4-13: UDP bi multiplexed": ("udp", "duplex", 1460, "ready"),
    "4-16: ICMP": ("icmp", "latency", 64, "block"),
    "4-16: UDP": ("udp", "latency", 64, "block"),
    "4-16: TCP": ("tcp", "latency", 64, "block"),
    "4-16: MPI": ("mpi", "latency", 64, None),
}


def condition(point: PlannedPoint) -> tuple[str, str, int, str | int | None]:
    asked = point.parameters
    how = asked.get("outstanding") or asked.get("options", {}).get("wait")
    return point.transport, point.test, asked["message_bytes"], how


@pytest.mark.parametrize("row", ROWS)
def test_every_row_of_the_tables_is_measured(row: str) -> None:
    assert ROWS[row] in {condition(point) for point in plan_points(read_study(STUDY))}


def test_tcp_is_given_8_kib_a_call() -> None:
    calls = {
        point.parameters.get("call_bytes")
        for point in plan_points(read_study(STUDY))
        if point.transport == "tcp" and point.test != "latency"
    }
    assert calls == {8192}
