"""netperf: the TCP stream, as its receiver counts it."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from bench.keyed import key_values, positive
from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from bench.settings import BUFFER_BYTES
from netsonde.peers.output import UnreadableOutputError

_MEGABITS = "10^6bits/s"
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


def stream(route: Route, extent: Extent, message_bytes: int) -> Measured:
    """A TCP stream as fast as it goes."""
    control, data = free_port(datagrams=False), free_port(datagrams=False)
    address = route.target.address("ipv4")
    tool = Tool(
        # In the foreground, and without a process for each client.
        server=f"netserver -D -f -4 -L {address},4 -p {control}".split(),
        client=(
            f"netperf -P 0 -4 -t TCP_STREAM -f m -H {address},4 -p {control} "
            f"-l {extent.duration_s} -- -m {message_bytes} -M {message_bytes} -P ,{data} "
            f"-s {BUFFER_BYTES} -S {BUFFER_BYTES} -k {_OUTPUT}"
        ).split(),
        port=control,
        ends_by=signal.SIGTERM,
    )
    result = parse_netperf(run_tool(route, tool, extent.timeout_s).output)
    return Measured(result.received_bit_per_s, {**vars(result), "command": tool.command})
