"""Each rule finds its case and is silent without it."""

from pathlib import Path

import numpy as np
import pytest

from netsonde.explain.data import Seen
from netsonde.explain.evidence import busiest_cpu, cpu_shares, steal_share
from netsonde.explain.layers import layers, throughput_layers
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot

CLEAN = {
    "samples": {"messages": 1, "samples": 1, "equal": True},
    "transport": {"verified": True, "interface": "v0", "interface_bytes": 9, "payload_bytes": 1},
}
LAB = {"kind": "lab", "rate_bit_per_s": 10**9, "buffer_bytes": 1 << 18, "link": "a link"}


def snapshots(end, growth):
    end.before = Snapshot("before", 0, 0, dict.fromkeys(growth, 0))
    end.after = Snapshot("after", 1, 0, dict(growth))


def stream(point_id="p001", transport="tcp", rate=956e6, checks=None, growth=None, lost=0):
    """A stream of one second at that rate."""
    sent = int(rate / 8)
    messages = sent // 1000
    origin = EndData(
        0,
        "h1",
        counters={
            "start_ns": 0,
            "end_ns": 10**9,
            "drained_ns": 10**9,
            "sync_round_trip_ns": 0,
            "bytes_sent": sent,
            "messages_sent": messages,
        },
    )
    target = EndData(
        1,
        "h2",
        counters={
            "start_ns": 0,
            "end_ns": 10**9,
            "sync_round_trip_ns": 0,
            "bytes_received": sent,
            "messages_received": messages,
            "lost": lost,
        },
    )
    for end in (origin, target):
        snapshots(end, growth or {})
    return Point(
        point_id,
        transport,
        "stream",
        {"message_bytes": 1000, "interval": 0.01},
        status="finished",
        ended_by="interval",
        checks={**CLEAN, "ends": {"ratio": 1.0}, **(checks or {})},
        batches=[Batch(0, {0: origin, 1: target})],
    )


def latency(transport, median_ns, point_id, samples=None):
    rng = np.random.default_rng(1)
    values = samples if samples is not None else rng.normal(median_ns, median_ns / 50, 2000)
    end = EndData(0, "h1", counters={"messages_sent": len(values)})
    end.series["round_trip_ns"] = np.asarray(values, dtype=np.int64)
    return Point(
        point_id,
        transport,
        "latency",
        {"message_bytes": 64, "interval": 0.01},
        status="finished",
        ended_by="interval",
        checks=CLEAN,
        batches=[Batch(0, {0: end})],
    )


def claims(*points, path=LAB, level=None):
    run = Run(Path("runs/x"), {"origin": "emulated", "path": path}, list(points), True)
    findings = explain(run, figures_of(run))
    return [f.claim + " " + f.evidence for f in findings if level is None or f.level == level]


def holds(words, texts):
    return any(words in text for text in texts)


def test_a_clean_run_has_nothing_bad_in_it():
    texts = claims(stream(), level="bad") + claims(stream(), level="warning")
    assert texts == []


def test_a_full_link_is_called_good_and_a_half_empty_one_is_not():
    assert holds("link allows after headers", claims(stream(rate=950e6), level="good"))
    assert holds("link allows after headers", claims(stream(rate=500e6), level="warning"))


def test_failed_and_unmeasured_points_are_said():
    failed = Point("p002", "tcp", "stream", {"message_bytes": 1}, status="failed", error="gone")
    planned = Point("p003", "tcp", "stream", {"message_bytes": 1})
    assert holds("1 of 3 points failed", claims(stream(), failed, planned, level="bad"))
    assert holds("1 of 3 points are not measured", claims(stream(), failed, planned))
    assert not holds("failed", claims(stream()))


def test_strangers_at_a_host_that_serves_are_said():
    def met(handled, refused):
        point = stream()
        told = {"pairings_handled": handled, "pairings_refused": refused}
        point.batches[0].ends[1].counters |= told
        return point

    assert holds("12 handshakes and 0 conn", claims(met(12, 0), level="warning"))
    assert holds("0 handshakes and 500 conn", claims(met(0, 500), level="warning"))
    assert holds("about 0.10% of a CPU", claims(met(1, 0), level="note"))
    assert not holds("others connected", claims(stream()))


def test_traffic_that_missed_the_network_is_bad():
    shared = {**CLEAN["transport"], "verified": False}
    assert holds("did not cross", claims(stream(checks={"transport": shared}), level="bad"))


def test_missing_samples_are_bad():
    missing = {"messages": 10, "samples": 9, "equal": False}
    assert holds("lacked samples", claims(stream(checks={"samples": missing}), level="bad"))


