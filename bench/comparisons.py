"""What is compared with what, at which settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bench import iperf3, libfabric, neper, netperf, netpipe, nuttcp, ours, plain, sockperf
from bench.figure import (
    Figure,
    median_round_trip,
    processor_time,
    tail_round_trip,
    throughput,
)
from bench.measured import Extent, Measured
from bench.peers import Route, offers
from bench.settings import BUFFERS, KIB

DATAGRAM_BYTES = 1472  # fills an Ethernet frame of 1500
OFFERED_BIT_PER_S = 500_000_000
SMALL_BYTES = 64
STREAM_BYTES = 64 * KIB
DATAGRAMS_PER_CALL = 128
LARGE_BYTES = 128 * KIB

LOOPBACK, VETH, OFFLOADED, LAB = "loopback", "veth", "offloaded", "lab"
PATHS = (LOOPBACK, VETH, OFFLOADED, LAB)
WAITS_AT_ONCE = {"asks_before_sleep": 0}
"""Of rows whose peers wait in each call: netsonde's receiver would ask some times more before."""
BUSY_NS = 1000
"""What a control computes before each message: as little as makes programs differ."""

KEEPS_UP, AS_GOOD = 0.97, 1.0
NO_LATER = 1.03
MOST_PROCESSOR_TIME = 1.05
MOST_TAIL = 1.05
SMALL_OVER_IPERF3 = 3.0

Run = Callable[[Route, Extent], Measured]


@dataclass(frozen=True)
class Comparison:
    """One test, run by netsonde and by peers under equal settings, and what is taken from it.

    ``paths`` are those that it is measured on unless it is asked for by name. ``repeats`` finds how
    many round trips a NetPIPE trial has, where it is NetPIPE. ``spins`` says that both ends ask
    again and again and none ever sleeps.
    """

    id: str
    figures: Sequence[Figure]
    settings: Mapping[str, object]
    ours: Run
    peers: Mapping[str, Run]
    paths: Sequence[str] = (LOOPBACK, VETH, LAB)
    repeats: Callable[[Route, int], int] | None = None
    spins: bool = False

    @property
    def title(self) -> str:
        return self.figures[0].title


def comparisons() -> list[Comparison]:
    """All of them, in the order of the table."""
    return [
        _tcp_stream(),
        _udp("udp-paced", "UDP 500 Mbit/s", OFFERED_BIT_PER_S),
        _udp("udp-unpaced", "UDP unpaced", None),
        _udp_small(),
        _round_trips("tcp", (LOOPBACK, VETH)),
        _round_trips("udp", (LOOPBACK, VETH)),
        _spinning("tcp", (LOOPBACK, VETH)),
        _spinning("udp", (LOOPBACK, VETH)),
        _netpipe_best(),
        _netpipe_large(),
        _libfabric("msg"),
        _libfabric("rdm"),
    ]


def _tcp_stream() -> Comparison:
    options = {**BUFFERS, "no_delay": False}
    return Comparison(
        "tcp-stream",
        (
            throughput("TCP stream 64k", AS_GOOD),
            processor_time("  its CPU time", MOST_PROCESSOR_TIME),
        ),
        {"message_bytes": STREAM_BYTES, "no_delay": False},
        lambda route, extent: ours.stream(route, "tcp", STREAM_BYTES, options, extent),
        {
            "iperf3": partial(iperf3.stream, message_bytes=STREAM_BYTES),
            "nuttcp": partial(nuttcp.stream, message_bytes=STREAM_BYTES, datagrams=False),
            "netperf": partial(netperf.stream, message_bytes=STREAM_BYTES),
            "neper": partial(neper.stream, message_bytes=STREAM_BYTES, datagrams=False),
            "plain": partial(plain.stream, message_bytes=STREAM_BYTES),
        },
        paths=PATHS,
    )


def _udp(name: str, title: str, rate_bit_per_s: int | None) -> Comparison:
    return Comparison(
        name,
        (throughput(title, KEEPS_UP),),
        {"message_bytes": DATAGRAM_BYTES, "rate_bit_per_s": rate_bit_per_s},
        lambda route, extent: ours.stream(
            route, "udp", DATAGRAM_BYTES, {**BUFFERS, **WAITS_AT_ONCE}, extent, rate_bit_per_s
        ),
        {
            "iperf3": partial(
                iperf3.stream,
                message_bytes=DATAGRAM_BYTES,
                options=f"-u -b {rate_bit_per_s or 0}",
            ),
            **(
                {}
                if rate_bit_per_s  # only a netperf that was built for it paces
                else {
                    "netperf": partial(netperf.stream, message_bytes=DATAGRAM_BYTES, datagrams=True)
                }
            ),
        },
        paths=(LOOPBACK, LAB),
    )


