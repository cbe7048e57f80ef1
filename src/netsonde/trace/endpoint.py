"""Gives the latest values of a trace over HTTP, to this host alone unless told otherwise.

It answers ``GET /metrics`` and nothing else. Who asks gets a few seconds, a few KiB and one answer;
more askers than a few wait, and then are turned away.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path

from netsonde.errors import NetsondeError, UsageError
from netsonde.launch.closing import Closing
from netsonde.trace.journal import Follower, Moment, unix_ns
from netsonde.trace.openmetrics import CONTENT_TYPE, metrics
from netsonde.trace.place import writer_of
from netsonde.trace.request import Listen

REQUEST_LIMIT_BYTES = 8192
PATIENCE_S = 5.0
AT_ONCE = 4
WAITING = 16
LOOK_EVERY_S = 2.0
PATHS = ("/metrics", "/")


class Values:
    """The document of the moment; made anew only where there is a new sample."""

    def __init__(self, folder: Path) -> None:
        self._follower = Follower(folder)
        self._lock = threading.Lock()
        self._made: tuple[object, bytes] | None = None

    def document(self) -> bytes:
        """Raises UsageError where the trace cannot be read."""
        with self._lock:
            moment = self._follower.catch_up()
            if moment is None:
                raise UsageError("there is no sample yet")
            if self._made is None or self._made[0] != moment:
                self._made = (moment, self._text(moment))
            return self._made[1]

    def _text(self, moment: Moment) -> bytes:
        reader = self._follower.reader
        about = reader.about
        info = {name: str(about.get(name, "")) for name in ("host", "kernel", "version")}
        return metrics(
            reader.counters,
            reader.values,
            info,
            unix_ns(reader, moment) / 1e9,
            int(about.get("jiffies_per_s", 100)),
        )


class Endpoint(Closing):
    """Answers from a thread of its own until it is closed. A context manager.

    Raises UsageError where it cannot listen there.
    """

    def __init__(self, folder: Path, listen: Listen) -> None:
        self._folder = folder
        self._values = Values(folder)
        self._places = threading.Semaphore(AT_ONCE)
        self._closed = threading.Event()
        family = socket.AF_INET6 if ":" in listen.address else socket.AF_INET
        try:
            self._socket = socket.create_server(
                (listen.address, listen.port), family=family, backlog=WAITING
            )
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(
                f"cannot listen on {listen.address} port {listen.port}: {why}"
            ) from error
        address, port = self._socket.getsockname()[:2]
        self.port = int(port)
        shown = f"[{address}]" if ":" in address else address
        self.url = f"http://{shown}:{port}/metrics"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def wait_for_end(self) -> None:
        """As long as the trace is written."""
        while writer_of(self._folder) is not None:
            time.sleep(LOOK_EVERY_S)

    def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE_S)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self._closed.is_set():
                    return
                time.sleep(0.1)  # too many files are open, for instance
                continue
            if not self._places.acquire(timeout=PATIENCE_S):
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, contextlib.suppress(OSError):
                connection.sendall(self._answer(connection))
        finally:
            self._places.release()

    def _answer(self, connection: socket.socket) -> bytes:
        request = _read_request(connection)
        words = request.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _response("400 Bad Request", b"this is no request that is understood\n")
        if words[0] not in ("GET", "HEAD"):
            return _response("405 Method Not Allowed", b"GET only\n", extra="Allow: GET, HEAD\r\n")
        if words[1].split("?", 1)[0] not in PATHS:
            return _response("404 Not Found", b"there is /metrics\n")
        try:
            body = self._values.document()
        except NetsondeError as error:
            return _response("503 Service Unavailable", f"{error}\n".encode())
        return _response("200 OK", body, CONTENT_TYPE, head_only=words[0] == "HEAD")


def _read_request(connection: socket.socket) -> bytes:
    """Up to the empty line; what has come by then where it is too long or too slow."""
    deadline = time.monotonic() + PATIENCE_S
    request = b""
    while b"\r\n\r\n" not in request and len(request) < REQUEST_LIMIT_BYTES:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        content = connection.recv(REQUEST_LIMIT_BYTES)
        if not content:
            break
        request += content
    connection.settimeout(PATIENCE_S)
    return request if b"\r\n\r\n" in request else b""


def _response(
    status: str,
    body: bytes,
    kind: str = "text/plain; charset=utf-8",
    *,
    head_only: bool = False,
    extra: str = "",
) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        f"{extra}Connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if head_only else body)
