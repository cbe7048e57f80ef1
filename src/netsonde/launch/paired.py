"""The other side of `netsonde serve`: pairing, and a worker spoken with over TLS."""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import select
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import netsonde
from netsonde.errors import HostError, UsageError
from netsonde.launch.binaries import USUAL_WORKER
from netsonde.launch.exclusion import own_key
from netsonde.launch.host import READ_BYTES, ChildProcess, Host, last_words, printable
from netsonde.launch.keep_alive import (
    COME_AGAIN,
    NOT_FROM_HERE,
    WAITING_LINE,
    Alive,
    watch_for_death,
)
from netsonde.launch.local import address_family, socket_family
from netsonde.launch.named import HOSTS, Named
from netsonde.launch.pairing import (
    NONCE_BYTES,
    PAIRING_LINE_LIMIT_BYTES,
    PAIRING_VERSION,
    PairingCode,
)
from netsonde.launch.worker import Worker
from netsonde.limits import limit_s
from netsonde.units import format_duration, parse_duration_ns

SERVE_PORT = 5959
CONNECT_TIMEOUT_S = limit_s("connect")
PAIRING_TIMEOUT_S = limit_s("pairing")
CROWD_TIMEOUT_S = limit_s("crowd")  # a server that many come to sends most of them away
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 2.0
SEND_TIMEOUT_S = limit_s("send-to-server")
WAIT_VARIABLE = "NETSONDE_QUEUE_WAIT"
WAIT_S = limit_s("place")
"""So long a client waits for its place, where the environment says nothing else."""
MOST_IDLE_S = 86400.0

_PROCESS = secrets.token_hex(8)


def client_name() -> str:
    """One process of netsonde, for a server: its flows wait for each other, never in a queue."""
    return f"{_PROCESS}{os.getpid():x}"


def most_wait_s() -> float:
    """How long to wait for a place. Raises UsageError where the environment holds no duration."""
    text = os.environ.get(WAIT_VARIABLE)
    return WAIT_S if text is None else parse_duration_ns(text) / 1e9


def say_on_stderr(sentence: str) -> None:
    """Above the line of progress, where there is one."""
    begin = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{begin}netsonde: {sentence}", file=sys.stderr, flush=True)


class _ComeAgainError(Exception):
    """A server that looks at no more connections now."""


class _NotFromHereError(Exception):
    """A server that takes no clients from this address."""