def test_ends_that_differ_are_said():
    assert holds("same throughput", claims(stream(), level="good"))
    assert holds("differ by 1.00%", claims(stream(checks={"ends": {"ratio": 1.01}})))


def test_counters_are_judged():
    exact = {"compared": 4, "exact": True, "differences": []}
    wrong = {
        "compared": 4,
        "exact": False,
        "differences": [
            {
                "rank": 1,
                "direction": "tx",
                "packets_expected": 3,
                "packets_counted": 40,
                "bytes_expected": 300,
                "bytes_counted": 4000,
            }
        ],
    }
    assert holds("to the packet and the byte", claims(stream(checks={"counters": exact})))
    assert holds(
        "h2 sent 40 packets and 4000 bytes",
        claims(stream(checks={"counters": wrong}), level="warning"),
    )


@pytest.mark.parametrize("frames", [-2, -1, 1, 2])
@pytest.mark.parametrize("size", [40, 66, 1514, 32774])
def test_a_frame_under_way_when_counters_are_read_is_no_wrong_counter(frames, size):
    def said(frames, size, level):
        counted = {"packets_counted": 100 + frames, "bytes_counted": 150_000 + size}
        expected = {"packets_expected": 100, "bytes_expected": 150_000}
        difference = {"rank": 1, "direction": "rx", **counted, **expected}
        check = {"compared": 4, "exact": False, "differences": [difference]}
        return claims(stream(checks={"counters": check}), level=level)

    assert holds("under way", said(frames, frames * size, "note"))
    assert not holds("not what the test sent", said(frames, frames * size, "warning"))
    # The same bytes without a frame, the other way round, or many of them are none.
    for packets, more in ((0, 1), (frames, -1), (20 * frames, 20)):
        assert holds("not what the test sent", said(packets, more * frames * size, "warning"))


def test_loss_is_located():
    inside = stream(transport="udp", lost=10, growth={"snmp.Udp.RcvbufErrors": 10})
    outside = stream(transport="udp", lost=10)
    assert holds("receiver's socket buffer", claims(inside, level="warning"))
    assert holds("between the sender's socket", claims(outside, level="warning"))
    assert not holds("lost", claims(stream(transport="udp")))


def test_retransmits_are_noted():
    grown = {"connection.test.total_retrans": 7}
    assert holds("7 segments", claims(stream(growth=grown), level="note"))


def test_a_tick_or_two_is_no_share_of_stolen_time():
    for ticks, is_said in ((2, False), (8, True)):
        stolen = {"cpu.all.steal": ticks, "cpu.all.idle": 200 - ticks}
        assert holds("Steal was", claims(stream(growth=stolen), level="warning")) == is_said


def test_saturation_and_steal_come_from_processor_time():
    busy = {
        "cpu.0.user": 99,
        "cpu.0.idle": 1,
        "cpu.1.idle": 100,
        "cpu.all.user": 99,
        "cpu.all.idle": 101,
    }
    assert holds("saturated", claims(stream(growth=busy)))
    calm = {**busy, "cpu.0.user": 50, "cpu.0.idle": 50}
    assert not holds("saturated", claims(stream(growth=calm)))
    stolen = {"cpu.all.steal": 5, "cpu.all.idle": 95}
    assert holds("5.0%", claims(stream(growth=stolen), level="warning"))


def under(busy, *points, **parameters):
    for point in points:
        point.parameters |= {"options": {"busy": busy}} | parameters
    return points


def layer_findings(*points):
    run = Run(Path("runs/x"), {"origin": "emulated", "path": LAB}, list(points), True)
    return layers(Seen(run, figures_of(run)))


def test_layers_of_an_idle_and_a_busy_host_are_not_mixed_whatever_comes_last():
    idle = under("none", latency("udp", 20_000, "p1"), latency("tcp", 25_000, "p2"))
    busy = under("both", latency("udp", 80_000, "p3"), latency("tcp", 99_000, "p4"))
    found = layer_findings(idle[0], busy[1], idle[1], busy[0])
    assert [f.sides for f in found] == [(("p1",), ("p2",)), (("p3",), ("p4",))]
    assert ["background_load none" in f.claim for f in found] == [True, False]
    # Of what is left no two are alike.
    assert layer_findings(idle[0], busy[1]) == []


def test_layers_are_medians_over_launches():
    times = {"udp": (20, 21, 60), "tcp": (25, 90, 26)}
    points = [
        under("none", latency(name, 1000 * us, f"{name}{n}"), launch=n)[0]
        for name, launches in times.items()
        for n, us in enumerate(launches, 1)
    ]
    (found,) = layer_findings(*points)
    assert "median of 3 launches" in found.claim
    assert "UDP 20.99 µs, TCP 25.99 µs" in found.claim
    assert found.sides == (("udp1", "udp2", "udp3"), ("tcp1", "tcp2", "tcp3"))


