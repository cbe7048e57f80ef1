"""Schedules whose messages are frames: how many packets there are, that what a link loses comes all
the same, and what a window that follows from an uplink's buffer loses."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import run_over

from link_needed import require_frames
from mpi_needed import require_mpi
from netsonde.figures.compute import figures_of, find
from netsonde.lab import permission_problem
from netsonde.records.data import Batch, Run

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.timeout(120),
]
SCENARIO = """
hosts = 3
links = "switch"
[pace]
calibrate = false
[link]
rate = "1G"
"""
HOSTS = 3
# Two leaf switches of four hosts, whose uplinks carry a quarter of what these send.
OVERSUBSCRIBED = """
links = "switch"
[pace]
priority = 1
[link]
rate = "10M"
[[switch]]
name = "leaf1"
architecture = "shared"
buffer = "64k"
hosts = "h[1-4]"
[[switch]]
name = "leaf2"
architecture = "shared"
buffer = "64k"
hosts = "h[5-8]"
[[switch]]
name = "root"
architecture = "shared"
buffer = "64k"
[[uplink]]
lower = "leaf1"
upper = "root"
rate = "10M"
[[uplink]]
lower = "leaf2"
upper = "root"
rate = "10M"
"""
BUFFER_PACKETS = 65_536 // 1514
BLOCK_BYTES = 16_384


@pytest.fixture(scope="module", autouse=True)
def needed() -> None:
    require_mpi()
    require_frames()


def executed(folder: Path, scenario: str, ranks: int, *blocks: dict[str, object]) -> Run:
    usual = {
        **{"transports": "mpi", "test": "collective", "operations": "alltoall"},
        **{"count": 20, "cap": "300ms"},
    }
    asked = [{**usual, **block} for block in blocks]
    run: Run = run_over(folder, scenario, asked, mpi={"ranks": ranks})
    return run


def batches_of(run: Run) -> list[Batch]:
    return [batch for point in run.points for batch in point.batches]


def counted(run: Run, name: str) -> int:
    return sum(end.counters[name] for batch in batches_of(run) for end in batch.ends.values())


def test_each_block_is_so_many_packets(tmp_path: Path) -> None:
    packets = {64: 1, 1492: 1, 1493: 2, 10_000: 7}
    way = {"algorithm": "pairwise:over=link:timeout=2s", "check_data": True}
    sizes = ",".join(str(size) for size in packets)
    run = executed(tmp_path / "run", SCENARIO, HOSTS, {**way, "sizes": sizes})
    assert len(run.points) == len(packets)
    for point in run.points:
        for batch in point.batches:
            for end in batch.ends.values():
                repetitions = len(end.series["duration_ns"])
                each = packets[point.message_bytes] * (HOSTS - 1)
                assert end.counters["packets_sent"] == each * repetitions
                assert end.counters["corrupt"] == 0


def test_what_a_link_loses_comes_all_the_same_in_each_family(tmp_path: Path) -> None:
    """Every 150th frame of each line is lost, answers among them, and of MPI's own."""
    lossy = SCENARIO + "loss_every = 150\n"
    ways = {
        "alltoall": "bruck",
        "allreduce": "ring",
        "bcast": "scatter-ring",
        "barrier": "dissemination",
        "gather": "binomial",
    }
    blocks: list[dict[str, object]] = [
        {
            "operations": operation,
            "algorithm": f"{way}:over=link:driver=packet:timeout=20ms:flow-window=8",
            "sizes": "0" if operation == "barrier" else "8k",
            "check_data": True,
            # An operation of our own is made when its plan is there already.
            **({"reduction": "own-sum"} if operation == "allreduce" else {}),
        }
        for operation, way in ways.items()
    ]
    run = executed(tmp_path / "run", lossy, HOSTS, *blocks)
    assert len(run.points) == len(ways)
    assert counted(run, "corrupt") == 0
    assert counted(run, "packets_resent") > 0
    for batch in batches_of(run):
        assert sum(end.counters["packets_sent"] for end in batch.ends.values()) > 0


@pytest.mark.soak
@pytest.mark.tolerant
@pytest.mark.timeout(900)
def test_a_window_by_the_uplinks_buffer_loses_nothing(tmp_path: Path, attempts) -> None:
    """And reaches nine tenths of what the uplink lets through, which carries 16 of 56 blocks each
    way, one behind the other, in frames with 22 bytes of headers."""
    way = "modified-shuffle:hierarchy=4x2:remap:segment=1492:over=link:timeout=200ms"
    frames = -(-BLOCK_BYTES // 1492)
    bound_ns = 16 * (BLOCK_BYTES + 22 * frames) * 8 / 10e6 * 1e9
    for attempt in attempts(2, of=3):
        folder = tmp_path / str(attempt.number)
        safe = f"{way}:uplink-buffer={BUFFER_PACKETS}"
        block = {"algorithm": safe, "sizes": str(BLOCK_BYTES), "count": 40, "cap": "10s"}
        run = executed(folder, OVERSUBSCRIBED, 8, block)
        (point,) = run.points
        found = find(figures_of(run), "completion_median_ns", point.id)
        assert found is not None
        share = bound_ns / found.value
        resent = counted(run, "packets_resent")
        attempt.found(share_of_the_bound=share, resent=resent)
        with attempt:
            assert resent == 0
            assert share >= 0.9