def _udp_small() -> Comparison:
    """Each tool at its best: netsonde and a newer iperf3 send many datagrams in a call."""
    options = {**BUFFERS, "datagrams_per_call": DATAGRAMS_PER_CALL, "segment_offload": True}
    goals = {} if _cut_by_iperf3() else {"iperf3": SMALL_OVER_IPERF3}
    return Comparison(
        "udp-small",
        (throughput("UDP 64 B unpaced", AS_GOOD, goals),),
        {"message_bytes": SMALL_BYTES, "rate_bit_per_s": None, "netsonde": options},
        lambda route, extent: ours.stream(
            route, "udp", SMALL_BYTES, options, extent, record_messages=False
        ),
        {
            "iperf3": partial(
                iperf3.stream, message_bytes=SMALL_BYTES, options=f"-u -b 0{_cut_by_iperf3()}"
            ),
            "nuttcp": partial(nuttcp.stream, message_bytes=SMALL_BYTES, datagrams=True),
            "neper": partial(neper.stream, message_bytes=SMALL_BYTES, datagrams=True),
            "sockperf": partial(sockperf.flood, message_bytes=SMALL_BYTES),
            "netperf": partial(netperf.stream, message_bytes=SMALL_BYTES, datagrams=True),
            "plain": partial(
                plain.cut_datagrams, message_bytes=SMALL_BYTES, in_a_call=DATAGRAMS_PER_CALL
            ),
        },
        paths=(LOOPBACK, VETH),
    )


def _cut_by_iperf3() -> str:
    """The option by which its kernel cuts and joins datagrams, since 3.20; empty of older ones."""
    option = "--gsro"
    return f" {option}" if offers("iperf3", option) else ""


def _round_trips(transport: str, paths: Sequence[str]) -> Comparison:
    # sockperf sends without Nagle's delay.
    options = {**BUFFERS, "no_delay": True} if transport == "tcp" else BUFFERS
    name = transport.upper()
    return Comparison(
        f"{transport}-latency",
        (
            median_round_trip(f"{name} 64 B median", AS_GOOD),
            tail_round_trip(f"{name} 64 B p99.9", MOST_TAIL),
        ),
        {"message_bytes": SMALL_BYTES},
        lambda route, extent: ours.round_trips(route, transport, SMALL_BYTES, options, extent),
        {
            name: partial(run, transport=transport, message_bytes=SMALL_BYTES)
            for name, run in (
                ("sockperf", sockperf.round_trips),
                ("netperf", netperf.round_trips),
                ("plain", plain.round_trips),
                ("busy", partial(plain.round_trips, work_ns=BUSY_NS)),
            )
        },
        paths=paths,
    )


def _spinning(transport: str, paths: Sequence[str]) -> Comparison:
    """The same round trips where nobody sleeps: what is left is what the programs do."""
    name = transport.upper()
    waits = {"wait": "spin"}
    options = {**BUFFERS, **waits} | ({"no_delay": True} if transport == "tcp" else {})
    run = partial(sockperf.round_trips, transport=transport, message_bytes=SMALL_BYTES, spins=True)
    return Comparison(
        f"{transport}-spin",
        (
            median_round_trip(f"{name} spin median", AS_GOOD),
            tail_round_trip(f"{name} spin p99.9", MOST_TAIL),
        ),
        {"message_bytes": SMALL_BYTES, **waits},
        lambda route, extent: ours.round_trips(route, transport, SMALL_BYTES, options, extent),
        {"sockperf": run},
        paths=paths,
        spins=True,
    )


def _netpipe_best() -> Comparison:
    best = Figure("best", "TCP 64 B best", "ns", "one way, best of three means", NO_LATER)
    return _netpipe("tcp-small", best, "latency", SMALL_BYTES, lambda measured: measured)


def _netpipe_large() -> Comparison:
    rate = Figure(
        "throughput",
        "TCP 128k pingpong",
        "bit_per_s",
        "one way, best of three means, as payload over time",
        KEEPS_UP,
    )

    def as_rate(measured: Measured) -> Measured:
        return Measured(LARGE_BYTES * 8e9 / measured.value, measured.details)

    return _netpipe("tcp-large", rate, "pingpong", LARGE_BYTES, as_rate)


def _netpipe(
    name: str,
    figure: Figure,
    test: str,
    message_bytes: int,
    shown: Callable[[Measured], Measured],
) -> Comparison:
    options = {**BUFFERS, "no_delay": True}
    return Comparison(
        name,
        (figure,),
        {"message_bytes": message_bytes},
        lambda route, extent: shown(
            ours.best_of_three_ns(route, test, message_bytes, options, extent)
        ),
        {"NPtcp": lambda route, extent: shown(netpipe.one_way(route, extent, message_bytes))},
        paths=(LOOPBACK, LAB) if test == "pingpong" else (LOOPBACK,),
        repeats=lambda route, duration_s: ours.repeats_for(
            route, test, message_bytes, options, duration_s
        ),
    )


def _libfabric(endpoint: str) -> Comparison:
    """Over TCP, both ends spinning, small messages injected: the only way that fi_pingpong has."""
    provider = "tcp"
    asked = {"provider": provider, "endpoint": endpoint, "wait": "spin"}
    options = {**asked, "inject": True}
    run = partial(libfabric.one_way, provider=provider, endpoint=endpoint)
    return Comparison(
        f"fabric-{endpoint}",
        (Figure("mean", f"fabric {endpoint} 64 B", "ns", "one way, mean of one run", AS_GOOD),),
        {"message_bytes": SMALL_BYTES, **options},
        lambda route, extent: ours.mean_one_way_ns(route, "fabric", SMALL_BYTES, options, extent),
        {"fi_pingpong": partial(run, message_bytes=SMALL_BYTES)},
        paths=(VETH,),
        repeats=lambda route, duration_s: ours.repeats_for(
            route, "latency", SMALL_BYTES, options, duration_s, "fabric"
        ),
        spins=True,
    )
