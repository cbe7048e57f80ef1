"""Runs a study: points in random order, each into the journal, until all are done or it must stop.
Sweeps that are to be refined then get further points, round by round.

Killed at any moment, `resume` goes on with the points that are not finished.
"""

from __future__ import annotations

import platform
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path as FilePath
from typing import Any, Protocol

import netsonde
from netsonde.errors import HostError, UnsupportedError, UsageError
from netsonde.figures.compute import figures_of_point
from netsonde.figures.sweeps import operation_sweeps_of, sweeps_of
from netsonde.lab.links import HOST_DEVICE
from netsonde.launch.rounds import RoundSession
from netsonde.launch.session import Session
from netsonde.records.data import PROGRAM, Point
from netsonde.records.journal import Journal
from netsonde.records.rundir import (
    STUDY_NAME,
    attempts,
    finished_points,
    new_run_directory,
    open_run,
    read_manifest,
    write_atomically,
    write_manifest,
)
from netsonde.study.all_pairs_measure import measure_round
from netsonde.study.all_pairs_run import AllPairs, all_pairs_facts
from netsonde.study.checks import check_point
from netsonde.study.measure import Ending, KeepBatch, measure_point
from netsonde.study.partners import points_with_the_slowest
from netsonde.study.path import Path
from netsonde.study.plan import POINTS_LIMIT, PlannedPoint, in_order, job_of, plan_points
from netsonde.study.program import measure_program
from netsonde.study.refine import further_points
from netsonde.study.spec import StudySpec, to_toml
from netsonde.study.switches import as_facts

FAILURES_IN_A_ROW = 3
"""So many failed points one after the other, and the path itself is taken to be broken."""


class Progress(Protocol):
    """What a user sees while a study runs."""

    def start(self, directory: FilePath, points: Sequence[PlannedPoint]) -> None: ...
    def point(self, point: PlannedPoint) -> None: ...
    def done(self, point: PlannedPoint, error: str | None) -> None: ...
    def notice(self, text: str) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """Where the run is, and the sentences of the points that failed, by id."""

    directory: FilePath
    failures: dict[str, str]


def start_study(
    spec: StudySpec,
    parent: FilePath,
    command: Sequence[str],
    progress: Progress,
    pair_code: str | None = None,
) -> Outcome:
    """Makes a run directory and measures every point of the study."""
    seed = spec.seed if spec.seed is not None else random.SystemRandom().randrange(2**53)
    spec = spec.model_copy(update={"seed": seed})
    points = plan_points(spec)
    if len(points) > POINTS_LIMIT:
        raise UsageError(f"the study has {len(points)} points; the limit is {POINTS_LIMIT}")
    directory = new_run_directory(parent, spec.name)
    write_atomically(directory / STUDY_NAME, to_toml(spec))
    manifest = {
        "format": 1,
        "name": spec.name,
        "started_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "origin": None,
        "command": without_secrets(command),
        "seed": seed,
        "versions": {"netsonde": netsonde.__version__, "python": platform.python_version()},
        "path": {},
        "hosts": {},
        "points": [p.as_json() for p in points],
        **all_pairs_facts(spec),
    }
    write_manifest(directory, manifest)
    return _Execution(spec, directory, manifest, progress, pair_code).run()


def without_secrets(command: Sequence[str]) -> list[str]:
    """A command line as it may be kept: a pairing code opens a server to whoever reads it."""
    kept: list[str] = []
    for word in command:
        hidden = bool(kept) and kept[-1] == "--pair"
        kept.append("CODE" if hidden else "--pair=CODE" if word.startswith("--pair=") else word)
    return kept


def resume_study(
    spec: StudySpec, directory: FilePath, progress: Progress, pair_code: str | None = None
) -> Outcome:
    """Measures the points of a run that are not finished. Where all are, does nothing."""
    return _Execution(spec, directory, read_manifest(directory), progress, pair_code).run()


