"""netperf: streams as their receiver counts them, and round trips."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from bench.keyed import key_values, positive
from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from bench.settings import BUFFER_BYTES
from netsonde.peers.output import UnreadableOutputError

_MEGABITS = "10^6bits/s"
_ROUND_TRIPS = "P50_LATENCY,MEAN_LATENCY,MIN_LATENCY,THROUGHPUT,THROUGHPUT_UNITS"
_OUTPUT = "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,REMOTE_BYTES_RECVD,LOCAL_TRANSPORT_RETRANS"


@dataclass(frozen=True)
class NetperfStream:
    """One run of ``netperf -t TCP_STREAM`` with keys: the receiver's bytes over the test's time."""

    received_bit_per_s: float
    received_bytes: int
    retransmits: int | None


def parse_netperf(text: str) -> NetperfStream:
    """The selected keys, one in a line. Raises UnreadableOutputError."""
    values = key_values(text)

    def number(key: str) -> float:
        return positive(values, key, "netperf", text)

    unit = values.get("THROUGHPUT_UNITS")
    if unit != _MEGABITS:
        raise UnreadableOutputError(f"netperf's result is unusable: its unit is {unit!r}")
    retransmits = values.get("LOCAL_TRANSPORT_RETRANS", "")
    return NetperfStream(
        received_bit_per_s=number("THROUGHPUT") * 1e6,
        received_bytes=round(number("REMOTE_BYTES_RECVD")),
        retransmits=int(retransmits) if retransmits.isdecimal() else None,
    )


def parse_round_trip_ns(text: str) -> float:
    """The median, which netperf gives in whole microseconds: its inverse rate is finer, and of all
    round trips the mean. Raises UnreadableOutputError."""
    return positive(key_values(text), "P50_LATENCY", "netperf", text) * 1e3


def stream(
    route: Route, extent: Extent, message_bytes: int, *, datagrams: bool = False
) -> Measured:
    """As fast as it goes."""
    own = f"-m {message_bytes} -M {message_bytes}"
    test = "UDP_STREAM" if datagrams else "TCP_STREAM"
    tool = _tool(route, extent, test, own, _OUTPUT, datagrams=datagrams)
    result = parse_netperf(run_tool(route, tool, extent.timeout_s).output)
    return Measured(result.received_bit_per_s, {**vars(result), "command": tool.command})


def round_trips(route: Route, extent: Extent, transport: str, message_bytes: int) -> Measured:
    """One request and one answer at a time, in blocking calls."""
    test = f"{transport.upper()}_RR"
    own = f"-r {message_bytes},{message_bytes}" + (" -D" if transport == "tcp" else "")
    tool = _tool(route, extent, test, own, _ROUND_TRIPS, datagrams=transport == "udp")
    median_ns = parse_round_trip_ns(run_tool(route, tool, extent.timeout_s).output)
    return Measured(median_ns, {"median_ns": median_ns, "command": tool.command})


def _tool(
    route: Route, extent: Extent, test: str, own: str, output: str, *, datagrams: bool
) -> Tool:
    control, data = free_port(datagrams=False), free_port(datagrams=datagrams)
    address = route.target.address("ipv4")
    return Tool(
        # In the foreground, and without a process for each client.
        server=f"netserver -D -f -4 -L {address},4 -p {control}".split(),
        client=(
            f"netperf -P 0 -4 -t {test} -f m -H {address},4 -p {control} "
            f"-l {extent.duration_s} -- {own} -P ,{data} "
            f"-s {BUFFER_BYTES} -S {BUFFER_BYTES} -k {output}"
        ).split(),
        port=control,
        ends_by=signal.SIGTERM,
    )
