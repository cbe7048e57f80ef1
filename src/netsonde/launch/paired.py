"""The other side of `netsonde serve`: pairing, and a worker spoken with over TLS."""

from __future__ import annotations

import contextlib
import json
import secrets
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import netsonde
from netsonde.errors import HostError, UsageError
from netsonde.launch.host import READ_BYTES, ChildProcess, Host, last_words
from netsonde.launch.local import address_family, socket_family
from netsonde.launch.named import HOSTS, Named
from netsonde.launch.pairing import (
    NONCE_BYTES,
    PAIRING_LINE_LIMIT_BYTES,
    PAIRING_VERSION,
    PairingCode,
)
from netsonde.launch.worker import Worker

SERVE_PORT = 5959
CONNECT_TIMEOUT_S = 10.0
PAIRING_TIMEOUT_S = 20.0  # a server delays its answer after wrong codes
SEND_TIMEOUT_S = 30


class PairedHost:
    """A host that runs `netsonde serve`. It can only be the target of a test."""

    kind: str = "paired"

    def __init__(self, address: str, port: int, code: str) -> None:
        self.name = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        self._address = address
        self._port = port
        self._code = PairingCode.parse(code)

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
        self, *, family: str = "ipv4", wakeup: threading.Condition | None = None
    ) -> Worker:
        """Pairs and returns the server's worker. Raises HostError with one sentence."""
        sock = self._connect(family)
        try:
            stream = TlsStream(sock)
            self._pair(stream)
        except BaseException:
            sock.close()
            raise
        return Worker(PairedChannel(stream), self.name, wakeup=wakeup)

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
            return sock
        raise HostError(f"{self.name}: {_why_not_connected(failure)}") from failure

    def _pair(self, stream: TlsStream) -> None:
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
                        "nonce": client_nonce.hex(),
                        "proof": self._code.proof(certificate, server_nonce, client_nonce),
                    }
                ).encode()
                + b"\n"
            )
            answer = _message(stream.read_line(deadline), "paired")
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
        while True:
            with self._tls_lock:
                try:
                    self._tls.do_handshake()
                    done = True
                except ssl.SSLWantReadError:
                    done = False
            self._flush()
            if done:
                return
            self._receive(deadline)

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

    def _receive(self, deadline: float | None) -> None:
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


class PairedChannel:
    """A worker behind `netsonde serve`, as a Channel."""

    def __init__(self, stream: TlsStream) -> None:
        self._stream = stream
        self._ended = threading.Event()
        self._stopped = False

    def read(self) -> bytes:
        try:
            content = self._stream.read()
        except OSError:
            content = b""
        if not content:
            self._ended.set()
        return content

    def write(self, content: bytes, timeout_s: float) -> None:  # noqa: ARG002  the socket has its own
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


def _nonce(text: object) -> bytes:
    if not isinstance(text, str) or len(text) != 2 * NONCE_BYTES:
        raise ValueError("its nonce is missing")
    return bytes.fromhex(text)


@HOSTS.of("paired")
def _named(named: Named) -> list[Host]:
    return [PairedHost(named.name, named.port or SERVE_PORT, named.code)]
