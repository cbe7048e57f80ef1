"""The least loop that makes the same calls, as one more peer: what it shows of a difference is the
calls' and the machine's, and not netsonde's."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from bench.commands import compiled
from bench.measured import Extent, Measured, Scalar
from bench.peers import Route, Tool, Written, free_port, run_tool
from bench.settings import BUFFER_BYTES
from netsonde.peers.output import UnreadableOutputError

SOURCE = Path(__file__).with_name("plain_socket.c")
SECOND_NS = 1e9


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="netsonde-bench-")


@functools.cache
def program() -> str:
    """The compiled loop, as long as the bench runs. Raises HostError."""
    return str(compiled(SOURCE, Path(_folder().name)))


def round_trips(
    route: Route, extent: Extent, transport: str, message_bytes: int, work_ns: int = 0
) -> Measured:
    """Full round trips in blocking calls; ``work_ns`` is computed before each next one."""
    datagrams = transport == "udp"
    written, command = _run(
        route,
        extent,
        ["answer", transport],
        ["ask", transport],
        [str(message_bytes), str(BUFFER_BYTES)],
        [str(extent.duration_s), str(work_ns)],
        datagrams=datagrams,
    )
    observations, median_ns, tail_ns = _numbers(written.output, 3)
    details: dict[str, Scalar] = {
        "observations": observations,
        "p999_ns": tail_ns,
        "command": command,
    }
    return Measured(median_ns, {"median_ns": median_ns, **details})


def stream(route: Route, extent: Extent, message_bytes: int) -> Measured:
    """One write a message, and one read of as much as there is up to its size."""
    sizes = [str(message_bytes), str(BUFFER_BYTES)]
    written, command = _run(
        route, extent, ["sink"], ["stream"], sizes, [str(extent.duration_s)], datagrams=False
    )
    return _received(written, command)


def cut_datagrams(route: Route, extent: Extent, message_bytes: int, in_a_call: int) -> Measured:
    """So many datagrams in a call that the kernel cuts up, and joined ones taken."""
    sizes = [str(message_bytes), str(BUFFER_BYTES)]
    cut = str(in_a_call)
    written, command = _run(
        route,
        extent,
        ["take"],
        ["give"],
        sizes,
        [str(extent.duration_s), cut],
        datagrams=True,
        of_server=[cut],
    )
    return _received(written, command)


def _received(written: Written, command: str) -> Measured:
    received, elapsed_ns = _numbers(written.server_output, 2)
    (sent,) = _numbers(written.output, 1)
    details: dict[str, Scalar] = {
        "received_bytes": received,
        "sent_bytes": sent,
        "lost_ratio": 1.0 - received / sent,
        "command": command,
    }
    return Measured(8.0 * received * SECOND_NS / elapsed_ns, details)


def _run(
    route: Route,
    extent: Extent,
    server: list[str],
    client: list[str],
    sizes: list[str],
    of_client: list[str],
    *,
    datagrams: bool,
    of_server: list[str] | None = None,
) -> tuple[Written, str]:
    port = free_port(datagrams=datagrams)
    where = [route.target.address("ipv4"), str(port), *sizes]
    tool = Tool(
        server=[program(), *server, *where, *(of_server or [])],
        client=[program(), *client, *where, *of_client],
        port=port,
        datagrams=datagrams,
    )
    return run_tool(route, tool, extent.timeout_s), tool.command


def _numbers(text: str, count: int) -> list[int]:
    """Raises UnreadableOutputError."""
    words = text.split()
    if len(words) != count or not all(word.isdecimal() for word in words):
        raise UnreadableOutputError(f"the plain loop wrote no {count} numbers: {text[:80]!r}")
    return [int(word) for word in words]
