"""Runs a study: points in random order, each into the journal, until all are done or it must stop.
Sweeps that are to be refined then get further points, round by round, and what an MPI library would
be accused of is measured again.

Killed at any moment, `resume` goes on with the points that are not finished.

A measurement begins after what is imported here: what few studies do is imported where they do it.
"""

from __future__ import annotations

import contextlib
import platform
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import netsonde
from netsonde.catalogue.options.commands import COMMAND
from netsonde.errors import (
    HostError,
    InterruptedByUserError,
    NetsondeError,
    UnsupportedError,
    UsageError,
)
from netsonde.figures import Figure
from netsonde.figures.requirements import REQUIREMENTS
from netsonde.launch.copies import refuse_copies
from netsonde.launch.exclusion import Exclusion, own_name
from netsonde.launch.local import LocalHost
from netsonde.names import require_text
from netsonde.records.data import Run
from netsonde.records.journal import Journal
from netsonde.records.rundir import (
    FORMAT,
    STUDY_NAME,
    attempts,
    finished_points,
    new_run_directory,
    open_run,
    read_manifest,
    says_something,
    write_atomically,
    write_manifest,
)
from netsonde.study.budget import Spent, budget_in_words, fits_beside, left_out
from netsonde.study.dropped import Failures, groups_at_once
from netsonde.study.plan import POINTS_LIMIT, PlannedPoint, in_order, job_of, plan_points
from netsonde.study.requirements import refuse_unmet_by_plan
from netsonde.study.run_point import Attempt, PointRunner, now_utc
from netsonde.study.sessions import begin_session, why_ended
from netsonde.study.spec import StudySpec, to_toml
from netsonde.study.switches import as_facts
from netsonde.study.testbed import Testbed


class Progress(Protocol):
    """What a user sees while a study runs."""

    def start(self, directory: Path, points: Sequence[PlannedPoint]) -> None: ...
    def point(self, point: PlannedPoint) -> None: ...
    def batch(self, point: PlannedPoint, records: Sequence[dict[str, Any]]) -> None: ...
    def done(self, point: PlannedPoint, error: str | None) -> None: ...
    def notice(self, text: str) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """Where the run is, the sentences of the points that failed, by id, and why points were not
    measured that were to be, where the budget was spent."""

    directory: Path
    failures: dict[str, str]
    unmeasured: str | None = None


def start_study(
    spec: StudySpec,
    parent: Path,
    command: Sequence[str],
    progress: Progress,
    pair_code: str | None = None,
) -> Outcome:
    """Makes a run directory and measures every point of the study."""
    refuse_copies()
    seed = spec.seed if spec.seed is not None else random.SystemRandom().randrange(2**53)
    spec = spec.model_copy(update={"seed": seed})
    with _exclusion(spec, progress) as exclusion:
        directory, manifest = _planned(spec, seed, parent, command, progress)
        try:
            return _Execution(spec, directory, manifest, progress, pair_code, exclusion).run()
        except InterruptedByUserError:
            raise  # whoever interrupts may want to resume
        except NetsondeError:
            if not says_something(open_run(directory)):  # refused, or nobody was there
                shutil.rmtree(directory, ignore_errors=True)
            raise


def _exclusion(spec: StudySpec, progress: Progress) -> Exclusion:
    """Of the study's hosts. Most studies need this one, which it asks for while the study is
    planned."""
    found = Exclusion(
        own_name(f"netsonde {spec.name}"), spec.wait_for_others / 1e9, progress.notice
    )
    found.expect([LocalHost()])
    return found


