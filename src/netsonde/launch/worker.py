"""A worker, spoken with: requests out, checked records in."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from netsonde import __version__
from netsonde.errors import HostError
from netsonde.launch.binaries import USUAL_WORKER, find_worker
from netsonde.launch.closing import Closing
from netsonde.launch.host import Channel, Host, printable
from netsonde.launch.record_check import (
    RECORD_LINE_LIMIT_BYTES,
    BadRecordError,
    excerpt,
    parse_record,
)
from netsonde.launch.session import Record
from netsonde.limits import limit_s

PROTOCOL = 1
HELLO_TIMEOUT_S = limit_s("hello")  # loading and the clock take 0.05 s of them
WRITE_TIMEOUT_S = limit_s("take-request")
ENDING_TIMEOUT_S = limit_s("worker-end")  # from the end of the output to the end of the process
LATE_ANSWER_S = limit_s("late-answer")  # the other may be on a busy host
STOP_GRACE_S = limit_s("worker-stop")
REQUEST_LINE_LIMIT_BYTES = 65536
# A worker that writes faster than we read is held back by its full pipe once so much is waiting.
WAITING_LIMIT_BYTES = 64 << 20
# 16 Mi samples are 180 MB as base64; a batch has at most a handful of series.
ANSWER_LIMIT_BYTES = 1 << 30


class WorkerError(HostError):
    """A worker failed. ``code`` is that of its error record, or one of ours:

    ``died`` (ended or closed its output), ``silent`` (no answer in time), ``garbage`` (wrote what
    is no record, or not the one that was due), ``version`` (speaks another protocol).
    """

    def __init__(self, message: str, code: str, host: str) -> None:
        super().__init__(message)
        self.code = code
        self.host = host


class _MismatchError(Exception):
    """A worker greets in the way of another version."""


def _json_object(line: bytes) -> Record:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if type(found) is dict else {}


def _other_version(hello: Record) -> str | None:
    """Whose greeting this is, where it is not of our version and protocol."""
    version, protocol = hello.get("version"), hello.get("protocol")
    if hello.get("record") != "hello" or type(version) is not str:
        return None
    if (version, protocol) == (__version__, PROTOCOL):
        return None
    return (
        f"has version {excerpt(version)} (protocol {excerpt(protocol)}), this netsonde has "
        f"{__version__!r} (protocol '{PROTOCOL}'); install the same version on both"
    )


def clock_facts(hello: Record) -> Record:
    """The clock that a worker times with, as facts of its host: source, step, cost of a reading."""
    clock = hello.get("clock")
    return {f"clock_{name}": value for name, value in clock.items()} if clock else {}


def facts_told(hello: Record, records: Sequence[Record]) -> Record:
    """The facts of a worker's host: its clock, and what the records of an answer hold."""
    found = clock_facts(hello)
    for record in records:
        if record["record"] == "facts":
            found |= record["values"]
    return found


