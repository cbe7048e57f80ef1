"""Two sonde-worker processes over loopback: what they answer, and what they do in trouble."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from raw_worker import (
    LOOPBACK,
    RawPair,
    RawWorker,
    Record,
    S,
    counters,
    has_series,
    listen,
    pair,
    series,
    snapshots,
    workers,
)

pytestmark = pytest.mark.worker

SCHEMA = Path(__file__).parents[2] / "schema"
MS = 1_000_000


def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((SCHEMA / name).read_text()))


def _examples(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SCHEMA / "examples" / name).read_text().splitlines()]


def _check_lines(worker: RawWorker) -> None:
    validator = _validator("record.schema.json")
    for line in worker.lines:
        assert len(line) <= 1 << 20
        validator.validate(json.loads(line))


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def _family(name: str) -> str:
    if name == "ipv6" and not _has_ipv6():
        pytest.skip("this host has no IPv6 loopback")
    return name


@pytest.fixture
def tcp(sonde_worker: Path) -> Iterator[RawPair]:
    with pair(sonde_worker) as ends:
        yield ends


@pytest.fixture
def udp(sonde_worker: Path) -> Iterator[RawPair]:
    with pair(sonde_worker, "udp", options={"receive_buffer_bytes": 1 << 20}) as ends:
        yield ends


# The schema's examples: the same files that the engine's own tests read.


@pytest.mark.parametrize("kind", ["request", "record"])
def test_valid_examples_are_valid(kind: str) -> None:
    validator = _validator(f"{kind}.schema.json")
    for example in _examples(f"{kind}s-valid.jsonl"):
        validator.validate(example)


@pytest.mark.parametrize("kind", ["request", "record"])
def test_invalid_examples_are_invalid(kind: str) -> None:
    validator = _validator(f"{kind}.schema.json")
    for example in _examples(f"{kind}s-invalid.jsonl"):
        assert not validator.is_valid(example[kind]), example["why"]


def test_a_worker_refuses_the_invalid_requests(lone: RawWorker) -> None:
    for example in _examples("requests-invalid.jsonl"):
        lone.write(json.dumps(example["request"]).encode() + b"\n")
        answer = lone.wait()[-1]
        assert (answer["record"], answer["code"]) == ("error", "bad_request"), example["why"]
    _check_lines(lone)


# Batches.


def _check_round_trips(ends: RawPair, transport: str, test: str, message_bytes: int) -> None:
    origin, target = ends.run(test=test, count=50, message_bytes=message_bytes)
    assert origin[-1]["values"] == target[-1]["values"] == {"ended_by": "count"}
    sent, received = counters(origin), counters(target)
    unanswered = sent.get("unanswered", 0)
    assert sent["messages_sent"] == 50
    assert sent["bytes_sent"] == 50 * message_bytes
    round_trip_ns = series(origin, "round_trip_ns")
    assert len(round_trip_ns) == 50 - unanswered
    assert (round_trip_ns > 0).all()
    assert round_trip_ns.sum() <= sent["end_ns"] - sent["start_ns"]
    assert not has_series(target, "round_trip_ns")
    if transport == "tcp":
        assert received["bytes_received"] == sent["bytes_sent"] == received["bytes_sent"]
    else:
        assert len(series(origin, "unanswered_index")) == unanswered


def _check_direction(
    transport: str, sender: list[Record], receiver: list[Record], message_bytes: int
) -> None:
    sent, received = counters(sender), counters(receiver)
    assert sent["bytes_sent"] == sent["messages_sent"] * message_bytes
    assert len(series(sender, "sent_ns")) == sent["messages_sent"]
    assert len(series(receiver, "received_ns")) == received["messages_received"]
    assert (np.diff(series(sender, "sent_ns")) >= 0).all()
    assert (np.diff(series(receiver, "received_ns")) >= 0).all()
    assert sent["last_send_ns"] == sent["start_ns"] + series(sender, "sent_ns")[-1]
    assert sent["end_ns"] >= sent["start_ns"] or transport == "udp"
    if transport == "tcp":
        assert received["bytes_received"] == sent["bytes_sent"]
        times_ns = series(sender, "tcp_info_time_ns")
        assert len(times_ns) == len(series(sender, "tcp_info_congestion_window_bytes")) > 0
    else:
        assert received["lost"] == sent["messages_sent"] - received["messages_received"]
        sequence = series(receiver, "sequence")
        assert len(np.unique(sequence)) == len(sequence) == received["messages_received"]
        assert sequence.max() < sent["messages_sent"]
        assert sent["drained_ns"] >= sent["last_send_ns"]


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_every_test_over_one_open_transport(
    sonde_worker: Path, transport: str, family: str
) -> None:
    with pair(sonde_worker, transport, _family(family), {"receive_buffer_bytes": 1 << 20}) as ends:
        for message_bytes in (1, 8, 1000):
            _check_round_trips(ends, transport, "latency", message_bytes)
        _check_round_trips(ends, transport, "pingpong", 60_000)
        for test in ("stream", "duplex"):
            for extent in ({"count": 200}, {"duration_ns": 50 * MS}):
                origin, target = ends.run(test=test, message_bytes=1000, **extent)
                ended_by = "count" if "count" in extent else "duration"
                assert origin[-1]["values"]["ended_by"] == ended_by
                assert target[-1]["values"]["ended_by"] == ended_by
                _check_direction(transport, origin, target, 1000)
                if test == "duplex":
                    _check_direction(transport, target, origin, 1000)
        for end in (ends.origin, ends.target):
            assert end.ask("close")[-1]["record"] == "done"
            _check_lines(end)
        assert (
            ends.origin.ask("run", test="latency", message_bytes=1, count=1, timeout_ns=S)[-1][
                "code"
            ]
            == "bad_request"
        )


def test_ranks_follow_the_roles(tcp: RawPair) -> None:
    origin, target = tcp.run(test="latency", message_bytes=8, count=3)
    assert {r["rank"] for r in origin} == {0}
    assert {r["rank"] for r in target} == {1}


def test_snapshots_are_around_the_batch(tcp: RawPair) -> None:
    origin, target = tcp.run(test="stream", message_bytes=1000, count=100)
    for records in (origin, target):
        before, after = snapshots(records)["before"], snapshots(records)["after"]
        assert set(before) >= {"connection.test.segs_out", "interface.lo.tx_packets"}
        for name in ("bytes_sent", "bytes_received"):
            grown = after[f"connection.test.{name}"] - before[f"connection.test.{name}"]
            assert grown == counters(records).get(name, 0)
        times = [r["time_ns"] for r in records if r["record"] == "snapshot"]
        costs = [r["cost_ns"] for r in records if r["record"] == "snapshot"]
        values = counters(records)
        assert times[0] <= values["start_ns"]
        assert times[1] - costs[1] >= values["end_ns"]


@pytest.mark.parametrize("test", ["latency", "stream"])
def test_system_counters_off_leaves_only_the_workers_own(tcp: RawPair, test: str) -> None:
    with_all, _ = tcp.run(test=test, message_bytes=1000, count=100)
    assert "system.context_switches" in snapshots(with_all)["before"]
    for records in tcp.run(test=test, message_bytes=1000, count=100, system_counters=False):
        before, after = snapshots(records)["before"], snapshots(records)["after"]
        assert {name.split(".")[0] for name in before} == {"process", "connection"}
        sent = "connection.test.bytes_sent"
        assert after[sent] - before[sent] == counters(records).get("bytes_sent", 0)


def test_record_messages_off_leaves_the_series_out(tcp: RawPair) -> None:
    origin, target = tcp.run(test="stream", message_bytes=100, count=10, record_messages=False)
    assert not has_series(origin, "sent_ns")
    assert not has_series(target, "received_ns")
    assert counters(target)["messages_received"] == 10


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_content_is_checked(sonde_worker: Path, transport: str) -> None:
    with pair(sonde_worker, transport, options={"receive_buffer_bytes": 1 << 20}) as ends:
        for test in ("latency", "stream"):
            origin, target = ends.run(
                test=test, message_bytes=1000, count=20, check_data=True, seed=5
            )
            assert origin[-1]["record"] == target[-1]["record"] == "done"
            assert counters(target)["corrupt"] == 0


def test_calls_cut_a_message(tcp: RawPair) -> None:
    origin, _ = tcp.run(test="pingpong", message_bytes=10_000, count=5, call_bytes=1000)
    assert counters(origin)["calls_sent"] == 50
    origin, _ = tcp.run(test="pingpong", message_bytes=10_000, count=5)
    assert counters(origin)["calls_sent"] == 5


def test_a_paced_udp_stream_takes_its_time(udp: RawPair) -> None:
    origin, target = udp.run(test="stream", message_bytes=1000, count=51, rate_bit_per_s=8_000_000)
    sent_ns = series(origin, "sent_ns")
    assert (sent_ns >= np.arange(51) * MS - 1000).all()  # never early
    assert counters(target)["messages_received"] == 51


def test_empty_datagrams(udp: RawPair) -> None:
    origin, target = udp.run(test="latency", message_bytes=0, count=20)
    assert counters(origin)["messages_received"] == 20
    assert counters(target)["bytes_received"] == 0


# Requests that cannot be.


@pytest.mark.parametrize(
    ("transport", "fields", "word"),
    [
        ("tcp", {"test": "latency", "message_bytes": 0, "count": 1}, "at least 1"),
        ("tcp", {"test": "stream", "message_bytes": 1, "count": 1, "rate_bit_per_s": 1000}, "udp"),
        (
            "tcp",
            {"test": "collective", "operation": "barrier", "message_bytes": 0, "count": 1},
            "MPI",
        ),
        ("udp", {"test": "latency", "message_bytes": 65_508, "count": 1}, "65507"),
        ("tcp", {"test": "stream", "message_bytes": 8, "count": 1, "outstanding": 2}, "is for MPI"),
        ("udp", {"test": "latency", "message_bytes": 8, "count": 1, "pair": [1, 0]}, "is for MPI"),
    ],
)
def test_what_a_transport_cannot_do_leaves_it_open(
    sonde_worker: Path, transport: str, fields: dict[str, Any], word: str
) -> None:
    with pair(sonde_worker, transport) as ends:
        for records in ends.run(**fields):
            assert records[-1]["code"] == "bad_request"
            assert word in records[-1]["message"]
        origin, _ = ends.run(test="latency", message_bytes=10, count=1)
        assert origin[-1]["record"] == "done"


def test_a_line_over_the_limit(lone: RawWorker) -> None:
    lone.write(b'{"verb": "' + b"x" * 70_000 + b'", "request": 1}\n')
    answer = lone.wait()[-1]
    assert (answer["code"], answer["request"]) == ("limit", 0)
    assert lone.ask("facts")[-1]["record"] == "done"


def test_bytes_that_are_no_text(lone: RawWorker) -> None:
    lone.write(b"\xff\xfe\x00\x01\n")
    assert lone.wait()[-1]["code"] == "bad_request"
    assert lone.ask("snapshot")[-1]["record"] == "done"
    _check_lines(lone)


@pytest.mark.usefixtures("address_space_limits")
def test_more_memory_than_there_is(sonde_worker: Path) -> None:
    with pair(sonde_worker, prefix=("sh", "-c", 'ulimit -v 600000; exec "$@"', "sh")) as ends:
        origin, target = ends.run(test="latency", message_bytes=4 << 30, count=1)
        assert {origin[-1]["code"], target[-1]["code"]} <= {"no_memory", "peer_lost"}
        assert "no_memory" in {origin[-1]["code"], target[-1]["code"]}
        assert ends.origin.ask("facts")[-1]["record"] == "done"


# Strangers.


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=5)


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_strangers_are_closed_and_the_wait_goes_on(sonde_worker: Path, transport: str) -> None:
    with workers(sonde_worker) as (origin, target):
        port, cookie = listen(target, transport)
        target.submit("open", role="target", timeout_ns=10 * S)
        silent = [_connect(port) for _ in range(20)]  # more than the target hears at once
        wrong = _connect(port)
        wrong.sendall(b"netsonde" + b"\x01\x00\x01\x00" + b"\x00" * 4 + b"\x99" * 16)
        garbage = _connect(port)
        garbage.sendall(b"GET / HTTP/1.1\r\nHost: here.example\r\n\r\n" * 100)
        slow = _connect(port)
        slow.sendall(b"net")
        if transport == "udp":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stray:
                stray.sendto(b"x" * 32, ("127.0.0.1", port))
        begin = time.monotonic()
        answer = origin.ask(
            "open",
            role="origin",
            transport=transport,
            family="ipv4",
            cookie=cookie,
            address="127.0.0.1",
            port=port,
            timeout_ns=8 * S,
        )[-1]
        assert answer["record"] == "done", answer
        assert target.wait()[-1]["record"] == "done"
        assert time.monotonic() - begin < 6
        for stranger in (*silent, wrong, garbage, slow):
            stranger.settimeout(5)
            with contextlib.suppress(ConnectionResetError):
                assert stranger.recv(100) == b""
            stranger.close()
        fields = {"test": "latency", "message_bytes": 10, "count": 5, "timeout_ns": 5 * S}
        origin.submit("run", **fields)
        target.submit("run", **fields)
        assert origin.wait()[-1]["record"] == target.wait()[-1]["record"] == "done"


def test_a_wrong_cookie_is_refused(sonde_worker: Path) -> None:
    with workers(sonde_worker) as (origin, target):
        port, _ = listen(target)
        target.submit("open", role="target", timeout_ns=2 * S)
        answer = origin.ask(
            "open",
            role="origin",
            transport="tcp",
            family="ipv4",
            cookie="f" * 32,
            address="127.0.0.1",
            port=port,
            timeout_ns=5 * S,
        )[-1]
        assert answer["code"] == "refused"
        assert "cookie" in answer["message"]
        late = target.wait()[-1]
        assert late["code"] == "timeout"
        assert "origin" in late["message"]


def test_another_address_than_the_allowed_one_is_refused(sonde_worker: Path) -> None:
    with workers(sonde_worker) as (origin, target):
        port, cookie = listen(target, allow_address="127.0.0.9")
        target.submit("open", role="target", timeout_ns=S)
        answer = origin.ask(
            "open",
            role="origin",
            transport="tcp",
            family="ipv4",
            cookie=cookie,
            address="127.0.0.1",
            port=port,
            timeout_ns=5 * S,
        )[-1]
        assert answer["code"] in ("refused", "system")
        assert target.wait()[-1]["code"] == "timeout"


def test_datagrams_of_strangers_do_not_count(udp: RawPair) -> None:
    port = udp.opened[1]["values"]["local_port"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for _ in range(100):
            stranger.sendto(b"\x00" * 64, ("127.0.0.1", port))
        origin, target = udp.run(test="stream", message_bytes=64, count=50)
    assert counters(target)["messages_received"] <= counters(origin)["messages_sent"] == 50
    assert counters(target)["duplicates"] == 0


def test_nobody_listens_at_the_port(lone: RawWorker) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    answer = lone.ask(
        "open",
        role="origin",
        transport="tcp",
        family="ipv4",
        cookie="0" * 32,
        address="127.0.0.1",
        port=port,
        timeout_ns=5 * S,
    )[-1]
    assert answer["code"] == "refused"
    assert f"127.0.0.1 port {port}" in answer["message"]


def test_a_server_that_never_welcomes(lone: RawWorker) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        begin = time.monotonic()
        answer = lone.ask(
            "open",
            role="origin",
            transport="tcp",
            family="ipv4",
            cookie="0" * 32,
            address="127.0.0.1",
            port=server.getsockname()[1],
            timeout_ns=S // 2,
        )[-1]
        assert answer["code"] == "timeout"
        assert "welcome" in answer["message"]
        assert time.monotonic() - begin < 3


def test_a_port_that_is_taken(lone: RawWorker) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        answer = lone.ask(
            "listen",
            transport="tcp",
            family="ipv4",
            cookie="0" * 32,
            address="127.0.0.1",
            port=server.getsockname()[1],
            timeout_ns=S,
        )[-1]
        assert answer["code"] == "system"
        assert "in use" in answer["message"]


def test_a_listener_closes_when_its_time_is_over(lone: RawWorker) -> None:
    port, _ = listen(lone, timeout_ns=S // 5)
    time.sleep(0.6)
    with pytest.raises(OSError, match="refused"):
        _connect(port)


def test_open_as_target_needs_a_listener(lone: RawWorker) -> None:
    assert lone.ask("open", role="target", timeout_ns=S)[-1]["code"] == "bad_request"


# When all goes wrong during a run.

LONG_RUNS = [
    {"test": "stream", "message_bytes": 1000, "duration_ns": 60 * S, "record_messages": False},
    {"test": "duplex", "message_bytes": 1000, "duration_ns": 60 * S, "record_messages": False},
    {"test": "latency", "message_bytes": 64, "count": 1 << 23},
]


def _start(ends: RawPair, fields: dict[str, Any], timeout_ns: int = 90 * S) -> None:
    ends.origin.submit("run", **fields, timeout_ns=timeout_ns)
    ends.target.submit("run", **fields, timeout_ns=timeout_ns)
    time.sleep(0.4)  # in the middle of it; both ends keep a CPU each


@pytest.mark.parametrize("fields", LONG_RUNS, ids=lambda f: str(f["test"]))
@pytest.mark.parametrize("victim", ["origin", "target"])
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_killed_peer_is_noticed(
    sonde_worker: Path, transport: str, victim: str, fields: dict[str, Any]
) -> None:
    with pair(sonde_worker, transport) as ends:
        _start(ends, fields)
        dead, alive = (
            (ends.origin, ends.target) if victim == "origin" else (ends.target, ends.origin)
        )
        dead.process.kill()
        begin = time.monotonic()
        answer = alive.wait()[-1]
        assert answer["code"] == "peer_lost", answer
        assert time.monotonic() - begin < 4
        assert alive.ask("facts")[-1]["record"] == "done"


@pytest.mark.parametrize("fields", LONG_RUNS, ids=lambda f: str(f["test"]))
@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize("wait", ["block", "spin"])
def test_a_run_ends_at_its_deadline(
    sonde_worker: Path, transport: str, wait: str, fields: dict[str, Any]
) -> None:
    with pair(sonde_worker, transport, options={"wait": wait}) as ends:
        _start(ends, fields, timeout_ns=4 * S // 5)
        begin = time.monotonic()
        codes = {ends.origin.wait()[-1]["code"], ends.target.wait()[-1]["code"]}
        assert "timeout" in codes
        assert codes <= {"timeout", "peer_lost"}
        assert time.monotonic() - begin < 4


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_worker_whose_input_closes_ends(sonde_worker: Path, transport: str) -> None:
    with pair(sonde_worker, transport) as ends:
        _start(ends, LONG_RUNS[0])
        assert ends.target.process.stdin is not None
        ends.target.process.stdin.close()
        begin = time.monotonic()
        records = ends.target.wait()
        assert records[-1]["code"] == "timeout"
        assert "standard input" in records[-1]["message"]
        assert ends.target.next() == {
            "record": "bye",
            "rank": 1,
            "host": "end1",
            "reason": "stdin_closed",
        }
        assert ends.target.ended() == 0
        assert ends.origin.wait()[-1]["code"] == "peer_lost"
        assert time.monotonic() - begin < 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_worker(lone: RawWorker, number: signal.Signals) -> None:
    lone.process.send_signal(number)
    assert lone.next()["reason"] == "signal"
    assert lone.ended() == 0


@pytest.mark.parametrize("fields", LONG_RUNS, ids=lambda f: str(f["test"]))
def test_a_signal_ends_a_run(tcp: RawPair, fields: dict[str, Any]) -> None:
    _start(tcp, fields)
    begin = time.monotonic()
    tcp.origin.process.send_signal(signal.SIGTERM)
    assert tcp.origin.wait()[-1]["record"] == "error"
    assert tcp.origin.next()["reason"] == "signal"
    assert tcp.origin.ended() == 0
    assert tcp.target.wait()[-1]["code"] == "peer_lost"
    assert time.monotonic() - begin < 4


def test_a_signal_ends_a_wait_for_the_origin(sonde_worker: Path) -> None:
    with workers(sonde_worker, 1) as (target,):
        listen(target)
        target.submit("open", role="target", timeout_ns=30 * S)
        time.sleep(0.3)
        target.process.send_signal(signal.SIGTERM)
        assert target.wait()[-1]["code"] == "timeout"
        assert target.next()["reason"] == "signal"


def test_an_end_that_fails_tells_the_other(tcp: RawPair) -> None:
    # The target refuses to take part: it was asked for another run.
    tcp.origin.submit("run", test="latency", message_bytes=8, count=5, timeout_ns=20 * S)
    tcp.target.submit("run", test="latency", message_bytes=9, count=5, timeout_ns=20 * S)
    begin = time.monotonic()
    target, origin = tcp.target.wait()[-1], tcp.origin.wait()[-1]
    assert "different runs" in target["message"]
    assert (origin["code"], "gave up" in origin["message"]) == ("peer_lost", True)
    assert time.monotonic() - begin < 4


def test_only_one_end_is_asked_to_run(tcp: RawPair) -> None:
    answer = tcp.origin.ask("run", test="latency", message_bytes=8, count=5, timeout_ns=S)[-1]
    assert answer["code"] == "timeout"
    assert "waiting for its answer that it is there" in answer["message"]


# The command line.


def _run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *words],
        capture_output=True,
        text=True,
        timeout=10,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_help_and_version(sonde_worker: Path) -> None:
    assert "usage: sonde-worker" in _run(sonde_worker, "--help").stdout
    assert _run(sonde_worker, "--version").stdout.startswith("sonde-worker ")


@pytest.mark.parametrize("words", [("--nonsense",), ("--rank", "x"), ("--rank",), ("--host", "")])
def test_bad_usage(sonde_worker: Path, words: tuple[str, ...]) -> None:
    result = _run(sonde_worker, *words)
    assert result.returncode == 2
    assert result.stderr.startswith("sonde-worker: ")
    assert result.stdout == ""


def test_nothing_is_left_behind(sonde_worker: Path) -> None:
    with pair(sonde_worker) as ends:
        ends.run(test="latency", message_bytes=8, count=5)
        port = ends.opened[1]["values"]["local_port"]
        pids = [ends.origin.process.pid, ends.target.process.pid]
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()
    with socket.socket() as probe, pytest.raises(OSError, match="refused"):
        probe.connect((LOOPBACK["ipv4"], port))


def test_caches_are_among_the_facts(lone: RawWorker) -> None:
    """As the kernel says, where it says anything: some virtual machines have no such files."""
    facts: dict[str, Any] = {}
    for record in lone.ask("facts"):
        facts |= record.get("values", {}) if record["record"] == "facts" else {}
    units = {"K": 1024, "M": 1024 * 1024}
    for cache in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        level, kind, size = ((cache / n).read_text().strip() for n in ("level", "type", "size"))
        name = f"cpu.cache.l{level}{'d' if kind == 'Data' else ''}_bytes"
        if kind != "Instruction":
            assert facts[name] == int(size[:-1]) * units[size[-1]]
