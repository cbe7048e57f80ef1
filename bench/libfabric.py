"""fi_pingpong of libfabric's own programs: half a round trip, as the mean of one run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from netsonde.peers.output import EXCERPT_CHARACTERS, UnreadableOutputError

_COLUMNS = ("bytes", "#sent", "#ack", "total", "time", "MB/sec", "usec/xfer", "Mxfers/sec")


@dataclass(frozen=True)
class Pingpong:
    """The one line of a run: half a round trip, and what it was of."""

    message_bytes: int
    one_way_ns: float


def parse_pingpong(text: str) -> Pingpong:
    """What a client wrote. Raises UnreadableOutputError."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for heading, values in pairwise(lines):
        if tuple(heading) == _COLUMNS and len(values) == len(_COLUMNS):
            found = dict(zip(heading, values, strict=True))
            try:
                return Pingpong(int(found["bytes"]), float(found["usec/xfer"]) * 1e3)
            except ValueError:
                break
    raise UnreadableOutputError(
        f"fi_pingpong wrote no line of results: {text.strip()[-EXCERPT_CHARACTERS:]!r}"
    )


def one_way(
    route: Route, extent: Extent, provider: str, endpoint: str, message_bytes: int
) -> Measured:
    """One message size, in ns. Its ends always ask again and again, and inject what they can."""
    port = free_port(datagrams=False)
    common = (
        f"fi_pingpong -p {provider} -e {endpoint} -I {extent.repeats} -S {message_bytes} -m msg"
    )
    tool = Tool(
        server=f"{common} -B {port}".split(),
        client=f"{common} -P {port} {route.target.address('ipv4')}".split(),
        port=port,
    )
    result = parse_pingpong(run_tool(route, tool, extent.timeout_s).output)
    return Measured(result.one_way_ns, {**vars(result), "command": tool.command})
