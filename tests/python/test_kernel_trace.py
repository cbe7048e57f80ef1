"""Kernel tracing: what the worker says of it, what its programs count, and all works without."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from raw_worker import LOOPBACK, RawPair, Record, S, pair, snapshots, workers

pytestmark = pytest.mark.worker

TRACED = {"depth": True}
LAYERS = ("queue", "driver", "receive")


def watched(ends: RawPair) -> RawPair:
    """The pair, where both ends could load the programs; else the test is skipped with why."""
    for end in ends.opened:
        values = end["values"]
        if not values["depth"]:
            pytest.skip(f"no eBPF here: {values['depth_missing']} ({values['depth_detail']})")
    return ends


def grown(records: list[Record]) -> dict[str, int]:
    """What the programs counted between the snapshots; an empty bucket has no value before."""
    taken = snapshots(records)
    before, after = taken["before"], taken["after"]
    return {n: v - before.get(n, 0) for n, v in after.items() if n.startswith("depth.")}


def in_buckets(found: dict[str, int], layer: str) -> int:
    return sum(v for n, v in found.items() if n.startswith(f"depth.{layer}.bucket."))


def retransmits_of_connections(records: list[Record]) -> int:
    """By TCP_INFO; on a busy machine a probe of the tail comes although nothing was lost."""
    taken = snapshots(records)
    names = [n for n in taken["after"] if n.startswith("connection.") and "total_retrans" in n]
    return sum(taken["after"][n] - taken["before"][n] for n in names)


def programs_of(pid: int) -> int:
    """How many eBPF programs a process holds."""
    links = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    return sum("bpf-prog" in link for link in links)


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_each_message_is_counted_in_each_layer(
    sonde_worker: Path, transport: str, family: str
) -> None:
    count = 200
    with pair(sonde_worker, transport, family, options=TRACED) as made:
        ends = watched(made)
        for batch in range(2):  # the second one's numbers are its own
            for records in ends.run(test="latency", message_bytes=100, count=count):
                found = grown(records)
                assert found["depth.dropped"] == found["depth.missed"] == 0
                assert found["depth.receive.unknown"] == 0
                for layer in LAYERS:
                    assert in_buckets(found, layer) == found[f"depth.{layer}.count"]
                # Of the test's own socket: its messages, and of TCP a few bare acknowledgements.
                extra = 0 if transport == "udp" else count // 2
                assert count <= found["depth.queue.count"] <= count + extra + batch
                assert found["depth.queue.begun"] == found["depth.queue.count"]
                assert found["depth.driver.count"] == found["depth.queue.count"]
                assert found["depth.receive.count"] == count
                assert found["depth.scheduler.count"] > 0
                again = sum(v for n, v in found.items() if ".retransmits." in n)
                assert again == retransmits_of_connections(records)


def test_largest_values_are_of_the_batch(sonde_worker: Path) -> None:
    with pair(sonde_worker, "udp", options=TRACED) as made:
        for records in watched(made).run(test="latency", message_bytes=100, count=100):
            taken = snapshots(records)
            assert taken["before"]["depth.queue.max_ns"] == 0
            found = taken["after"]
            mean = grown(records)["depth.queue.sum_ns"] / 100
            assert found["depth.queue.max_ns"] >= mean


def test_softirqs_are_those_that_the_kernel_counts(sonde_worker: Path) -> None:
    """Of the whole host; its own counter is read a moment away from ours."""
    with pair(sonde_worker, "udp", options=TRACED) as made:
        origin, _ = watched(made).run(test="latency", message_bytes=100, count=1000)
        taken = snapshots(origin)
        kernels = taken["after"]["softirq.NET_RX"] - taken["before"]["softirq.NET_RX"]
        ours = grown(origin)["depth.softirq.NET_RX.count"]
        assert ours == pytest.approx(kernels, rel=0.05, abs=20)


def test_programs_are_loaded_while_a_transport_asks_for_them(sonde_worker: Path) -> None:
    with pair(sonde_worker, "udp", options=TRACED) as made:
        ends = watched(made)
        assert programs_of(ends.origin.process.pid) > 5
        ends.origin.ask("close")
        assert programs_of(ends.origin.process.pid) == 0
    with pair(sonde_worker, "udp") as ends:
        assert all("depth" not in end["values"] for end in ends.opened)
        assert programs_of(ends.origin.process.pid) == 0
        for records in ends.run(test="latency", message_bytes=64, count=5):
            assert not any("depth." in name for name in snapshots(records)["after"])


def without_btf() -> list[str]:
    script = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


def without_capabilities() -> list[str]:
    return ["setpriv", "--bounding-set", "-sys_admin,-bpf,-perfmon", "--"]


@pytest.mark.parametrize(
    ("prefix", "reason"), [(without_btf(), "no_btf"), (without_capabilities(), "capability")]
)
def test_everything_else_works_without(sonde_worker: Path, prefix: list[str], reason: str) -> None:
    if os.geteuid() != 0 or not shutil.which(prefix[0]):
        pytest.skip(f"taking it away needs root and {prefix[0]}")
    if reason == "no_btf" and not Path("/sys/kernel/btf").exists():
        pytest.skip("this kernel has no BTF to hide")
    with pair(sonde_worker, "tcp", options=TRACED, prefix=prefix) as ends:
        for end in ends.opened:
            values = end["values"]
            assert values["depth"] is False
            assert values["depth_missing"] in (reason, "not_compiled")
            assert values["depth_detail"]
        for records in ends.run(test="latency", message_bytes=64, count=20):
            assert records[-1]["record"] == "done"
            assert not any("depth." in name for name in snapshots(records)["after"])


@pytest.mark.parametrize(
    ("verb", "fields"),
    [
        ("open", {"role": "alone", "transport": "icmp", "address": LOOPBACK["ipv4"]}),
        (
            "generate",
            {
                **{"address": LOOPBACK["ipv4"], "port": 9, "test": "stream"},
                **{"message_bytes": 100, "count": 1, "rate_bit_per_s": 10**6, "timeout_ns": S},
            },
        ),
    ],
)
def test_what_has_no_two_workers_refuses_it(
    sonde_worker: Path, verb: str, fields: dict[str, Any]
) -> None:
    with workers(sonde_worker, 1) as (worker,):
        answer = worker.ask(verb, family="ipv4", options=TRACED, **fields)[-1]
        assert answer["record"] == "error"
        assert answer["code"] == "bad_request"
