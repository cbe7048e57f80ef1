"""How far a study or simulations have come, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from netsonde.catalogue.point import AllPairs, Program
from netsonde.study.plan import PlannedPoint
from netsonde.units import format_size


class _Bar:
    """A bar on a terminal, else nothing, and sentences beside it; all on standard error."""

    def __init__(self, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._progress: Progress | None = None
        self._task: Any = None
        self._total = 0

    def begin_bar(self, text: str, total: int) -> None:
        self._total = total
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

    def advance(self, label: str, error: str | None) -> None:
        """One more is done, or has failed."""
        if self._progress is not None:
            self._progress.advance(self._task)
        if error is not None and self._total > 1:
            self.notice(f"{label} failed: {error}")

    def notice(self, text: str) -> None:
        if not self._quiet:
            self._console.print(f"netsonde: {text}", soft_wrap=True, markup=False)

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


class Shown(_Bar):
    """The progress of a study: a bar on a terminal, else a line per failure only; that of its only
    point is said at the end."""

    directory: Path | None = None

    def start(self, directory: Path, points: Sequence[PlannedPoint]) -> None:
        self.directory = directory
        self.begin_bar("starting", len(points))

    def point(self, point: PlannedPoint) -> None:
        self.describe(label(point))

    def done(self, point: PlannedPoint, error: str | None) -> None:
        self.advance(label(point), error)


class SimulationShown(_Bar):
    """The same of simulations, whose points end in any order."""

    def begin(self, directory: Path, points: int) -> None:  # noqa: ARG002
        self.begin_bar("simulating", points)

    def finished(self, label: str, error: str | None) -> None:
        self.describe(label)
        self.advance(label, error)


def label(point: PlannedPoint) -> str:
    """A point in a few words: ``tcp latency 64``, ``mpi bcast 1k``."""
    spec = point.spec
    if isinstance(spec, Program | AllPairs):
        return spec.in_words
    return f"{point.transport} {spec.operation or point.test} {format_size(spec.message_bytes)}"
