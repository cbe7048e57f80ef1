"""One point measured into the journal, alone or beside others on other hosts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netsonde.catalogue.transport import transport_row
from netsonde.errors import HostError, StorageError, UnsupportedError
from netsonde.launch.session import Session
from netsonde.records.data import ALL_PAIRS, Point
from netsonde.records.journal import Journal
from netsonde.records.rundir import write_manifest
from netsonde.study.checks import check_point
from netsonde.study.measure import measure_point
from netsonde.study.plan import PlannedPoint, job_of
from netsonde.study.series import Ending
from netsonde.study.sessions import list_of, note_facts
from netsonde.study.spec import StudySpec
from netsonde.study.testbed import Testbed

if TYPE_CHECKING:
    from netsonde.launch.rounds import AnySession

SIGNAL_GRACE_S = 0.2
"""A batch system ends the workers and netsonde with one signal: its own is awaited for so long
before a worker's end counts as a failure."""


@dataclass(frozen=True)
class Attempt:
    """What came of one attempt: an ending, or the error that ended it."""

    planned: PlannedPoint
    number: int
    opened: dict[int, dict[str, Any]] = field(default_factory=dict)
    ending: Ending | None = None
    error: HostError | None = None
    told: dict[str, Any] = field(default_factory=dict)
    """Checks that only the session could make."""

    @property
    def mark(self) -> dict[str, Any]:
        """The fields of the journal's entries that say whose they are."""
        return {"point": self.planned.id, "attempt": self.number}


def now_utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class PointRunner:
    """Measures points of a run, several at a time if asked to from several threads."""

    def __init__(
        self,
        spec: StudySpec,
        directory: Path,
        manifest: dict[str, Any],
        journal: Journal,
        notice: Callable[[str], None],
        batch: Callable[[PlannedPoint, list[dict[str, Any]]], None] = lambda *_: None,
    ) -> None:
        self._spec = spec
        self._directory = directory
        self._manifest = manifest
        self._journal = journal
        self._notice = notice
        self._batch = batch
        self._facts_from: set[tuple[str, str, int]] = set()
        self._told: dict[tuple[str, str], dict[str, Any]] = {}
        self._manifest_in_use = threading.Lock()

    def alone(self, testbed: Testbed, planned: PlannedPoint, number: int) -> Attempt:
        """Over a session that the testbed keeps for the next point where that can use it."""
        return self._attempt(planned, number, testbed.open, testbed.begin_point, testbed.drop)

    def beside(
        self,
        testbed: Testbed,
        planned: PlannedPoint,
        number: int,
        opened: Callable[[Session], None],
    ) -> Attempt:
        """Over a session of its own, which is closed afterwards; ``opened`` is told of it, so that
        somebody else can end it."""
        sessions: list[Session] = []

        def open_session(point: PlannedPoint) -> Session:
            session = testbed.open_beside(point)
            sessions.append(session)
            opened(session)
            return session

        try:
            return self._attempt(
                planned, number, open_session, lambda: None, lambda session: session.close()
            )
        finally:
            for session in sessions:
                session.close()

    def _attempt(
        self,
        planned: PlannedPoint,
        number: int,
        open_session: Callable[[PlannedPoint], AnySession],
        begin: Callable[[], None],
        drop: Callable[[AnySession], None],
    ) -> Attempt:
        attempt = Attempt(planned, number)
        self._journal.append("point_started", **attempt.mark, time_utc=now_utc())
        session: AnySession | None = None

        def keep(index: int, records: list[dict[str, Any]]) -> None:
            self._journal.append("batch", **attempt.mark, batch=index, records=records)
            self._batch(planned, records)

        try:
            session = open_session(planned)
            ends = {str(rank): values for rank, values in session.opened.items()}
            self._journal.append("opened", **attempt.mark, ends=ends)
            self._note_facts(session, planned)
            begin()
            ending = measure_point(session, planned, keep)
            told = self._checks_of(planned, session, ending)
            return Attempt(planned, number, session.opened, ending, told=told)
        except HostError as error:
            if session is not None:
                drop(session)
            if isinstance(error, StorageError):
                raise
            if not isinstance(error, UnsupportedError):
                time.sleep(SIGNAL_GRACE_S)
            return Attempt(planned, number, error=error)

    def settle(self, attempt: Attempt, found: dict[str, Any]) -> None:
        """Writes the end of an attempt, with its checks; ``found`` are those of the path."""
        if attempt.error is not None:
            code = "unsupported" if isinstance(attempt.error, UnsupportedError) else "host"
            self._journal.append(
                "point_failed",
                **attempt.mark,
                code=code,
                error=str(attempt.error),
                time_utc=now_utc(),
            )
            return
        assert attempt.ending is not None
        planned, ending = attempt.planned, attempt.ending
        point = Point(
            planned.id,
            planned.transport,
            planned.test,
            planned.parameters,
            opened=attempt.opened,
            batches=ending.batches,
        )
        checks = check_point(
            point, self._manifest["path"], self._spec.path.family, self._manifest["hosts"]
        )
        self._journal.append(
            "point_finished",
            **attempt.mark,
            ended_by=ending.ended_by,
            batches=len(ending.batches),
            checks=checks | attempt.told | found,
            time_utc=now_utc(),
        )

    def _checks_of(
        self, planned: PlannedPoint, session: AnySession, ending: Ending
    ) -> dict[str, Any]:
        if not planned.kind.is_round:
            return {}
        from netsonde.launch.rounds import RoundSession
        from netsonde.study.all_pairs_measure import checks_of_round

        assert isinstance(session, RoundSession)
        return checks_of_round(session, ending.batches, self._manifest[ALL_PAIRS]["hosts"])

    def _note_facts(self, session: AnySession, planned: PlannedPoint) -> None:
        """Hosts' facts are asked for once a session, launch and way of reaching them, before
        anything of the point is measured; those of an MPI are apart where there are several."""
        job = job_of(planned)
        name = job[1] if job else ""
        way = f"mpi {name}" if transport_row(session.transport).has_ranks else "sockets"
        launch = planned.spec.launch or 1
        asked = {(way, host, launch) for host in session.hosts}
        if asked <= self._facts_from:
            return
        facts = session.facts()
        with self._manifest_in_use:
            self._facts_from |= asked
            for host, values in facts.items():
                kept = {key: value for key, value in values.items() if not self._is_set_by_us(key)}
                if name:
                    own = {key: kept.pop(key) for key in list(kept) if key.startswith("mpi.")}
                    self._manifest.setdefault("mpis", {}).setdefault(name, own)
                before = self._told.get((way, host))
                self._told[way, host] = kept
                changed = note_facts(self._manifest, host, kept, before, now_utc())
                if changed:
                    self._notice(f"{host} is not as it was: {list_of(changed)} changed")
            write_manifest(self._directory, self._manifest)

    def _is_set_by_us(self, fact: str) -> bool:
        """No fact of a host: every point says which MTU it had."""
        if not self._spec.mtus:
            return False
        from netsonde.lab.links import HOST_DEVICE  # late, with the labs, whose links have one

        return fact == f"interface.{HOST_DEVICE}.mtu"
