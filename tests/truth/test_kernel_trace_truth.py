"""Waits and causes that are known: a shared CPU, a token bucket, losses of each kind."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_truth import COUNTING, scenario_lab

from attempts import Attempts
from fabric_needed import require_fabric
from netsonde.explain.data import Finding, Seen
from netsonde.explain.slow_operations import slow_operations
from netsonde.figures.coincidence import slow_ones
from netsonde.figures.kernel_trace import EndTrace, kernel_trace_of
from netsonde.lab import LabSpec, lab_up, permission_problem
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import PairSession, open_pair
from netsonde.records.data import Batch, Point, Run
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.timeout(120),
]

TRACED = {"depth": True}
FRAME_EXTRA_BYTES = 42
"""Of a datagram: Ethernet, IP and UDP headers."""


def watched(session: PairSession) -> PairSession:
    for values in session.opened.values():
        if not values["depth"]:
            pytest.skip(f"no eBPF here: {values['depth_missing']} ({values['depth_detail']})")
    return session


def measured(session: PairSession, **fields: Any) -> tuple[Batch, EndTrace, EndTrace]:
    """A batch, and the trace of origin and target in it."""
    batch = decode_batch(0, session.run(fields, 60))
    point = Point("p001", session.transport, str(fields["test"]), {}, batches=[batch])
    ends = [kernel_trace_of(point, rank) for rank in (0, 1)]
    assert ends[0] is not None
    assert ends[1] is not None
    for end in ends:
        assert end.dropped == end.missed == 0
    return batch, ends[0], ends[1]


@contextlib.contextmanager
def burner(cpu: int, rest_s: float = 0.0) -> Iterator[None]:
    """A process that does nothing but keep that CPU; with a rest, for 2 ms at a time."""
    program = f"""
