"""Kinds of faults that the rules may be developed with.

A third of all kinds, drawn by chance once, is in fault_kinds_held_out.py: no rule is changed by
what is seen of those.
"""

from __future__ import annotations

from fault_actions import (
    burning,
    host_queue,
    htb,
    line,
    mtu,
    outage,
    port_queue,
    quota,
    route,
    sysctl,
    traffic,
)
from fault_grammar import FAR_ALL, NEAR_ALL, NEAR_BIT_PER_S, STREAMS, FaultKind
from faults_table import OTHERS_FRAMES
from statements import Truth, names

# What may be said of each place at which packets are lost or a rate ends.
LOST = "datagrams-lost|fragments-lost|segments-lost|retransmission-timer"
NARROW = "bottleneck|own-queue-delays"
WINDOW = "window-limited"
OTHER_SETTINGS = Truth("unlike-hosts|changed-facts")
"""True where a setting was changed at one host only, or after an earlier session."""
SLOWER = Truth("congestion-control|slow-operations-.*")

HELD_IN: tuple[FaultKind, ...] = (
    FaultKind(
        "receive-buffer-cap",
        "sysctl",
        ("far-tcp-stream",),
        5e3,
        1e6,
        "bytes",
        lambda bench, size: sysctl(
            bench, "h2", "net.ipv4.tcp_rmem", f"4096 {min(131072, size):.0f} {size:.0f}"
        ),
        (names(WINDOW, "receive|h2|window"), OTHER_SETTINGS),
    ),
    FaultKind(
        "send-buffer-cap",
        "sysctl",
        ("far-tcp-stream",),
        5e3,
        1e6,
        "bytes",
        lambda bench, size: sysctl(
            bench, "h1", "net.ipv4.tcp_wmem", f"4096 {min(16384, size):.0f} {size:.0f}"
        ),
        (names(f"{WINDOW}|.*send.*buffer.*", "send|h1"), OTHER_SETTINGS),
    ),
    FaultKind(
        "window-scaling-off",
        "sysctl",
        ("far-tcp-stream", "tcp-stream"),
        1,
        1,
        "",
        lambda bench, _size: sysctl(bench, "h2", "net.ipv4.tcp_window_scaling", "0"),
        (names(WINDOW), OTHER_SETTINGS),
    ),
    FaultKind(
        "receive-autotuning-off",
        "sysctl",
        ("far-tcp-stream",),
        1,
        1,
        "",
        lambda bench, _size: sysctl(bench, "h2", "net.ipv4.tcp_moderate_rcvbuf", "0"),
        (names(WINDOW, "receive|h2|window"), OTHER_SETTINGS),
    ),
    FaultKind(
        "sack-off",
        "sysctl",
        ("far-tcp-stream", "tcp-stream"),
        1,
        1,
        "",
        lambda bench, _size: sysctl(bench, "h2", "net.ipv4.tcp_sack", "0"),
        (names("no-selective-acknowledgements"), OTHER_SETTINGS),
    ),
    FaultKind(
        "sender-queue-short",
        "qdisc",
        STREAMS,
        1.6e3,
        3e4,
        "bytes",
        lambda bench, size: host_queue(
            bench, "h1", ["tbf", "rate", "100mbit", "burst", "3200", "limit", f"{size:.0f}"]
        ),
        (names(f"{LOST}|{NARROW}", "sender|h1"),),
    ),
    FaultKind(
        "sender-htb",
        "qdisc",
        STREAMS,
        0.03 * NEAR_BIT_PER_S,
        1.1 * NEAR_BIT_PER_S,
        "bit/s",
        lambda bench, size: htb(bench, "h1", size),
        (names(f"{LOST}|{NARROW}", "sender|h1"),),
    ),
    FaultKind(
        "port-shaper",
        "qdisc",
        STREAMS,
        0.03 * NEAR_BIT_PER_S,
        1.1 * NEAR_BIT_PER_S,
        "bit/s",
        lambda bench, size: port_queue(
            bench, "h2", ["tbf", "rate", f"{size:.0f}bit", "burst", "16kb", "limit", "200kb"]
        ),
        (names(f"{LOST}|{NARROW}", "network"),),
    ),
    FaultKind(
        "port-buffer-short",
        "qdisc",
        STREAMS,
        1.6e3,
        3e4,
        "bytes",
        lambda bench, size: port_queue(
            bench, "h2", ["tbf", "rate", "100mbit", "burst", "12800", "limit", f"{size:.0f}"]
        ),
        (names(f"{LOST}|{NARROW}", "network"),),
    ),
    FaultKind(
        "route-window",
        "sysctl",
        ("far-tcp-stream",),
        5e3,
        1e6,
        "bytes",
        lambda bench, size: route(bench, "h2", "window", f"{size:.0f}"),
        (names(WINDOW, "receive|h2|window"),),
    ),
    FaultKind(
        "loss",
        "link",
        FAR_ALL,
        1e-4,
        0.2,
        "of the frames",
        lambda bench, size: line(bench, "h2", "down", loss_ratio=size),
        (names(LOST, "network"), names(".*time-?out.*"), SLOWER),
    ),
    FaultKind(
        "reordering",
        "link",
        FAR_ALL,
        1e-3,
        0.3,
        "of the frames, by 5 ms",
        lambda bench, size: line(
            bench, "h2", "down", reorder_ratio=size, reorder_delay_ns=5_000_000
        ),
        (names("overtaken"), SLOWER),
    ),
    FaultKind(
        "link-rate",
        "link",
        ("far-tcp-stream", "far-udp-stream"),
        2e6,
        5e7,
        "bit/s",
        lambda bench, size: line(bench, "h2", "down", rate_bit_per_s=round(size)),
        (names(f"{LOST}|{NARROW}", "network"),),
    ),
    FaultKind(
        "outage",
        "link",
        NEAR_ALL,
        0.05,
        0.6,
        "s",
        lambda bench, size: outage(bench, "h2", size),
        (
            names("interrupted-way"),
            names(LOST, "network"),
            Truth(LOST, "^$"),  # between the sockets, and no counter tells where
            names("retransmission-timer"),
            SLOWER,
        ),
    ),
    FaultKind(
        "mtu",
        "link",
        NEAR_ALL,
        600,
        1500,
        "bytes",
        lambda bench, size: mtu(bench, "h2", round(size)),
        (
            names("mtu-mismatch", "h2"),
            names(LOST, "receiver card"),
            names("headers"),
            OTHER_SETTINGS,
        ),
    ),
    FaultKind(
        "cpu-quota",
        "cgroup",
        NEAR_ALL,
        0.005,
        0.3,
        "of a CPU",
        lambda bench, size: quota(bench, "h1", size),
        (names("cpu-quota"),),
    ),
    FaultKind(
        "hog",
        "process",
        NEAR_ALL,
        0.2,
        1.0,
        "of CPU 0",
        lambda _bench, size: burning(0, size),
        (names("busy-processor|waited-for-processor", "CPU 0|h1"),),
    ),
    FaultKind(
        "hog-nice",
        "process",
        NEAR_ALL,
        0.2,
        1.0,
        "of CPU 1",
        lambda _bench, size: burning(1, size, nice=19),
        (names("busy-processor(-nice)?|waited-for-processor", "CPU 1|h2"),),
    ),
    FaultKind(
        "peer-small-packets",
        "peer",
        NEAR_ALL,
        500,
        8000,
        "a second",
        lambda bench, size: traffic(bench, "h3", "h2", size, 1),
        (names("packet-storm|other-traffic", "h2"), OTHERS_FRAMES),
    ),
    FaultKind(
        "peer-backwards",
        "peer",
        NEAR_ALL,
        500,
        8000,
        "a second, of 1400 bytes",
        lambda bench, size: traffic(bench, "h3", "h1", size, 1400),
        (names("packet-storm|other-traffic", "h1"), OTHERS_FRAMES),
    ),
)
"""Two thirds of all kinds."""
