"""Rules about settings and circumstances: each finds its case and is silent without it."""

from pathlib import Path

import numpy as np
import pytest

from netsonde.explain.setting_rules import others_use
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot

SECOND = 10**9
HOSTS = {
    "h1": {
        "clock_resolution_ns": 20,
        "clock_cost_ns": 30,
        "sysctl.net.core.rmem_max": 212992,
        "sysctl.net.core.wmem_max": 212992,
        "sysctl.net.ipv4.tcp_no_metrics_save": 0,
        "sysctl.net.ipv4.tcp_rmem": "4096 131072 6291456",
        "sysctl.net.ipv4.tcp_wmem": "4096 16384 4194304",
    },
}
HOSTS["h2"] = HOSTS["h1"]
NETWORK = {"kind": "network", "rate_bit_per_s": None}


def end(rank, moved, lasted_ns, growth=None, at_begin=None, span_ns=None):
    before = {"system.jiffies_per_s": 100, **dict.fromkeys(growth or {}, 0), **(at_begin or {})}
    after = {**before, **(growth or {})}
    made = EndData(
        rank,
        f"h{rank + 1}",
        counters={
            "start_ns": 0,
            "end_ns": lasted_ns,
            "drained_ns": lasted_ns,
            "sync_round_trip_ns": 0,
            "bytes_sent": moved,
            "bytes_received": moved,
            "messages_sent": 1000,
            "messages_received": 1000,
        },
    )
    made.before = Snapshot("before", 0, 0, before)
    made.after = Snapshot("after", span_ns or lasted_ns, 0, after)
    return made


def stream(
    transport="tcp",
    rate=100e6,
    lasted_ns=SECOND,
    options=None,
    opened=None,
    ended_by="interval",
    message_bytes=1000,
    **more,
):
    moved = int(rate / 8 * lasted_ns / SECOND)
    return Point(
        "p001",
        transport,
        "stream",
        {
            "message_bytes": message_bytes,
            "interval": 0.01,
            "cap_ns": 2 * SECOND,
            "options": options or {},
        },
        status="finished",
        ended_by=ended_by,
        opened=opened or {},
        checks={"ends": {"ratio": 1.0}},
        batches=[Batch(0, {r: end(r, moved, lasted_ns, **more) for r in (0, 1)})],
    )


def said(point, words, path=NETWORK, hosts=HOSTS):
    """The findings of that claim, claim and evidence and advice together."""
    run = Run(Path("x"), {"path": path, "hosts": hosts}, [point], True)
    return [
        f"{f.level}: {f.claim} {f.evidence} {f.advice}"
        for f in explain(run, figures_of(run))
        if words in f.claim
    ]


def test_a_cut_buffer_is_named_with_its_limit():
    def opened(size):
        return {r: {"send_buffer_bytes": size, "receive_buffer_bytes": size} for r in (0, 1)}

    asked = {"buffer": 400_000}
    (words,) = said(stream(options=asked, opened=opened(425_984)), "cut the socket buffers")
    assert words.startswith("warning")
    assert "400000 bytes to send were asked for at h1, 208k were given" in words
    assert "net.core.wmem_max is 212992" in words
    assert not said(stream(options=asked, opened=opened(800_000)), "cut the socket buffers")
    assert not said(stream(opened=opened(425_984)), "cut the socket buffers")


def test_the_other_ends_buffer_is_compared_with_what_was_asked_there():
    opened = {
        0: {"send_buffer_bytes": 20_000, "receive_buffer_bytes": 20_000},
        1: {"send_buffer_bytes": 425_984, "receive_buffer_bytes": 425_984},
    }
    options = {"buffer": 10_000, "target_buffer": 300_000}
    (words,) = said(stream(options=options, opened=opened), "cut the socket buffers")
    assert "300000 bytes to send were asked for at h2, 208k were given" in words


def test_points_that_last_longer_than_their_cap():
    over = stream(lasted_ns=3 * SECOND)
    (words,) = said(over, "lasted longer")
    assert "3.000 s, the cap was 2.000 s" in words
    assert not said(stream(lasted_ns=2 * SECOND), "lasted longer")
    assert not said(stream(lasted_ns=3 * SECOND, ended_by="count"), "lasted longer")
    (words,) = said(stream(lasted_ns=int(1.9 * SECOND), ended_by="time"), "time cap")
    assert "They lasted 95% to 95% of it." in words


