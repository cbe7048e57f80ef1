"""Gives a document over HTTP, such as the latest values of a trace, to this host alone unless told
otherwise.

It answers ``GET /metrics`` and nothing else. Who asks gets a few seconds, a few KiB and one answer;
more askers than a few wait, and then are turned away.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST

from netsonde.errors import NetsondeError, UsageError
from netsonde.launch.closing import Closing
from netsonde.limits import limit_s

REQUEST_LIMIT_BYTES = 8192
PATIENCE_S = limit_s("scrape")
AT_ONCE = 4
WAITING = 16
PATHS = ("/metrics", "/")
LOOPBACK = "127.0.0.1"
_LISTEN = re.compile(r"^(?:(?P<address>[^:]+|\[[0-9A-Fa-f:.]+\]):)?(?P<port>\d{1,5})$")


@dataclass(frozen=True)
class Listen:
    """Where a document is given to whoever asks. Port 0: one that is free."""

    address: str
    port: int


def parse_listen(text: str) -> Listen:
    """``9100``, ``127.0.0.1:9100``, ``[::1]:9100``; without an address only this host can ask."""
    match = _LISTEN.match(text.strip())
    if not match or int(match["port"]) > 65535:
        raise UsageError(f"--listen {text!r} is no port; write it like 9100 or 127.0.0.1:9100")
    address = (match["address"] or LOOPBACK).strip("[]")
    return Listen(address, int(match["port"]))


class Endpoint(Closing):
    """Answers from a thread of its own until it is closed. A context manager.

    ``document`` is asked for each answer; a NetsondeError of it is told to who asked. Raises
    UsageError where it cannot listen there.
    """

    def __init__(self, document: Callable[[], bytes], listen: Listen) -> None:
        self._document = document
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
            body = self._document()
        except NetsondeError as error:
            return _response("503 Service Unavailable", f"{error}\n".encode())
        return _response("200 OK", body, CONTENT_TYPE_LATEST, head_only=words[0] == "HEAD")


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
