"""Options that commands share, progress, and how a run is shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from netsonde.errors import HostError, InterruptedByUserError, NetsondeError, UsageError
from netsonde.explain.rules import explain
from netsonde.figures.compute import figures_of
from netsonde.records.rundir import open_run
from netsonde.records.tables import write_tables
from netsonde.report import print_summary, write_report
from netsonde.study.execute import Outcome, start_study
from netsonde.study.plan import PlannedPoint
from netsonde.study.spec import StudySpec, first_problem
from netsonde.units import format_size

OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder in which the run directory is made.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, nothing else.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
RUNS = Path("runs")


class Shown:
    """Progress on standard error: a bar on a terminal, else a line per failure only."""

    def __init__(self, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._bar: Progress | None = None
        self.directory: Path | None = None
        self._task: Any = None

    def start(self, directory: Path, points: Sequence[PlannedPoint]) -> None:
        self.directory = directory
        if self._quiet or not (sys.stdout.isatty() and sys.stderr.isatty()):
            return
        self._bar = Progress(
            TextColumn("{task.description:<34}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=len(points))
        self._bar.start()

    def point(self, point: PlannedPoint) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=label(point))

    def done(self, point: PlannedPoint, error: str | None) -> None:
        if self._bar is not None:
            self._bar.advance(self._task)
        if error is not None:
            self.notice(f"{label(point)} failed: {error}")

    def notice(self, text: str) -> None:
        if not self._quiet:
            self._console.print(f"netsonde: {text}", soft_wrap=True, markup=False)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def label(point: PlannedPoint) -> str:
    """A point in a few words: ``tcp latency 64``, ``mpi bcast 1k``."""
    what = point.parameters.get("operation") or point.test
    return f"{point.transport} {what} {format_size(point.parameters['message_bytes'])}"


def study_of(content: dict[str, Any]) -> StudySpec:
    """A study from what the command line gave. Raises UsageError with one sentence."""
    try:
        return StudySpec.model_validate(content)
    except ValidationError as error:
        raise UsageError(first_problem(error)) from error


def measure_and_show(
    spec: StudySpec,
    out: Path,
    as_json: bool,
    quiet: bool,
    *,
    pair: str | None = None,
    with_report: bool = False,
) -> None:
    """Runs a study in a new run directory, shows it, and raises HostError where points failed."""
    shown = Shown(quiet or as_json)
    try:
        outcome = start_study(spec, out, sys.argv, shown, pair)
    except (HostError, InterruptedByUserError):
        shown.stop()
        try:
            _show_partial(shown.directory, as_json, quiet, with_report)
        except NetsondeError as second:  # a full disk, say: the first error is the one to end with
            shown.notice(str(second))
        raise
    finally:
        shown.stop()
    show_run(outcome.directory, as_json, quiet, with_report)
    fail_where_points_failed(outcome)


def fail_where_points_failed(outcome: Outcome) -> None:
    if outcome.failures:
        first = next(iter(outcome.failures.values()))
        raise HostError(f"{len(outcome.failures)} points failed, the first because {first}")


def _show_partial(directory: Path | None, as_json: bool, quiet: bool, with_report: bool) -> None:
    """What a run that broke off had measured; nothing where it had not measured anything."""
    if directory is not None and any(p.batches for p in open_run(directory).points):
        show_run(directory, as_json, quiet, with_report)


def show_run(directory: Path, as_json: bool, quiet: bool, with_report: bool) -> None:
    """Tables and, where asked for, the report; then the summary or one JSON document."""
    run = open_run(directory)
    figures = figures_of(run)
    findings = explain(run, figures)
    write_tables(run, figures, directory / "tables")
    if with_report:
        write_report(run, figures, findings, directory)
    if as_json:
        document = {
            "run": str(directory),
            "origin": run.origin,
            "path": run.manifest["path"],
            "seed": run.manifest["seed"],
            "points": [
                {
                    "point": p.id,
                    "transport": p.transport,
                    "test": p.test,
                    "parameters": p.parameters,
                    "status": p.status,
                    "ended_by": p.ended_by,
                    "error": p.error,
                    "checks": p.checks,
                }
                for p in run.points
            ],
            "figures": [asdict(f) for f in figures],
            "findings": [asdict(f) for f in findings],
        }
        typer.echo(json.dumps(document, indent=1))
    elif not quiet:
        print_summary(run, figures, findings, Console(highlight=False))