class Worker(Closing):
    """A started worker. Making one waits for its ``hello`` and checks its versions.

    ``wakeup`` may be shared by several workers, so that wait_all() can wait for all of them.
    Raises WorkerError, with the process ended, where it does not say a proper hello in time.
    """

    def __init__(
        self,
        process: Channel,
        host_name: str,
        *,
        hello_timeout_s: float = HELLO_TIMEOUT_S,
        wakeup: threading.Condition | None = None,
    ) -> None:
        self.host_name = host_name
        self._channel = process
        self._wakeup = wakeup or threading.Condition()
        self._waiting: deque[tuple[int, Record]] = deque()
        self._waiting_bytes = 0
        self._fault: tuple[str, str] | None = None  # code and sentence; nothing more will come
        self._last_request = 0
        self._closed = False
        self._greeted = False
        self._reader = threading.Thread(
            target=self._read_all, name=f"records of {host_name}", daemon=True
        )
        self._reader.start()
        try:
            self.hello = self._wait_for_hello(hello_timeout_s)
        except BaseException:
            self.close()
            raise

    def submit(self, verb: str, **fields: object) -> int:
        """Sends a request and returns its number. Raises WorkerError."""
        if self._closed:
            raise self._error("died", "was already closed")
        self._last_request += 1
        request = {"verb": verb, "request": self._last_request, **fields}
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        if len(line) > REQUEST_LINE_LIMIT_BYTES:
            raise self._error(
                "limit", f"was to get a request over the limit of {REQUEST_LINE_LIMIT_BYTES} bytes"
            )
        try:
            self._channel.write(line, WRITE_TIMEOUT_S)
        except (OSError, ValueError) as error:
            raise self._after_end(f"does not take a request: {error}") from error
        return self._last_request

    def wait(self, request: int, timeout_s: float) -> list[Record]:
        """All records of a request, the last one being its ``done``. Raises WorkerError."""
        return wait_all([(self, request)], timeout_s)[0]

    def request(self, verb: str, timeout_s: float, **fields: object) -> list[Record]:
        """submit() and wait()."""
        return self.wait(self.submit(verb, **fields), timeout_s)

    def values(self, verb: str, timeout_s: float, **fields: object) -> Record:
        """The values of ``done`` of a request."""
        values: Record = self.request(verb, timeout_s, **fields)[-1]["values"]
        return values

    def end_input(self) -> None:
        """Tells the worker that nobody wants more: what it does alone, it ends with a result."""
        self._channel.finish()

    def close(self) -> None:
        """Asks the worker to quit, then ends it. Idempotent; leaves no process and no thread."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._fault is None:
                with contextlib.suppress(OSError, ValueError):
                    quit_request = {"verb": "quit", "request": self._last_request + 1}
                    self._channel.write(json.dumps(quit_request).encode() + b"\n", 0.2)
        finally:
            self._channel.stop(STOP_GRACE_S)
            with self._wakeup:
                self._wakeup.notify_all()
            self._reader.join()
            self._channel.release()

    def take(self) -> list[tuple[int, Record]]:
        """Records that have come, with the bytes of their lines. Call with wakeup held."""
        taken = list(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        if taken:
            self._wakeup.notify_all()
        return taken

    def fault(self) -> WorkerError | None:
        """Why nothing more will come, once everything that came has been taken."""
        if self._fault is None or self._waiting:
            return None
        return self._error(*self._fault)

    def silence(self, what: str, timeout_s: float, more: str = "") -> WorkerError:
        """The error of a worker that did not answer in time."""
        return self._error("silent", f"did not {what} within {timeout_s:.2g} s{more}")

    @property
    def wakeup(self) -> threading.Condition:
        return self._wakeup

    def _error(self, code: str, what: str) -> WorkerError:
        return WorkerError(f"{self.host_name}: the worker {what}", code, self.host_name)

    def _after_end(self, otherwise: str) -> WorkerError:
        """What the reader found out about the end, which says more than a failed write."""
        self._reader.join(2 * ENDING_TIMEOUT_S)
        with self._wakeup:
            said = [record for _, record in self._waiting if _ends_a_session(record)]
        if said:
            text, code = printable(said[0]["message"]), said[0]["code"]
            return WorkerError(f"{self.host_name}: {text}", code, self.host_name)
        return self._error(*(self._fault or ("died", otherwise)))

    def _wait_for_hello(self, timeout_s: float) -> Record:
        deadline = time.monotonic() + timeout_s
        with self._wakeup:
            while not self._waiting and self._fault is None:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise self.silence("say hello", timeout_s)
                self._wakeup.wait(left_s)
            if not self._waiting:
                assert self._fault is not None
                raise self._error(*self._fault)
            _, hello = self._waiting.popleft()
        if hello["record"] == "error":
            raise WorkerError(
                f"{self.host_name}: {printable(hello['message'])}", hello["code"], self.host_name
            )
        if hello["record"] != "hello":
            raise self._error("garbage", f"wrote a {hello['record']} record before its hello")
        if mismatch := _other_version(hello):
            raise self._error("version", mismatch)
        return hello

    def _read_all(self) -> None:
        """The reader thread: lines become checked records until the output ends."""
        try:
            rest = bytearray()
            while content := self._channel.read():
                rest += content
                *lines, tail = rest.split(b"\n")
                for line in lines:
                    self._accept(bytes(line))
                rest = bytearray(tail)
                if len(rest) > RECORD_LINE_LIMIT_BYTES:
                    self._accept(bytes(rest))
            fault = ("died", self._channel.ending(ENDING_TIMEOUT_S))
        except _MismatchError as error:
            fault = ("version", str(error))
        except BadRecordError as error:
            fault = ("garbage", str(error))
        except (OSError, ValueError) as error:
            fault = ("died", f"cannot be read any more: {error}")
        with self._wakeup:
            self._fault = fault
            self._wakeup.notify_all()

    def _accept(self, line: bytes) -> None:
        try:
            record = parse_record(line)
        except BadRecordError as error:
            # Another version may greet in another way: that says more than what is wrong with it.
            if not self._greeted and (mismatch := _other_version(_json_object(line))):
                raise _MismatchError(mismatch) from error
            raise
        self._greeted = True
        with self._wakeup:
            while self._waiting_bytes > WAITING_LIMIT_BYTES and not self._closed:
                self._wakeup.wait(1.0)
            self._waiting.append((len(line), record))
            self._waiting_bytes += len(line)
            self._wakeup.notify_all()


def wait_all(requests: Sequence[tuple[Worker, int]], timeout_s: float) -> list[list[Record]]:
    """The records of one request each of several workers that share a ``wakeup``.

    Raises the error that tells the most as soon as one worker has failed: the others get
    a moment to say theirs, since a lost peer is the consequence and not the cause. One that says
    nothing while all that is heard are consequences is the cause.
    """
    answers = [_Answer(worker, request) for worker, request in requests]
    wakeup = answers[0].worker.wakeup
    if any(answer.worker.wakeup is not wakeup for answer in answers):
        raise ValueError("workers that are waited for together need one wakeup")
    began = time.monotonic()
    deadline = began + timeout_s
    patient = True
    with wakeup:
        while True:
            for answer in answers:
                answer.collect()
            open_answers = [a for a in answers if not a.complete and a.error is None]
            failed = [a.error for a in answers if a.error is not None]
            if failed and patient:
                patient = False
                late = any(error.code == "timeout" for error in failed)
                grace_s = LATE_ANSWER_S if late else ENDING_TIMEOUT_S
                deadline = min(deadline, time.monotonic() + grace_s)
            if not open_answers:
                break
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                if all(error.code in _CONSEQUENCES for error in failed):
                    silent = [answer.worker for answer in open_answers]
                    failed = [_silence_of(silent, failed, time.monotonic() - began)]
                break
            wakeup.wait(left_s)
    if failed:
        raise most_telling(failed)
    return [answer.records for answer in answers]


def _silence_of(
    silent: Sequence[Worker], failed: Sequence[WorkerError], waited_s: float
) -> WorkerError:
    """The error of workers that did not answer, whom those that failed have waited for."""
    first = silent[0]
    others = dict.fromkeys(w.host_name for w in silent if w.host_name != first.host_name)
    also = f", nor did {', '.join(others)}" if others else ""
    waiting = dict.fromkeys(error.host for error in failed)
    in_vain = f"; {', '.join(waiting)} waited for it in vain" if waiting else ""
    return first.silence("answer", waited_s, f"{also}{in_vain}")


def _ends_a_session(record: Record) -> bool:
    """Whether a server says why it will not hear any more."""
    return bool(record["record"] == "error" and record["request"] == 0)


def _is_end_by_signal(record: Record) -> bool:
    return bool(record["record"] == "bye" and record["reason"] == "signal")


ENDED_WELL = "ended with status 0"
_CONSEQUENCES: Mapping[str, int] = {"peer_lost": 2, "timeout": 1, "silent": 1}


def most_telling(errors: Sequence[WorkerError]) -> WorkerError:
    """The cause rather than its consequence: a lost peer says least, then a timeout."""
    return min(errors, key=lambda error: _CONSEQUENCES.get(error.code, 0))


class _Answer:
    """The records of one request, as they come."""

    def __init__(self, worker: Worker, request: int) -> None:
        self.worker = worker
        self.request = request
        self.records: list[Record] = []
        self.error: WorkerError | None = None
        self.complete = False
        self._bytes = 0
        self._ended_by_signal = False

    def collect(self) -> None:
        if self.complete or self.error is not None:
            return
        for size_bytes, record in self.worker.take():
            if self.complete and record["record"] == "bye" and record["reason"] != "quit":
                continue  # the answer is whole; the next request finds out why
            if self.complete and _ends_a_session(record):
                self._add(size_bytes, record)
            elif self.complete:
                self._fail("garbage", f"wrote a {record['record']} record that nobody asked for")
            else:
                self._add(size_bytes, record)
            if self.error is not None:
                return
        if not self.complete:
            self.error = self.worker.fault()
        if self._ended_by_signal and self.error is not None and ENDED_WELL in str(self.error):
            self._fail("died", "ended before its answer (reason: signal)")

    def _add(self, size_bytes: int, record: Record) -> None:
        kind = record["record"]
        self._bytes += size_bytes
        number = record.get("request")
        if kind == "error" and number in (0, self.request):
            self.error = WorkerError(
                f"{self.worker.host_name}: {printable(record['message'])}",
                record["code"],
                self.worker.host_name,
            )
        elif _is_end_by_signal(record):
            self._ended_by_signal = True  # what started it may know who sent that
        elif kind == "bye":
            self._fail("died", f"ended before its answer (reason: {record['reason']})")
        elif number != self.request:
            self._fail(
                "garbage",
                f"wrote a {kind} record of request {number} where {self.request} was due",
            )
        elif self._bytes > ANSWER_LIMIT_BYTES:
            self._fail("limit", f"answered with more than the limit of {ANSWER_LIMIT_BYTES} bytes")
        else:
            self.records.append(record)
            self.complete = kind == "done"

    def _fail(self, code: str, what: str) -> None:
        self.error = WorkerError(
            f"{self.worker.host_name}: the worker {what}", code, self.worker.host_name
        )


@runtime_checkable
class StartsWorkers(Protocol):
    """A host with a way of its own to start a worker (ssh brings the binary along)."""

    def start_worker(
        self,
        *,
        family: str = "ipv4",
        wakeup: threading.Condition | None = None,
        program: str = USUAL_WORKER,
    ) -> Worker:
        """A worker there, for tests over ``ipv4`` or ``ipv6``. Raises HostError."""


def start_worker(
    host: Host,
    *,
    family: str = "ipv4",
    wakeup: threading.Condition | None = None,
    program: str = USUAL_WORKER,
) -> Worker:
    """A ``sonde-worker`` on a host, or another program that is spoken with as that is, for tests
    over ``ipv4`` or ``ipv6``. Raises HostError."""
    if isinstance(host, StartsWorkers):
        return host.start_worker(family=family, wakeup=wakeup, program=program)
    return Worker(host.start([str(find_worker(program))]), host.name, wakeup=wakeup)
