"""How the two sides of a pairing know that the other one is still there.

A client that has nothing to ask says ALIVE_LINE now and then, never while a run is under way: that
would be traffic of ours beside the test's. The kernel finds a peer whose host is gone.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable

ALIVE_LINE = json.dumps({"netsonde": "alive"}).encode() + b"\n"
WAITING_LINE = json.dumps({"netsonde": "waiting"}).encode() + b"\n"
"""What a client in the queue answers to each word of its place."""
COME_AGAIN = b"netsonde: come again\n"
"""All that somebody is told who comes to a server in a crowd, in place of TLS."""
NOT_FROM_HERE = b"netsonde: not from here\n"
"""The same to whoever comes from an address that no client may have."""
ALIVE_SHARE = 3
"""So often within a server's idle limit something is said."""
LEAST_ALIVE_S = 0.1

_PROBE_AFTER_S = 15
_PROBE_EVERY_S = 5
_PROBES = 3
_UNACKNOWLEDGED_MS = 30_000

_ENDS = (b'{"record":"done"', b'{"record":"error"')
"""How a worker's last record of a request begins; inside of a text its quotes would be escaped."""
_LONGEST = max(map(len, _ENDS))


def watch_for_death(sock: socket.socket) -> None:
    """Reads and writes fail half a minute after the other host, or the way there, is gone."""
    for level, option, value in (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_AFTER_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_EVERY_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNACKNOWLEDGED_MS),
    ):
        sock.setsockopt(level, option, value)


class Alive:
    """Says that a client is there, in a thread of its own, while no request is under way.

    ``say`` writes a line; what it raises ends the saying, since the reader finds out why.
    """

    def __init__(self, say: Callable[[bytes], None], idle_s: float) -> None:
        self._say = say
        self._every_s = max(LEAST_ALIVE_S, idle_s / ALIVE_SHARE)
        self._asked = 0
        self._tail = b""
        self._said_s = time.monotonic()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="alive", daemon=True)
        self._thread.start()

    def asked(self) -> None:
        """A request is on its way."""
        with self._lock:
            self._asked += 1
            self._said_s = time.monotonic()

    def told(self, content: bytes) -> None:
        """Bytes of the answers."""
        seen = self._tail + content
        ended = sum(seen.count(end) for end in _ENDS)
        ended -= sum(self._tail.count(end) for end in _ENDS)
        self._tail = seen[-_LONGEST:]
        if ended:
            with self._lock:
                self._asked = max(0, self._asked - ended)

    def end(self) -> None:
        """The thread is gone afterwards."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every_s / 2):
            with self._lock:
                is_due = not self._asked and time.monotonic() - self._said_s >= self._every_s / 2
                if is_due:
                    self._said_s = time.monotonic()
            if is_due:
                try:
                    self._say(ALIVE_LINE)
                except (OSError, ValueError):
                    return
