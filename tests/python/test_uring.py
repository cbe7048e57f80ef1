"""Sending and receiving by io_uring: whole messages, ends that fail, and hosts that have none."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from typing import Any

import pytest
from raw_worker import RawWorker, S, counters, pair, workers

pytestmark = pytest.mark.worker

URING = {"sending": "uring", "no_delay": True}
ASKED = {"transport": "tcp", "family": "ipv4", "cookie": "00" * 16, "timeout_ns": S}


@pytest.fixture
def uring_worker(sonde_worker: Path) -> Path:
    with workers(sonde_worker, 1) as (worker,):
        answer = worker.ask("listen", **ASKED, options=URING)[-1]
    if answer["record"] == "error":
        pytest.skip(answer["message"])
    return sonde_worker


def descriptors(worker: RawWorker) -> int:
    return len(list(Path(f"/proc/{worker.process.pid}/fd").iterdir()))


def test_what_is_moved_is_whole(uring_worker: Path) -> None:
    with pair(uring_worker, options=URING) as ends:
        ends.run(test="latency", message_bytes=1, count=1)
        open_before = [descriptors(end) for end in (ends.origin, ends.target)]
        for test, message_bytes, call_bytes in (
            ("stream", 100_000, 8192),  # the last piece of a message is shorter
            ("stream", 1, 1),
            ("stream", 3 << 20, 1 << 20),
            ("stream", 100_000, 1000),  # more pieces than a ring holds
            ("latency", 64, 64),
            ("pingpong", 100_000, 100_000),
            ("duplex", 65_536, 65_536),
        ):
            fields = {"message_bytes": message_bytes, "call_bytes": call_bytes, "count": 100}
            origin, target = ends.run(test=test, check_data=True, **fields)
            found = counters(target)
            assert found["bytes_received"] == 100 * message_bytes
            assert found["corrupt"] == 0
            assert found["uring_receives"] >= 100
            sent = counters(origin)
            pieces = -(-message_bytes // call_bytes)
            assert sent["uring_sends"] >= 100 * pieces
            if pieces > 1:  # several calls of a message are one of the kernel's
                assert sent["calls_sent"] < sent["uring_sends"]
        assert [descriptors(end) for end in (ends.origin, ends.target)] == open_before


def test_a_corked_stream_ends_with_its_message(uring_worker: Path) -> None:
    options = {"sending": "uring", "cork": True, "no_delay": False}
    with pair(uring_worker, options=options) as ends:
        origin, _ = ends.run(test="pingpong", message_bytes=3000, call_bytes=1000, count=20)
        assert origin[-1]["record"] == "done"


def test_a_time_limit_ends_a_run_by_io_uring(uring_worker: Path) -> None:
    """The target stops reading; the origin, which waits in the kernel, is ended by its guard."""
    with pair(uring_worker, options=URING) as ends:
        fields = {"test": "stream", "message_bytes": 1 << 20, "duration_ns": 60 * S}
        ends.origin.submit("run", **fields, timeout_ns=S)
        ends.target.submit("run", **fields, timeout_ns=3 * S)
        answers = [end.wait(10)[-1] for end in (ends.origin, ends.target)]
        assert [answer["record"] for answer in answers] == ["error", "error"]
        assert answers[0]["code"] == "timeout"
        assert "while sending" in answers[0]["message"]
        for worker in (ends.origin, ends.target):
            assert worker.ask("facts")[-1]["record"] == "done"  # it can go on


def test_a_peer_that_is_killed_is_noticed(uring_worker: Path) -> None:
    with pair(uring_worker, options=URING) as ends:
        fields = {"test": "latency", "message_bytes": 64, "count": 1 << 22, "timeout_ns": 20 * S}
        ends.origin.submit("run", **fields)
        ends.target.submit("run", **fields)
        ends.target.process.kill()
        answer = ends.origin.wait(10)[-1]
        assert answer["record"] == "error"
        assert answer["code"] == "peer_lost"


@pytest.mark.parametrize(
    ("transport", "options", "words"),
    [
        ("udp", {"sending": "uring"}, "are for tcp"),
        ("tcp", {"sending": "uring", "wait": "spin"}, "uring go with wait block"),
        ("tcp", {"sending": "uring", "wait": "ready"}, "uring go with wait block"),
        ("tcp", {"sending": "uring", "kernel_times": True}, "not go with sendfile"),
    ],
)
def test_what_does_not_go_with_io_uring(
    lone: RawWorker, transport: str, options: dict[str, Any], words: str
) -> None:
    answer = lone.ask("listen", **{**ASKED, "transport": transport}, options=options)[-1]
    assert answer["record"] == "error"
    assert words in answer["message"]


def test_a_worker_that_gets_no_ring_says_why(uring_worker: Path) -> None:
    """It may have no more descriptors than it has: the kernel can give it no ring."""
    if b"__asan_init" in uring_worker.read_bytes():
        pytest.skip("the sanitizer opens descriptors of its own when an exception is thrown")
    with workers(uring_worker, 1) as (worker,):
        pid = worker.process.pid
        usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        highest = max(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1, usual[1]))
        answer = worker.ask("listen", **ASKED, options=URING)[-1]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
        assert answer["record"] == "error"
        assert answer["code"] == "system"
        assert "io_uring cannot be used on this host" in answer["message"]
        assert os.strerror(errno.EMFILE) in answer["message"]
        assert "without --uring" in answer["message"]
        assert worker.ask("listen", **ASKED, options=URING)[-1]["record"] == "done"
