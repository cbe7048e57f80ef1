"""ICMP echoes by sonde-worker, in networks of their own: by ping and raw sockets, by neither."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from raw_worker import LOOPBACK, RawWorker, Record, S, counters, series, workers

pytestmark = pytest.mark.worker

NETWORK = ("unshare", "--user", "--map-root-user", "--net")
# Loopback up, the settings written, CAP_NET_RAW dropped where it is to be; then the worker.
PREPARE = """
import ctypes, fcntl, os, socket, struct, sys
settings, keeps_raw, command = sys.argv[1], sys.argv[2] == "raw", sys.argv[3:]
with socket.socket() as sock:
    fcntl.ioctl(sock, 0x8914, struct.pack("16sH14x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running
for setting in filter(None, settings.split(",")):
    name, value = setting.split("=")
    with open(f"/proc/sys/net/ipv4/{name}", "w") as file:
        file.write(value)
if not keeps_raw and ctypes.CDLL(None, use_errno=True).prctl(24, 13, 0, 0, 0):
    raise OSError(ctypes.get_errno(), "prctl")
os.execv(command[0], command)
"""
EVERYBODY = "ping_group_range=0 0"
WAYS = {"ping": (EVERYBODY, "-"), "raw": ("", "raw")}


def problem() -> str | None:
    """Why there is no network of our own; None where there is."""
    done = subprocess.run([*NETWORK, "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()


PROBLEM = problem()
needs_network = pytest.mark.skipif(PROBLEM is not None, reason=f"no network here: {PROBLEM}")


@contextmanager
def worker_with(program: Path, settings: str, raw: str) -> Iterator[RawWorker]:
    prefix = [*NETWORK, sys.executable, "-c", PREPARE, settings, raw]
    with workers(program, 1, prefix) as (worker,):
        yield worker


def open_echoes(worker: RawWorker, family: str = "ipv4", **fields: Any) -> list[Record]:
    request = {"role": "alone", "transport": "icmp", "family": family}
    records: list[Record] = worker.ask("open", **{**request, "address": LOOPBACK[family], **fields})
    return records


def run(worker: RawWorker, **fields: object) -> list[Record]:
    given = {"test": "latency", "timeout_ns": 10 * S, "count": 50, **fields}
    records: list[Record] = worker.ask("run", **given)
    return records


@needs_network
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("way", WAYS)
def test_the_kernel_answers(sonde_worker: Path, way: str, family: str) -> None:
    with worker_with(sonde_worker, *WAYS[way]) as worker:
        options = {"traffic_class": 0x88, "wait": "spin"}
        opened = open_echoes(worker, family, options=options)[-1]["values"]
        assert opened["raw_socket"] is (way == "raw")
        assert opened["interface"] == "lo"
        assert opened["local_address"] == opened["peer_address"] == LOOPBACK[family]
        assert opened["traffic_class"] == 0x88
        for message_bytes in (0, 1, 7, 64, 65_507):
            records = run(worker, message_bytes=message_bytes, check_data=True)
            found = counters(records)
            assert found["messages_sent"] == found["messages_received"] == 50
            assert found["bytes_received"] == 50 * message_bytes
            assert found["corrupt"] == found["duplicates"] == found["foreign_packets"] == 0
            assert found["unanswered"] == found["late_answers"] == 0
            assert len(series(records, "round_trip_ns")) == 50
            kinds = [record["record"] for record in records]
            assert kinds.count("snapshot") == 2
            assert records[-1]["values"] == {"ended_by": "count"}


@needs_network
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_another_programs_echoes_are_kept_out(sonde_worker: Path, family: str) -> None:
    """A raw socket without a filter would get the answers to both, and fill up."""
    with worker_with(sonde_worker, *WAYS["raw"]) as worker:
        pid = worker.process.pid
        join = ("nsenter", "--user", "--preserve-credentials", "--net", "--target", str(pid))
        with workers(sonde_worker, 1, join) as (second,):
            for each in (worker, second):
                assert open_echoes(each, family)[-1]["record"] == "done"
            second.submit("run", test="latency", count=10_000, message_bytes=64, timeout_ns=20 * S)
            found = counters(run(worker, count=5_000, message_bytes=64))
            others = counters(second.wait(20.0))
    for end, count in ((found, 5_000), (others, 10_000)):
        assert end["messages_received"] == count
        assert end["unanswered"] == end["duplicates"] == end["late_answers"] == 0
        assert end["foreign_packets"] == 0


@needs_network
def test_who_may_not_send_echoes_is_told_why(sonde_worker: Path) -> None:
    with worker_with(sonde_worker, "", "-") as worker:
        for family in LOOPBACK:
            error = open_echoes(worker, family)[-1]
            assert error["record"] == "error"
            assert "net.ipv4.ping_group_range" in error["message"]
            assert "CAP_NET_RAW" in error["message"]


@needs_network
def test_a_kernel_that_does_not_answer(sonde_worker: Path) -> None:
    with worker_with(sonde_worker, "icmp_echo_ignore_all=1", "raw") as worker:
        open_echoes(worker)
        records = run(worker, count=3, message_bytes=64)
        assert counters(records)["unanswered"] == 3
        assert series(records, "unanswered_index").tolist() == [0, 1, 2]
        error = run(worker, count=1_000_000, message_bytes=64, timeout_ns=S // 2)[-1]
        assert error["code"] == "timeout"
        assert "its limit of 0.5 s passed while" in error["message"]
        assert "no transport is open" in run(worker, message_bytes=64)[-1]["message"]
        assert open_echoes(worker)[-1]["record"] == "done"


@needs_network
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"test": "stream", "message_bytes": 64}, "are for test latency"),
        ({"test": "pingpong", "message_bytes": 64}, "are for test latency"),
        ({"message_bytes": 65_508}, "at most 65507"),
        ({"message_bytes": 64, "rate_bit_per_s": 10**6}, "rate_bit_per_s"),
        ({"message_bytes": 64, "start_at_ns": 1}, "start_at_ns"),
    ],
)
def test_what_echoes_cannot_do(sonde_worker: Path, fields: dict[str, Any], words: str) -> None:
    with worker_with(sonde_worker, *WAYS["raw"]) as worker:
        open_echoes(worker)
        error = run(worker, **fields)[-1]
        assert error["code"] == "bad_request"
        assert words in error["message"]
        assert run(worker, message_bytes=8)[-1]["record"] == "done"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"transport": "udp"}, "expected icmp"),
        ({"address": "localhost"}, "no numeric IPv4 address"),
        ({"options": {"no_delay": True}}, "are for tcp"),
        ({"options": {"send_buffer_bytes": 4096}}, "echoes take traffic_class"),
        ({"options": {"datagrams_per_call": 4}}, "echoes take traffic_class"),
        ({"options": {"kernel_times": True}}, "echoes take traffic_class"),
        ({"port": 7}, "port"),
    ],
)
def test_sockets_that_cannot_be_opened(lone: RawWorker, fields: dict[str, Any], words: str) -> None:
    error = open_echoes(lone, **fields)[-1]
    assert error["code"] == "bad_request"
    assert words in error["message"]
