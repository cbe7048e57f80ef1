"""Launches of an MPI program in which ways take turns: each measurement is a study of its own, a
run directory that can be read, reported and compared like any other."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsonde.catalogue.test import names_of
from netsonde.catalogue.transport import first_with
from netsonde.errors import HostError, UsageError
from netsonde.figures.compute import figures_of_point
from netsonde.records.data import Point
from netsonde.records.rundir import open_run
from netsonde.schedules.algorithms import NATIVE
from netsonde.study.execute import Progress, start_study
from netsonde.study.plan import PlannedPoint
from netsonde.study.spec import StudySpec
from netsonde.tables import checked
from netsonde.tuning.mpi.candidates import Cell, Link
from netsonde.tuning.mpi.search import Measured, Ways

CARRIER = first_with("has_ranks").name
(COLLECTIVE,) = names_of("is_operation")
LATENCY = "latency"
SMALL_BYTES, LARGE_BYTES = 8, 65_536
"""Messages by which the link between two ranks is known to the model."""
LINK_CAP_NS = 100_000_000
PRECISION = 0.01
LEAST_TIME_NS = 1_000_000_000


@dataclass(frozen=True)
class Job:
    """How the program is started: an MPI by name or path, on hosts or on this machine."""

    mpi: str
    hosts: tuple[str, ...] = ()
    within: str = "memory"

    def tables(self, ranks: int, ppn: int, mpis: Sequence[str] = ()) -> dict[str, Any]:
        """The tables ``path`` and ``mpi`` of a study."""
        job: dict[str, Any] = {
            "mpi": list(mpis) or [self.mpi],
            "ranks": [ranks],
            "hosts": list(self.hosts),
            "within": self.within,
        }
        if self.hosts:
            job["ppn"] = [ppn]
        return {"path": {"kind": "hosts" if self.hosts else "loopback"}, "mpi": job}


class Quiet(Progress):
    """Says nothing but what studies notice, and counts points."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.points = 0
        self._say = say

    def start(self, directory: Path, points: Sequence[PlannedPoint]) -> None: ...
    def point(self, point: PlannedPoint) -> None: ...
    def batch(self, point: PlannedPoint, records: Sequence[dict[str, Any]]) -> None: ...
    def done(self, point: PlannedPoint, error: str | None) -> None:  # noqa: ARG002
        self.points += 1

    def notice(self, text: str) -> None:
        self._say(text)


class StudyBench:
    """``folder`` gets a run directory for each measurement. ``spent_ns`` counts from its making."""

    def __init__(
        self,
        job: Job,
        folder: Path,
        seed: int,
        command: Sequence[str],
        say: Callable[[str], None],
    ) -> None:
        self.job = job
        self.folder = folder
        self.runs: list[Path] = []
        self._seed = seed
        self._command = list(command)
        self._say = say
        self._begin_ns = time.monotonic_ns()

    def spent_ns(self) -> int:
        return time.monotonic_ns() - self._begin_ns

    def link(self, ranks: int, ppn: int) -> Link:
        """Between ranks 0 and the last, by two sizes of messages. Raises HostError."""
        tables = self.job.tables(ranks, ppn)
        block = {
            "transports": [CARRIER],
            "test": LATENCY,
            "sizes": [SMALL_BYTES, LARGE_BYTES],
            **({"rank_pair": [0, ranks - 1]} if ranks > 2 else {}),
        }
        content = {"name": "link", "cap": LINK_CAP_NS, **tables, "measure": [block]}
        points = self._run(content)
        one_way = {p.spec.message_bytes: _main_value(p) for p in points if p.measured}
        if any(one_way.get(size) is None for size in (SMALL_BYTES, LARGE_BYTES)):
            error = next((p.error for p in points if p.error), "nothing was measured")
            raise HostError(f"messages between two ranks were not measured: {error}")
        small, large = (0.5 * float(one_way[s] or 0.0) for s in (SMALL_BYTES, LARGE_BYTES))
        beta = max((large - small) / (LARGE_BYTES - SMALL_BYTES), 0.0)
        return Link(max(small - beta * SMALL_BYTES, 0.0), beta)

    def measure(
        self, ways: Ways, launches: int, cap_ns: int, name: str, time_ns: int | None = None
    ) -> Measured:
        """Each way of each cell in each launch, in random order, all of a launch before the next;
        what does not fit ``time_ns`` is left out from the end, and launches that could not be
        made are failures of all that they were for. Without it, raises HostError there."""
        return self._measured(ways, launches, cap_ns, name, (), time_ns)

    def beside(
        self, cells: Sequence[Cell], mpis: Sequence[str], launches: int, cap_ns: int, name: str
    ) -> Measured:
        """The library's own way in launches of several MPIs, by which times are filed."""
        ways = dict.fromkeys(cells, (NATIVE,))
        return self._measured(ways, launches, cap_ns, name, mpis, None)

    def _measured(
        self,
        ways: Ways,
        launches: int,
        cap_ns: int,
        name: str,
        mpis: Sequence[str],
        time_ns: int | None,
    ) -> Measured:
        times: dict[Cell, dict[str, dict[int, float]]] = {}
        failures: dict[tuple[Cell, str], str] = {}
        jobs = _by_job(ways)
        for (ranks, ppn), cells in jobs.items():
            content: dict[str, Any] = {
                "name": f"{name}-{ranks}" + (f"-{ppn}" if self.job.hosts else ""),
                "cap": cap_ns,
                "relative_precision": PRECISION,
                "launches": launches,
                **self.job.tables(ranks, ppn, mpis),
                "measure": [_block(cell, way) for cell in cells for way in ways[cell]],
            }
            if time_ns is not None:
                share_ns = max(time_ns // len(jobs), LEAST_TIME_NS)
                content["budget"] = {"time": share_ns, "over": "drop"}
            try:
                points = self._run(content)
            except (HostError, UsageError) as error:
                if time_ns is None:
                    raise
                # A step of a search: what was measured before is kept.
                failures |= {(cell, way): str(error) for cell in cells for way in ways[cell]}
                continue
            for point in points:
                asked = point.spec
                cell = Cell(asked.operation or "", ranks, ppn, asked.asked_bytes)
                way = (asked.mpi if mpis else point.label) or NATIVE
                value = _main_value(point) if point.measured else None
                if value is None and point.error:
                    failures[cell, way] = point.error
                elif value is not None:
                    of_way = times.setdefault(cell, {}).setdefault(way, {})
                    of_way[asked.launch or 1] = value
        return Measured(times, failures)

    def _run(self, content: dict[str, Any]) -> list[Point]:
        spec = checked(StudySpec, {"seed": self._seed + len(self.runs), **content})
        outcome = start_study(spec, self.folder, self._command, Quiet(self._say))
        self.runs.append(outcome.directory)
        return list(open_run(outcome.directory).points)


def _by_job(cells: Iterable[Cell]) -> Mapping[tuple[int, int], list[Cell]]:
    found: defaultdict[tuple[int, int], list[Cell]] = defaultdict(list)
    for cell in sorted(cells):
        found[cell.ranks, cell.ppn].append(cell)
    return found


def _block(cell: Cell, way: str) -> dict[str, Any]:
    return {
        "transports": [CARRIER],
        "test": COLLECTIVE,
        "operations": [cell.operation],
        "sizes": [cell.size_bytes],
        "algorithm": way,
        "label": way,
    }


def _main_value(point: Point) -> float | None:
    """Of a point's main figure, in ns."""
    figures = [f for f in figures_of_point(point) if point.kind.is_main(f.name)]
    return figures[0].value if figures and figures[0].value > 0.0 else None
