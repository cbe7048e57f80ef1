"""What sonde-mpi answers: every test and operation, on two ranks and on more than CPUs."""

from __future__ import annotations

import base64
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from mpi_program import (
    MARK,
    SUPPRESSIONS,
    Record,
    converse,
    marked_processes,
    rank_pids,
    wait_until,
)

from mpi_needed import require_mpi
from netsonde import __version__
from netsonde.errors import HostError
from netsonde.launch.mpi import MpiSession, open_mpi
from netsonde.launch.mpi_launchers import CROWDED_SETTINGS
from netsonde.launch.worker import WorkerError
from netsonde.records.data import EndData, Point
from netsonde.records.decode import decode_batch
from netsonde.study.checks import transport_check

pytestmark = [pytest.mark.worker]
SCHEMA = Path(__file__).parents[2] / "schema"
S = 1_000_000_000
OPERATIONS = {"barrier": 0, "bcast": 10_001, "allreduce": 8_000, "alltoall": 1_001}
TESTS: list[dict[str, Any]] = [
    {"test": "latency", "message_bytes": 1, "count": 12},
    {"test": "latency", "message_bytes": 0, "count": 3},
    {"test": "pingpong", "message_bytes": 300_000, "count": 3},
    {"test": "stream", "message_bytes": 10_000, "count": 15},
    {"test": "stream", "message_bytes": 65_536, "duration_ns": 5_000_000},
    {"test": "stream", "message_bytes": 10_000, "count": 15, "outstanding": 1},
    {"test": "stream", "message_bytes": 10_000, "count": 15, "outstanding": 64},
    {"test": "stream", "message_bytes": 300_000, "duration_ns": 5_000_000, "outstanding": 4},
    {"test": "duplex", "message_bytes": 10_000, "count": 9},
    {"test": "threads", "message_bytes": 100, "count": 9, "threads": 1},
    {"test": "threads", "message_bytes": 100, "count": 9, "threads": 1, "echo": "other"},
    {"test": "pingpong", "message_bytes": 300_000, "count": 3, "echo": "other"},
    {"test": "latency", "message_bytes": 8, "count": 3, "echo": "same"},
    *(
        {"test": "collective", "operation": operation, "message_bytes": message_bytes, "count": 6}
        for operation, message_bytes in OPERATIONS.items()
    ),
    {"test": "collective", "operation": "bcast", "root": 1, "message_bytes": 64, "count": 4},
    *(
        {
            "test": "collective",
            "operation": "allreduce",
            "message_bytes": 64,
            "count": 12,
            "start": start,
            "clocks": "apart",
        }
        for start in ("barrier", "window", "none")
    ),
    {
        "test": "collective",
        "operation": "barrier",
        "message_bytes": 0,
        "count": 6,
        "delay": {"rank": 0, "repetition": 5, "time_ns": 50_000},
    },
    {"test": "clock", "message_bytes": 0, "count": 3, "interval_ns": 1_000_000},
    {"test": "clock", "message_bytes": 0, "count": 3, "interval_ns": 1_000_000, "clocks": "apart"},
]


def mpi_here() -> tuple[str, str]:
    """mpiexec and sonde-mpi; skips where there is none."""
    mpiexec, program = require_mpi()
    return str(mpiexec), str(program)


def sanitized(program: str) -> bool:
    return b"__asan_init" in Path(program).read_bytes()


