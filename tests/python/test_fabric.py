"""Messages over libfabric on this machine: every way of carrying them, and what is refused."""

from __future__ import annotations

import os
import signal
import threading
import time
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from fabric_needed import require_fabric
from netsonde.catalogue.options.endpoints import TRESPASSES
from netsonde.errors import HostError
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import PairSession, open_pair
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch

pytestmark = pytest.mark.worker
TCP, MSG, SHM = {"provider": "tcp"}, {"provider": "tcp", "endpoint": "msg"}, {"provider": "shm"}
UDP = {"provider": "udp", "endpoint": "dgram"}
SPIN = {"wait": "spin"}
PLAIN = ("latency", "stream", "duplex")
WAYS = [
    (TCP, PLAIN, 1000),
    (MSG, PLAIN, 1000),
    (MSG, ("latency",), 0),
    ({**SHM, **SPIN}, PLAIN, 1000),
    (UDP, ("latency", "stream"), 1000),
    ({"provider": "udp;ofi_rxd"}, ("latency", "stream"), 4000),
    ({**TCP, **SPIN}, ("latency",), 200_000),
    ({**MSG, "inject": True}, ("latency", "stream"), 64),
    ({**TCP, "memory": "fresh"}, ("latency", "stream"), 1000),
    ({**MSG, "parts": 3}, PLAIN, 1000),
    ({**MSG, "most_post_bytes": 1000, "segmented": True}, PLAIN, 3001),
    ({**TCP, "operation": "write"}, ("latency", "stream"), 1000),
    ({**MSG, "operation": "write", "inject": True}, ("latency",), 64),
    ({**TCP, "operation": "write", "completion": "origin"}, ("latency",), 1000),
    ({**MSG, "operation": "read"}, ("latency",), 1000),
    ({**TCP, "operation": "atomic"}, ("latency",), 8),
    ({**SHM, **SPIN, "operation": "atomic"}, ("latency",), 8),
]


@pytest.fixture(scope="module", autouse=True)
def _fabric() -> None:
    require_fabric()


def opened(options: dict[str, Any], **more: Any) -> PairSession:
    return open_pair(LocalHost(), LocalHost(), "fabric", options=options, **more)


def measured(session: PairSession, test: str, size: int, count: int = 100, **more: Any) -> Batch:
    fields = {"test": test, "message_bytes": size, "count": count, "check_data": True, **more}
    return decode_batch(0, session.run(fields, 30))


def totals(batch: Batch, name: str) -> list[int]:
    return [batch.ends[rank].counters[name] for rank in (0, 1) if name in batch.ends[rank].counters]


def refusal(options: dict[str, Any], size: int = 64, test: str = "latency") -> str:
    with pytest.raises(HostError) as caught, opened(options, timeout_s=5) as session:
        measured(session, test, size)
    return str(caught.value)


@pytest.mark.parametrize(("options", "tests", "size"), WAYS)
def test_messages_come_whole_and_as_often_as_they_were_sent(
    options: dict[str, Any], tests: tuple[str, ...], size: int
) -> None:
    with opened(options) as session:
        for number, test in enumerate((*tests, *tests)):  # the second time over a used path
            batch = measured(session, test, size, seed=number + 1)
            lost = sum(totals(batch, "lost"))
            assert lost == 0 or options == UDP, test
            assert totals(batch, "messages_received")[-1] + lost == 100, test
            assert set(totals(batch, "corrupt")) == {0}, test


def test_what_was_obtained_is_told() -> None:
    with opened(TCP) as session:
        told = session.opened[0]
        assert told["provider"] == "tcp;ofi_rxm"
        assert told["endpoint"] == "rdm"
        assert told["operation"] == "send"
        assert told["remote_memory"] is False
        assert told["max_message_bytes"] > 1 << 30
        assert told["inject_bytes"] > 0
        major, minor = map(int, told["library_version"].split("."))
        assert (major, minor) >= (1, 11)
        assert session.opened[1]["provider"] == told["provider"]


