"""Options that commands share, and progress."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from netsonde.cli.wording import problem_in_options
from netsonde.errors import UsageError
from netsonde.records.data import ALL_PAIRS, PROGRAM, program_in_words, round_in_words
from netsonde.study.plan import PlannedPoint
from netsonde.study.spec import StudySpec
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
        self.stop()  # that of the round before
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


class SimulationShown:
    """The same of simulations, whose points end in any order."""

    def __init__(self, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: Any = None
        self._points = 0

    def begin(self, directory: Path, points: int) -> None:  # noqa: ARG002
        self._points = points
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
        self._task = self._bar.add_task("simulating", total=points)
        self._bar.start()

    def finished(self, label: str, error: str | None) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=label[:34])
            self._bar.advance(self._task)
        if error is not None and not self._quiet and self._points > 1:
            self._console.print(f"netsonde: {label} failed: {error}", soft_wrap=True, markup=False)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def label(point: PlannedPoint) -> str:
    """A point in a few words: ``tcp latency 64``, ``mpi bcast 1k``."""
    if point.test == PROGRAM:
        return program_in_words(point.parameters)
    if point.test == ALL_PAIRS:
        return round_in_words(point.parameters)
    what = point.parameters.get("operation") or point.test
    return f"{point.transport} {what} {format_size(point.parameters['message_bytes'])}"


def study_of(content: dict[str, Any]) -> StudySpec:
    """A study from what the command line gave. Raises UsageError with one sentence that names the
    option."""
    try:
        return StudySpec.model_validate(content)
    except ValidationError as error:
        raise UsageError(problem_in_options(error)) from error


def measure_and_show(
    spec: StudySpec,
    out: Path,
    as_json: bool,
    quiet: bool,
    *,
    pair: str | None = None,
    with_report: bool = False,
    groups: Sequence[str] = (),
) -> None:
    """Runs a study in a new run directory, shows it, and raises HostError where points failed."""
    # Imported late: `netsonde lab status` need not wait for the libraries of statistics and plots.
    from netsonde.cli.show import run_and_show

    run_and_show(spec, out, as_json, quiet, pair, with_report, groups)