class _Execution:
    def __init__(
        self,
        spec: StudySpec,
        directory: FilePath,
        manifest: dict[str, Any],
        progress: Progress,
        pair_code: str | None,
    ) -> None:
        self._spec = spec
        self._directory = directory
        self._manifest = manifest
        self._progress = progress
        self._pair_code = pair_code
        self._failures: dict[str, str] = {}
        self._said: set[str] = set()
        self._facts_from: set[tuple[str, str]] = set()
        self._all_pairs = AllPairs(spec, manifest)
        self._planned = [
            PlannedPoint(p["id"], p["transport"], p["test"], p["parameters"])
            for p in manifest["points"]
        ]

    def run(self) -> Outcome:
        with Journal(self._directory) as journal:
            open_points = self._open_points() or self._next_round()
            self._progress.start(self._directory, open_points)
            if open_points:
                with Path(self._spec, self._pair_code) as path:
                    self._note_path(path)
                    while open_points:
                        self._measure_all(path, journal, open_points, attempts(self._directory))
                        open_points = self._next_round()
                        if open_points:
                            self._progress.start(self._directory, open_points)
            if not self._failures:
                journal.append("run_finished")
        return Outcome(self._directory, self._failures)

    def _open_points(self) -> list[PlannedPoint]:
        finished = finished_points(self._directory)
        order = in_order(self._planned, self._manifest["seed"])
        return [point for point in order if point.id not in finished]

    def _next_round(self) -> list[PlannedPoint]:
        """Points that what has been measured asks for; they are in the plan before any is measured,
        so that a run that is killed knows them."""
        if self._spec.all_pairs is not None:
            return self._added(self._all_pairs.follow_ups(self._directory, self._planned))
        asked = {name for point in self._planned for name in point.parameters}
        if not asked & {"refine", "scout"}:
            return []
        points = [p for p in open_run(self._directory).points if p.status == "finished"]
        figures = [figure for point in points for figure in figures_of_point(point)]
        added = points_with_the_slowest(self._spec, self._planned, points, figures)
        if not added:
            sweeps = [*sweeps_of(points, figures), *operation_sweeps_of(points, figures)]
            added = further_points(self._planned, sweeps)
        return self._added(added)

    def _added(self, added: list[PlannedPoint]) -> list[PlannedPoint]:
        if added:
            self._planned += added
            self._manifest["points"] = [point.as_json() for point in self._planned]
            write_manifest(self._directory, self._manifest)
        return in_order(added, self._manifest["seed"])

    def _note_path(self, path: Path) -> None:
        if path.notice:
            self._progress.notice(path.notice)
        self._manifest["origin"] = path.label
        described = as_facts(self._spec.switch, self._spec.uplink)
        self._manifest["path"] = {**path.facts, **described, "notice": path.notice}
        write_manifest(self._directory, self._manifest)

    def _measure_all(
        self, path: Path, journal: Journal, points: Sequence[PlannedPoint], started: dict[str, int]
    ) -> None:
        in_a_row = 0
        for point in points:
            self._progress.point(point)
            attempt = started.get(point.id, 0) + 1
            try:
                error = self._measure_one(path, journal, point, attempt)
            except UnsupportedError as unsupported:
                self._note_lacking(point, str(unsupported))
                continue
            self._progress.done(point, error)
            if error is None:
                in_a_row = 0
                continue
            self._failures[point.id] = error
            in_a_row += 1
            if in_a_row == min(FAILURES_IN_A_ROW, len(points)):
                raise HostError(error)

    def _measure_one(
        self, path: Path, journal: Journal, planned: PlannedPoint, attempt: int
    ) -> str | None:
        """Measures one point into the journal; the sentence of its failure, or None."""
        mark = {"point": planned.id, "attempt": attempt}
        journal.append(
            "point_started", **mark, time_utc=datetime.now(UTC).isoformat(timespec="milliseconds")
        )
        session: Session | None = None

        def keep(index: int, records: list[dict[str, Any]]) -> None:
            journal.append("batch", **mark, batch=index, records=records)

        try:
            session = path.open(planned)
            journal.append("opened", **mark, ends={str(r): v for r, v in session.opened.items()})
            self._note_facts(session, planned)
            path.begin_point()
            ending = _measure(session, planned, keep)
            point = Point(
                planned.id,
                planned.transport,
                planned.test,
                planned.parameters,
                opened=session.opened,
                batches=ending.batches,
            )
            checks = check_point(
                point, self._manifest["path"], self._spec.path.family, self._manifest["hosts"]
            )
            checks |= self._all_pairs.checks(point, session) | path.point_checks()
            journal.append(
                "point_finished",
                **mark,
                ended_by=ending.ended_by,
                batches=len(ending.batches),
                checks=checks,
            )
        except HostError as error:
            if session is not None:
                path.drop(session)
            code = "unsupported" if isinstance(error, UnsupportedError) else "host"
            journal.append("point_failed", **mark, code=code, error=str(error))
            if isinstance(error, UnsupportedError):
                raise
            return str(error)
        return None

    def _note_lacking(self, point: PlannedPoint, sentence: str) -> None:
        """An operation that one MPI lacks is a failure where nothing else was asked for, and a
        result where MPIs are compared; then it is said once."""
        if job_of(point) is None or len(self._spec.mpi.mpi) == 1:
            self._failures[point.id] = sentence
            self._progress.done(point, sentence)
            return
        if sentence not in self._said:
            self._said.add(sentence)
            self._progress.notice(sentence)
        self._progress.done(point, None)

    def _note_facts(self, session: Session, planned: PlannedPoint) -> None:
        """Hosts' facts are asked for once a run and way of reaching them, outside of any point;
        those of an MPI are kept apart where there are several."""
        job = job_of(planned)
        name = job[1] if job else ""
        way = f"mpi {name}" if session.transport == "mpi" else "sockets"
        asked = {(way, host) for host in session.hosts}
        if asked <= self._facts_from:
            return
        self._facts_from |= asked
        for host, values in session.facts().items():
            kept = {key: value for key, value in values.items() if not self._is_set_by_us(key)}
            if name:
                own = {key: kept.pop(key) for key in list(kept) if key.startswith("mpi.")}
                self._manifest.setdefault("mpis", {}).setdefault(name, own)
            self._manifest["hosts"].setdefault(host, {}).update(kept)
        write_manifest(self._directory, self._manifest)

    def _is_set_by_us(self, fact: str) -> bool:
        """No fact of a host: every point says which MTU it had."""
        return bool(self._spec.mtus) and fact == f"interface.{HOST_DEVICE}.mtu"


def _measure(session: Session, planned: PlannedPoint, keep: KeepBatch) -> Ending:
    if isinstance(session, RoundSession):
        return measure_round(session, planned.parameters, keep)
    if planned.test == PROGRAM:
        return measure_program(session, planned.parameters, keep)
    return measure_point(session, planned.transport, planned.test, planned.parameters, keep)