import os, time
os.sched_setaffinity(0, {{{cpu}}})
print(flush=True)
while True:
    until = time.monotonic() + 0.002
    while not {rest_s} or time.monotonic() < until:
        pass
    time.sleep({rest_s})
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def run_delay_ns(pid: int) -> int:
    """How long threads of a process waited for a CPU, as the scheduler itself counts it."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[1])
    return total


def process_of(session: PairSession, rank: int) -> int:
    """The worker of an end that is on this host, not in a lab."""
    return int(session.workers[rank]._channel.pid)  # type: ignore[attr-defined]


def test_a_shared_processor_is_waited_for(attempts: Attempts) -> None:
    """The origin spins on a CPU that somebody else keeps as well: it gets about a half of it.
    What it waits is what the scheduler says of that process, which counts by itself."""
    host = LocalHost()
    options = {"depth": True, "wait": "spin", "cpu": 0}
    with (
        open_pair(host, host, "udp", options=options, target_options=TRACED) as session,
        burner(0),
    ):
        pid = process_of(watched(session), 0)
        for attempt in attempts(2, of=3):
            before = run_delay_ns(pid)
            batch, origin, _ = measured(session, test="latency", message_bytes=64, count=10_000)
            kernels = run_delay_ns(pid) - before
            end = batch.ends[0]
            assert end.before is not None
            assert end.after is not None
            elapsed = end.after.time_ns - end.before.time_ns
            waited = origin.waits["scheduler"]
            assert sum(waited.buckets.values()) == waited.count
            attempt.found(waited_ns=waited.sum_ns, kernels_ns=kernels, elapsed_ns=elapsed)
            with attempt:
                assert waited.sum_ns > 0.25 * elapsed
                assert waited.sum_ns == pytest.approx(kernels, rel=0.15, abs=20_000_000)


def test_a_token_bucket_is_the_queues_wait(attempts: Attempts) -> None:
    """A burst of datagrams into a bucket: each waits until those before it have left."""
    count, size, rate = 100, 1000, 10**7
    frame_ns = (size + FRAME_EXTRA_BYTES) * 8e9 / rate
    with (
        lab_up(LabSpec(hosts=2, rate_bit_per_s=rate)) as lab,
        open_pair(
            lab.hosts[0],
            lab.hosts[1],
            "udp",
            options={"depth": True, "send_buffer_bytes": 1 << 20},
        ) as session,
    ):
        watched(session)
        for attempt in attempts(2, of=3):
            _, origin, target = measured(session, test="stream", message_bytes=size, count=count)
            queue, driver = origin.waits["queue"], origin.waits["driver"]
            assert origin.queue_begun == count
            median = queue.histogram.quantile(0.5)
            attempt.found(queue_max_ns=queue.max_ns, expected=count * frame_ns, median_ns=median)
            with attempt:
                # Now and then a few of the first are in no wait: docs/methods/kernel-trace.md.
                assert queue.count == driver.count == target.waits["receive"].count == count
                # A few pass at once, as the bucket was full; the last waited for nearly all others.
                assert 0.8 * count * frame_ns < queue.max_ns < 1.1 * count * frame_ns
                assert queue.sum_ns == pytest.approx(queue.max_ns * count / 2, rel=0.2)
                assert median == pytest.approx(queue.max_ns / 2, rel=0.3)
                # It is no other layer's.
                assert driver.sum_ns < 0.02 * queue.sum_ns
                assert target.waits["receive"].sum_ns < 0.2 * queue.sum_ns
            time.sleep(2 * count * frame_ns / 1e9)  # the bucket is full again


def test_a_late_reader_is_the_receivers_wait(attempts: Attempts) -> None:
    """A burst over a link that is not shaped, to a reader that shares its CPU: datagrams lie
    in its socket as long as it does not run."""
    host = LocalHost()
    with (
        open_pair(
            host,
            host,
            "udp",
            options=TRACED,
            target_options={"depth": True, "cpu": 0, "receive_buffer_bytes": 1 << 20},
        ) as session,
        burner(0),
    ):
        watched(session)
        for attempt in attempts(2, of=3):
            _, origin, target = measured(session, test="stream", message_bytes=1000, count=2000)
            receive = target.waits["receive"]
            assert receive.count > 0
            attempt.found(receive_ns=receive.sum_ns, queue_ns=origin.waits["queue"].sum_ns)
            with attempt:
                assert receive.sum_ns > 10 * origin.waits["queue"].sum_ns
                assert receive.max_ns <= target.waits["scheduler"].sum_ns + 5_000_000


def lossy(**impairment: Any) -> dict[str, Any]:
    """Two hosts; what goes to h2 is impaired."""
    link = {"rate": "100M", "delay": "1ms"}
    return {
        "hosts": 2,
        "pace": COUNTING,
        "link": link,
        "host": [{"name": "h2", "link": {"down": impairment}}],
    }


def kernels_retransmits(batch: Batch) -> int:
    """Of both hosts, which have nothing but the worker's connections."""
    grown = [end.difference("snmp.Tcp.RetransSegs") for end in batch.ends.values()]
    assert None not in grown
    return sum(value or 0 for value in grown)


@pytest.mark.counts
def test_the_only_message_under_way_is_never_sent_again_fast() -> None:
    """With one small message at a time nothing comes after a loss that could show it: the probe of
    the tail or the timer sends it again."""
    with (
        scenario_lab(**lossy(loss_every=10)) as lab,
        open_pair(lab.hosts[0], lab.hosts[1], "tcp", options=TRACED) as session,
    ):
        batch, origin, target = measured(
            watched(session), test="latency", message_bytes=64, count=40
        )
        causes = origin.retransmits
        assert causes["fast"] == causes["other"] == 0
        assert causes["probe"] + causes["time_out"] >= 3
        repeated = sum(causes.values()) + sum(target.retransmits.values())
        assert 0 <= kernels_retransmits(batch) - repeated <= 2  # its window is the narrower one


def test_single_losses_of_a_stream_are_shown_by_acknowledgements(attempts: Attempts) -> None:
    """Most of them: a host that waits for its processor repeats what a timer says is lost."""
    with (
        scenario_lab(**lossy(loss_every=300)) as lab,
        open_pair(lab.hosts[0], lab.hosts[1], "tcp", options=TRACED) as session,
    ):
        watched(session)
        for attempt in attempts(2, of=3):
            batch, origin, target = measured(
                session, test="stream", message_bytes=65536, duration_ns=1_000_000_000
            )
            causes = origin.retransmits
            repeated = sum(causes.values()) + sum(target.retransmits.values())
            # The trace begins after the first reading of the counters and ends before the last:
            # what a timer sends again between the two is the counters' alone.
            assert 0 <= kernels_retransmits(batch) - repeated <= 2
            attempt.found(**causes)
            with attempt:
                assert causes["fast"] >= 5
                assert causes["fast"] > 0.6 * sum(causes.values())


