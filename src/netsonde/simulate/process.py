"""sonde-sim processes: one for each run, as many at once as there are CPUs, bounded in time,
and none left behind."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

from netsonde.errors import HostError, NetsondeError, UsageError
from netsonde.launch.record_check import BadRecordError, parse_record

PROGRAM = "sonde-sim"
INPUT_LIMIT_BYTES = 64 << 20
BAD_INPUT = 2
SAID_LIMIT = 2000


@dataclass(frozen=True)
class Job:
    """One run: what it is called, what sonde-sim reads, and for how long it may go on."""

    key: int
    plan: Mapping[str, Any]
    limit_s: float


@dataclass(frozen=True)
class Result:
    """Its records, or the error that it ended with."""

    key: int
    records: tuple[dict[str, Any], ...] = ()
    error: NetsondeError | None = None


@dataclass
class Simulators:
    """Runs jobs side by side. Leaving it, also by an exception, kills what still runs.

    Threads and a queue of their own, and no executor: whoever interrupts may do so at any place,
    and what waits for futures holds locks there that would then never be given back.
    """

    program: Path
    at_once: int
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _threads: list[threading.Thread] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        with self._lock:
            for process in self._running:
                process.kill()
        for thread in self._threads:
            thread.join()

    def results(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """Each job's result, as soon as it is there."""
        waiting = deque(jobs)
        done: SimpleQueue[Result] = SimpleQueue()

        def work() -> None:
            while not self._stopped:
                try:
                    job = waiting.popleft()
                except IndexError:
                    return
                done.put(self._run(job))

        for _ in range(min(max(1, self.at_once), len(jobs))):
            self._threads.append(threading.Thread(target=work, daemon=True))
            self._threads[-1].start()
        for _ in jobs:
            yield done.get()

    def _run(self, job: Job) -> Result:
        try:
            return Result(job.key, self._records(job))
        except NetsondeError as error:
            return Result(job.key, error=error)
        except Exception as error:  # whoever waits for the result must get one
            return Result(job.key, error=HostError(f"{PROGRAM} could not be run: {error!r}"))

    def _records(self, job: Job) -> tuple[dict[str, Any], ...]:
        text = json.dumps(job.plan, separators=(",", ":"), allow_nan=False).encode()
        if len(text) > INPUT_LIMIT_BYTES:
            raise UsageError(
                f"the simulation is described by {len(text) >> 20} MiB; "
                f"{INPUT_LIMIT_BYTES >> 20} MiB are the most, so give fewer hosts that differ"
            )
        process = self._start()
        try:
            out, said = process.communicate(text, timeout=job.limit_s)
        except subprocess.TimeoutExpired as error:
            raise UsageError(
                f"the simulation took more than {job.limit_s:.0f} s; give it more in "
                "simulation.limits.elapsed, or simulate less"
            ) from error
        finally:
            process.kill()
            process.communicate()
            with self._lock:
                self._running.discard(process)
        _require_success(process.returncode, said)
        return tuple(_parsed(out))

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise HostError("the simulation was stopped")
            try:
                process = subprocess.Popen(
                    [self.program, "run"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            except OSError as error:
                raise HostError(f"cannot start {self.program}: {error.strerror}") from error
            self._running.add(process)
            return process


def processors() -> int:
    """How many runs go on side by side here."""
    return len(os.sched_getaffinity(0))


def _require_success(code: int, said: bytes) -> None:
    if code == 0:
        return
    lines = said[-SAID_LIMIT:].decode(errors="replace").strip().splitlines()
    sentence = lines[-1].removeprefix(f"{PROGRAM}: ") if lines else "it said nothing"
    if code == BAD_INPUT:
        raise UsageError(sentence)
    how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
    raise HostError(f"{PROGRAM} {how}: {sentence}")


def _parsed(out: bytes) -> Iterator[dict[str, Any]]:
    try:
        for line in out.splitlines():
            yield parse_record(line)
    except BadRecordError as error:
        raise HostError(f"{PROGRAM} {error}") from error
