"""NetPIPE: half a round trip, the best of three means."""

from __future__ import annotations

from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from bench.settings import BUFFER_BYTES
from netsonde.peers.netpipe import parse_netpipe


def one_way(route: Route, extent: Extent, message_bytes: int) -> Measured:
    """One message size over TCP, in ns."""
    port = free_port(datagrams=False)
    common = (
        f"NPtcp -P {port} -l {message_bytes} -u {message_bytes} -p 0 -b {BUFFER_BYTES} "
        f"-n {extent.repeats} -o /dev/null"
    )
    tool = Tool(
        server=common.split(),
        client=f"{common} -h {route.target.address('ipv4')}".split(),
        port=port,
    )
    # It writes its results to standard error.
    result = parse_netpipe(run_tool(route, tool, extent.timeout_s).errors)[0]
    return Measured(result.one_way_ns, {**vars(result), "command": tool.command})