def findings_of(batch: Batch, transport: str, directory: Path) -> list[Finding]:
    point = Point("p001", transport, "latency", {"message_bytes": 64}, batches=[batch])
    run = Run(directory, {"origin": "real", "hosts": {}}, [point], finished=True)
    return list(slow_operations(Seen(run, [])))


@pytest.mark.parametrize("transport", [pytest.param("tcp", marks=pytest.mark.soak), "udp"])
def test_slow_round_trips_are_joined_to_what_took_the_processor(
    transport: str, tmp_path: Path, attempts: Attempts
) -> None:
    """Somebody else runs on the origin's CPU for 2 ms every 50 ms: nearly all of the slowest
    round trips have the worker put off its CPU in them, and that is their length."""
    host = LocalHost()
    options = {"depth": True, "wait": "spin", "cpu": 0}
    with (
        open_pair(
            host, host, transport, options=options, target_options={**TRACED, "cpu": 1}
        ) as session,
        burner(0, rest_s=0.05),
    ):
        watched(session)
        for attempt in attempts(2, of=3):
            batch, _, _ = measured(session, test="latency", message_bytes=64, count=60_000)
            with attempt:
                check_preempted(batch, transport, tmp_path)


def check_preempted(batch: Batch, transport: str, folder: Path) -> None:
    point = Point("p001", transport, "latency", {"message_bytes": 64}, batches=[batch])
    found = slow_ones(point)
    assert found is not None
    (taken,) = [c for c in found.coincidences if c.kind == "preempted" and c.rank == 0]
    assert sum(count for name, count in taken.names.items() if name.startswith("python")) >= 10
    assert taken.explained > 0.25
    (finding,) = findings_of(batch, transport, folder)
    assert finding.kind == "slow-operations-preempted"
    assert "at the origin" in finding.claim


@pytest.mark.soak
def test_slow_round_trips_are_joined_to_segments_sent_again(
    tmp_path: Path, attempts: Attempts
) -> None:
    with (
        scenario_lab(**lossy(loss_every=100)) as lab,
        open_pair(
            lab.hosts[0], lab.hosts[1], "tcp", options=TRACED, target_options=TRACED
        ) as session,
    ):
        watched(session)
        for attempt in attempts(2, of=3):
            batch, _, _ = measured(session, test="latency", message_bytes=64, count=1000)
            with attempt:
                (finding,) = findings_of(batch, "tcp", tmp_path)
                assert finding.kind == "slow-operations-retransmitted"


@pytest.mark.counts
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_round_trip_takes_a_call_to_send_and_one_to_receive(transport: str) -> None:
    """At either end; calls on the control connection, and of reading the counts, are none of it."""
    fields = {"test": "latency", "message_bytes": 64, "count": 1000, "settle_ns": 10_000_000}
    with watched(open_pair(LocalHost(), LocalHost(), transport, options=TRACED)) as session:
        _, *ends = measured(session, **fields)
    for end in ends:
        assert 2000 <= end.calls < 2020


@pytest.mark.counts
def test_memory_of_a_host_takes_no_calls() -> None:
    """What bypasses the kernel: shared memory, by libfabric, takes none for its messages; who has
    nothing to do gives way now and then. TCP beneath the same calls takes several."""
    require_fabric()
    found = {}
    for provider, wait in (("shm", "spin"), ("tcp", "block")):
        options = {**TRACED, "provider": provider, "wait": wait}
        with watched(open_pair(LocalHost(), LocalHost(), "fabric", options=options)) as session:
            batch, *ends = measured(session, test="latency", message_bytes=64, count=5000)
        yields = [2 * batch.ends[rank].counters["gave_way"] for rank in (0, 1)]
        found[provider] = [(e.calls - y) / 5000 for e, y in zip(ends, yields, strict=True)]
    assert max(found["shm"]) < 0.01
    assert min(found["tcp"]) > 2
