"""udpserver and tcpserver: `netsonde serve` with Hpcbench's ports and no stranger in mind.

Either serves tests of both protocols; the name chooses the port.
"""

from __future__ import annotations

from collections.abc import Callable

from netsonde.hpcbench.options import MOST_TEST_S, PORTS, Transport
from netsonde.launch.given_code import PAIR_VARIABLE
from netsonde.serve.limits import Limits
from netsonde.serve.server import Announcement, ServeOptions, log_to_stderr, serve

DAY_S = 86400.0
LIMITS = Limits(
    session_s=DAY_S,
    run_s=MOST_TEST_S,
    total_bytes=1 << 60,
    message_bytes=1 << 30,  # the worker may have 3 GiB of memory, and needs up to two messages
    runs=10_000_000,
)
SERVES_FOR_S = 30 * DAY_S


def server_options(transport: Transport, port: int | None) -> ServeOptions:
    """port None: Hpcbench's usual one; 0: chosen by the system."""
    return ServeOptions(
        port=PORTS[transport] if port is None else port, time_s=SERVES_FOR_S, limits=LIMITS
    )


def serve_tests(
    transport: Transport, port: int | None, verbose: bool, show: Callable[[str], None]
) -> None:
    """Serves until it is ended, 30 days at most. Raises as serve() does."""

    def announce(announcement: Announcement) -> None:
        for text in announcement_lines(transport, announcement):
            show(text)

    serve(server_options(transport, port), announce, log_to_stderr if verbose else _no_log)


def announcement_lines(transport: Transport, announcement: Announcement) -> list[str]:
    """The port, the code, and what to type at a client."""
    return [
        f"Listening on port {announcement.port}. On a client, type:",
        *(
            f"  {PAIR_VARIABLE}={announcement.code} \\\n    netsonde hpcbench {transport}test "
            f"-h {address} -p {announcement.port}{' --ipv6' if ':' in address else ''}"
            for address in announcement.addresses
        ),
    ]


def _no_log(_: str) -> None:
    """Without -v nothing is said of clients."""
