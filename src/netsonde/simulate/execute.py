"""Runs simulations into a run directory of origin ``simulated``: a point for each combination of a
sweep, a batch for each seed."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import netsonde
from netsonde.errors import HostError, NetsondeError, UsageError
from netsonde.lab.spec import host_name
from netsonde.launch.binaries import find_worker
from netsonde.records.journal import Journal
from netsonde.records.rundir import FORMAT, new_run_directory, write_atomically, write_manifest
from netsonde.simulate.plan import SimulatedPoint
from netsonde.simulate.process import PROGRAM, Job, Result, Simulators, processors
from netsonde.units import format_time

SCENARIO_NAME = "scenario.toml"


class Progress(Protocol):
    """What a user sees while simulations run."""

    def begin(self, directory: Path, points: int) -> None: ...
    def finished(self, label: str, error: str | None) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """Where the run is, and the sentences of the points that failed, by id."""

    directory: Path
    failures: dict[str, NetsondeError] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """What a run directory says of itself: its name, the text that it was made from, where hosts
    and switches are, and what was typed."""

    name: str
    text: str
    path: Mapping[str, Any]
    command: Sequence[str]


def simulate(
    asked: Asked, points: Sequence[SimulatedPoint], parent: Path, progress: Progress
) -> Outcome:
    """Simulates every point, all CPUs at work. Raises HostError where sonde-sim is missing,
    and UsageError, with nothing left, where it refuses every point."""
    program = find_worker(PROGRAM)
    directory = new_run_directory(parent, asked.name)
    write_atomically(directory / SCENARIO_NAME, asked.text)
    write_manifest(directory, _manifest(asked, points))
    outcome = Outcome(directory)
    progress.begin(directory, len(points))
    with Journal(directory) as journal, Simulators(program, processors()) as simulators:
        _run_all(points, journal, simulators, outcome, progress)
        if not outcome.failures:
            journal.append("run_finished")
    refused = list(outcome.failures.values())
    if len(refused) == len(points) and all(isinstance(error, UsageError) for error in refused):
        shutil.rmtree(directory, ignore_errors=True)  # nothing was simulated
        raise refused[0]
    return outcome


def _manifest(asked: Asked, points: Sequence[SimulatedPoint]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "name": asked.name,
        "started_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "origin": "simulated",
        "command": list(asked.command),
        "seed": points[0].seeds[0],
        "versions": {"netsonde": netsonde.__version__, "python": platform.python_version()},
        "path": dict(asked.path),
        "hosts": {},
        "points": [point.as_json() for point in points],
    }


def _run_all(
    points: Sequence[SimulatedPoint],
    journal: Journal,
    simulators: Simulators,
    outcome: Outcome,
    progress: Progress,
) -> None:
    jobs: list[Job] = []
    whose: list[tuple[SimulatedPoint, int]] = []
    for point in points:
        for number, seed in enumerate(point.seeds):
            jobs.append(Job(len(jobs), {**point.plan, "seed": seed}, point.limit_s))
            whose.append((point, number))
    kept: dict[str, dict[int, Result]] = {}
    for result in simulators.results(jobs):
        point, number = whose[result.key]
        results = kept.setdefault(point.id, {})
        results[number] = result
        if len(results) < len(point.seeds):
            continue
        error = _write(point, kept.pop(point.id), journal)
        if error is not None:
            outcome.failures[point.id] = error
        progress.finished(
            point.spec.label or str(point.spec.operation),
            None if error is None else str(error),
        )


def _write(
    point: SimulatedPoint, results: Mapping[int, Result], journal: Journal
) -> NetsondeError | None:
    """A whole point into the journal, its runs in the order of their seeds; its error, or None."""
    mark = {"point": point.id, "attempt": 1}
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    journal.append("point_started", **mark, time_utc=now)
    journal.append("opened", **mark, ends={"0": _obtained(point)})
    error: NetsondeError | None = None
    for number, result in sorted(results.items()):
        if result.error is not None:
            error = error or result.error
        else:
            journal.append("batch", **mark, batch=number, records=_with_names(result.records))
    error = error or _stuck(point, results)
    if error is not None:
        code = "input" if isinstance(error, UsageError) else "host"
        journal.append("point_failed", **mark, code=code, error=str(error))
        return error
    journal.append("point_finished", **mark, ended_by="count", batches=len(results), checks={})
    return None


def _with_names(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The records with hosts called as in the scenario, where rank 0 is h1."""
    return [{**record, "host": host_name(int(record["rank"]) + 1)} for record in records]


def _stuck(point: SimulatedPoint, results: Mapping[int, Result]) -> NetsondeError | None:
    """A run that could not end: nothing more happens, and not all is delivered. Of datagrams, which
    nobody sends again, it is a result."""
    if not point.carrier.has_protocol:
        return None
    for result in results.values():
        for record in result.records:
            if record["record"] == "done" and record["values"].get("ended_by") != "finished":
                at = format_time(record["values"]["elapsed_ns"])
                return HostError(
                    f"the simulation came to a standstill at {at}: not all has arrived, and nobody "
                    "has anything to send"
                )
    return None


def _obtained(point: SimulatedPoint) -> dict[str, Any]:
    """What the transport was given, every number plain."""
    return {
        key: value for key, value in point.plan["transport"].items() if not isinstance(value, dict)
    }
