"""What is compared with what, at which settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench import ours
from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from netsonde.peers.iperf3 import parse_iperf3
from netsonde.peers.netpipe import parse_netpipe
from netsonde.peers.sockperf import parse_sockperf

KIB = 1024
BUFFER_BYTES = 256 * KIB
BUFFERS: Mapping[str, object] = {
    "send_buffer_bytes": BUFFER_BYTES,
    "receive_buffer_bytes": BUFFER_BYTES,
}
DATAGRAM_BYTES = 1472  # fills an Ethernet frame of 1500
OFFERED_BIT_PER_S = 500_000_000
COMMON_SETTINGS: Mapping[str, object] = {"buffer_bytes": BUFFER_BYTES, "wait": "block"}
SMALL_BYTES = 64
STREAM_BYTES = 64 * KIB
DATAGRAMS_PER_CALL = 64
LARGE_BYTES = 128 * KIB

Run = Callable[[Route, Extent], Measured]


@dataclass(frozen=True)
class Comparison:
    """One figure, measured by netsonde and by a peer under equal settings.

    ``unit`` is bit_per_s (more is better) or ns (less is better); ``repeats`` finds how many
    round trips a NetPIPE trial has, where it is NetPIPE.
    """

    id: str
    title: str
    peer: str
    unit: str
    definition: str
    settings: Mapping[str, object]
    ours: Run
    theirs: Run
    repeats: Callable[[Route, int], int] | None = None


def comparisons() -> list[Comparison]:
    """All of them, in the order of the table."""
    return [
        _iperf3_tcp(),
        _iperf3_udp("udp-paced", "UDP 500 Mbit/s", OFFERED_BIT_PER_S),
        _iperf3_udp("udp-unpaced", "UDP unpaced", None),
        _iperf3_small(),
        _sockperf("tcp"),
        _sockperf("udp"),
        _netpipe("tcp-small", "TCP 64 B best", "latency", SMALL_BYTES),
        _netpipe("tcp-large", "TCP 128k ping-pong", "pingpong", LARGE_BYTES),
    ]


def _iperf3_tcp() -> Comparison:
    options = {**BUFFERS, "congestion_control": "cubic", "no_delay": False}

    def theirs(route: Route, extent: Extent) -> Measured:
        return _iperf3(route, extent, STREAM_BYTES, "-C cubic")

    return Comparison(
        "tcp-stream",
        "TCP stream 64k",
        "iperf3",
        "bit_per_s",
        "payload received over the receiver's time",
        {"message_bytes": STREAM_BYTES, "congestion_control": "cubic", "no_delay": False},
        lambda route, extent: ours.stream(route, "tcp", STREAM_BYTES, options, extent),
        theirs,
    )


def _iperf3_udp(name: str, title: str, rate_bit_per_s: int | None) -> Comparison:
    def theirs(route: Route, extent: Extent) -> Measured:
        return _iperf3(route, extent, DATAGRAM_BYTES, f"-u -b {rate_bit_per_s or 0}")

    return Comparison(
        name,
        title,
        "iperf3",
        "bit_per_s",
        "payload received over the receiver's time",
        {"message_bytes": DATAGRAM_BYTES, "rate_bit_per_s": rate_bit_per_s},
        lambda route, extent: ours.stream(
            route, "udp", DATAGRAM_BYTES, BUFFERS, extent, rate_bit_per_s
        ),
        theirs,
    )


def _iperf3_small() -> Comparison:
    """Each tool at its best: netsonde sends many datagrams in a call, iperf3 cannot."""
    options = {**BUFFERS, "datagrams_per_call": DATAGRAMS_PER_CALL, "segment_offload": True}

    def theirs(route: Route, extent: Extent) -> Measured:
        return _iperf3(route, extent, SMALL_BYTES, "-u -b 0")

    return Comparison(
        "udp-small",
        "UDP 64 B unpaced",
        "iperf3",
        "bit_per_s",
        "payload received over the receiver's time",
        {"message_bytes": SMALL_BYTES, "rate_bit_per_s": None, "netsonde": options},
        lambda route, extent: ours.stream(
            route, "udp", SMALL_BYTES, options, extent, record_messages=False
        ),
        theirs,
    )


def _iperf3(route: Route, extent: Extent, message_bytes: int, options: str) -> Measured:
    port = free_port(datagrams=False)
    tool = Tool(
        server=f"iperf3 -s -1 -p {port} -J".split(),
        client=(
            f"iperf3 -c {route.target.address('ipv4')} -p {port} -J -t {extent.duration_s} "
            f"-w {BUFFER_BYTES} -l {message_bytes} {options}"
        ).split(),
        port=port,
        datagrams="-u" in options,
        server_ends=True,
    )
    result = parse_iperf3(run_tool(route, tool, extent.timeout_s).output)
    return Measured(result.received_bit_per_s, {**vars(result), "command": _command(tool)})


def _sockperf(transport: str) -> Comparison:
    # sockperf sends without Nagle's delay; it cannot choose a congestion control.
    options = {**BUFFERS, "no_delay": True} if transport == "tcp" else BUFFERS

    def theirs(route: Route, extent: Extent) -> Measured:
        datagrams = transport == "udp"
        port = free_port(datagrams=datagrams)
        common = f"-i {route.target.address('ipv4')} -p {port} --buffer-size {BUFFER_BYTES}"
        if not datagrams:
            common += " --tcp"
        tool = Tool(
            server=f"sockperf server {common}".split(),
            client=(
                f"sockperf ping-pong {common} -m {SMALL_BYTES} -t {extent.duration_s} --full-rtt"
            ).split(),
            port=port,
            datagrams=datagrams,
            server_ends=False,
        )
        result = parse_sockperf(run_tool(route, tool, extent.timeout_s).output)
        return Measured(result.median_ns, {**vars(result), "command": _command(tool)})

    return Comparison(
        f"{transport}-latency",
        f"{transport.upper()} 64 B median",
        "sockperf",
        "ns",
        "median full round trip; the first 400 ms and the last 50 ms left out",
        {"message_bytes": SMALL_BYTES, "congestion_control": "system default"},
        lambda route, extent: ours.round_trips(route, transport, SMALL_BYTES, options, extent),
        theirs,
    )


def _netpipe(name: str, title: str, test: str, message_bytes: int) -> Comparison:
    options = {**BUFFERS, "no_delay": True}
    throughput = test == "pingpong"

    def figure(measured: Measured) -> Measured:
        if not throughput:
            return measured
        return Measured(message_bytes * 8e9 / measured.value, measured.details)

    def theirs(route: Route, extent: Extent) -> Measured:
        port = free_port(datagrams=False)
        common = (
            f"NPtcp -P {port} -l {message_bytes} -u {message_bytes} -p 0 -b {BUFFER_BYTES} "
            f"-n {extent.repeats} -o /dev/null"
        )
        tool = Tool(
            server=common.split(),
            client=f"{common} -h {route.target.address('ipv4')}".split(),
            port=port,
            datagrams=False,
            server_ends=True,
        )
        # NetPIPE writes its results to standard error.
        result = parse_netpipe(run_tool(route, tool, extent.timeout_s).errors)[0]
        return figure(Measured(result.one_way_ns, {**vars(result), "command": _command(tool)}))

    return Comparison(
        name,
        title,
        "NPtcp",
        "bit_per_s" if throughput else "ns",
        "one way, best of three means" + (", as payload over time" if throughput else ""),
        {"message_bytes": message_bytes, "congestion_control": "system default"},
        lambda route, extent: figure(
            ours.best_of_three_ns(route, test, message_bytes, options, extent)
        ),
        theirs,
        lambda route, duration_s: ours.repeats_for(route, test, message_bytes, options, duration_s),
    )


def _command(tool: Tool) -> str:
    return " ".join(tool.client)