class PairedHost:
    """A host that runs `netsonde serve`. It can only be the target of a test. ``beside``: who
    measured there when its worker was last started; empty where nobody did."""

    kind: str = "paired"

    def __init__(
        self, address: str, port: int, code: str, say: Callable[[str], None] = say_on_stderr
    ) -> None:
        self.name = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        self._address = address
        self._port = port
        self._code = PairingCode.parse(code)
        self._say = say
        self.beside = ""

    def address(self, family: str) -> str:
        """The address of the server, for the test's traffic."""
        return str(self._resolve(family)[0][4][0])

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> ChildProcess:
        """Never: a stranger's command is nothing that a server runs."""
        del env
        raise UsageError(
            f"{self.name} runs netsonde serve, which starts its worker and not {argv[0]}"
        )

    def start_worker(
        self,
        *,
        family: str = "ipv4",
        wakeup: threading.Condition | None = None,
        program: str = USUAL_WORKER,
    ) -> Worker:
        """Pairs and returns the server's worker. Raises HostError with one sentence."""
        if program != USUAL_WORKER:
            raise HostError(
                f"{self.name} runs netsonde serve, which starts {USUAL_WORKER} for others and not "
                f"{program}"
            )
        stream, idle_s = self._paired(family)
        return Worker(PairedChannel(stream, idle_s), self.name, wakeup=wakeup)

    def _paired(self, family: str) -> tuple[TlsStream, float]:
        """A stream that is paired, and how long the server bears silence, in seconds."""
        deadline = time.monotonic() + CROWD_TIMEOUT_S
        pause_s = FIRST_PAUSE_S
        while True:
            sock = self._connect(family)
            try:
                stream = TlsStream(sock)
                return stream, self._pair(stream)
            except _ComeAgainError as error:
                sock.close()
                if time.monotonic() + pause_s > deadline:
                    raise HostError(
                        f"{self.name}: too many others connect to that server, or too many wrong "
                        "codes came from this address; try again later"
                    ) from error
            except _NotFromHereError as error:
                sock.close()
                raise HostError(
                    f"{self.name}: the server refused: it takes no clients from this address"
                ) from error
            except BaseException:
                sock.close()
                raise
            time.sleep(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _resolve(self, family: str) -> Sequence[tuple[Any, ...]]:
        address_family(family)
        try:
            return socket.getaddrinfo(
                self._address, self._port, socket_family(family), socket.SOCK_STREAM
            )
        except OSError as error:
            raise HostError(
                f"{self.name}: the host has no {family} address here ({error.strerror}); check "
                "the name, or choose the other address family"
            ) from error

    def _connect(self, family: str) -> socket.socket:
        failure: OSError | None = None
        for kind, socket_type, protocol, _, address in self._resolve(family):
            sock = socket.socket(kind, socket_type, protocol)
            try:
                sock.settimeout(CONNECT_TIMEOUT_S)
                sock.connect(address)
            except OSError as error:
                sock.close()
                failure = error
                continue
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            watch_for_death(sock)
            return sock
        raise HostError(f"{self.name}: {_why_not_connected(failure)}") from failure

    def _pair(self, stream: TlsStream) -> float:
        """Returns how long the server bears silence, in seconds. Raises HostError."""
        deadline = time.monotonic() + PAIRING_TIMEOUT_S
        try:
            stream.handshake(deadline)
            certificate = stream.peer_certificate()
            # Before anything is said: is this the server that printed the code?
            if not self._code.is_of(certificate):
                raise HostError(
                    f"{self.name}: this is another server than the one that printed the pairing "
                    "code; was netsonde serve restarted, or is the address another host's?"
                )
            greeting = _message(stream.read_line(deadline), "serve")
            self._check_not_refused(greeting)
            if greeting.get("pairing") != PAIRING_VERSION:
                raise HostError(
                    f"{self.name}: the server pairs in another way than this netsonde; "
                    "install the same version on both"
                )
            server_nonce = _nonce(greeting.get("nonce"))
            client_nonce = secrets.token_bytes(NONCE_BYTES)
            stream.write(
                json.dumps(
                    {
                        "netsonde": "client",
                        "pairing": PAIRING_VERSION,
                        "version": netsonde.__version__,
                        "client": client_name(),
                        "measurement": own_key(),
                        "nonce": client_nonce.hex(),
                        "proof": self._code.proof(certificate, server_nonce, client_nonce),
                    }
                ).encode()
                + b"\n"
            )
            answer = self._wait_in_queue(stream, deadline)
        except TimeoutError as error:
            raise HostError(
                f"{self.name}: the server did not answer within "
                f"{PAIRING_TIMEOUT_S:.0f} s; is it netsonde serve?"
            ) from error
        except ssl.SSLError as error:
            raise HostError(
                f"{self.name}: what listens there does not speak TLS 1.3; is it netsonde serve?"
            ) from error
        except ValueError as error:
            raise HostError(
                f"{self.name}: what listens there is not netsonde serve ({error})"
            ) from error
        except OSError as error:
            raise HostError(
                f"{self.name}: the connection was lost while pairing "
                f"({error.strerror or error}); the server may be busy"
            ) from error
        self._check_not_refused(answer)
        idle_s = answer.get("idle_s")
        if not isinstance(idle_s, int | float) or not 0 < idle_s <= MOST_IDLE_S:
            raise HostError(
                f"{self.name}: the server pairs in another way than this netsonde; "
                "install the same version on both"
            )
        self.beside = printable(str(answer.get("beside", "")))
        return float(idle_s)

    def _wait_in_queue(self, stream: TlsStream, deadline: float) -> dict[str, Any]:
        """The server's last word, once this client has its place there."""
        most_s = most_wait_s()
        began = time.monotonic()
        was_told = False
        while True:
            message = _message(stream.read_line(deadline), "paired", "queued")
            if message["netsonde"] != "queued":
                return message
            place, about_s = _number(message.get("place")), _number(message.get("about_s"))
            if time.monotonic() - began >= most_s:
                waited = format_duration(most_s * 1e9) if most_s else "no time, as it was asked to"
                raise HostError(
                    f"{self.name}: the server is busy, and this client, number {place} of those "
                    f"that wait, has waited {waited}; try again later, or set {WAIT_VARIABLE} to "
                    "more"
                )
            if not was_told:
                was_told = True
                self._say(
                    f"{self.name}: the server is busy; this is number {place} of those that wait, "
                    f"for {'at most' if message.get('is_most') else 'about'} "
                    f"{format_duration(about_s * 1e9)} (Ctrl-C leaves)"
                )
            stream.write(WAITING_LINE)
            deadline = time.monotonic() + PAIRING_TIMEOUT_S

    def _check_not_refused(self, message: Mapping[str, Any]) -> None:
        if message["netsonde"] == "refused":
            raise HostError(
                f"{self.name}: the server refused: "
                f"{last_words(str(message.get('reason'))) or 'it gave no reason'}"
            )


class TlsStream:
    """TLS over a connected socket that one thread may read while another writes.

    A lock guards the TLS state, never a wait: Python's own SSLSocket must not be used like that.
    Waits end with TimeoutError.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        # The certificate is checked against the pairing code, not against authorities.
        context.verify_mode = ssl.CERT_NONE
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing)
        self._tls_lock = threading.Lock()
        self._send_lock = threading.Lock()
        self._rest = b""
        sock.setblocking(True)
        limit = struct.pack("ll", SEND_TIMEOUT_S, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def handshake(self, deadline: float) -> None:
        """Raises _ComeAgainError or _NotFromHereError where a server says that in place of TLS."""
        while True:
            with self._tls_lock:
                try:
                    self._tls.do_handshake()
                    done = True
                except ssl.SSLWantReadError:
                    done = False
            with contextlib.suppress(ConnectionError):  # what was said before can still be read
                self._flush()
            if done:
                return
            content = self._receive(deadline)
            if content.startswith(COME_AGAIN):
                raise _ComeAgainError
            if content.startswith(NOT_FROM_HERE):
                raise _NotFromHereError

    def peer_certificate(self) -> bytes:
        certificate = self._tls.getpeercert(binary_form=True)
        if certificate is None:
            raise ssl.SSLError("the server has no certificate")
        return certificate

    def read(self, deadline: float | None = None) -> bytes:
        """The next bytes; empty when the other side has ended."""
        if self._rest:
            content, self._rest = self._rest, b""
            return content
        while True:
            with self._tls_lock:
                try:
                    return self._tls.read(READ_BYTES)
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return b""
            self._flush()
            self._receive(deadline)

    def read_line(self, deadline: float) -> bytes:
        """One line of at most 4 KiB. Raises ValueError where it is longer, OSError at the end."""
        line = b""
        while b"\n" not in line:
            if len(line) > PAIRING_LINE_LIMIT_BYTES:
                raise ValueError("a line without an end")
            content = self.read(deadline)
            if not content:
                raise ConnectionResetError("closed by the other side")
            line += content
        line, _, self._rest = line.partition(b"\n")
        return line

    def write(self, content: bytes) -> None:
        with self._tls_lock:
            self._tls.write(content)
        self._flush()

    def _flush(self) -> None:
        # Taken and sent under one lock, so that records stay in order.
        with self._send_lock:
            with self._tls_lock:
                content = self._outgoing.read()
            if content:
                try:
                    self.sock.sendall(content)
                except BlockingIOError as error:
                    raise TimeoutError("the other side does not read") from error

    def _receive(self, deadline: float | None) -> bytes:
        poller = select.poll()
        poller.register(self.sock.fileno(), select.POLLIN)
        left_ms = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not poller.poll(left_ms):
            raise TimeoutError("no answer in time")
        content = self.sock.recv(READ_BYTES)
        with self._tls_lock:
            if content:
                self._incoming.write(content)
            else:
                self._incoming.write_eof()
        return content


class PairedChannel:
    """A worker behind `netsonde serve`, as a Channel."""

    def __init__(self, stream: TlsStream, idle_s: float) -> None:
        self._stream = stream
        self._alive = Alive(stream.write, idle_s)
        self._ended = threading.Event()
        self._stopped = False

    def read(self) -> bytes:
        try:
            content = self._stream.read()
        except OSError:
            content = b""
        if not content:
            self._ended.set()
        self._alive.told(content)
        return content

    def write(self, content: bytes, timeout_s: float) -> None:  # noqa: ARG002  the socket has its own
        self._alive.asked()
        self._stream.write(content)

    def finish(self) -> None:
        """TLS has no half-closed connections; the quit request says it."""

    def ending(self, timeout_s: float) -> str:  # noqa: ARG002
        return "is gone: netsonde serve closed the connection"

    def stop(self, grace_s: float) -> None:
        if self._stopped:
            return
        self._stopped = True
        # The server closes once its worker has ended and it can take the next session.
        self._ended.wait(grace_s)
        with contextlib.suppress(OSError):
            self._stream.sock.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        self._alive.end()
        self._stream.sock.close()


def _why_not_connected(error: OSError | None) -> str:
    match error:
        case ConnectionRefusedError():
            return "nothing listens on that port; is netsonde serve running there?"
        case TimeoutError():
            return f"no answer within {CONNECT_TIMEOUT_S:.0f} s; check the address and any firewall"
        case None:
            return "the host has no address"
        case _:
            return f"cannot be reached: {error.strerror or error}"


def _message(line: bytes, *kinds: str) -> dict[str, Any]:
    """A message of the pairing. Raises ValueError."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("its answer is not JSON") from None
    if not isinstance(message, dict) or message.get("netsonde") not in (*kinds, "refused"):
        raise ValueError("its answer is no message of a pairing")
    return message


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < 10**9:
        raise ValueError("its place in the queue is missing")
    return value


def _nonce(text: object) -> bytes:
    if not isinstance(text, str) or len(text) != 2 * NONCE_BYTES:
        raise ValueError("its nonce is missing")
    return bytes.fromhex(text)


@HOSTS.of("paired")
def _named(named: Named) -> list[Host]:
    return [PairedHost(named.name, named.port or SERVE_PORT, named.code)]
