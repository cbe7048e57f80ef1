"""One session: a paired peer at one side, a confined worker at the other, checked lines between."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from pathlib import Path

from netsonde.errors import HostError
from netsonde.serve.confine import confined_worker
from netsonde.serve.policy import Limits, Peer, RefusedError, SessionPolicy
from netsonde.serve.requests import BadRequestError, parse_request

REFUSALS = 20  # so many refused requests, and the session is over
SEND_TIMEOUT_S = 30.0  # for a peer that does not read its records
GOODBYE_TIMEOUT_S = 3.0  # from the worker's last record, or the peer's end, to the end of the other
COUNTERS_LIMIT_BYTES = 65536
MOVED = ("bytes_sent", "bytes_received")


class ServedSession:
    """Forwards until either side ends, time is up, or the peer asked for too much."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        peer: Peer,
        limits: Limits,
        test_port: int = 0,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._policy = SessionPolicy(limits, peer, test_port)
        self._sending = asyncio.Lock()

    @property
    def policy(self) -> SessionPolicy:
        """What the session used."""
        return self._policy

    async def run(self, binary: Path) -> str:
        """Serves the session; says in a few words how it ended. The worker is gone afterwards."""
        try:
            async with asyncio.timeout(self._limits.session_s), confined_worker(binary) as worker:
                return await self._forward(worker)
        except TimeoutError:
            ending = f"its {self._limits.session_s:.0f} s are over"
            await self._say_last("limit", f"the session ended: {ending} (--max-seconds)")
        except HostError as error:
            ending = str(error)
            await self._say_last("system", ending)
        return ending

    async def _forward(self, worker: asyncio.subprocess.Process) -> str:
        requests = asyncio.create_task(self._requests(worker))
        records = asyncio.create_task(self._records(worker))
        tasks = (requests, records)
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if records not in done and requests.result() == "quit":
                # The worker's last records are still to be forwarded.
                await asyncio.wait([records], timeout=GOODBYE_TIMEOUT_S)
            return requests.result() if requests.done() else records.result()
        except OSError:
            return "the connection was lost"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _requests(self, worker: asyncio.subprocess.Process) -> str:
        """The peer's lines to the worker, as far as they are allowed."""
        assert worker.stdin is not None
        refused = 0
        while refused < REFUSALS:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return "the peer closed the connection"
            except asyncio.LimitOverrunError:
                await self._say_last("limit", "a request line is too long")
                return "a request line was too long"
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
            worker.stdin.write(json.dumps(admitted, separators=(",", ":")).encode() + b"\n")
            await worker.stdin.drain()
            if admitted["verb"] == "quit":
                return "quit"
        await self._say_last("refused", "too many requests had to be refused")
        return "too many requests had to be refused"

    async def _records(self, worker: asyncio.subprocess.Process) -> str:
        """The worker's lines to the peer."""
        assert worker.stdout is not None
        while True:
            try:
                line = await worker.stdout.readuntil(b"\n")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await self._say_last("system", "the worker on this host ended unexpectedly")
                return "the worker ended unexpectedly"
            self._account(line)
            await self._send(line)
            if line.startswith(b'{"record":"bye"'):
                return "quit"

    def _account(self, line: bytes) -> None:
        if len(line) > COUNTERS_LIMIT_BYTES or b'"counters"' not in line[:40]:
            return
        values = json.loads(line)["values"]
        self._policy.count_bytes(sum(int(values.get(name, 0)) for name in MOVED))

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
        with contextlib.suppress(OSError):
            async with asyncio.timeout(GOODBYE_TIMEOUT_S):
                await self._say_error(0, code, message)

    async def _send(self, line: bytes) -> None:
        """Both directions of a session say something to the peer, but one line at a time."""
        async with self._sending, asyncio.timeout(SEND_TIMEOUT_S):
            self._writer.write(line)
            await self._writer.drain()
