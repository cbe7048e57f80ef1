"""The server: accepts, pairs, serves sessions, and ends in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import netsonde
from netsonde.errors import HostError, InterruptedByUserError, UsageError
from netsonde.launch.binaries import find_worker
from netsonde.launch.given_code import PAIR_VARIABLE
from netsonde.launch.keep_alive import COME_AGAIN, NOT_FROM_HERE
from netsonde.launch.pairing import NONCE_BYTES, PAIRING_VERSION, PairingCode
from netsonde.serve.admission import Admission, Unproven
from netsonde.serve.host_claim import HostClaim
from netsonde.serve.identity import Identity, kept_identity, make_identity
from netsonde.serve.limits import DoorLimits, Limits, QueueLimits
from netsonde.serve.places import Places
from netsonde.serve.policy import Peer
from netsonde.serve.proof import parse_proof
from netsonde.serve.rulebook import Holder, Rulebook
from netsonde.serve.session import ServedSession
from netsonde.serve.waiting import VisitorLeftError, tell, wait_for_place
from netsonde.serve.wire import VisitRefusedError, Wire, cut, send_away, start_tls

COME_BACK_S = 5.0  # with --once: the next test of the same peer is a new session
LOOK_S = 2.0  # at the limits file
BACKLOG = 128
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
    queue: QueueLimits = field(default_factory=QueueLimits)
    code_file: Path | None = None
    limits_file: Path | None = None


@dataclass(frozen=True)
class Visitor:
    """Somebody who knows a code. ``client`` is one process of netsonde, ``prefix`` where it is
    counted."""

    wire: Wire
    holder: Holder
    client: str
    measurement: str
    prefix: str


@dataclass(frozen=True)
class Announcement:
    """What the user needs to know to start the other side. ``codes`` are those of a limits file by
    name, ``code`` is then the first of them."""

    addresses: tuple[str, ...]
    port: int
    code: str
    codes: Mapping[str, str] = field(default_factory=dict)

    def commands(self) -> tuple[str, ...]:
        """What to type on the other side, one command per address of this host. The code is no
        argument: those are shown to every user there."""
        return tuple(
            f"{PAIR_VARIABLE}={self.code} netsonde tcp "
            f"{f'[{a}]' if ':' in a else a}:{self.port} latency{' --ipv6' if ':' in a else ''}"
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
        rulebook = Rulebook(identity, options.limits, options.limits_file)
        port = int(listeners[0].getsockname()[1])
        addresses = own_addresses(listeners)

        def announce_codes(codes: Mapping[str, PairingCode]) -> None:
            texts = {name: code.text() for name, code in codes.items()}
            first = next(iter(texts.values()))
            announce(Announcement(addresses, port, first, {n: t for n, t in texts.items() if n}))

        announce_codes({holder.name: code for holder, code in rulebook.codes.items()})
        server = Server(options, identity, rulebook, listeners, binary, announce_codes, log)
        number = asyncio.run(server.run())
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


class Server:
    """Runs in one asyncio loop; every connection is a task with an end."""

    def __init__(
        self,
        options: ServeOptions,
        identity: Identity,
        rulebook: Rulebook,
        listeners: list[socket.socket],
        binary: Path,
        announce_codes: Callable[[Mapping[str, PairingCode]], None],
        log: Log,
    ) -> None:
        self._options = options
        self._identity = identity
        self._rulebook = rulebook
        self._announce_codes = announce_codes
        self._sessions: dict[ServedSession, Visitor] = {}
        self._listeners = listeners
        self._binary = binary
        self._write_log = log
        self._door = DoorLimits()
        self._admission = Admission(self._door)
        self._places = Places(options.sessions, options.queue)
        self._host = HostClaim()
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
        if self._options.limits_file is not None:
            loop.add_signal_handler(signal.SIGHUP, self._read_again)
            acceptors.append(asyncio.create_task(self._watch_file()))
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
            self._host.close()
        return self._signal

    async def _watch_file(self) -> None:
        """A file that is being written may be none for a moment; it is read again then."""
        while True:
            await asyncio.sleep(LOOK_S)
            if self._rulebook.has_changed():
                self._read_again()

    def _read_again(self) -> None:
        """What the limits file says now holds for who comes, and ends sessions that it forbids."""
        try:
            new = self._rulebook.read()
        except UsageError as error:
            self._log(f"the limits stay as they were: {error}")
            return
        self._log("the limits are read again")
        if new:
            self._announce_codes(new)
        for session, visitor in self._sessions.items():
            try:
                self._rulebook.limits_of(visitor.holder, visitor.wire.address)
            except VisitRefusedError as refused:
                session.end(str(refused))

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
            if not self._rulebook.takes(address):
                self._admission.counts.refused += 1
                send_away(sock, NOT_FROM_HERE)
                self._log(f"{address}: sent away, nobody may come from there")
                continue
            entered = self._admission.enter(address, partial(cut, sock))
            if entered is None:
                send_away(sock, COME_AGAIN)
                self._log(f"{address}: told to come again, there were too many of its kind")
                continue
            task = asyncio.create_task(self._meet(sock, address, entered))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    async def _meet(self, sock: socket.socket, address: str, entered: Unproven) -> None:
        """One connection, from its first byte to its end."""
        wire: Wire | None = None
        try:
            async with asyncio.timeout(self._door.pairing_s):
                wire = await start_tls(sock, address, self._identity.context, self._door.pairing_s)
                visitor = await self._prove(wire, entered)
            if visitor is None:
                self._admission.wrong(entered)
                raise VisitRefusedError("the pairing code is wrong")
            self._admission.right(entered)
            await self._serve(visitor)
        except VisitRefusedError as refused:
            self._log(f"{address}: refused, {refused}")
            if wire is not None:
                await wire.say_last(str(refused))
        except VisitorLeftError:
            self._log(f"{address}: left, it does not wait for a place any longer")
        except TimeoutError:
            self._log(f"{address}: dropped, {self._door.said('pairing_s')}")
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # ssl.SSLError is an OSError.
            self._log(f"{address}: dropped, it did not speak as netsonde does")
        finally:
            self._admission.leave(entered)
            if wire is None:
                sock.close()
            else:
                await wire.close()

    async def _prove(self, wire: Wire, entered: Unproven) -> Visitor | None:
        """Who this is, where it knows the secret, else None. Raises ValueError where it speaks
        something else."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        await wire.say("serve", pairing=PAIRING_VERSION, nonce=nonce.hex())
        proof = parse_proof(await wire.reader.readuntil(b"\n"))
        holder = self._rulebook.holder_of(proof, nonce)
        if holder is None:
            return None
        return Visitor(wire, holder, proof.client, proof.measurement, entered.narrow)

    async def _serve(self, visitor: Visitor) -> None:
        address = visitor.wire.address
        self._check_once(address)
        self._rulebook.limits_of(visitor.holder, address)
        guest = self._places.enter(visitor.client, visitor.prefix)
        try:
            session_s = self._options.limits.session_s
            await wait_for_place(visitor.wire, guest, self._places, session_s)
            self._check_once(address)
            self._hold_once(address)
            try:
                await self._serve_alone(visitor)
            finally:
                self._end_once_soon()
        finally:
            self._places.leave(guest)

    async def _serve_alone(self, visitor: Visitor) -> None:
        """With this host for the server's sessions alone, as far as other measurements let it."""
        wire, limits = visitor.wire, self._places.limits
        beside = await self._host.take(
            visitor.measurement,
            lambda most_s: tell(
                wire, {"place": 1, "about_s": round(most_s), "is_most": True}, limits
            ),
        )
        try:
            await self._serve_in_place(visitor, beside)
        finally:
            for other in (beside, await self._host.give_back()):
                if other:
                    self._log(f"{wire.address}: another measurement had this host ({other})")

    async def _serve_in_place(self, visitor: Visitor, beside: str) -> None:
        wire = visitor.wire
        limits = self._rulebook.limits_of(visitor.holder, wire.address)
        account = self._rulebook.account_of(visitor.holder)
        if spent := account.spent(limits):
            raise VisitRefusedError(spent)
        session = ServedSession(
            wire.reader,
            wire.writer,
            Peer(wire.address, wire.local_address, wire.family),
            limits,
            self._options.test_port,
            self._admission.counts,
            account,
        )
        self._sessions[session] = visitor
        started = time.monotonic()
        ending = "the server ended"
        try:
            await wire.say(
                "paired", version=netsonde.__version__, idle_s=limits.idle_s, beside=beside
            )
            ending = await session.run(self._binary)
        except OSError:
            ending = "the connection was lost"
        finally:
            del self._sessions[session]
            session.policy.close()
            who = f" ({visitor.holder.name})" if visitor.holder.name else ""
            self._log(
                f"{wire.address}{who}: session of {time.monotonic() - started:.1f} s, "
                f"{session.policy.runs} runs, {session.policy.moved_bytes} bytes; {ending}"
            )

    def _check_once(self, address: str) -> None:
        if self._options.once and self._once_address not in (None, address):
            raise VisitRefusedError("this server serves one host only (--once)")

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