def _planned(
    spec: StudySpec, seed: int, parent: Path, command: Sequence[str], progress: Progress
) -> tuple[Path, dict[str, Any]]:
    """A new run directory with the study's plan, and its manifest. Raises UsageError."""
    points = plan_points(spec)
    refuse_unmet_by_plan(spec.requirements, points)
    if len(points) > POINTS_LIMIT:
        raise UsageError(f"the study has {len(points)} points; the limit is {POINTS_LIMIT}")
    out = left_out(spec, in_order(points, seed))
    all_pairs: dict[str, Any] = {}
    if spec.tournament is not None:
        from netsonde.study.all_pairs_run import all_pairs_facts

        all_pairs = all_pairs_facts(spec)
    text = to_toml(spec)
    for line in text.splitlines():
        require_text(line, "a study needs")
    directory = new_run_directory(parent, spec.name)
    write_atomically(directory / STUDY_NAME, text)
    manifest = {
        "format": FORMAT,
        "name": spec.name,
        "started_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "origin": None,
        "command": without_secrets(command),
        "seed": seed,
        "versions": {"netsonde": netsonde.__version__, "python": platform.python_version()},
        "path": {},
        "hosts": {},
        "points": [p.as_json() for p in points],
        "left_out": [p.id for p in out],
        **all_pairs,
        **({REQUIREMENTS: [r.as_json() for r in spec.requirements]} if spec.require else {}),
    }
    if out:
        progress.notice(
            f"{len(out)} of {len(points)} points are left out: with them, the study would take "
            f"more than {budget_in_words(spec.budget)}"
        )
    write_manifest(directory, manifest)
    return directory, manifest


PAIRING_CODE = COMMAND["pairing_code"].typed


def without_secrets(command: Sequence[str]) -> list[str]:
    """A command line as it may be kept: a pairing code opens a server to whoever reads it."""
    kept: list[str] = []
    for word in command:
        hidden = bool(kept) and kept[-1] == PAIRING_CODE
        kept.append(
            "CODE"
            if hidden
            else f"{PAIRING_CODE}=CODE"
            if word.startswith(f"{PAIRING_CODE}=")
            else word
        )
    return kept


def resume_study(
    spec: StudySpec, directory: Path, progress: Progress, pair_code: str | None = None
) -> Outcome:
    """Measures the points of a run that are not finished. Where all are, does nothing."""
    refuse_copies()
    with _exclusion(spec, progress) as exclusion:
        manifest = read_manifest(directory)
        return _Execution(spec, directory, manifest, progress, pair_code, exclusion).run()


