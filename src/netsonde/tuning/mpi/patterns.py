"""Whom an operation sends how much: whether an algorithm that a library was told to take has run.

Each rank's kernel counts what it sent on each TCP connection; both ends of a connection say whose
it is. Nothing of it is the library's word. So it takes a job over TCP: between hosts, or kept on
loopback on one; the library chooses there as it does over shared memory, but for algorithms that
only shared memory has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.within import LOOPBACK, MEMORY
from netsonde.errors import HostError, UnsupportedError
from netsonde.hosts import parse_hosts
from netsonde.launch.contact import let_go_after
from netsonde.launch.host import Host
from netsonde.launch.mpi import MpiSession, open_mpi
from netsonde.launch.worker import WorkerError
from netsonde.limits import limit_s
from netsonde.operations import Operation, operations
from netsonde.records.decode import decode_series
from netsonde.schedules.algorithms import LIBRARY, NATIVE, algorithms_of, library_of, schedule_of

REPETITIONS = 8
USUAL_BYTES = 32_768
"""So large that a message's head and a barrier between repetitions are little beside it."""
SLACK_SIZES = 0.05
SLACK_SHARE = 0.02
"""Two patterns are the same where no pair of ranks differs by more than both."""
TIMEOUT_S = limit_s("mpi-pattern")
Matrix = npt.NDArray[np.float64]


class UnseenError(HostError):
    """It ran, but not over TCP."""


@dataclass(frozen=True)
class Pattern:
    """``sent`` has shape (ranks, ranks): what the row's rank sent to the column's in one
    repetition, in units of the size that was asked for; 0 to itself, which one library sends and
    another copies."""

    sent: Matrix

    @property
    def partners(self) -> int:
        """Most that a rank sends to."""
        return int((self.sent > SLACK_SIZES).sum(axis=1).max())

    @property
    def sizes(self) -> float:
        """What the busiest rank sends in all."""
        return float(self.sent.sum(axis=1).max())

    def is_same(self, other: Pattern) -> bool:
        """Whether each rank sends each other the same."""
        apart = np.abs(self.sent - other.sent)
        allowed = SLACK_SIZES + SLACK_SHARE * np.maximum(self.sent, other.sent)
        return bool((apart <= allowed).all())


@contextmanager
def named_hosts(names: Sequence[str]) -> Iterator[list[Host] | None]:
    """Hosts by what a user writes, let go of at the end; None for this machine."""
    hosts = parse_hosts(list(names)) if names else []
    with let_go_after(*hosts):
        yield hosts or None


class PatternJob:
    """An MPI program whose messages are counted. A context manager."""

    def __init__(
        self, mpi: str, ranks: int, hosts: Sequence[Host] | None = None, ppn: int = 1
    ) -> None:
        """Raises UsageError and HostError as open_mpi() does."""
        self._open = (mpi, ranks, hosts, ppn)
        self._session: MpiSession | None = None
        self.ranks = ranks

    def __enter__(self) -> PatternJob:
        self._started()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def _started(self) -> MpiSession:
        if self._session is None:
            mpi, ranks, hosts, ppn = self._open
            within = (MEMORY if hosts and len(hosts) > 1 else LOOPBACK).name
            self._session = open_mpi(hosts, ranks, mpi=mpi, ppn=ppn, within=within, forced=True)
        return self._session

    def _close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def listed(self, operation: Operation) -> list[str]:
        """The library's own names for an operation."""
        return self._started().algorithms([operation.name])[operation.name]

    def pattern(self, operation: Operation, size_bytes: int, way: str = NATIVE) -> Pattern:
        """Of a few repetitions, content checked.

        Raises UnsupportedError where the library does not do it so here, UnseenError where nothing
        went over TCP, HostError where the job failed.
        """
        asked = schedule_of(way, operation)
        fields: dict[str, Any] = {
            "test": "collective",
            "operation": operation.name,
            "message_bytes": size_bytes,
            "count": REPETITIONS,
            "count_partners": True,
            "check_data": True,
        }
        if asked is not None:
            fields["schedule"] = asked.to_json()
        if (name := library_of(way)) is not None:
            fields["library_algorithm"] = name
        try:
            records = self._started().run(fields, TIMEOUT_S)
        except (UnsupportedError, WorkerError):
            self._close()  # a failure ends a session; the next one has a job of its own
            raise
        return Pattern(_matrix(records, self.ranks) / (REPETITIONS * max(size_bytes, 1)))


def _matrix(records: Sequence[Mapping[str, Any]], ranks: int) -> Matrix:
    pieces: dict[int, list[Mapping[str, Any]]] = {}
    for record in records:
        if record["record"] == "series" and record["name"] == "partner_bytes":
            pieces.setdefault(record["rank"], []).append(record)
    rows = {rank: decode_series(own) for rank, own in pieces.items()}
    corrupt = sum(
        record["values"].get("corrupt", 0) for record in records if record["record"] == "counters"
    )
    if corrupt:
        raise HostError(f"{corrupt} repetitions left wrong data")
    if sorted(rows) != list(range(ranks)):
        raise HostError("not every rank said what it sent")
    matrix = np.array([rows[rank] for rank in range(ranks)], dtype=np.float64)
    if not matrix.any():
        raise UnseenError(
            "nothing went between ranks over TCP, so that no pattern can be seen; name hosts, or "
            "leave the MPI's network to netsonde"
        )
    np.fill_diagonal(matrix, 0.0)
    return matrix


@dataclass(frozen=True)
class Seen:
    """A way and its pattern, or why it did not run; neither where it ran unseen. ``same_as`` are
    ways that were seen before with the same pattern."""

    way: str
    pattern: Pattern | None
    why: str = ""
    same_as: tuple[str, ...] = ()


def survey(
    job: PatternJob, operation: Operation, size_bytes: int, ways: Sequence[str] | None = None
) -> list[Seen]:
    """native, our schedules, and each way that the library lists, or those that are named."""
    if ways is None:
        ours = algorithms_of(operation)
        ways = [NATIVE, *ours, *(LIBRARY + name for name in job.listed(operation))]
    found: list[Seen] = []
    for way in ways:
        try:
            pattern = job.pattern(operation, size_bytes, way)
        except UnseenError:
            found.append(Seen(way, None))
            continue
        except (UnsupportedError, HostError) as error:
            found.append(Seen(way, None, str(error)))
            continue
        same = tuple(seen.way for seen in found if seen.pattern and seen.pattern.is_same(pattern))
        found.append(Seen(way, pattern, same_as=same))
    return found


def size_for(operation: Operation, size_bytes: int = USUAL_BYTES) -> int:
    """A size that an operation takes."""
    if operation.fixed_bytes is not None:
        return operation.fixed_bytes
    return max(size_bytes // operation.multiple_bytes, 1) * operation.multiple_bytes


def countable_operations() -> list[str]:
    """Blocking collectives that move something, so that there is a pattern."""
    return [
        name
        for name, operation in operations().items()
        if operation.is_collective_call and operation.fixed_bytes is None
    ]