def test_a_limit_is_refused_with_both_numbers_and_held_when_cut() -> None:
    limited = {**MSG, "most_post_bytes": 1024}
    said = refusal(limited, 1025)
    assert "1025 bytes is more than the 1024 that provider tcp takes at once" in said
    assert "segmented" in said
    with opened({**limited, "segmented": True}) as session:
        for size in (1023, 1024, 1025, 2048, 2049):
            assert set(totals(measured(session, "latency", size), "corrupt")) == {0}, size
            pieces = -(-size // 1024)
            calls = totals(measured(session, "latency", size), "calls_sent")
            assert calls == [100 * pieces, 100 * pieces]


def test_datagrams_have_the_limit_of_their_provider() -> None:
    with opened(UDP) as session:
        most = session.opened[0]["max_message_bytes"]
        assert totals(measured(session, "latency", most), "messages_received") == [100, 100]
    assert f"{most + 1} bytes is more than the {most}" in refusal(UDP, most + 1)


def test_what_is_injected_has_a_limit() -> None:
    with opened(MSG) as session:
        most = session.opened[0]["inject_bytes"]
    said = refusal({**MSG, "inject": True}, most + 1)
    assert f"{most + 1} bytes is more than the {most} that provider tcp injects" in said


@pytest.mark.parametrize(
    ("options", "size", "words"),
    [
        ({"provider": "verbs"}, 64, "has no provider here for endpoint rdm"),
        ({**MSG, "operation": "atomic"}, 8, "with operation atomic that is called tcp"),
        ({**TCP, "operation": "atomic"}, 16, "message_bytes must be 8"),
        ({**TCP, "operation": "read"}, 0, "message_bytes must be at least 1"),
        ({**UDP, "operation": "write"}, 64, "endpoint dgram carries operation send only"),
        ({**TCP, "inject": True, "parts": 2}, 64, "inject goes neither with"),
        ({**TCP, "completion": "origin"}, 64, "completion origin goes with operation write"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(
    options: dict[str, Any], size: int, words: str
) -> None:
    assert words in refusal(options, size)


@pytest.mark.parametrize(
    ("library", "words"),
    [
        ("/nowhere/libfabric.so.1", "cannot open shared object file"),
        ("libm.so.6", "older than 1.11"),
    ],
)
def test_a_host_without_a_library_that_will_do_says_so(
    monkeypatch: pytest.MonkeyPatch, library: str, words: str
) -> None:
    monkeypatch.setenv("NETSONDE_LIBFABRIC", library)
    said = refusal({})
    assert words in said
    assert "libfabric cannot be used here" in said
    assert "libfabric1" in said


def test_the_ends_of_different_providers_do_not_meet() -> None:
    with pytest.raises(HostError, match="addresses differ; name the provider"):
        open_pair(
            LocalHost(), LocalHost(), "fabric", options=TCP, target_options=SHM, timeout_s=5
        ).close()


@pytest.mark.parametrize("options", [TCP, MSG, {**SHM, **SPIN}])
def test_an_end_that_is_killed_ends_the_other_one(options: dict[str, Any]) -> None:
    with opened(options) as session:
        victim = session.workers[1].hello["pid"]
        killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
        killer.start()
        began = time.monotonic()
        with pytest.raises(HostError) as caught:
            session.run({"test": "stream", "message_bytes": 1000, "duration_ns": 5_000_000_000}, 30)
        killer.join()
        assert time.monotonic() - began < 5
        assert "\n" not in str(caught.value)
    assert not [path for path in Path("/dev/shm").glob("*") if str(victim) in path.name]


@pytest.mark.parametrize(
    ("options", "trespass"), [*((TCP, trespass) for trespass in TRESPASSES), (MSG, TRESPASSES[0])]
)
def test_memory_without_a_right_to_it_is_refused_and_stays_as_it_was(
    options: dict[str, Any], trespass: str
) -> None:
    asked = {**options, "operation": "write", "trespass": trespass}
    with opened(asked) as session:
        fields = {"test": "bounds", "message_bytes": 64, "count": 1}
        batch = decode_batch(0, session.run(fields, 20))
    assert batch.ends[0].counters["attempts"] == 1
    assert batch.ends[0].counters["refused"] == 1
    assert totals(batch, "reached") == [0, 0]


def test_what_registering_costs_is_of_each_time() -> None:
    with opened(TCP) as session:
        fields = {"test": "bounds", "message_bytes": 4096, "count": 50}
        end = decode_batch(0, session.run(fields, 20)).ends[0]
    for name in ("register_ns", "release_ns"):
        assert len(end.series[name]) == 50
        assert end.series[name].min() >= 0
    assert end.counters["registrations"] == 50


@pytest.mark.parametrize("options", [TCP, MSG])
def test_the_provider_sends_from_the_address_that_was_asked_for(options: dict[str, Any]) -> None:
    """Every connection that the other end has is with it: for control, where the ends meet, and the
    provider's own."""
    own = {**options, "source_address": "127.0.0.9"}
    with opened(own, target_options=options) as session:
        measured(session, "latency", 64)
        assert session.opened[0]["local_address"] == "127.0.0.9"
        seen = connected_with(session.workers[1].hello["pid"])
    assert len(seen) >= 3
    assert set(seen) == {"127.0.0.9"}


def connected_with(process: int) -> list[str]:
    """The addresses that a process's TCP connections are with, one for each."""
    links = [str(path.readlink()) for path in Path(f"/proc/{process}/fd").iterdir()]
    own = {link.removeprefix("socket:[").rstrip("]") for link in links}
    rows = [row.split() for row in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]]
    established = (row[2] for row in rows if row[3] == "01" and row[9] in own)
    numbers = (int(peer.split(":")[0], 16) for peer in established)
    return [str(IPv4Address(number.to_bytes(4, "little"))) for number in numbers]


def test_what_has_no_addresses_sends_from_none() -> None:
    said = refusal({**SHM, **SPIN, "source_address": "127.0.0.1"})
    assert "provider shm has no addresses of a network" in said


def test_datagrams_are_paced() -> None:
    with opened(UDP) as session:
        batch = measured(session, "stream", 1000, 200, rate_bit_per_s=40_000_000)
    sent = batch.ends[0].series["sent_ns"]
    assert len(sent) == 200
    # None leaves before its time: one each 200 µs.
    assert all(at >= 0.999 * number * 200_000 for number, at in enumerate(sent.tolist()))