class _Execution:
    def __init__(
        self,
        spec: StudySpec,
        directory: Path,
        manifest: dict[str, Any],
        progress: Progress,
        pair_code: str | None,
        exclusion: Exclusion,
    ) -> None:
        self._spec = spec
        self._directory = directory
        self._manifest = manifest
        self._progress = progress
        self._pair_code = pair_code
        self._failures: dict[str, str] = {}
        self._dead: dict[str, str] = {}
        self._replaced: set[str] = set()
        self._said: set[str] = set()
        self._unmeasured: str | None = None
        self._planned = [PlannedPoint.from_json(point) for point in manifest["points"]]
        self._exclusion = exclusion

    def run(self) -> Outcome:
        with Journal(self._directory) as journal:
            open_points = self._open_points() or self._next_round()
            self._progress.start(self._directory, open_points)
            if open_points:
                for sentence in begin_session(self._manifest):
                    self._progress.notice(sentence)
            if open_points:
                self._session(journal, open_points)
            if not self._failures and self._unmeasured is None:
                journal.append("run_finished")
        return Outcome(self._directory, self._failures, self._unmeasured)

    def _session(self, journal: Journal, open_points: list[PlannedPoint]) -> None:
        """Measures what is open, between a start and an end in the journal; what kills netsonde
        leaves it without an end."""
        journal.append("session_started", time_utc=now_utc())
        try:
            with Testbed(self._spec, self._pair_code) as testbed:
                self._note_testbed(testbed)
                while open_points and self._unmeasured is None:
                    self._measure_all(testbed, journal, open_points, attempts(self._directory))
                    open_points = self._over_fewer_hosts(testbed) or self._next_round()
                    if open_points:
                        self._progress.start(self._directory, open_points)
        except NetsondeError as error:
            with contextlib.suppress(NetsondeError):  # it may be the disk that is full
                journal.append("session_ended", **why_ended(error), time_utc=now_utc())
            raise
        ended_by = "finished" if self._unmeasured is None else "budget"
        journal.append("session_ended", ended_by=ended_by, time_utc=now_utc())

    def _open_points(self) -> list[PlannedPoint]:
        finished = finished_points(self._directory) | set(self._manifest.get("left_out", ()))
        order = in_order(self._planned, self._manifest["seed"])
        return [point for point in order if point.id not in finished]

    def _next_round(self) -> list[PlannedPoint]:
        """Points that what has been measured asks for; they are in the plan before any is measured,
        so that a run that is killed knows them."""
        if self._spec.tournament is not None:
            from netsonde.study.all_pairs_run import follow_ups

            return self._added(
                follow_ups(self._spec, self._directory, self._planned, self._manifest["seed"])
            )
        grows = any(p.spec.refine or p.spec.scout is not None for p in self._planned)
        judged = [p.id for p in self._planned if p.kind.is_operation]
        if not grows and len(judged) < 2:
            return []
        from netsonde.figures.compute import figures_of_point
        from netsonde.figures.sweeps import operation_sweeps_of, sweeps_of
        from netsonde.study.partners import points_with_the_slowest
        from netsonde.study.refine import further_points

        run = open_run(self._directory)
        points = [p for p in run.points if p.status == "finished"]
        figures = [figure for point in points for figure in figures_of_point(point)]
        added = points_with_the_slowest(self._spec, self._planned, points, figures)
        if not added:
            sweeps = [*sweeps_of(points, figures), *operation_sweeps_of(points, figures)]
            added = further_points(self._planned, sweeps)
        if not added:
            added = self._accused(replace(run, points=points), figures)
        return self._added(added)

    def _accused(self, run: Run, figures: Sequence[Figure]) -> list[PlannedPoint]:
        """What a guideline of MPI that seems to be violated is about, again."""
        from netsonde.study.accusations import accused_again

        again = accused_again(self._planned, run, figures)
        if not again or not fits_beside(self._spec, self._planned, again):
            return []
        names = list(dict.fromkeys(str(point.spec.operation) for point in again))
        self._progress.notice(
            f"{len(again)} points are measured again before MPI is accused: {', '.join(names)} "
            "seem to break a performance guideline"
        )
        return again

    def _added(self, added: list[PlannedPoint]) -> list[PlannedPoint]:
        """The points put into the plan, in the order in which they are to be measured."""
        if added:
            self._planned += added
            self._manifest["points"] = [point.as_json() for point in self._planned]
            write_manifest(self._directory, self._manifest)
        return in_order(added, self._manifest["seed"])

    def _note_testbed(self, testbed: Testbed) -> None:
        if testbed.notice:
            self._progress.notice(testbed.notice)
        self._manifest["origin"] = testbed.label
        described = as_facts(self._spec.switch, self._spec.uplink)
        self._manifest["path"] = {**testbed.facts, **described, "notice": testbed.notice}
        write_manifest(self._directory, self._manifest)

    def _measure_all(
        self,
        testbed: Testbed,
        journal: Journal,
        points: Sequence[PlannedPoint],
        started: dict[str, int],
    ) -> None:
        table = self._spec.path
        failures = Failures(
            testbed.problem_of,
            drop=table.on_dead_host != "stop",
            points=points,
            members=testbed.hosts_of,
        )
        places = {host: s.name for s in self._spec.switch for host in s.hosts}
        spent = Spent(self._spec, self._directory, self._planned)

        def batch(point: PlannedPoint, records: list[dict[str, Any]]) -> None:
            spent.add(point, records)
            self._progress.batch(point, records)

        runner = PointRunner(
            self._spec, self._directory, self._manifest, journal, self._progress.notice, batch
        )
        groups = groups_at_once(points, table.concurrent, places)
        for number, group in enumerate(groups):
            why = spent.why_not(group)
            if why is not None:
                self._stop_short([point for rest in groups[number:] for point in rest], why)
                return
            why_not = {point.id: failures.why_not(testbed.hosts_of(point)) for point in group}
            able = [point for point in group if why_not[point.id] is None]
            for point in group:
                if (reason := why_not[point.id]) is not None:
                    self._mark_dropped(journal, point, reason, started.get(point.id, 0) + 1)
            for point in able:
                self._progress.point(point)
            numbers = [started.get(point.id, 0) + 1 for point in able]
            for attempt in self._attempts(runner, testbed, able, numbers):
                self._settle(attempt, journal, failures)

    def _attempts(
        self,
        runner: PointRunner,
        testbed: Testbed,
        group: Sequence[PlannedPoint],
        numbers: Sequence[int],
    ) -> list[Attempt]:
        """The points of a group measured, at the same time where there are several, and settled;
        meanwhile their hosts are no other measurement's."""
        if not group:
            return []
        self._exclusion.begin(testbed.taken_by(group))
        try:
            found, checks = _measured(runner, testbed, group, numbers)
        finally:
            others = self._exclusion.end()
        if others:
            checks["exclusion"] = others
        for attempt in found:
            beside = [point.id for point in group if point is not attempt.planned]
            runner.settle(attempt, checks | ({"beside": beside} if beside else {}))
        return found

    def _stop_short(self, rest: Sequence[PlannedPoint], why: str) -> None:
        """Leaves the rest out for good, or ends the session, as the budget says."""
        sentence = f"{len(rest)} of {len(self._planned)} points are not measured: {why}"
        if self._spec.budget.over == "drop":
            self._progress.notice(sentence)
            self._manifest["left_out"] = [
                *self._manifest.get("left_out", ()),
                *(point.id for point in rest),
            ]
            write_manifest(self._directory, self._manifest)
            return
        self._unmeasured = (
            f"{sentence}; raise it in {self._directory / STUDY_NAME}, and `netsonde study resume "
            f"{self._directory}` goes on"
        )

    def _settle(self, attempt: Attempt, journal: Journal, failures: Failures) -> None:
        point = attempt.planned
        if isinstance(attempt.error, UnsupportedError):
            self._note_lacking(point, str(attempt.error))
            return
        error = None if attempt.error is None else str(attempt.error)
        self._progress.done(point, error)
        if error is not None:
            self._failures[point.id] = error
        for name in failures.note(point, error):
            journal.append(
                "host_dropped", host=name, error=failures.hosts[name], time_utc=now_utc()
            )
            self._dead[name] = failures.hosts[name]
            self._progress.notice(
                f"{name} is dropped, its points are left out: {failures.hosts[name]}"
            )

    def _over_fewer_hosts(self, testbed: Testbed) -> list[PlannedPoint]:
        """Where the study says so: points of many hosts that lost one, over those that are left."""
        if self._spec.path.on_dead_host != "shrink" or not self._dead:
            return []
        from netsonde.study.shrink import shrunk_points

        lost = [
            point
            for point in self._planned
            if point.id in self._failures and point.id not in self._replaced
        ]
        many = {point.id: testbed.many_of(point) for point in lost}
        added, refused = shrunk_points(lost, self._dead, many, self._planned)
        self._replaced |= many.keys()
        for name, reason in refused.items():
            self._progress.notice(f"{name} is not measured on the hosts that are left: {reason}")
        return self._added(added)

    def _mark_dropped(
        self, journal: Journal, point: PlannedPoint, sentence: str, number: int
    ) -> None:
        self._failures[point.id] = sentence
        mark = {"point": point.id, "attempt": number, "code": "dropped"}
        journal.append("point_failed", **mark, error=sentence, time_utc=now_utc())
        self._progress.done(point, None)  # it is said once, of the host

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


def _measured(
    runner: PointRunner, testbed: Testbed, group: Sequence[PlannedPoint], numbers: Sequence[int]
) -> tuple[list[Attempt], dict[str, Any]]:
    """The attempts of a group, and what the testbed says of them all."""
    if len(group) == 1:
        found = [runner.alone(testbed, group[0], numbers[0])]
    else:
        from netsonde.study.beside import measure_beside

        testbed.begin_point()
        found = measure_beside(runner, testbed, group, numbers)
    checks: dict[str, Any] = {}
    if any(attempt.error is None for attempt in found):
        try:
            checks = testbed.point_checks()
        except HostError as error:
            found = [replace(attempt, error=attempt.error or error) for attempt in found]
    return found, checks
