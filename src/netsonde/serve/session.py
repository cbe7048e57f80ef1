"""One session: a paired peer at one side, a confined worker at the other, checked lines between."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import time
from dataclasses import replace
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.keep_alive import ALIVE_LINE
from netsonde.serve.account import Account
from netsonde.serve.admission import Counts
from netsonde.serve.confine import confined_worker, cpu_time_s
from netsonde.serve.limits import Limits
from netsonde.serve.policy import Peer, RefusedError, SessionPolicy
from netsonde.serve.requests import BadRequestError, parse_request

SEND_TIMEOUT_S = 30.0  # for a peer that does not read its records
GOODBYE_TIMEOUT_S = 3.0  # from the worker's last record, or the peer's end, to the end of the other
COUNTERS_LIMIT_BYTES = 65536
MOVED = ("bytes_sent", "bytes_received")
LAST_RECORDS = (b'{"record":"done"', b'{"record":"error"')


class _DeafPeerError(Exception):
    """A peer that does not take its records."""


class ServedSession:
    """Forwards until either side ends, time is up, or the peer asked for too much."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        peer: Peer,
        limits: Limits,
        test_port: int = 0,
        strangers: Counts | None = None,
        account: Account | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._policy = SessionPolicy(limits, peer, test_port, account)
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._cpu_s = 0.0  # of the worker, as far as the account knows it
        self._sending = asyncio.Lock()
        self._heard_s = time.monotonic()
        self._strangers = strangers or Counts()
        self._met: dict[int, Counts] = {}  # what strangers had had when a run began
        self._bounded: set[int] = set()  # runs that asked for more time than they got
        self._asked: set[int] = set()  # requests that the worker has not answered yet

    @property
    def policy(self) -> SessionPolicy:
        """What the session used."""
        return self._policy

    def end(self, why: str) -> None:
        """Ends it from outside, with a sentence."""
        if not self._over.done():
            self._over.set_result(why)

    async def run(self, binary: Path) -> str:
        """Serves the session; says in a few words how it ended. The worker is gone afterwards."""
        cpu_s = self._policy.account.cpu_left_s(self._limits)
        try:
            async with (
                asyncio.timeout(self._limits.session_s),
                confined_worker(binary, cpu_s) as worker,
            ):
                return await self._forward(worker)
        except TimeoutError:
            ending = self._limits.said("session_s")
            await self._say_last("limit", f"the session ended: {ending}")
        except HostError as error:
            ending = str(error)
            await self._say_last("system", ending)
        return ending

    async def _forward(self, worker: asyncio.subprocess.Process) -> str:
        requests = asyncio.create_task(self._requests(worker))
        records = asyncio.create_task(self._records(worker))
        tasks = (requests, records, *map(asyncio.create_task, (self._silence(), self._ended())))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if requests in done and records not in done and requests.result() == "quit":
                # The worker's last records are still to be forwarded.
                await asyncio.wait([records], timeout=GOODBYE_TIMEOUT_S)
            return next(task.result() for task in tasks if task.done())
        except _DeafPeerError:
            return f"the peer did not read for {SEND_TIMEOUT_S:.0f} s"
        except OSError:
            return "the connection was lost"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._count_cpu(worker)

    async def _ended(self) -> str:
        """Ends when the session is ended from outside, or its code has no time left."""
        account = self._policy.account
        while (left_s := account.left_s(self._limits)) != 0 and not self._over.done():
            await asyncio.wait([self._over], timeout=left_s)
        code, why = "limit", self._limits.said("code_time_s")
        if self._over.done():
            code, why = "refused", self._over.result()
        await self._say_last(code, f"the session ended: {why}")
        return why

    async def _silence(self) -> str:
        """Ends when nothing comes from the peer for too long while the worker has nothing to do for
        it: it is frozen, or has forgotten us, and others wait."""
        most_s = self._limits.idle_s
        while True:
            left_s = self._heard_s + most_s - time.monotonic()
            if self._asked:
                left_s = most_s
            if left_s <= 0:
                ending = self._limits.said("idle_s")
                await self._say_last("limit", f"the session ended: {ending}")
                return ending
            await asyncio.sleep(left_s)

    async def _requests(self, worker: asyncio.subprocess.Process) -> str:
        """The peer's lines to the worker, as far as they are allowed."""
        assert worker.stdin is not None
        refused = 0
        while refused < self._limits.refusals:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return "the peer closed the connection"
            except asyncio.LimitOverrunError:
                await self._say_last("limit", "a request line is too long")
                return "a request line was too long"
            self._heard_s = time.monotonic()
            if line == ALIVE_LINE:
                continue
            number = 0
            try:
                request = parse_request(line)
                number = request["request"]
                admitted = self._policy.admit(request)
            except BadRequestError as error:
                refused += 1
                await self._say_error(error.request, "bad_request", str(error))
                continue
            except RefusedError as error:
                refused += 1
                await self._say_error(number, error.code, str(error))
                continue
            self._asked.add(number)
            if admitted["verb"] == "run":
                self._met[number] = replace(self._strangers)
                if admitted["timeout_ns"] == self._policy.most_run_ns:
                    self._bounded.add(number)
            worker.stdin.write(json.dumps(admitted, separators=(",", ":")).encode() + b"\n")
            await worker.stdin.drain()
            if admitted["verb"] == "quit":
                return "quit"
        ending = self._limits.said("refusals")
        await self._say_last("refused", ending)
        return ending

    async def _records(self, worker: asyncio.subprocess.Process) -> str:
        """The worker's lines to the peer."""
        assert worker.stdout is not None
        while True:
            try:
                line = await worker.stdout.readuntil(b"\n")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                return await self._worker_ended(worker)
            if line.startswith(LAST_RECORDS):
                line = self._last(line, worker)
            await self._send(self._account(line))
            if line.startswith(b'{"record":"bye"'):
                return "quit"

    async def _worker_ended(self, worker: asyncio.subprocess.Process) -> str:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_TIMEOUT_S):
                await worker.wait()
        if worker.returncode == -signal.SIGXCPU:
            self._policy.account.cpu_s = max(
                self._policy.account.cpu_s, self._limits.code_cpu_s or 0.0
            )
            ending = self._limits.said("code_cpu_s")
            await self._say_last("limit", f"the session ended: {ending}")
            return ending
        await self._say_last("system", "the worker on this host ended unexpectedly")
        return "the worker ended unexpectedly"

    def _last(self, line: bytes, worker: asyncio.subprocess.Process) -> bytes:
        """Notes the last record of a request, and returns what the peer gets of it."""
        record = json.loads(line)
        number = record["request"]
        was_run = self._met.pop(number, None) is not None
        is_too_long = number in self._bounded and record.get("code") == "timeout"
        self._asked.discard(number)
        self._bounded.discard(number)
        self._heard_s = time.monotonic()
        self._count_cpu(worker)
        if was_run:
            self._policy.ended()
        if not is_too_long:
            return line
        record |= {"code": "limit", "message": self._policy.too_long()}
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"

    def _count_cpu(self, worker: asyncio.subprocess.Process) -> None:
        used_s = cpu_time_s(worker.pid) if worker.returncode is None else 0.0
        self._policy.account.cpu_s += max(0.0, used_s - self._cpu_s)
        self._cpu_s = max(self._cpu_s, used_s)

    def _account(self, line: bytes) -> bytes:
        """Counts what a run moved. Returns the line, with what strangers had of this host meanwhile
        where that is anything."""
        if len(line) > COUNTERS_LIMIT_BYTES or b'"counters"' not in line[:40]:
            return line
        record = json.loads(line)
        values = record["values"]
        self._policy.count_bytes(sum(int(values.get(name, 0)) for name in MOVED))
        before = self._met.get(record["request"], self._strangers)
        handled = self._strangers.handled - before.handled
        refused = self._strangers.refused - before.refused
        if not handled and not refused:
            return line
        values |= {"pairings_handled": handled, "pairings_refused": refused}
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"

    async def _say_error(self, request: int, code: str, message: str) -> None:
        record = {
            "record": "error",
            "request": request,
            "rank": 1,
            "host": socket.gethostname()[:255] or "server",
            "code": code,
            "message": message,
        }
        await self._send(json.dumps(record, separators=(",", ":")).encode() + b"\n")

    async def _say_last(self, code: str, message: str) -> None:
        """An error that belongs to no request, for a peer that may no longer be there."""
        with contextlib.suppress(OSError, _DeafPeerError):
            async with asyncio.timeout(GOODBYE_TIMEOUT_S):
                await self._say_error(0, code, message)

    async def _send(self, line: bytes) -> None:
        """Both directions of a session say something to the peer, but one line at a time."""
        async with self._sending:
            try:
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    self._writer.write(line)
                    await self._writer.drain()
            except TimeoutError:
                raise _DeafPeerError from None
