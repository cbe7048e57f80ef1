"""Messages on the link of this machine (loopback carries frames, too): every way of carrying them,
what is counted, and what is refused."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from link_needed import require_frames
from netsonde.errors import HostError
from netsonde.figures.compute import figures_of
from netsonde.figures.frames import event_strings
from netsonde.launch.binaries import find_worker
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import PairSession, open_pair
from netsonde.model.events import parse_events
from netsonde.records.data import Batch, Run
from netsonde.records.decode import decode_batch
from netsonde.records.rundir import open_run

pytestmark = pytest.mark.worker
ETHER_TYPE = 0x88B5
PLAIN = ("latency", "stream", "duplex")
WAYS = [
    ({"driver": "packet"}, ("latency",), 1000),
    ({"driver": "ring"}, ("latency", "stream"), 1000),
    ({"driver": "ring", "wait": "hybrid"}, ("latency",), 5000),
    ({"driver": "ring", "fragment_bytes": 100}, ("latency",), 1001),
    ({"driver": "packet", "reliable": True}, PLAIN, 1000),
    ({"driver": "ring", "reliable": True, "acknowledge": "piggyback"}, PLAIN, 5000),
    ({"driver": "ring", "reliable": True, "acknowledge": "delayed"}, PLAIN, 1),
    ({"reliable": True, "simple_go_back_n": True, "window_packets": 4}, ("stream",), 3000),
]


@pytest.fixture(scope="module", autouse=True)
def _frames() -> None:
    require_frames()


def opened(options: dict[str, Any], **more: Any) -> PairSession:
    return open_pair(LocalHost(), LocalHost(), "link", options=options, **more)


def measured(session: PairSession, test: str, size: int, count: int = 50, **more: Any) -> Batch:
    fields = {"test": test, "message_bytes": size, "count": count, "check_data": True, **more}
    return decode_batch(0, session.run(fields, 30))


def refusal(options: dict[str, Any], size: int = 64, test: str = "latency", **more: Any) -> str:
    with pytest.raises(HostError) as caught, opened(options, timeout_s=5) as session:
        measured(session, test, size, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("options", "tests", "size"), WAYS)
def test_messages_come_whole_and_as_often_as_they_were_sent(
    options: dict[str, Any], tests: tuple[str, ...], size: int
) -> None:
    with opened(options) as session:
        for number, test in enumerate((*tests, *tests)):  # the second time over a used path
            batch = measured(session, test, size, seed=number + 1)
            counters = [batch.ends[rank].counters for rank in (0, 1)]
            assert counters[1]["messages_received"] == 50, test
            assert all(each.get("corrupt", 0) == 0 for each in counters), test


def test_copies_are_counted_where_they_are_made() -> None:
    with opened({"driver": "ring"}) as session:
        for size, sent in ((64, 2), (1000, 1)):  # a short one is put behind its headers first
            batch = measured(session, "latency", size)
            for end in (batch.ends[0], batch.ends[1]):
                found = end.counters
                assert (found["frames_sent"], found["frames_received"]) == (50, 50)
                assert found["driver_copies_sent"] == 50 * sent
                assert found["driver_copies_received"] + found["own_copies_received"] == 100
                assert found["calls_received"] == 0  # seen in memory


def test_what_was_obtained_is_told() -> None:
    with opened({"reliable": True, "window_packets": 7, "timeout_ns": 3_000_000}) as session:
        told = session.opened[0]
    assert (told["driver"], told["driver_mode"], told["interface"]) == ("ring", "ring", "lo")
    assert (told["fragment_bytes"], told["reliable"]) == (1492, True)
    assert (told["window_packets"], told["timeout_ns"]) == (7, 3_000_000)


@pytest.mark.parametrize(
    ("options", "asked", "words"),
    [
        ({"driver": "dpdk"}, {}, "driver is dpdk, expected one of packet, ring, xdp"),
        ({"wait": "ready"}, {}, "wait is ready, expected one of spin, block, hybrid"),
        ({"fragment_bytes": 9000}, {}, "fragment_bytes"),
        ({"window_packets": 4}, {}, "window_packets"),
        ({}, {"size": (1 << 20) + 1}, "more than the 1048576"),
        ({"reliable": True}, {"size": 0}, "message_bytes must be at least 1"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(
    options: dict[str, Any], asked: dict[str, Any], words: str
) -> None:
    assert words in refusal(options, **asked)


def test_an_interface_that_is_taken_is_told_of() -> None:
    """Both ends are on loopback, of which AF_XDP has one queue."""
    assert "take driver ring" in refusal({"driver": "xdp"})


def test_without_the_capability_it_says_how_to_get_it() -> None:
    without = ["setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw"]
    hello = b'{"request": 1, "verb": "listen", "transport": "link", "family": "ipv4", ' + (
        b'"cookie": "%s", "options": {}, "timeout_ns": 1000000000}\n' % (b"0" * 32)
    )
    done = subprocess.run(
        [*without, str(find_worker("sonde-worker"))],
        input=hello,
        capture_output=True,
        timeout=20,
        check=False,
    )
    said = done.stdout.decode()
    if "setpriv" in done.stderr.decode():
        pytest.skip(done.stderr.decode().strip())
    assert "need CAP_NET_RAW" in said
    assert "setcap cap_net_raw+ep" in said


def test_a_partner_that_is_gone_is_told_of_soon() -> None:
    with opened({"driver": "ring", "wait": "spin"}) as session:
        process = session.workers[1].hello["pid"]
        threading.Timer(0.3, os.kill, (process, signal.SIGKILL)).start()
        began = time.monotonic()
        with pytest.raises(HostError):
            measured(session, "latency", 64, count=1 << 20)
    assert time.monotonic() - began < 10


def forged(number: int, carried: int, kind: int, content: bytes) -> bytes:
    word = number << 48 | kind << 45 | 1 << 44 | 1 << 43 | carried << 28
    return bytes(6) + bytes([2, 0, 0, 0, 0, 9]) + struct.pack("!HQ", ETHER_TYPE, word) + content


def test_frames_of_strangers_are_dropped_and_counted_and_bounded() -> None:
    with (
        opened({"driver": "ring"}) as session,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as stranger,
    ):
        stranger.bind(("lo", 0))
        number = session.opened[1]["endpoint_number"]
        sent = 0
        is_over = threading.Event()

        def flood() -> None:
            nonlocal sent
            while not is_over.is_set():
                for carried, kind in ((8, 1), (9000, 1), (0, 7), (16383, 2)):
                    stranger.send(forged(number, carried, kind, bytes(16)))
                    sent += 1
                time.sleep(0.0005)

        thread = threading.Thread(target=flood)
        thread.start()
        try:
            batch = measured(session, "latency", 64, count=5000)
        finally:
            is_over.set()
            thread.join()
        found = batch.ends[1].counters
    origin = batch.ends[0].counters
    assert origin["messages_received"] + origin["unanswered"] == 5000
    assert origin["messages_received"] >= 4900
    assert found["corrupt"] == 0
    assert found["strangers"] > 0
    assert found["malformed"] > 0
    assert found["strangers"] + found["malformed"] <= sent


def commanded(*words: str, folder: Path) -> Run:
    command = [sys.executable, "-m", "netsonde", "link", "local", *words, "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return open_run(next(folder.iterdir()))


def test_the_command_tells_of_copies(tmp_path: Path) -> None:
    run = commanded("latency", "--sizes", "64,1000", "--count", "50", folder=tmp_path)
    found = {(f.point, f.name): f.value for f in figures_of(run)}
    copies = [[found[p.id, f"copies_{way}"] for way in ("sent", "received")] for p in run.points]
    by_size = dict(zip([p.message_bytes for p in run.points], copies, strict=True))
    assert by_size == {64: [2, 2], 1000: [1, 2]}
    assert not any("frames_of_strangers" in name for _, name in found)


def test_events_of_senders_are_strings_that_the_model_reads(tmp_path: Path) -> None:
    asked = ("--reliable", "--window", "4", "--timeout", "2s", "--count", "50")
    run = commanded("stream", *asked, folder=tmp_path)
    (text,) = set(event_strings(run))
    assert text == "P^50"
    assert sum(one.count for one in parse_events(text)) == 50
    told = run.points[0].opened[0]
    assert (told["window_packets"], told["timeout_ns"]) == (4, 2 * 10**9)


def test_what_does_not_go_together_is_said_as_it_was_typed() -> None:
    for words, said in (
        (("latency", "--raw", "--window", "4"), "--window goes with --reliable"),
        (("stream", "--reliable", "--rate", "1M"), "--reliable and --rate"),
        (("latency", "--wait", "ready"), "--wait ready and transport link"),
    ):
        command = [sys.executable, "-m", "netsonde", "link", "local", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert said in done.stderr
        assert done.returncode != 0
