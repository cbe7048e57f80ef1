"""What a transport can be asked for: socket options, ways of calling, generated traffic."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from raw_worker import RawWorker, Record, S, counters, pair, series

from netsonde.errors import HostError
from netsonde.launch.flows import open_flows
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import open_pair
from netsonde.records.decode import decode_batch

pytestmark = pytest.mark.worker


def test_options_are_obtained_at_both_ends(sonde_worker: Path) -> None:
    options = {
        "send_buffer_bytes": 32_768,
        "receive_buffer_bytes": 49_152,
        "no_delay": True,
        "congestion_control": "reno",
        "max_segment_bytes": 1000,
    }
    with pair(sonde_worker, options=options) as ends:
        for end in ends.opened:
            values = end["values"]
            assert values["send_buffer_bytes"] == 65_536
            assert values["receive_buffer_bytes"] == 98_304
            assert values["no_delay"] is True
            assert values["congestion_control"] == "reno"
            assert 500 < values["max_segment_bytes"] <= 1000
            assert values["interface"] == "lo"
        origin, target = (end["values"] for end in ends.opened)
        assert origin["local_port"] == target["peer_port"]
        assert target["local_port"] == origin["peer_port"]


def test_what_gathers_and_marks_is_obtained_at_both_ends(sonde_worker: Path) -> None:
    options = {"cork": True, "not_sent_low_bytes": 16_384, "traffic_class": 0x88}
    with pair(sonde_worker, options=options) as ends:
        for end in ends.opened:
            assert end["values"]["cork"] is True
            assert end["values"]["no_delay"] is False
            assert end["values"]["traffic_class"] == 0x88
        # The end of a corked message waits for nothing: the kernel would hold it for 200 ms.
        began = time.monotonic()
        origin, _ = ends.run(test="latency", message_bytes=100, count=50)
        assert time.monotonic() - began < 5
        assert counters(origin)["messages_received"] == 50
        origin, target = ends.run(test="stream", message_bytes=10_000, call_bytes=100, count=50)
        assert counters(target)["bytes_received"] == 500_000
        assert counters(origin)["calls_sent"] >= 5_000


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_calls_that_do_not_block_move_the_same(sonde_worker: Path, transport: str) -> None:
    options = {"wait": "ready", "send_buffer_bytes": 65_536, "receive_buffer_bytes": 1 << 20}
    with pair(sonde_worker, transport, options=options) as ends:
        for test, size in (("latency", 1000), ("pingpong", 1400), ("duplex", 1400)):
            origin, target = ends.run(test=test, message_bytes=size, count=200)
            assert counters(origin)["messages_sent"] == 200
            found = counters(target)
            lost = found.get("lost", 0) if test == "duplex" else 0
            assert found["bytes_received"] == (200 - lost) * size
        if transport == "tcp":  # a message that is larger than the buffers is sent in parts
            fields = {"message_bytes": 4 << 20, "count": 20, "check_data": True}
            origin, target = ends.run(test="stream", **fields)
            assert counters(target)["bytes_received"] == 80 << 20
            assert counters(target)["corrupt"] == 0


@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.parametrize("wait", ["block", "spin", "ready"])
def test_datagrams_by_the_dozen(sonde_worker: Path, offload: bool, wait: str) -> None:
    options = {
        **{"datagrams_per_call": 32, "segment_offload": offload, "wait": wait},
        **{"send_buffer_bytes": 1 << 20, "receive_buffer_bytes": 4 << 20},
    }
    with pair(sonde_worker, "udp", options=options) as ends:
        for message_bytes in (17, 64, 1400):  # 1,000 are no multiple of 32: the last call is short
            fields = {"message_bytes": message_bytes, "count": 1000, "check_data": True}
            origin, target = ends.run(test="stream", **fields)
            assert counters(origin)["messages_sent"] == 1000
            assert counters(origin)["calls_sent"] == 32
            found = counters(target)
            assert found["messages_received"] + found["lost"] == 1000
            assert found["messages_received"] > 0
            assert found["corrupt"] == found["duplicates"] == found["reordered"] == 0
            assert 0 < found["calls_received"] <= found["messages_received"]
            assert (np.diff(series(target, "sequence")) > 0).all()
        for end in ends.run(test="duplex", message_bytes=200, count=500):
            found = counters(end)
            assert found["messages_received"] + found["lost"] == 500


def test_what_does_not_go_with_datagrams_by_the_dozen(sonde_worker: Path) -> None:
    with pair(sonde_worker, "udp", options={"datagrams_per_call": 8}) as ends:
        for fields, words in (
            ({"test": "latency", "message_bytes": 64}, "each datagram waits for an answer"),
            ({"test": "stream", "message_bytes": 64, "rate_bit_per_s": 10**6}, "rate_bit_per_s"),
            ({"test": "stream", "message_bytes": 0}, "at least 1"),
        ):
            for records in ends.run(count=10, **fields):
                assert records[-1]["code"] == "bad_request"
                assert words in records[-1]["message"]


def generate(worker: RawWorker, **fields: object) -> list[Record]:
    request = {
        **{"test": "stream", "family": "ipv4", "address": "127.0.0.1", "port": 9},
        **{"message_bytes": 100, "rate_bit_per_s": 8_000_000, "timeout_ns": 10 * S},
        **fields,
    }
    worker.submit("generate", **request)
    records: list[Record] = worker.wait(20.0)
    return records


def test_generated_traffic_needs_nobody_of_ours(lone: RawWorker) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        began = time.monotonic()
        records = generate(lone, port=receiver.getsockname()[1], count=201)
        assert time.monotonic() - began >= 0.02  # 200 gaps of 100 us
        found = counters(records)
        assert found["messages_sent"] == found["calls_sent"] == 201
        assert found["bytes_sent"] == 20_100
        assert found["refusals"] == 0
        numbers = [int.from_bytes(receiver.recv(2000)[:4], "little") for _ in range(201)]
        assert numbers == list(range(201))
    sent_ns = series(records, "sent_ns")
    assert (sent_ns >= np.arange(201) * 100_000 - 1000).all()  # never early


def test_generated_traffic_that_nobody_takes(lone: RawWorker) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    found = counters(generate(lone, port=port, count=500))
    assert found["messages_sent"] == 500
    assert found["refusals"] > 0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"count": 1, "rate_bit_per_s": None}, "rate_bit_per_s"),
        ({"count": 1, "test": "latency"}, "must be bounded"),
        ({"count": 1, "port": 0}, "port"),
        ({"count": 1, "options": {"no_delay": True}}, "are for tcp"),
        ({"count": 1, "message_bytes": 70_000}, "carries at most"),
        ({"count": 1, "address": "example.org"}, "address"),
        ({"count": 1, "outstanding": 2}, "outstanding is for MPI"),
        ({"count": 1, "pair": [0, 1]}, "pair is for MPI"),
    ],
)
def test_traffic_that_cannot_be_generated(
    lone: RawWorker, fields: dict[str, Any], words: str
) -> None:
    records = generate(lone, **fields)
    assert records[-1]["record"] == "error"
    assert words in records[-1]["message"]


@pytest.mark.parametrize("told", ["signal", "end of input"])
def test_generated_traffic_that_is_told_to_end_says_what_it_sent(
    lone: RawWorker, told: str
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        lone.submit(
            "generate",
            **{"test": "stream", "family": "ipv4", "address": "127.0.0.1"},
            **{"port": receiver.getsockname()[1], "message_bytes": 100},
            **{"rate_bit_per_s": 80_000, "duration_ns": 60 * S, "timeout_ns": 70 * S},
        )
        for _ in range(5):
            receiver.recv(200)
        if told == "signal":
            lone.process.send_signal(signal.SIGTERM)
        else:
            assert lone.process.stdin is not None
            lone.process.stdin.close()
        records = lone.wait()
        got = 5
        receiver.settimeout(0.2)
        with contextlib.suppress(TimeoutError):
            while receiver.recv(200):
                got += 1
    assert records[-1]["values"]["ended_by"] == "interrupt"
    found = counters(records)
    assert found["messages_sent"] == got
    assert found["last_send_ns"] - found["start_ns"] < 60 * S
    assert lone.process.wait(10) is not None


def test_a_signal_ends_generated_traffic(lone: RawWorker) -> None:
    lone.submit(
        "generate",
        **{"test": "stream", "family": "ipv4", "address": "127.0.0.1", "port": 9},
        **{"message_bytes": 100, "rate_bit_per_s": 1000, "duration_ns": 30 * S},
        timeout_ns=60 * S,
    )
    time.sleep(0.3)
    lone.process.send_signal(signal.SIGTERM)
    assert lone.process.wait(10) is not None


@pytest.mark.parametrize("way", ["sendfile", "zerocopy"])
def test_ways_of_sending_without_a_copy(sonde_worker: Path, way: str) -> None:
    with pair(sonde_worker, options={"sending": way, "no_delay": True}) as ends:
        for test, message_bytes, call_bytes in (
            ("stream", 100_000, 8192),  # the last piece of a message is shorter
            ("stream", 1, 1),
            ("stream", 3 << 20, 1 << 20),
            ("pingpong", 100_000, 100_000),
            ("duplex", 65_536, 65_536),
        ):
            fields = {"message_bytes": message_bytes, "call_bytes": call_bytes, "count": 200}
            origin, target = ends.run(test=test, check_data=True, **fields)
            found = counters(target)
            assert found["bytes_received"] == 200 * message_bytes
            assert found["corrupt"] == 0
            if way == "zerocopy":
                sent = counters(origin)
                assert sent["zerocopy_finished"] == sent["zerocopy_calls"] > 0
                # Over loopback the kernel copies after all, and says so.
                assert sent["zerocopy_copied"] == sent["zerocopy_calls"]


def test_what_does_not_go_with_sending_without_a_copy(lone: RawWorker) -> None:
    common = {
        **{"family": "ipv4", "cookie": "00" * 16, "address": "127.0.0.1"},
        "timeout_ns": S,
    }
    for transport, options, words in (
        ("udp", {"sending": "sendfile"}, "are for tcp"),
        ("tcp", {"sending": "zerocopy", "wait": "spin"}, "wait block"),
        ("tcp", {"sending": "pigeon"}, "expected one of copy"),
    ):
        records = lone.ask("listen", transport=transport, options=options, **common)
        assert records[-1]["record"] == "error"
        assert words in records[-1]["message"]


def test_multipath_or_the_reason(sonde_worker: Path) -> None:
    """Over one path it is plain TCP with another handshake; what fell back says so."""
    if Path("/proc/sys/net/mptcp/enabled").exists():
        with pair(sonde_worker, options={"multipath": True}) as ends:
            assert [end["values"]["multipath"] for end in ends.opened] == [True, True]
            _, target = ends.run(test="stream", message_bytes=100_000, count=20, check_data=True)
            assert counters(target)["bytes_received"] == 2_000_000
    with pair(sonde_worker) as ends:
        assert [end["values"]["multipath"] for end in ends.opened] == [False, False]


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_spinning_and_pinned(sonde_worker: Path, transport: str) -> None:
    cpu = min(os.sched_getaffinity(0))
    with pair(sonde_worker, transport, options={"wait": "spin", "cpu": cpu}) as ends:
        for test in ("latency", "stream", "duplex"):
            origin, target = ends.run(test=test, message_bytes=64, count=20)
            assert origin[-1]["record"] == target[-1]["record"] == "done"
            assert counters(origin)["cpu"] == counters(target)["cpu"] == cpu


def test_an_unknown_congestion_control_is_named(lone: RawWorker) -> None:
    answer = lone.ask(
        "listen",
        transport="tcp",
        family="ipv4",
        cookie="0" * 32,
        timeout_ns=S,
        options={"congestion_control": "no_such"},
    )[-1]
    assert answer["record"] == "error"
    assert "no_such" in answer["message"]


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_an_open_loop_answers_every_message_from_its_intended_time(
    sonde_worker: Path, transport: str
) -> None:
    options = {"no_delay": True} if transport == "tcp" else {}
    with pair(sonde_worker, transport, options=options) as ends:
        # One each ms: 64 bytes at 512 kbit/s.
        fields = {"message_bytes": 64, "count": 300, "rate_bit_per_s": 512_000}
        began = time.monotonic()
        origin, target = ends.run(test="open_loop", **fields)
        assert time.monotonic() - began >= 0.299
        found = counters(origin)
        assert found["interval_ps"] == 10**9
        assert found["messages_sent"] == found["messages_received"] == 300
        assert found["unanswered"] == 0
        assert counters(target)["messages_sent"] == 300
        responses, sent_ns = series(origin, "response_ns"), series(origin, "sent_ns")
        assert len(responses) == len(sent_ns) == 300
        assert (responses > 0).all()
        assert (sent_ns >= np.arange(300) * 1_000_000 - 1000).all()  # never early
        if transport == "udp":
            assert sorted(series(origin, "sequence")) == list(range(300))
        # Far more than the path can take: the wait for those before is in each response time.
        flood = {"message_bytes": 64, "count": 5000, "rate_bit_per_s": 10**12}
        origin, _ = ends.run(test="open_loop", **flood)
        responses = series(origin, "response_ns")
        assert len(responses) == 5000 - counters(origin)["unanswered"]
        if transport == "tcp":  # datagrams that waited for long are lost instead
            # All were to be sent at once, half a nanosecond apart; whoever counted from when they
            # were sent would find less than they had waited by then.
            intended_ns = np.arange(5000) * 64 * 8 / 1000
            assert (responses >= series(origin, "sent_ns") - intended_ns - 1000).all()
            assert (np.diff(responses) >= -10).all()  # they come in order


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"message_bytes": 64}, "rate_bit_per_s"),
        ({"message_bytes": 7, "rate_bit_per_s": 10**6}, "at least 8"),
    ],
)
def test_what_an_open_loop_needs(sonde_worker: Path, fields: dict[str, int], words: str) -> None:
    with pair(sonde_worker, "udp") as ends:
        records = ends.run(test="open_loop", count=10, **fields)[0]
    assert records[-1]["record"] == "error"
    assert words in records[-1]["message"]


@pytest.mark.usefixtures("sonde_worker")
def test_the_clock_is_among_the_facts() -> None:
    with open_pair(LocalHost(), LocalHost(), "tcp") as session:
        (facts,) = session.facts().values()
    assert facts["clock_source"] in ("cycle_counter", "monotonic")
    assert 0 < facts["clock_resolution_ns"] < 1000
    assert 0 < facts["clock_cost_ns"] < 10_000


@pytest.mark.usefixtures("sonde_worker")
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_the_origin_connects_from_the_address_it_was_asked_to(transport: str) -> None:
    asked = {"source_address": "127.0.0.9", "interface": "lo"}
    with open_pair(LocalHost(), LocalHost(), transport, options=asked) as session:
        assert session.opened[0]["local_address"] == "127.0.0.9"
        assert session.opened[1]["peer_address"] == "127.0.0.9"
    with (
        pytest.raises(HostError, match=r"cannot send from address 203\.0\.113\.9"),
        open_pair(LocalHost(), LocalHost(), transport, options={"source_address": "203.0.113.9"}),
    ):
        pass


@pytest.mark.usefixtures("sonde_worker")
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_flows_at_once(transport: str) -> None:
    host = LocalHost()
    options = {"receive_buffer_bytes": 1 << 20}
    fields = {"test": "stream", "message_bytes": 1000, "duration_ns": S // 2, "timeout_ns": 10 * S}
    if transport == "udp":
        fields["rate_bit_per_s"] = 20_000_000
    with open_flows([(host, host)] * 3, transport, options=options) as session:
        assert (session.ranks, sorted(session.opened)) == (6, list(range(6)))
        batch = decode_batch(0, session.run(fields, 12))
        again = decode_batch(1, session.run(fields, 12))
    assert sorted(batch.ends) == sorted(again.ends) == list(range(6))
    for flow in range(3):
        origin, target = batch.ends[2 * flow], batch.ends[2 * flow + 1]
        lost = target.counters.get("lost", 0)
        assert target.counters["messages_received"] + lost == origin.counters["messages_sent"]
    origins = [batch.ends[rank].counters for rank in (0, 2, 4)]
    # They ran at once: all had begun before one had ended. None begins before the common start.
    assert max(o["start_ns"] for o in origins) < min(o["end_ns"] for o in origins)
    assert all(o["start_late_ns"] >= 0 for o in origins)
    intended = {o["start_ns"] - o["start_late_ns"] for o in origins}
    assert max(intended) - min(intended) < 1_000_000, "each was told by its reading of one clock"


@pytest.mark.usefixtures("sonde_worker")
def test_a_flow_that_fails_ends_all() -> None:
    host = LocalHost()
    with open_flows([(host, host)] * 2, "tcp") as session:
        os.kill(session._flows[1]._workers[1].hello["pid"], signal.SIGKILL)
        with pytest.raises(HostError):
            session.run(
                {"test": "stream", "message_bytes": 1000, "duration_ns": S, "timeout_ns": 5 * S}, 8
            )
        with pytest.raises(HostError, match="closed"):
            session.facts()


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize("test", ["latency", "stream"])
def test_the_ends_settle_before_they_start(sonde_worker: Path, transport: str, test: str) -> None:
    with pair(sonde_worker, transport) as ends:
        origin, target = ends.run(test=test, message_bytes=64, count=20, settle_ns=60_000_000)
        for records in (origin, target):
            before = next(r for r in records if r["record"] == "snapshot")
            assert counters(records)["start_ns"] - before["time_ns"] >= 60_000_000
            assert counters(records)["start_ns"] < counters(records)["end_ns"]
        assert counters(origin)["messages_sent"] == counters(target)["messages_received"] == 20
        assert counters(origin)["sync_round_trip_ns"] < 60_000_000  # of one exchange, not of all


def test_settling_has_a_limit(sonde_worker: Path) -> None:
    with pair(sonde_worker, "tcp") as ends:
        for records in ends.run(test="latency", message_bytes=1, count=1, settle_ns=10**9 + 1):
            assert "settle_ns" in records[-1]["message"]
