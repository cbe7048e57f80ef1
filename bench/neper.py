"""neper: tcp_stream and udp_stream, as their receiver counts."""

from __future__ import annotations

from bench.keyed import key_values, positive
from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from netsonde.peers.output import UnreadableOutputError

_MEGABITS = "Mbit/s"


def parse_neper(text: str) -> float:
    """What the reading end found, in bit/s: the writing end prints none of its own.

    Raises UnreadableOutputError.
    """
    values = key_values(text)
    rate = positive(values, "throughput", "neper", text)
    unit = values.get("throughput_units")
    if unit != _MEGABITS:
        raise UnreadableOutputError(f"neper's result is unusable: its unit is {unit!r}")
    return rate * 1e6


def stream(route: Route, extent: Extent, message_bytes: int, *, datagrams: bool) -> Measured:
    """As fast as it goes. neper cannot choose the sockets' buffers: they are the system's own."""
    control, data = free_port(datagrams=False), free_port(datagrams=datagrams)
    program = "udp_stream" if datagrams else "tcp_stream"
    address = route.target.address("ipv4")
    common = (
        f"{program} -4 -H {address} -C {control} -P {data} -B {message_bytes} "
        f"-l {extent.duration_s}"
    )
    tool = Tool(server=common.split(), client=f"{common} -c".split(), port=control)
    received = parse_neper(run_tool(route, tool, extent.timeout_s).server_output)
    # It prints no bytes.
    details = {"received_bytes": round(received * extent.duration_s / 8.0)}
    return Measured(received, {**details, "command": tool.command})