@pytest.fixture(autouse=True)
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every process of a test carries it; none may be left."""
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    monkeypatch.setenv("LSAN_OPTIONS", f"suppressions={SUPPRESSIONS}:print_suppressions=0")
    mpi_here()
    yield value
    assert wait_until(lambda: not marked_processes(value)), "the test left processes"


def numbered(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**request, "request": number} for number, request in enumerate(requests, 1)]


def run(fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"verb": "run", "timeout_ns": 30 * S, **fields, **more}


def test_more_outstanding_than_memory_is_refused() -> None:
    with open_mpi(None, 2) as session, pytest.raises(WorkerError, match="at most 2147483648"):
        session.run(
            {"test": "stream", "message_bytes": 1 << 27, "count": 2, "outstanding": 1024}, 30
        )


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_every_line_is_a_record_and_every_request_is_answered_once(
    ranks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpiexec, program = mpi_here()
    if ranks > 2:
        for name, value in CROWDED_SETTINGS.items():
            monkeypatch.setenv(name, value)
    collectives = [fields for fields in TESTS if fields["test"] == "collective"]
    fields_of = TESTS if ranks > 1 else [f for f in collectives if not f.get("root")]
    requests = numbered(
        {"verb": "facts"},
        *(run(fields, check_data=True, seed=5) for fields in fields_of),
        {"verb": "snapshot"},
        {"verb": "dance"},
        {"verb": "quit"},
    )
    records, stderr, status = converse([mpiexec, "-n", str(ranks), program], requests)
    assert (status, stderr) == (0, "")
    validator = jsonschema.Draft202012Validator(
        json.loads((SCHEMA / "record.schema.json").read_text())
    )
    for record in records:
        validator.validate(record)
    assert records[0]["record"] == "hello"
    assert (records[0]["ranks"], records[0]["worker"]) == (ranks, "sonde-mpi")
    assert records[0]["version"] == __version__
    assert records[-1] == {**records[-1], "record": "bye", "reason": "quit"}
    ends = [record for record in records if record["record"] in ("done", "error")]
    assert [end["request"] for end in ends] == [request["request"] for request in requests]
    assert [end["rank"] for end in ends] == [0] * len(requests)
    failed = [end["request"] for end in ends if end["record"] == "error"]
    assert failed == [requests[-2]["request"]]
    for request in requests[1:-3]:
        check_batch(request, [r for r in records if r.get("request") == request["request"]], ranks)
    facts = [record for record in records if record["record"] == "facts"]
    assert [record["rank"] for record in facts] == list(range(ranks))
    for record in facts:
        assert record["values"]["mpi.library"].startswith("MPI") or record["values"]["mpi.library"]
        assert "\n" not in record["values"]["mpi.library"]
        assert record["values"]["mpi.environment.FI_PROVIDER"] == os.environ.get(
            "FI_PROVIDER", "tcp"
        )


def check_batch(request: dict[str, Any], records: list[Record], ranks: int) -> None:
    """Samples, counters and snapshots of one run against what was asked for."""
    batch = decode_batch(0, records)
    assert sorted(batch.ends) == list(range(ranks))
    assert records[-1]["values"]["ended_by"] == (
        "duration" if "duration_ns" in request else "count"
    )
    for end in batch.ends.values():
        assert end.before is not None
        assert end.after is not None
        assert end.before.time_ns < end.after.time_ns
    taking_part = [
        end
        for end in batch.ends.values()
        if request["test"] in ("collective", "clock") or end.rank < 2
    ]
    for end in taking_part:
        assert end.before is not None
        assert end.after is not None
        assert end.before.time_ns <= end.counters["start_ns"] <= end.counters["end_ns"]
        assert end.counters["end_ns"] <= end.after.time_ns
        assert end.counters.get("corrupt", 0) == 0
    for end in batch.ends.values():
        if end not in taking_part:
            assert (end.series, end.counters) == ({}, {})
    origin, others = taking_part[0], taking_part[1:]
    lengths = {name: len(values) for name, values in origin.series.items()}
    if request["test"] in ("collective", "clock"):
        check_clocks(request, taking_part)
    if request["test"] == "clock":
        return
    if request["test"] == "collective":
        for end in taking_part:
            names = {"begin_ns", "duration_ns"} | (
                {"late_ns"} if request.get("start") == "window" else set()
            )
            repeated = {n: len(v) for n, v in end.series.items() if not n.startswith("clock_")}
            assert repeated == dict.fromkeys(names, request["count"])
            assert "corrupt" in end.counters
            # An operation of one rank alone may take less than a tick of the clock.
            assert (end.series["duration_ns"] >= (1 if ranks > 1 else 0)).all()
            assert (np.diff(end.series["begin_ns"]) >= end.series["duration_ns"][:-1]).all()
        return
    target = others[0]
    sent = origin.counters["messages_sent"]
    assert sent == request.get("count", sent)
    assert origin.counters["bytes_sent"] == sent * request["message_bytes"]
    assert target.counters["messages_received"] == sent
    if request["test"] in ("latency", "pingpong"):
        assert lengths == {"round_trip_ns": sent}
        assert (origin.counters["calls_sent"], origin.counters["calls_received"]) == (sent, sent)
    elif request["test"] == "threads":
        of_each = dict.fromkeys(("thread_begin_ns", "thread_end_ns", "thread_cpu"), 1)
        assert lengths == {"round_trip_ns": sent, "thread": sent, **of_each}
        assert records[-1]["values"]["thread_level"] == "MPI_THREAD_FUNNELED"
    else:
        assert lengths["sent_ns"] == len(target.series["received_ns"]) == sent
        assert "corrupt" in target.counters


def check_clocks(request: dict[str, Any], ends: list[EndData]) -> None:
    """Ranks of this machine read one clock: they compare only where they are told to."""
    assert len({end.counters["clock_name"] for end in ends}) == 1
    is_apart = request.get("clocks") == "apart"
    assert len({end.counters["clock_group"] for end in ends}) == (len(ends) if is_apart else 1)
    comparisons = request["count"] if request["test"] == "clock" else 2
    for end in ends:
        compared = end.series.get("clock_at_ns")
        if not is_apart or end.rank == 0:
            assert compared is None
            continue
        assert compared is not None
        assert end.counters["clock_parent"] == end.rank & (end.rank - 1)
        assert len(compared) == comparisons
        assert (np.diff(compared) > 0).all()
        # Bounds are never wrong; the two programs' readings of one clock differ by some 100 ns.
        assert (end.series["clock_low_ns"] <= 1000).all()
        assert (end.series["clock_high_ns"] >= -1000).all()


def test_a_message_of_another_size_than_a_piece_of_series() -> None:
    """Series longer than one record come in pieces that fit together, from every rank."""
    mpiexec, program = mpi_here()
    count = 90_001
    requests = numbered(
        run({"test": "stream", "message_bytes": 1, "count": count}), {"verb": "quit"}
    )
    records, _, _ = converse([mpiexec, "-n", "2", program], requests)
    pieces = [record for record in records if record["record"] == "series"]
    assert [(r["rank"], r["name"], r["offset"], r["count"]) for r in pieces] == [
        (0, "sent_ns", 0, 90_000),
        (0, "sent_ns", 90_000, 1),
        (1, "received_ns", 0, 90_000),
        (1, "received_ns", 90_000, 1),
    ]
    assert all(len(base64.b64decode(r["values"])) == 8 * r["count"] for r in pieces)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"operation": "allreduce", "message_bytes": 9}, "multiple of 8"),
    ({"operation": "barrier", "message_bytes": 1}, "expected 0"),
    ({"operation": "bcast", "message_bytes": 1, "root": 2}, "a rank below 2"),
    ({"operation": "bcast", "message_bytes": 1 << 31}, "at most 2147483647"),
    ({"operation": "gossip", "message_bytes": 1}, "gossip"),
    ({"operation": "gather", "message_bytes": 1, "uneven": True}, "uneven"),
    ({"operation": "sendrecv", "message_bytes": 1, "distance": 2}, "pattern ring"),
    ({"test": "latency", "message_bytes": 1 << 31}, "at most 2147483647"),
    ({"test": "stream", "message_bytes": 0}, "message_bytes"),
    ({"message_bytes": 1}, "operation"),
    ({"operation": "bcast", "message_bytes": 1, "color": 3}, "color"),
    ({"operation": "bcast", "message_bytes": 1, "start": "later"}, "barrier, window or none"),
    ({"operation": "bcast", "message_bytes": 1, "clocks": "well"}, "known or apart"),
    ({"test": "clock", "message_bytes": 0, "count": 1}, "2 or more"),
    ({"test": "latency", "message_bytes": 1, "start": "window"}, "start goes with"),
]


def test_what_cannot_be_done_is_refused_and_the_next_request_served() -> None:
    mpiexec, program = mpi_here()
    requests = numbered(
        *(run({"test": "collective", "count": 3, **fields}) for fields, _ in BAD),
        run({"test": "latency", "message_bytes": 8, "count": 3}),
        {"verb": "quit"},
    )
    records, stderr, status = converse([mpiexec, "-n", "2", program], requests)
    assert (status, stderr) == (0, "")
    errors = [record for record in records if record["record"] == "error"]
    assert [error["request"] for error in errors] == list(range(1, len(BAD) + 1))
    for error, (_, expected) in zip(errors, BAD, strict=True):
        assert error["code"] == "bad_request"
        assert expected in error["message"]
    series = [record for record in records if record["record"] == "series"]
    assert [record["request"] for record in series] == [len(BAD) + 1]


def test_two_ranks_are_needed_for_a_message() -> None:
    mpiexec, program = mpi_here()
    requests = numbered(run(TESTS[0]), {"verb": "quit"})
    records, _, _ = converse([mpiexec, "-n", "1", program], requests)
    assert records[1]["record"] == "error"
    assert "needs 2 ranks" in records[1]["message"]


def test_a_rank_without_memory_stops_all_before_anything_is_sent() -> None:
    mpiexec, program = mpi_here()
    if sanitized(program):
        pytest.skip("the sanitizer needs an address space without limit")
    limited = ["sh", "-c", 'ulimit -v 400000; exec "$0"', program]
    too_much = {"operation": "bcast", "message_bytes": 500_000_000, "count": 1}
    requests = numbered(run({"test": "collective", **too_much}), run(TESTS[0]), {"verb": "quit"})
    argv = [mpiexec, "-n", "1", program, ":", "-n", "1", *limited]
    records, stderr, status = converse(argv, requests)
    assert (status, stderr) == (0, "")
    assert records[1]["record"] == "error", "a rank without memory went on"
    assert records[1]["code"] == "no_memory"
    if not records[1]["message"].startswith("rank 1 on "):
        pytest.skip("this machine has too little memory even without the limit")
    assert [record["request"] for record in records if record["record"] == "done"] == [2, 3]


def test_ranks_that_wait_do_not_burn_a_processor(mark: str) -> None:
    with open_mpi(None, 3) as session:
        session.run({"test": "latency", "message_bytes": 1, "count": 3}, 30)
        pids = rank_pids(mark)
        assert sorted(pids) == [0, 1, 2]
        before = {rank: processor_time_s(pid) for rank, pid in pids.items()}
        assert not wait_until(lambda: not pids, 1.0)  # a second passes
        for rank, pid in pids.items():
            # A rank that polls without pause takes all it can get; one that sleeps, a hundredth.
            assert processor_time_s(pid) - before[rank] < 0.2


def processor_time_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_loopback_is_crossed_where_it_is_asked_for() -> None:
    with open_mpi(None, 2, within="loopback") as session:
        records = session.run({"test": "latency", "message_bytes": 10_000, "count": 100}, 60)
    check = transport_check(Point("p001", "mpi", "latency", {}, batches=[decode_batch(0, records)]))
    assert (check["verified"], check["payload_bytes"]) == (True, 1_000_000)


def test_system_counters_off_leaves_only_the_ranks_own() -> None:
    request = {"test": "latency", "message_bytes": 8, "count": 5}
    with open_mpi(None, 2) as session:
        for read in (True, False):
            records = session.run({**request, "system_counters": read}, 60)
            for end in decode_batch(0, records).ends.values():
                assert end.before is not None
                kinds = {name.split(".")[0] for name in end.before.values}
                assert (kinds == {"process"}) is not read


def test_a_session_serves_run_after_run_and_says_its_facts() -> None:
    session: MpiSession
    with open_mpi(None, 2) as session:
        assert (session.transport, session.ranks) == ("mpi", 2)
        assert set(session.opened) <= {0}  # by which part it goes to the network
        facts = session.facts()
        assert list(facts) == ["local"]
        assert facts["local"]["mpi.standard"].split(".")[0].isdigit()
        for count in (1, 7):
            records = session.run({"test": "latency", "message_bytes": 4, "count": count}, 30)
            assert len(decode_batch(0, records).ends[0].series["round_trip_ns"]) == count
        with pytest.raises(WorkerError, match="multiple of 8"):
            session.run(
                {"test": "collective", "operation": "allreduce", "message_bytes": 4, "count": 1},
                30,
            )
        with pytest.raises(HostError, match="closed"):
            session.facts()
