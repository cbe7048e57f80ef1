"""A run that never happened, with everything a report must cope with.

Two hosts, h1 and h2, over a link of 1 Gbit/s. The values are drawn from a seeded generator; the
names are those of docs/reference/records.md.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from netsonde.explain import Finding
from netsonde.figures import Figure
from netsonde.figures.compute import figures_of
from netsonde.records.data import Batch, EndData, Point, Run, Scalar, Snapshot

LINK_BIT_PER_S = 1_000_000_000
HOSTS = {0: "h1", 1: "h2"}
BASE_NS = {"udp": 21_000.0, "tcp": 24_000.0, "mpi": 31_000.0}
BYTE_NS = 16.9  # there and back at 1 Gbit/s, headers included
ALLOWED = {"tcp": 0.9415, "udp": 0.957, "mpi": 0.939}
SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)
CORES = 2
JIFFIES_PER_S = 100
START_NS = 5_000_000_000_000
Level = Literal["good", "note", "warning", "bad"]
Values = npt.NDArray[np.int64]


def _facts(host: str, number: int) -> dict[str, Scalar]:
    return {
        "os.kernel": "6.18.5",
        "os.distribution": "Debian GNU/Linux 12 (bookworm)",
        "host.name": host,
        "cpu.model": "AMD EPYC 9354P 32-Core CPU",
        "cpu.count": 2,
        "cpu.allowed": "0-1",
        "cpu.governor": "performance",
        "clock.source": "tsc",
        "virtualization": "kvm",
        "memory.total_bytes": 25_216_000_000,
        "sysctl.net.core.rmem_max": 212992,
        "sysctl.net.core.wmem_max": 212992,
        "sysctl.net.core.busy_poll": 0,
        "sysctl.net.ipv4.tcp_congestion_control": "bbr" if number == 1 else "cubic",
        "sysctl.net.ipv4.tcp_rmem": "4096 131072 6291456",
        "sysctl.net.ipv4.tcp_wmem": "4096 16384 4194304",
        "sysctl.net.ipv4.udp_rmem_min": 4096,
        "interface.v0.mtu": 1500,
        "interface.v0.mac": f"02:00:00:00:00:0{number}",
        "interface.v0.driver": "veth",
        "interface.v0.speed_mbit": 10000,
        "interface.v0.queue_length": 1000,
        "interface.v0.address.0": f"10.77.0.{10 + number}/24",
        "timer.slack_ns": 50_000,
        "page_bytes": 4096,
        "compiler": "gcc 12.2.0",
        "mpi.library": "MPICH 5.0.2",
        "mpi.standard": "5.0",
    }


class Laboratory:
    """Draws points one after another on one common clock."""

    def __init__(self, seed: int, samples: int) -> None:
        self.random = np.random.default_rng(seed)
        self.samples = samples
        self.now_ns = START_NS

    def round_trips(self, transport: str, size: int, count: int) -> Values:
        """A skewed body, a tail of scheduling delays, and a slow second mode for UDP."""
        base = BASE_NS[transport] + BYTE_NS * size + (40_000.0 if size > 65536 else 0.0)
        body = base * (1.0 + self.random.gamma(2.0, 0.02, count))
        tail = self.random.random(count) < 0.004
        body[tail] += self.random.pareto(1.4, int(tail.sum())) * 40_000.0
        if transport == "udp" and size <= 64:
            body[self.random.random(count) < 0.25] += 9_000.0
        body[: max(1, count // 50)] *= 1.5
        return np.minimum(body, base + 9e6).astype(np.int64)

    def snapshot(self, phase: str, counted: dict[str, int]) -> Snapshot:
        return Snapshot(phase, self.now_ns, 180_000, dict(counted))

    def ends(
        self, elapsed_ns: int, load: dict[int, float], traffic: dict[int, dict[str, int]]
    ) -> dict[int, EndData]:
        """Both ends with snapshots around `elapsed_ns` of traffic."""
        ends = {rank: EndData(rank, host) for rank, host in HOSTS.items()}
        for rank, end in ends.items():
            before = dict.fromkeys(traffic[rank], 1000000 + 977 * rank)
            before |= {
                "memory.available_bytes": 20_000_000_000,
                "load.one_minute_milli": 140,
                "system.jiffies_per_s": JIFFIES_PER_S,
            }
            after = {name: value + traffic[rank].get(name, 0) for name, value in before.items()}
            after["memory.available_bytes"] -= 4096 * 50
            jiffies = elapsed_ns * JIFFIES_PER_S // 1_000_000_000
            shares = {
                "user": 0.08,
                "nice": 0.0,
                "system": 0.55,
                "idle": 0.0,
                "iowait": 0.0,
                "irq": 0.0,
                "softirq": 0.25,
                "steal": 0.02,
                "guest": 0.0,
                "guest_nice": 0.0,
            }
            for core in range(CORES):
                busy = load[rank] * (1.0 if core == rank else 0.25)
                for kind, share in shares.items():
                    grown = round(jiffies * busy * share)
                    if kind == "idle":
                        grown = round(jiffies * (1 - busy * 0.9))
                    for scope in (str(core), "all"):
                        name = f"cpu.{scope}.{kind}"
                        before.setdefault(name, 500_000)
                        after[name] = after.get(name, before[name]) + grown
            end.before = Snapshot("before", self.now_ns, 180_000, before)
            end.after = Snapshot("after", self.now_ns + elapsed_ns, 190_000, after)
            end.counters = {
                "start_ns": self.now_ns + 200_000,
                "end_ns": self.now_ns + elapsed_ns - 200_000,
                "sync_round_trip_ns": 30_000,
                "cpu": rank,
            }
            end.done = {"ended_by": "count"}
        self.now_ns += elapsed_ns + 3_000_000
        return ends

    def latency(
        self,
        transport: str,
        size: int,
        test: str = "latency",
        count: int = 0,
        status: Literal["partial", "finished"] = "finished",
    ) -> Point:
        count = count or max(200, int(self.samples / (1 + size / 4096)))
        batches = []
        for index in range(2 if count > 1 else 1):
            part = count // 2 if count > 1 else 1
            trips = self.round_trips(transport, size, part)
            elapsed = max(int(trips.sum()), 1_000_000)
            packets = part * (1 + size // 1448)
            ends = self.ends(elapsed, {0: 0.5, 1: 0.5}, _traffic(transport, packets, packets, size))
            ends[0].series["round_trip_ns"] = trips
            ends[0].counters |= {
                "messages_sent": part,
                "bytes_sent": part * size,
                "unanswered": 0,
                "late_answers": 0,
            }
            ends[1].counters |= {"messages_received": part, "bytes_received": part * size}
            batches.append(Batch(index, ends))
        return Point(
            f"{transport}-{test}-{size}",
            transport,
            test,
            {
                "message_bytes": size,
                "cap_ns": 2_000_000_000,
                "interval": 0.01,
                "call_bytes": min(size, 65536),
            }
            if test == "pingpong"
            else {"message_bytes": size, "cap_ns": 2_000_000_000, "interval": 0.01},
            status=status,
            ended_by="interval" if size < 65536 else "time",
            opened=_opened(transport),
            checks=_checks(),
            batches=batches,
        )

    def stream(
        self,
        transport: str,
        size: int,
        test: str = "stream",
        duration_s: float = 2.0,
        lost_ratio: float = 0.0004,
    ) -> Point:
        """Messages at what the link allows, with a stall and a few retransmits."""
        batches = []
        for index in range(8):
            rate = LINK_BIT_PER_S * ALLOWED[transport] * (1 - 0.5 / (1 + size / 200))
            step_ns = size * 8e9 / rate
            count = max(2, min(int(duration_s * 1e9 / 8 / step_ns), 60_000))
            gaps = step_ns * self.random.gamma(20.0, 1 / 20.0, count)
            gaps[count // 2] += 12_000_000
            received = np.cumsum(gaps).astype(np.int64)
            keep = np.ones(count, dtype=bool)
            if transport == "udp":
                keep = self.random.random(count) >= lost_ratio
            elapsed = int(received[-1]) + 2_000_000
            packets = count * (1 + size // 1448)
            ends = self.ends(
                elapsed, {0: 0.7, 1: 0.9}, _traffic(transport, packets, packets // 2, size)
            )
            self._fill_stream(transport, size, ends, received, keep)
            if test == "duplex":
                ends[0].series["received_ns"] = (received * 1.01).astype(np.int64)
                ends[0].counters["bytes_received"] = count * size
            batches.append(Batch(index, ends))
        return Point(
            f"{transport}-{test}-{size}",
            transport,
            test,
            {
                "message_bytes": size,
                "duration_ns": int(duration_s * 1e9),
                "interval_ns": 50_000_000,
                "options": {"congestion_control": "cubic"},
            },
            status="finished",
            ended_by="time",
            opened=_opened(transport),
            checks=_checks(),
            batches=batches,
        )

    def _fill_stream(
        self,
        transport: str,
        size: int,
        ends: dict[int, EndData],
        received: Values,
        keep: npt.NDArray[np.bool_],
    ) -> None:
        count = len(received)
        ends[0].series["sent_ns"] = np.maximum(received - 300_000, 0)
        ends[1].series["received_ns"] = received[keep]
        arrived = int(keep.sum())
        ends[0].counters |= {
            "messages_sent": count,
            "bytes_sent": count * size,
            "calls_sent": count,
            "last_send_ns": int(received[-1]),
        }
        ends[1].counters |= {
            "messages_received": arrived,
            "bytes_received": arrived * size,
            "calls_received": arrived,
        }
        if transport == "udp":
            ends[1].series["sequence"] = np.flatnonzero(keep).astype(np.int64)
            ends[1].counters |= {"lost": count - arrived, "duplicates": 0, "reordered": 0}
        if transport == "tcp":
            times = np.arange(50_000_000, int(received[-1]), 50_000_000, dtype=np.int64)
            ends[0].series["tcp_info_time_ns"] = times
            ends[0].series["tcp_info_retransmits"] = np.cumsum(
                self.random.poisson(1.5, len(times))
            ).astype(np.int64)

    def collective(self, operation: str, size: int, ranks: int = 4) -> Point:
        count = max(300, self.samples // 20)
        common = self.round_trips("mpi", size, count) * 2.0
        ends = self.ends(
            max(int(common.sum()), 1_000_000),
            {0: 0.6, 1: 0.6},
            _traffic("mpi", count * 4, count * 4, size),
        )
        for rank in range(ranks):
            end = ends.setdefault(rank, EndData(rank, HOSTS[rank % 2]))
            wait = self.random.gamma(2.0, 900.0 * (1 + rank), count)
            end.series["duration_ns"] = (common + wait).astype(np.int64)
            end.series["begin_ns"] = np.cumsum(common).astype(np.int64)
        return Point(
            f"mpi-{operation}-{size}",
            "mpi",
            "collective",
            {"message_bytes": size, "operation": operation, "ranks": ranks},
            status="finished",
            ended_by="interval",
            checks=_checks(),
            batches=[Batch(0, ends)],
        )


def _traffic(transport: str, out: int, back: int, size: int) -> dict[int, dict[str, int]]:
    counted = {}
    for rank, (sent, received) in {0: (out, back), 1: (back, out)}.items():
        values = {
            "interface.v0.tx_packets": sent,
            "interface.v0.rx_packets": received,
            "interface.v0.tx_bytes": sent * (66 + min(size, 1448)),
            "interface.v0.rx_bytes": received * (66 + min(size, 1448)),
            "interface.v0.rx_dropped": 0,
            "interface.lo.rx_packets": 0,
            "system.context_switches": sent + 311,
            "system.interrupts": received * 2,
            "softirq.NET_RX": received,
            "softirq.NET_TX": 12,
            "softirq.TIMER": 402,
            "process.user_ns": 31_000_000,
            "process.system_ns": 411_000_000,
            "process.voluntary_switches": sent // 2,
            "process.involuntary_switches": 7,
            "softnet.processed": received,
            "softnet.dropped": 0,
        }
        if transport == "udp":
            values |= {
                "snmp.Udp.OutDatagrams": sent,
                "snmp.Udp.InDatagrams": received,
                "snmp.Udp.RcvbufErrors": 3 * rank,
            }
        else:
            values |= {
                "snmp.Tcp.OutSegs": sent,
                "snmp.Tcp.InSegs": received,
                "snmp.Tcp.RetransSegs": 14 * (1 - rank),
                "connection.test.total_retrans": 14 * (1 - rank),
                "netstat.TcpExt.TCPHPHits": back,
            }
        counted[rank] = values
    return counted


def _opened(transport: str) -> dict[int, dict[str, Scalar]]:
    if transport == "mpi":
        return {0: {"library": "MPICH 5.0.2", "ranks": 2}}
    ends: dict[int, dict[str, Scalar]] = {}
    for rank in HOSTS:
        ends[rank] = {
            "send_buffer_bytes": 425984,
            "receive_buffer_bytes": 425984,
            "interface": "v0",
            "local_address": f"10.77.0.{11 + rank}",
            "local_port": 40000 + rank,
        }
        if transport == "tcp":
            ends[rank] |= {
                "congestion_control": "cubic",
                "max_segment_bytes": 1448,
                "no_delay": True,
            }
    return ends


def _checks(exact: bool = True) -> dict[str, Any]:
    return {
        "samples": {"messages": 20000, "samples": 20000, "equal": True},
        "transport": {
            "verified": True,
            "interface": "v0",
            "interface_bytes": 1_480_000,
            "payload_bytes": 1_280_000,
        },
        "counters": {"compared": 8, "exact": exact, "differences": []},
        "ends": {"ratio": 1.0003},
    }


def synthetic_run(
    directory: Path,
    *,
    samples: int = 20_000,
    with_mpi: bool = True,
    origin: str = "emulated",
    seed: int = 7,
    odd: bool = True,
) -> Run:
    """A complete small study; with `odd`, a failed, a partial and a never measured point too."""
    lab = Laboratory(seed, samples)
    transports = ("tcp", "udp", "mpi") if with_mpi else ("tcp", "udp")
    points = []
    for transport in transports:
        largest = 65507 if transport == "udp" else SIZES[-1]
        sizes = [s for s in SIZES if s <= largest]
        points += [lab.latency(transport, s) for s in sizes]
        points += [
            lab.latency(transport, s, "pingpong", 60)
            for s in (16384, 65536, 1048576)
            if s <= largest
        ]
        points += [lab.stream(transport, s) for s in (64, 1472, 16384) if s <= largest]
        points.append(lab.stream(transport, 1472 if transport == "udp" else 65536, "duplex"))
    if with_mpi:
        points += [lab.collective("barrier", 0)]
        points += [
            lab.collective(operation, size)
            for operation in ("bcast", "allreduce", "alltoall")
            for size in (8, 1024, 65536)
        ]
    if odd:
        points += _odd_points(lab)
    return Run(directory, _manifest(points, origin), points, finished=True)


def _odd_points(lab: Laboratory) -> list[Point]:
    partial = lab.latency("tcp", 512, count=400, status="partial")
    partial.ended_by = None
    return [
        partial,
        Point(
            "udp-latency-131072",
            "udp",
            "latency",
            {"message_bytes": 131072},
            status="failed",
            error="message of 131072 bytes is larger than a UDP datagram holds; the limit is "
            "65507; choose a smaller size",
        ),
        Point("tcp-latency-2097152", "tcp", "latency", {"message_bytes": 2097152}),
    ]


def _manifest(points: list[Point], origin: str) -> dict[str, Any]:
    return {
        "format": 1,
        "name": "quickstart",
        "started_utc": "2026-03-14T09:26:53+00:00",
        "origin": origin,
        "command": ["netsonde", "quickstart", "--seed", "4711"],
        "seed": 4711,
        "requirements": [
            {"figure": "throughput_bit_per_s", "at_least": 9e8},
            {"figure": "round_trip_median_ns", "at_most": 1e6, "transport": "tcp"},
            {"figure": "round_trip_p99_us", "at_most": 1.0},
        ],
        "versions": {
            "netsonde": "0.1.0",
            "python": "3.11.2",
            "numpy": "2.4.6",
            "sonde-worker": "0.1.0",
        },
        "path": {
            "kind": "lab",
            "link": "veth + bridge + token bucket",
            "hosts": 2,
            "rate_bit_per_s": LINK_BIT_PER_S,
            "buffer_bytes": 262144,
            "burst_bytes": 3200,
            "segmentation_offload": False,
            "rootless": False,
            "notice": None,
        },
        "hosts": {host: _facts(host, rank + 1) for rank, host in HOSTS.items()},
        "points": [
            {"id": p.id, "transport": p.transport, "test": p.test, "parameters": p.parameters}
            for p in points
        ],
    }


def synthetic_figures(run: Run) -> list[Figure]:
    """The figures of the run, as every command computes them."""
    return figures_of(run)


def synthetic_findings() -> list[Finding]:
    """One finding of each level, and one more."""
    made: list[tuple[Level, str, str, str, tuple[str, ...]]] = [
        (
            "good",
            "TCP uses 99.8 % of what the link allows.",
            "940.1 Mbit/s measured, 941.5 Mbit/s allowed at 1500 bytes MTU.",
            "",
            ("tcp-stream-16384",),
        ),
        (
            "warning",
            "UDP round trips have two modes, 30 % apart.",
            "75 % of the round trips are near 21.8 µs, 25 % near 30.9 µs.",
            "Pin the worker to one core (--cpu 1) and measure again; if one mode stays, placement "
            "was the cause.",
            ("udp-latency-1",),
        ),
        (
            "bad",
            "The two hosts use different congestion control.",
            "h1 has bbr, h2 has cubic.",
            "Set the same on both: sysctl -w net.ipv4.tcp_congestion_control=cubic",
            (),
        ),
        (
            "note",
            "MPI adds 7.0 µs to a TCP round trip of 1 byte.",
            "31.9 µs beside 24.9 µs (medians, intervals ±0.1 µs).",
            "",
            ("mpi-latency-1",),
        ),
    ]
    return [Finding(*fields) for fields in made]


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&</style>"


def _hostile_name(point: Point) -> dict[str, str]:
    return {"operation": HOSTILE} if point.operation == "bcast" else {}


def hostile_run(directory: Path) -> Run:
    """Names, errors, facts and options that would be code if one place forgot to escape."""
    run = synthetic_run(directory, samples=300)
    for point in run.points:
        for batch in point.batches:
            for end in batch.ends.values():
                end.host = f"{end.host}{HOSTILE}"
        point.error = HOSTILE if point.status == "failed" else None
        point.checks["note"] = HOSTILE
        if point.opened:
            point.opened[0]["interface"] = HOSTILE
    hostile = {"remark": HOSTILE}
    run.points = [
        replace(p, parameters={**p.parameters, **hostile, **_hostile_name(p)}) for p in run.points
    ]
    facts = {f"{h}{HOSTILE}": {**f, HOSTILE: HOSTILE} for h, f in run.manifest["hosts"].items()}
    run.manifest |= {
        "name": HOSTILE,
        "hosts": facts,
        "command": [HOSTILE],
        "seed": HOSTILE,
        "started_utc": HOSTILE,
        "versions": {HOSTILE: HOSTILE},
    }
    run.manifest["path"] |= {"link": HOSTILE, HOSTILE: HOSTILE}
    return run
