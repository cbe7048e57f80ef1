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


class _Bar:
    """A bar on a terminal, else nothing, and sentences beside it; all on standard error."""

    def __init__(self, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._progress: Progress | None = None
        self._task: Any = None

    def start(self, text: str, total: int) -> None:
        self.stop()  # that of the round before
        if self._quiet or not (sys.stdout.isatty() and sys.stderr.isatty()):
            return
        self._progress = Progress(
            TextColumn("{task.description:<34}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task(text, total=total)
        self._progress.start()

    def describe(self, text: str) -> None:
        if self._progress is not None:
            self._progress.update(self._task, description=text[:34])

    def advance(self) -> None:
        if self._progress is not None:
            self._progress.advance(self._task)

    def say(self, text: str) -> None:
        if not self._quiet:
            self._console.print(f"netsonde: {text}", soft_wrap=True, markup=False)

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


class Shown:
    """The progress of a study: a bar on a terminal, else a line per failure only; that of its only
    point is said at the end."""

    def __init__(self, quiet: bool) -> None:
        self._bar = _Bar(quiet)
        self._points = 0
        self.directory: Path | None = None

    def start(self, directory: Path, points: Sequence[PlannedPoint]) -> None:
        self.directory = directory
        self._points = len(points)
        self._bar.start("starting", len(points))

    def point(self, point: PlannedPoint) -> None:
        self._bar.describe(label(point))

    def done(self, point: PlannedPoint, error: str | None) -> None:
        self._bar.advance()
        if error is not None and self._points > 1:
            self._bar.say(f"{label(point)} failed: {error}")

    def notice(self, text: str) -> None:
        self._bar.say(text)

    def stop(self) -> None:
        self._bar.stop()


class SimulationShown:
    """The same of simulations, whose points end in any order."""

    def __init__(self, quiet: bool) -> None:
        self._bar = _Bar(quiet)
        self._points = 0

    def begin(self, directory: Path, points: int) -> None:  # noqa: ARG002
        self._points = points
        self._bar.start("simulating", points)

    def finished(self, label: str, error: str | None) -> None:
        self._bar.describe(label)
        self._bar.advance()
        if error is not None and self._points > 1:
            self._bar.say(f"{label} failed: {error}")

    def stop(self) -> None:
        self._bar.stop()


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
