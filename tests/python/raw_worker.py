"""sonde-worker spoken with as plainly as possible: lines in, lines out, nothing checked for us."""

from __future__ import annotations

import base64
import json
import queue
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Record = dict[str, Any]
S = 1_000_000_000
LOOPBACK = {"ipv4": "127.0.0.1", "ipv6": "::1"}


class RawWorker:
    """A worker process; every line it writes is kept in ``lines``."""

    def __init__(self, program: Path, host: str = "", prefix: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [*prefix, str(program), *(["--host", host] if host else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: list[bytes] = []
        self._records: queue.Queue[Record | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._last = 0
        self.hello = self.next()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._records.put(json.loads(line))
        self._records.put(None)

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def submit(self, verb: str, **fields: object) -> int:
        self._last += 1
        request = {"verb": verb, "request": self._last, **fields}
        self.write(json.dumps(request).encode() + b"\n")
        return self._last

    def next(self, timeout_s: float = 20.0) -> Record:
        record = self._records.get(timeout=timeout_s)
        assert record is not None, f"the worker ended: {self.lines[-1:]}"
        return record

    def wait(self, timeout_s: float = 20.0) -> list[Record]:
        """The records up to the next done or error."""
        records: list[Record] = []
        deadline = time.monotonic() + timeout_s
        while not records or records[-1]["record"] not in ("done", "error", "bye"):
            records.append(self.next(max(0.1, deadline - time.monotonic())))
        return records

    def ask(self, verb: str, **fields: object) -> list[Record]:
        self.submit(verb, **fields)
        return self.wait()

    def ended(self, timeout_s: float = 5.0) -> int:
        """The exit status of a worker that ends by itself."""
        return self.process.wait(timeout_s)

    def close(self) -> None:
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self._reader.join(5)
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()


@dataclass
class RawPair:
    """Two workers with an open transport: origin and target."""

    origin: RawWorker
    target: RawWorker
    opened: list[Record] = field(default_factory=list)

    def run(
        self, *, timeout_s: float = 20.0, **fields: object
    ) -> tuple[list[Record], list[Record]]:
        fields.setdefault("timeout_ns", 10 * S)
        self.origin.submit("run", **fields)
        self.target.submit("run", **fields)
        return self.origin.wait(timeout_s), self.target.wait(timeout_s)


def listen(
    worker: RawWorker, transport: str = "tcp", family: str = "ipv4", **fields: object
) -> tuple[int, str]:
    """Asks a worker to listen on loopback; its port and cookie."""
    cookie = secrets.token_hex(16)
    answer = worker.ask(
        "listen",
        transport=transport,
        family=family,
        cookie=cookie,
        **{"address": LOOPBACK[family], "timeout_ns": 10 * S, **fields},
    )
    assert answer[-1]["record"] == "done", answer
    return int(answer[-1]["values"]["port"]), cookie


@contextmanager
def workers(program: Path, count: int = 2, prefix: Sequence[str] = ()) -> Iterator[list[RawWorker]]:
    made: list[RawWorker] = []
    try:
        for index in range(count):
            made.append(RawWorker(program, f"end{index}", prefix))
        yield made
    finally:
        for worker in made:
            worker.close()


@contextmanager
def pair(
    program: Path,
    transport: str = "tcp",
    family: str = "ipv4",
    options: object = None,
    prefix: Sequence[str] = (),
    target_options: object = None,
) -> Iterator[RawPair]:
    """``target_options``: where they are not those of both."""
    with workers(program, prefix=prefix) as (origin, target):
        at_target = options if target_options is None else target_options
        asks_for_one = isinstance(options, dict) and options.get("authenticated")
        key = {"key": secrets.token_hex(32)} if asks_for_one else {}
        port, cookie = listen(target, transport, family, options=at_target or {}, **key)
        target.submit("open", role="target", timeout_ns=10 * S)
        origin.submit(
            "open",
            role="origin",
            transport=transport,
            family=family,
            cookie=cookie,
            address=LOOPBACK[family],
            port=port,
            options=options or {},
            timeout_ns=10 * S,
            **key,
        )
        opened = [origin.wait()[-1], target.wait()[-1]]
        assert [o["record"] for o in opened] == ["done", "done"], opened
        yield RawPair(origin, target, opened)


def counters(records: Sequence[Record]) -> dict[str, int]:
    found: list[dict[str, int]] = [r["values"] for r in records if r["record"] == "counters"]
    assert len(found) == 1
    return found[0]


def series(records: Sequence[Record], name: str) -> npt.NDArray[np.int64]:
    pieces = [r for r in records if r["record"] == "series" and r["name"] == name]
    assert pieces, f"no series {name}"
    values = np.concatenate([np.frombuffer(base64.b64decode(p["values"]), "<i8") for p in pieces])
    assert [p["offset"] for p in pieces] == list(np.cumsum([0, *(p["count"] for p in pieces)])[:-1])
    assert len(values) == pieces[0]["total"]
    return values.astype(np.int64)


def has_series(records: Sequence[Record], name: str) -> bool:
    return any(r["record"] == "series" and r["name"] == name for r in records)


def snapshots(records: Sequence[Record]) -> dict[str, dict[str, int]]:
    return {r["phase"]: r["values"] for r in records if r["record"] == "snapshot"}
