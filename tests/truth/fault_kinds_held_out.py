"""Kinds of faults that no rule was developed with.

They were drawn once, by ``random.Random(20261123).sample`` from the names of all kinds, a third of
them. Of those drawn from, NOT_A_HOSTS were left out afterwards: the kernel has such a setting for
the whole machine. No rule and no threshold is changed by what is seen of the kinds here; where one
has to be, the kind goes to fault_kinds.py and another takes its place.
"""

from __future__ import annotations

from fault_actions import (
    checksums_off,
    host_queue,
    in_slices,
    line,
    niced,
    stopped,
    sysctl,
    traffic,
)
from fault_grammar import FAR_ALL, NEAR_ALL, NEAR_BIT_PER_S, STREAMS, FaultKind
from fault_kinds import LOST, NARROW, OTHER_SETTINGS, SLOWER
from faults_table import OTHERS_FRAMES
from statements import Truth, names

NOT_A_HOSTS = ("socket-buffer-cap", "udp-receive-default")
STOPPED = "stopped-worker"

HELD_OUT: tuple[FaultKind, ...] = (
    FaultKind(
        "timestamps-off",
        "sysctl",
        (*NEAR_ALL[:2], "far-tcp-stream"),
        1,
        1,
        "",
        lambda bench, _size: sysctl(bench, "h2", "net.ipv4.tcp_timestamps", "0"),
        (OTHER_SETTINGS,),
        has_effect=False,
    ),
    FaultKind(
        "reno",
        "sysctl",
        ("far-tcp-stream", "far-tcp-latency"),
        1,
        1,
        "",
        lambda bench, _size: sysctl(bench, "h1", "net.ipv4.tcp_congestion_control", "reno"),
        (names("congestion-control"), OTHER_SETTINGS),
        has_effect=False,
    ),
    FaultKind(
        "sender-shaper",
        "qdisc",
        STREAMS,
        0.03 * NEAR_BIT_PER_S,
        1.1 * NEAR_BIT_PER_S,
        "bit/s",
        lambda bench, size: host_queue(
            bench, "h1", ["tbf", "rate", f"{size:.0f}bit", "burst", "16kb", "limit", "400kb"]
        ),
        (names(f"{LOST}|{NARROW}", "sender|h1"),),
    ),
    FaultKind(
        "duplicates",
        "link",
        FAR_ALL,
        1e-3,
        0.5,
        "of the frames",
        lambda bench, size: line(bench, "h2", "down", duplicate_ratio=size),
        (
            names(".*duplicat.*"),
            Truth("needless-segments"),
            Truth("ends-agree|counters-exact"),
        ),
    ),
    FaultKind(
        "jitter",
        "link",
        FAR_ALL,
        2e5,
        2e7,
        "ns on average",
        lambda bench, size: line(
            bench, "h2", "down", jitter={"distribution": "uniform", "mean_ns": round(size)}
        ),
        (names("varying-way|several-modes"), SLOWER),
    ),
    FaultKind(
        "checksums-off",
        "offload",
        NEAR_ALL,
        1,
        1,
        "",
        lambda bench, _size: checksums_off(bench, "h1"),
        (Truth("offloads-off"), OTHER_SETTINGS),
        has_effect=False,
    ),
    FaultKind(
        "worker-stopped",
        "process",
        NEAR_ALL,
        0.02,
        0.8,
        "s",
        lambda bench, size: stopped(bench, "h2", size),
        (names(STOPPED, "h2|target|receiver|process|^$"), SLOWER),
    ),
    FaultKind(
        "worker-in-slices",
        "process",
        NEAR_ALL,
        0.2,
        0.95,
        "of the time",
        lambda bench, size: in_slices(bench, "h2", size),
        (names(STOPPED, "h2|target|receiver|process|^$"), names(LOST, "receiver application")),
    ),
    FaultKind(
        "worker-niced",
        "process",
        NEAR_ALL,
        5,
        19,
        "of niceness",
        lambda bench, size: niced(bench, "h1", round(size)),
        (names("waited-for-processor", "h1"), names("busy-processor", "h1|CPU 0")),
    ),
    FaultKind(
        "peer-traffic",
        "peer",
        NEAR_ALL,
        500,
        8000,
        "a second, of 1400 bytes",
        lambda bench, size: traffic(bench, "h3", "h2", size, 1400),
        (names("packet-storm|other-traffic", "h2"), names(LOST, "network"), OTHERS_FRAMES),
    ),
)