def test_ranks_of_mpi_on_one_host_are_no_layer_over_sockets_between_two():
    tcp, mpi = latency("tcp", 25_000, "p1"), latency("mpi", 2_000, "p2")
    mpi.parameters |= {"ranks": 4, "ppn": 2, "mpi": "mpich"}
    for point, there in ((tcp, "h2"), (mpi, "h1")):
        point.batches[0].ends[1] = EndData(1, there)
    assert layer_findings(tcp, mpi) == []
    mpi.batches[0].ends[1].host = "h2"
    assert "less than TCP" in layer_findings(tcp, mpi)[0].evidence


def test_layers_are_compared_at_the_smallest_common_size():
    texts = claims(
        latency("udp", 20_000, "p1"), latency("tcp", 25_000, "p2"), latency("mpi", 10_000, "p3")
    )
    assert holds("TCP adds", texts)
    assert holds("less than TCP", texts)
    assert holds("polls", texts)
    assert not holds("ICMP", texts)


def test_layers_of_rate_are_compared_at_the_largest_common_size():
    rates = {"tcp": {1000: 5e8, 65_536: 8e8}, "mpi": {65_536: 6e8, 1_048_576: 9e8}}
    points = []
    for transport, sizes in rates.items():
        for size, rate in sizes.items():
            points.append(stream(f"{transport}{size}", transport, rate))
            points[-1].parameters["message_bytes"] = size
    run = Run(Path("runs/x"), {"origin": "emulated", "path": LAB}, points, True)
    (found,) = throughput_layers(Seen(run, figures_of(run)))
    assert found.claim == "One stream of 64k bytes: TCP 800.0 Mbit/s, MPI 600.0 Mbit/s."
    assert found.evidence == "MPI: 25 % less rate, 33 % more time than TCP."
    assert found.sides == (("tcp65536",), ("mpi65536",))


def test_mpi_stands_on_libfabric_where_both_are_there():
    texts = claims(
        latency("tcp", 25_000, "p1"), latency("fabric", 30_000, "p2"), latency("mpi", 33_000, "p3")
    )
    assert holds("Fabric adds 4.997 µs to TCP", texts)
    assert holds("MPI adds 2.999 µs to Fabric", texts)


def test_icmp_is_the_layer_below_udp():
    points = [
        latency("tcp", 25_000, "p1"),
        latency("icmp", 8_000, "p2"),
        latency("mpi", 15_000, "p3"),
        latency("udp", 20_000, "p4"),
    ]
    texts = claims(*points)
    assert holds("µs to ICMP (150 % more time, 60 % less rate); TCP adds", texts)
    assert holds("wakes no process", texts)
    assert holds("polls", texts)  # below the sockets, if not below the kernel
    assert not holds("wakes no process", claims(points[1]))
    assert not holds("polls", claims(points[1], points[2]))


def test_two_modes_are_noted_and_one_is_not():
    rng = np.random.default_rng(3)
    both = np.concatenate([rng.normal(12_000, 300, 1000), rng.normal(55_000, 900, 1000)])
    rng.shuffle(both)
    assert holds("several values", claims(latency("tcp", 0, "p1", both)))
    assert not holds("several values", claims(latency("tcp", 12_000, "p1")))


def test_time_caps_are_noted():
    point = stream()
    point.ended_by = "time"
    assert holds("time cap", claims(point, level="note"))


def test_loopback_is_said_first():
    notice = "No emulated cluster can be had here (why)."
    path = {"kind": "loopback", "rate_bit_per_s": None, "notice": notice}
    assert claims(stream(), path=path)[0].startswith(notice)


def test_processor_shares_leave_guests_out():
    point = stream(
        growth={
            "cpu.0.user": 60,
            "cpu.0.guest": 60,
            "cpu.0.idle": 40,
            "cpu.all.user": 60,
            "cpu.all.idle": 40,
        }
    )
    assert cpu_shares(point, 0)["0"] == {"user": 0.6, "idle": 0.4}
    assert busiest_cpu(point, 0) == ("0", pytest.approx(0.6))
    assert steal_share(point) == 0.0


def test_a_burst_above_the_links_rate_is_explained():
    path = {**LAB, "burst_bytes": 32000}
    assert holds("1 point went faster than its 1.000 Gbit/s", claims(stream(rate=1.2e9), path=path))
    assert not holds("faster than", claims(stream(rate=0.95e9), path=path))
    assert not holds("faster than", claims(stream(rate=1.2e9), path={"kind": "network"}))
