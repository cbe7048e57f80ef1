"""iperf3: one-way streams."""

from __future__ import annotations

from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from bench.settings import BUFFER_BYTES
from netsonde.peers.iperf3 import parse_iperf3


def stream(route: Route, extent: Extent, message_bytes: int, options: str = "") -> Measured:
    """What the server received over the server's time; options are the client's."""
    port = free_port(datagrams=False)
    address = route.target.address("ipv4")
    tool = Tool(
        server=f"iperf3 -s -1 -B {address} -p {port} -J".split(),
        client=(
            f"iperf3 -c {address} -p {port} -J -t {extent.duration_s} "
            f"-w {BUFFER_BYTES} -l {message_bytes} {options}"
        ).split(),
        port=port,  # of TCP: the one of UDP opens when the client has come
    )
    result = parse_iperf3(run_tool(route, tool, extent.timeout_s).output)
    return Measured(result.received_bit_per_s, {**vars(result), "command": tool.command})
