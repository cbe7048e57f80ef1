"""The server: accepts, pairs, serves sessions, and ends in order."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import netsonde
from netsonde.errors import HostError, InterruptedByUserError, UsageError
from netsonde.launch.binaries import find_worker
from netsonde.launch.pairing import (
    NONCE_BYTES,
    PAIRING_LINE_LIMIT_BYTES,
    PAIRING_VERSION,
    PairingCode,
)
from netsonde.serve.admission import Admission
from netsonde.serve.identity import Identity, kept_identity, make_identity
from netsonde.serve.policy import Limits, Peer
from netsonde.serve.requests import REQUEST_LINE_LIMIT_BYTES
from netsonde.serve.session import ServedSession

PAIRING_TIMEOUT_S = 5.0  # for TLS and the proof together
SLOT_TIMEOUT_S = 3.0  # a peer that comes right back may find its last session still ending
CLOSE_TIMEOUT_S = 2.0
COME_BACK_S = 5.0  # with --once: the next test of the same peer is a new session
BACKLOG = 32
LOGS_PER_S = 20.0  # a flood of refusals must not fill a disk

Log = Callable[[str], None]


@dataclass(frozen=True)
class ServeOptions:
    """What `netsonde serve` was asked to do. bind None: all addresses of both families."""

    bind: str | None = None
    port: int = 5959
    time_s: float = 3600.0
    once: bool = False
    sessions: int = 1
    test_port: int = 0
    limits: Limits = field(default_factory=Limits)
    code_file: Path | None = None


@dataclass(frozen=True)
class Announcement:
    """What the user needs to know to start the other side."""

    addresses: tuple[str, ...]
    port: int
    code: str

    def commands(self) -> tuple[str, ...]:
        """What to type on the other side, one command per address of this host."""
        return tuple(
            f"netsonde tcp {f'[{a}]' if ':' in a else a}:{self.port} latency"
            f"{' --ipv6' if ':' in a else ''} --pairing-code {self.code}"
            for a in self.addresses
        )


def log_to_stderr(line: str) -> None:
    print(f"netsonde serve: {line}", file=sys.stderr, flush=True)


def serve(
    options: ServeOptions, announce: Callable[[Announcement], None], log: Log = log_to_stderr
) -> None:
    """Serves until its time is over, its one peer is done, or a signal comes.

    Raises InterruptedByUserError after SIGINT, HostError where the port cannot be had. A second
    signal ends the process at once.
    """
    if options.test_port and options.sessions > 1:
        raise UsageError("--test-port is one port, which several --sessions cannot share")
    binary = find_worker("sonde-worker")
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(s) for s in listen(options.bind, options.port)]
        kept = options.code_file
        identity = make_identity() if kept is None else kept_identity(kept)
        port = int(listeners[0].getsockname()[1])
        announce(Announcement(own_addresses(listeners), port, identity.code.text()))
        number = asyncio.run(Server(options, identity, listeners, binary, log).run())
    if number == signal.SIGINT:
        raise InterruptedByUserError("interrupted; netsonde serve has ended")


def listen(bind: str | None, port: int) -> list[socket.socket]:
    """Listening sockets, one per address family, on the same port. Raises HostError."""
    wanted = [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")]
    if bind is not None:
        wanted = [_resolve(bind, port)]
    listeners: list[socket.socket] = []
    failure: OSError | None = None
    for family, address in wanted:
        try:
            sock = socket.create_server((address, port), family=family, backlog=BACKLOG)
        except OSError as error:
            failure = error  # a host without IPv6 has one listener
            if error.errno in (98, 13):  # EADDRINUSE, EACCES
                break
            continue
        sock.setblocking(False)
        listeners.append(sock)
        port = int(sock.getsockname()[1])  # port 0: the same one for both families
    if failure is not None and (not listeners or failure.errno in (98, 13)):
        for sock in listeners:
            sock.close()
        where = bind or "all addresses"
        raise HostError(
            f"cannot listen on port {port} of {where}: {failure.strerror}; give a free port above "
            "1023 (netsonde serve: or one address of this host, with --bind)"
        ) from failure
    return listeners


def _resolve(bind: str, port: int) -> tuple[socket.AddressFamily, str]:
    try:
        found = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise UsageError(f"--bind {bind!r} is no address of a host: {error.strerror}") from error
    return found[0], str(found[4][0])


def own_addresses(listeners: list[socket.socket]) -> tuple[str, ...]:
    """Addresses to print: those bound to, else those that packets to the world would come from."""
    addresses = []
    for sock in listeners:
        address = str(sock.getsockname()[0])
        if address not in ("0.0.0.0", "::"):
            addresses.append(address)
            continue
        # Documentation addresses (RFC 5737, RFC 3849); connecting a datagram socket sends nothing.
        outside = "192.0.2.1" if sock.family == socket.AF_INET else "2001:db8::1"
        with contextlib.suppress(OSError), socket.socket(sock.family, socket.SOCK_DGRAM) as probe:
            probe.connect((outside, 9))
            addresses.append(str(probe.getsockname()[0]))
    return tuple(addresses) or (socket.gethostname(),)


class _RefusedError(Exception):
    """A peer that speaks properly and may not come in; the sentence is for it and for the log."""


class Server:
    """Runs in one asyncio loop; every connection is a task with an end."""

    def __init__(
        self,
        options: ServeOptions,
        identity: Identity,
        listeners: list[socket.socket],
        binary: Path,
        log: Log,
    ) -> None:
        self._options = options
        self._identity = identity
        self._listeners = listeners
        self._binary = binary
        self._write_log = log
        self._admission = Admission()
        self._slots = asyncio.Semaphore(options.sessions)
        self._stopping = asyncio.Event()
        self._signal: int | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._once_address: str | None = None
        self._once_timer: asyncio.TimerHandle | None = None
        self._log_credit = LOGS_PER_S
        self._log_time = time.monotonic()
        self._unlogged = 0

    async def run(self) -> int | None:
        """Serves; returns the signal that ended it, or None."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal, number)
        acceptors = [asyncio.create_task(self._accept(sock)) for sock in self._listeners]
        try:
            async with asyncio.timeout(self._options.time_s):
                await self._stopping.wait()
        except TimeoutError:
            self._write_log(f"its time of {self._options.time_s:.0f} s is over")
        finally:
            tasks = [*acceptors, *self._connections]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self._signal

    def _on_signal(self, number: int) -> None:
        if self._signal is not None:
            # Workers end by themselves when this process is gone.
            os._exit(InterruptedByUserError.exit_code)
        self._signal = number
        self._stopping.set()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, peer = await loop.sock_accept(listener)
            except OSError:
                await asyncio.sleep(0.2)  # out of descriptors, or the peer is already gone
                continue
            address = str(peer[0])
            if not self._admission.enter(address):
                sock.close()
                self._log(f"{address}: refused, too many unfinished connections")
                continue
            task = asyncio.create_task(self._meet(sock, address))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    async def _meet(self, sock: socket.socket, address: str) -> None:
        """One connection, from its first byte to its end."""
        pending = True
        writer: asyncio.StreamWriter | None = None
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(PAIRING_TIMEOUT_S):
                reader, writer = await self._start_tls(sock)
                proven = await self._prove(reader, writer, address)
            if not proven:
                await asyncio.sleep(self._admission.wrong(address))
                raise _RefusedError("the pairing code is wrong")
            self._admission.leave(address)
            pending = False
            await self._serve(reader, writer, address)
        except _RefusedError as refused:
            self._log(f"{address}: refused, {refused}")
            if writer is not None:
                await _say_last(writer, str(refused))
        except TimeoutError:
            self._log(f"{address}: dropped, it did not pair within {PAIRING_TIMEOUT_S:.0f} s")
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # ssl.SSLError is an OSError.
            self._log(f"{address}: dropped, it did not speak as netsonde does")
        finally:
            if pending:
                self._admission.leave(address)
            await _close(sock, writer)

    async def _start_tls(
        self, sock: socket.socket
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=REQUEST_LINE_LIMIT_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            sock,
            ssl=self._identity.context,
            ssl_handshake_timeout=PAIRING_TIMEOUT_S,
            ssl_shutdown_timeout=CLOSE_TIMEOUT_S,
        )
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _prove(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> bool:
        """Whether the peer knows the secret. Raises ValueError where it speaks something else."""
        refusal = self._admission.refusal(address)
        if refusal is not None:
            raise _RefusedError(refusal)
        nonce = secrets.token_bytes(NONCE_BYTES)
        await _say(writer, "serve", pairing=PAIRING_VERSION, nonce=nonce.hex())
        line = await reader.readuntil(b"\n")
        return proof_is_right(line, self._identity.code, self._identity.certificate_der, nonce)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> None:
        self._admission.right(address)
        if not self._may_come(address):
            raise _RefusedError("this server serves one host only (--once)")
        try:
            async with asyncio.timeout(SLOT_TIMEOUT_S):
                await self._slots.acquire()
        except TimeoutError:
            raise _RefusedError(
                "the server is busy with another session; netsonde serve --sessions N takes several"
            ) from None
        try:
            self._hold_once(address)
            await self._serve_in_slot(reader, writer, address)
        finally:
            self._slots.release()
            self._end_once_soon()

    async def _serve_in_slot(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> None:
        local_address = str(writer.get_extra_info("sockname")[0])
        family = "ipv6" if ":" in local_address else "ipv4"
        session = ServedSession(
            reader,
            writer,
            Peer(address, local_address, family),
            self._options.limits,
            self._options.test_port,
        )
        started = time.monotonic()
        await _say(writer, "paired", version=netsonde.__version__)
        ending = "the server ended"
        try:
            ending = await session.run(self._binary)
        except OSError:
            ending = "the connection was lost"
        finally:
            self._log(
                f"{address}: session of {time.monotonic() - started:.1f} s, "
                f"{session.policy.runs} runs, {session.policy.moved_bytes} bytes; {ending}"
            )

    def _may_come(self, address: str) -> bool:
        return not self._options.once or self._once_address in (None, address)

    def _hold_once(self, address: str) -> None:
        self._once_address = address
        if self._once_timer is not None:
            self._once_timer.cancel()
            self._once_timer = None

    def _end_once_soon(self) -> None:
        if self._options.once:
            loop = asyncio.get_running_loop()
            self._once_timer = loop.call_later(COME_BACK_S, self._stopping.set)

    def _log(self, line: str) -> None:
        now = time.monotonic()
        self._log_credit = min(LOGS_PER_S, self._log_credit + (now - self._log_time) * LOGS_PER_S)
        self._log_time = now
        if self._log_credit < 1:
            self._unlogged += 1
            return
        self._log_credit -= 1
        if self._unlogged:
            self._write_log(f"{self._unlogged} lines were left out")
            self._unlogged = 0
        self._write_log(line)


def proof_is_right(line: bytes, code: PairingCode, certificate_der: bytes, nonce: bytes) -> bool:
    """Whether a client's answer proves the secret. Raises ValueError where it is no answer."""
    if len(line) > PAIRING_LINE_LIMIT_BYTES:
        raise ValueError("the answer is too long")
    try:
        answer = json.loads(line)
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None
    if not isinstance(answer, dict) or answer.get("netsonde") != "client":
        raise ValueError("no answer of a client")
    client_nonce, proof = answer.get("nonce"), answer.get("proof")
    if (
        not isinstance(client_nonce, str)
        or not isinstance(proof, str)
        or len(client_nonce) != 2 * NONCE_BYTES
    ):
        raise ValueError("no proof in the answer")
    wanted = code.proof(certificate_der, nonce, bytes.fromhex(client_nonce))
    return hmac.compare_digest(wanted.encode(), proof.encode(errors="replace"))


async def _say(writer: asyncio.StreamWriter, kind: str, **fields: object) -> None:
    writer.write(json.dumps({"netsonde": kind, **fields}).encode() + b"\n")
    await writer.drain()


async def _say_last(writer: asyncio.StreamWriter, reason: str) -> None:
    """A refusal, to a peer that may be gone or may not read it."""
    with contextlib.suppress(OSError):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await _say(writer, "refused", reason=reason)


async def _close(sock: socket.socket, writer: asyncio.StreamWriter | None) -> None:
    if writer is None:
        sock.close()
        return
    writer.close()
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await writer.wait_closed()
    except (OSError, TimeoutError, ssl.SSLError):
        writer.transport.abort()