def test_a_batch_that_is_short_for_the_clock():
    (words,) = said(stream(lasted_ns=50_000), "too short for the clock")
    assert "the clock's step of 20.00 ns is 0.04% of it" in words
    assert not said(stream(lasted_ns=SECOND // 10), "too short for the clock")
    round_trips = stream()
    round_trips.test = "latency"
    round_trips.batches[0].ends[0].series["round_trip_ns"] = np.full(100, 200)
    (words,) = said(round_trips, "too short for the clock")
    assert "a round trip takes 200" in words
    round_trips.batches[0].ends[0].series["round_trip_ns"] = np.full(100, 400)
    assert not said(round_trips, "too short for the clock")


def processors(user=0, softirq=0, own_ms=0):
    return {
        "cpu.all.user": user,
        "cpu.all.nice": 0,
        "cpu.all.system": 0,
        "cpu.all.irq": 0,
        "cpu.all.softirq": softirq,
        "process.user_ns": own_ms * 10**6,
        "process.system_ns": 0,
    }


def test_idle_hosts_and_busy_ones():
    """Jiffies of 10 ms over one second."""
    (words,) = said(stream(growth=processors(user=52, own_ms=500)), "idle otherwise")
    assert words.startswith("good")
    assert "h1 0.02 to 0.02" in words
    (words,) = said(stream(growth=processors(user=90, own_ms=500)), "idle otherwise")
    assert words.startswith("warning")
    assert "0.40 CPUs or more" in words
    # What interrupts took may be ours: nothing is said.
    undecided = stream(growth=processors(user=50, softirq=30, own_ms=500))
    assert not said(undecided, "idle otherwise")
    # Less than a second of batches says nothing.
    assert not said(
        stream(lasted_ns=SECOND // 2, growth=processors(user=20, own_ms=10)), "idle otherwise"
    )


def test_hosts_of_a_lab_are_one_machine():
    point = stream(growth=processors(user=100, own_ms=480))
    run = Run(Path("x"), {"path": {"kind": "lab"}, "hosts": HOSTS}, [point], True)
    (use,) = others_use(run).values()
    assert (use.least, use.most, use.seconds) == (pytest.approx(0.04), pytest.approx(0.04), 1.0)


def test_the_labs_switch_is_no_other():
    point = stream(growth=processors(user=100, own_ms=480))
    point.checks["lab"] = {"switch_cpu_ns": 300_000_000, "valid": True, "late_share": 0.0}
    run = Run(Path("x"), {"path": {"kind": "lab"}, "hosts": HOSTS}, [point], True)
    (use,) = others_use(run).values()
    assert (use.least, use.most) == (0, pytest.approx(0.04))
    point.checks["lab"]["switch_cpu_ns"] = 10_000_000
    (use,) = others_use(run).values()
    assert use.least == pytest.approx(0.03)


def test_what_the_system_remembered_of_earlier_connections():
    words = "remembered of earlier connections"
    begin = {"connection.test.snd_ssthresh": 12, "connection.test.total_retrans": 0}
    (found,) = said(stream(at_begin=begin), words)
    assert "the slow-start threshold was 12 segments" in found
    assert "tcp_no_metrics_save is 0" in found
    unset = {"connection.test.snd_ssthresh": 2**31 - 1}
    assert not said(stream(at_begin=unset), words)
    assert not said(stream(), words)
    lost_at_once = {**begin, "connection.test.total_retrans": 1}
    assert not said(stream(at_begin=lost_at_once), words)


def test_datagrams_as_large_as_the_buffer():
    opened = {r: {"send_buffer_bytes": 20_000, "receive_buffer_bytes": 20_000} for r in (0, 1)}
    point = stream("udp", options={"buffer": 10_000}, opened=opened, message_bytes=40_000)
    (words,) = said(point, "one at a time")
    assert "the send buffer is 10000 bytes" in words
    small = stream("udp", options={"buffer": 10_000}, opened=opened, message_bytes=9_000)
    assert not said(small, "one at a time")


LIMITED = {
    "connection.test.busy_time": 1_000_000,
    "connection.test.rwnd_limited": 700_000,
    "connection.test.sndbuf_limited": 0,
}


def window_limited(rate=28e6, buffers=20_480, growth=None, options=None, message_bytes=1000):
    opened = {
        r: {"send_buffer_bytes": buffers, "receive_buffer_bytes": buffers, "interface": "eth0"}
        for r in (0, 1)
    }
    point = stream(
        rate=rate,
        opened=opened,
        growth=LIMITED if growth is None else growth,
        options={"buffer": buffers // 2} if options is None else options,
        message_bytes=message_bytes,
    )
    for one in point.batches[0].ends.values():
        assert one.after is not None
        one.after.values["connection.test.min_rtt"] = 2900
    return point


def test_a_window_that_limits_is_named_with_the_buffer_to_take():
    words = "Socket buffers, not the network, limit TCP"
    gigabit = {n: {**f, "interface.eth0.speed_mbit": 1000} for n, f in HOSTS.items()}
    (found,) = said(window_limited(), words, hosts=gigabit)
    assert "28.00 Mbit/s over a round trip of 2.900 ms is a window of 10150 bytes" in found
    assert "20k bytes for receiving; half of the smaller one allows 28.25 Mbit/s" in found
    assert "Take --buffer 725000 or more" in found
    (found,) = said(window_limited(), words)  # a path whose rate nobody knows
    assert "725000 bytes for each Gbit/s" in found


def test_a_window_that_does_not_limit_is_not_blamed():
    words = "Socket buffers, not the network, limit TCP"
    busy = {**LIMITED, "connection.test.rwnd_limited": 100_000}
    assert not said(window_limited(growth=busy), words)  # it hardly waited
    # It waited, but for a receiver that did not read: the buffer allows ten times as much.
    assert not said(window_limited(rate=2.8e6), words)
    # The link is full, whatever the buffer.
    full = {"kind": "lab", "rate_bit_per_s": 29 * 10**6}
    assert not said(window_limited(), words, path=full)
    # Nobody asked for a buffer, and the system's may grow.
    assert not said(window_limited(options={}), words)
