"""How far a study or simulations have come, on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console

from netsonde.catalogue.point import AllPairs, Program
from netsonde.cli.live_line import LiveLine, Part, TimeLeft, known_parts
from netsonde.figures.so_far import SoFar
from netsonde.records.data import Point
from netsonde.study.plan import PlannedPoint, longest_ns
from netsonde.units import format_size

LOOK_S = 0.2
"""What is known is worked out so rarely: the next batch waits for it."""
LOOK_SHARE = 0.01
"""And for no more than this share of the time: a million samples take a tenth of a second."""


class _Line:
    """A line on a terminal, else nothing, and sentences beside it; all on standard error."""

    def __init__(self, quiet: bool, notices: bool = True) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._notices = notices and not quiet
        self._line = LiveLine(self._console)
        self._left = TimeLeft(None, 0.0)
        self._done = self._total = 0

    def begin_line(self, total: int, most_s: float | None) -> None:
        self._done, self._total = 0, total
        self._left = TimeLeft(most_s, most_s or total)
        self.stop()  # that of the round before
        if total and not self._quiet and sys.stderr.isatty():
            self._line.show([Part("starting", 1)])
            self._line.begin(self._left)

    def describe(self, text: str, known: Sequence[Part] = ()) -> None:
        number = f"[{self._done + 1}/{self._total}]" if self._total > 1 else ""
        self._line.show([Part(number, 4), Part(text, 1), *known])

    def advance(self, label: str, error: str | None, work: float) -> None:
        """One more is done, or has failed."""
        self._done = min(self._done + 1, max(0, self._total - 1))
        self._left.add(work)
        if error is not None and self._total > 1:
            self.notice(f"{label} failed: {error}")

    def notice(self, text: str) -> None:
        if self._notices:
            self._console.print(f"netsonde: {text}", soft_wrap=True, markup=False)

    def stop(self) -> None:
        self._line.end()


class Shown(_Line):
    """The progress of a study: a line on a terminal, else a sentence per failure only; that of its
    only point is said at the end. What is known of an only point at its end stays."""

    directory: Path | None = None

    def __init__(self, quiet: bool, notices: bool = True) -> None:
        super().__init__(quiet, notices)
        self._so_far: dict[str, SoFar] = {}
        self._next_look = 0.0
        self._one_at_a_time = threading.Lock()

    def start(self, directory: Path, points: Sequence[PlannedPoint]) -> None:
        self.directory = directory
        self.begin_line(len(points), sum(map(_most_s, points)))

    def point(self, point: PlannedPoint) -> None:
        if self._line.is_shown:
            own = Point(point.id, point.transport, point.test, point.parameters)
            self._so_far[point.id] = SoFar(own)
            self.describe(label(point))

    def batch(self, point: PlannedPoint, records: Sequence[dict[str, Any]]) -> None:
        """Called between batches, of several points at once from several threads."""
        with self._one_at_a_time:
            so_far = self._so_far.get(point.id)
            if so_far is None:
                return
            so_far.add(records)
            begin = monotonic()
            if begin < self._next_look:
                return
            self.describe(label(point), known_parts(so_far.known(), point.kind))
            took_s = monotonic() - begin
            self._next_look = begin + max(LOOK_S, took_s / LOOK_SHARE)

    def done(self, point: PlannedPoint, error: str | None) -> None:
        so_far = self._so_far.pop(point.id, None)
        if so_far is not None and error is None and self._total == 1:
            known = so_far.known()
            self._line.end([Part(label(point), 1), *known_parts(known, point.kind)])
        self.advance(label(point), error, _most_s(point))


def _most_s(point: PlannedPoint) -> float:
    """What a point takes at most, about, its start with it."""
    return longest_ns(point) / 1e9 + 0.1


class SimulationShown(_Line):
    """The same of simulations, whose points end in any order."""

    def begin(self, directory: Path, points: int) -> None:  # noqa: ARG002
        self.begin_line(points, None)

    def finished(self, label: str, error: str | None) -> None:
        self.describe(label)
        self.advance(label, error, 1.0)


def label(point: PlannedPoint) -> str:
    """A point in a few words: ``tcp latency 64``, ``mpi bcast 1k``."""
    spec = point.spec
    if isinstance(spec, Program | AllPairs):
        return spec.in_words
    return f"{point.transport} {spec.operation or point.test} {format_size(spec.message_bytes)}"
