"""sockperf: round trips, and datagrams as fast as they go."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from bench.settings import BUFFER_BYTES
from netsonde.peers.output import EXCERPT_CHARACTERS, UnreadableOutputError
from netsonde.peers.sockperf import parse_sockperf

_TAIL = re.compile(r"---> percentile 99\.900? =\s*(\d{1,12}(?:\.\d{1,6})?)")
_SENT = re.compile(r"Total of (\d{1,15}) messages sent in (\d{1,9}(?:\.\d{1,6})?) sec")
_HANDLED = re.compile(r"Total (\d{1,15}) messages received and handled")


@dataclass(frozen=True)
class SockperfFlood:
    """One run of ``sockperf throughput``: what the client sent and the server received.

    seconds are the client's: the server does not say how long it received.
    """

    sent: int
    received: int
    seconds: float


def parse_tail_ns(text: str) -> float:
    """The 99.9th percentile of a ping-pong run. Raises UnreadableOutputError."""
    found = _TAIL.search(text)
    if found is None:
        raise UnreadableOutputError("sockperf's result is incomplete: no percentile 99.9")
    return float(found.group(1)) * 1e3


def parse_flood(client: str, server: str) -> SockperfFlood:
    """From what both ends wrote, the server after SIGINT. Raises UnreadableOutputError."""
    sent, handled = _SENT.search(client), _HANDLED.search(server)
    if sent is None or float(sent.group(2)) == 0.0:
        raise UnreadableOutputError(f"sockperf wrote no messages sent: {_excerpt(client)}")
    if handled is None:
        raise UnreadableOutputError(f"sockperf's server wrote no count: {_excerpt(server)}")
    return SockperfFlood(int(sent.group(1)), int(handled.group(1)), float(sent.group(2)))


def round_trips(
    route: Route, extent: Extent, transport: str, message_bytes: int, spins: bool = False
) -> Measured:
    """Ping-pong; both ends wait in blocking calls, which is sockperf's default, or ask again and
    again where ``spins``."""
    common, port, datagrams = _common(route, transport)
    if spins:
        common += " --nonblocked"
    tool = Tool(
        server=f"sockperf server {common}".split(),
        client=(
            f"sockperf ping-pong {common} -m {message_bytes} -t {extent.duration_s} --full-rtt"
        ).split(),
        port=port,
        datagrams=datagrams,
        ends_by=signal.SIGTERM,
    )
    output = run_tool(route, tool, extent.timeout_s).output
    result = parse_sockperf(output)
    median_ns = result.percentiles_ns[50.0]
    details: dict[str, int | float | str | None] = {
        "median_ns": median_ns,
        "minimum_ns": result.least_ns,
        "p99_ns": result.percentiles_ns[99.0],
        "observations": result.observations,
        "dropped": result.dropped,
        "p999_ns": parse_tail_ns(output),
        "command": tool.command,
    }
    return Measured(median_ns, details)


def flood(route: Route, extent: Extent, message_bytes: int) -> Measured:
    """Datagrams as fast as they go; what arrived over the client's time."""
    common, port, datagrams = _common(route, "udp")
    tool = Tool(
        server=f"sockperf server {common}".split(),
        client=(
            f"sockperf throughput {common} -m {message_bytes} -t {extent.duration_s} --mps max"
        ).split(),
        port=port,
        datagrams=datagrams,
        ends_by=signal.SIGINT,  # only then it says what it received
    )
    written = run_tool(route, tool, extent.timeout_s)
    result = parse_flood(written.output, written.server_output)
    return Measured(
        result.received * message_bytes * 8.0 / result.seconds,
        {
            "received_bytes": result.received * message_bytes,
            "sent_bytes": result.sent * message_bytes,
            # It sends a few to warm up, which it does not count.
            "lost_ratio": max(0.0, 1.0 - result.received / max(result.sent, 1)),
            "command": tool.command,
        },
    )


def _common(route: Route, transport: str) -> tuple[str, int, bool]:
    datagrams = transport == "udp"
    port = free_port(datagrams=datagrams)
    options = f"-i {route.target.address('ipv4')} -p {port} --buffer-size {BUFFER_BYTES}"
    return options if datagrams else f"{options} --tcp", port, datagrams


def _excerpt(text: str) -> str:
    return " ".join(text.split())[-EXCERPT_CHARACTERS:] or "nothing"
