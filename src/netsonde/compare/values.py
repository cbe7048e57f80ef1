"""What a run has to be compared by: values of each figure by launch, and circumstances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from netsonde.compare.circumstances import Facts, facts_of
from netsonde.compare.data import Better, Launch, RunInfo
from netsonde.errors import UsageError
from netsonde.figures.compute import figures_of_point
from netsonde.figures.data import Figure
from netsonde.figures.headlines import (
    Measured,
    by_launch,
    is_of_result,
    launch_of,
    launch_values,
)
from netsonde.figures.keys import FigureKey, key_of
from netsonde.figures.processor import host_time_figures
from netsonde.figures.programs import better_of
from netsonde.records.data import Point, Run
from netsonde.records.rundir import open_measured

MAIN_FIGURES = ("main",)
ALL_FIGURES = ("all",)


@dataclass(frozen=True)
class RunValues:
    """A run's figures by launch, whichever of its points they were measured at."""

    info: RunInfo
    values: Mapping[FigureKey, tuple[Launch, ...]]
    ways: Mapping[FigureKey, Better]
    facts: Facts


def read_values(directory: Path, figures: Sequence[str] = MAIN_FIGURES) -> RunValues:
    """Reads a run directory. Raises UsageError where it is none, or has nothing to compare."""
    values = values_of(open_measured(directory), figures)
    if not values.values:
        wanted = "" if tuple(figures) == MAIN_FIGURES else f" named {', '.join(figures)}"
        raise UsageError(
            f"{directory} has no figure{wanted} that can be compared; measure something in it "
            "first, or ask for other figures"
        )
    return values


def values_of(run: Run, figures: Sequence[str] = MAIN_FIGURES) -> RunValues:
    """The values of the main figures of each test, of ``all`` that have a better way, or of those
    that are named."""
    ways: dict[FigureKey, Better] = {}

    def wanted(point: Point) -> Iterable[Figure]:
        for figure in (*figures_of_point(point), *host_time_figures(run, point)):
            way = better_of(point, figure.name)
            if way != "neither" and _is_wanted(point, figure.name, figures):
                ways[key_of(point, figure.name)] = way
                yield figure

    parts = [part for point in run.points for part in _launches(point)]
    numbers = {launch_of(part) for part in parts if is_of_result(part)}
    found = by_launch(parts, wanted)
    manifest = run.manifest
    info = RunInfo(
        str(run.directory),
        str(manifest.get("name", "run")),
        str(manifest.get("started_utc") or ""),
        run.origin,
        len(numbers),
    )
    values = {key: _values(info.directory, launches) for key, launches in found.items()}
    return RunValues(info, values, ways, facts_of(run))


def _launches(point: Point) -> list[Point]:
    """A point; of a simulation its seeds, each of which is a launch of its own."""
    if not point.kind.is_simulated:
        return [point]
    return [
        replace(point, batches=[b], parameters={**point.parameters, "launch": b.index + 1})
        for b in point.batches
    ]


def _is_wanted(point: Point, name: str, figures: Sequence[str]) -> bool:
    if tuple(figures) == ALL_FIGURES:
        return True
    return point.kind.is_main(name) if tuple(figures) == MAIN_FIGURES else name in figures


def _values(run: str, measured: Measured) -> tuple[Launch, ...]:
    """One value for each launch, with when it was measured."""
    made = []
    for value in launch_values(measured):
        points = [point for _, point in measured[value.number]]
        made.append(
            Launch(
                *(run, value.number, value.value, value.low, value.high, value.points),
                first_time([point.started_utc for point in points]),
                last_time([point.ended_utc for point in points]),
            )
        )
    return tuple(made)


def first_time(times: Sequence[str | None]) -> str | None:
    """The first of times in one form; None where one is not known."""
    return min(filter(None, times), default=None) if all(times) else None


def last_time(times: Sequence[str | None]) -> str | None:
    """The last of times in one form; None where one is not known."""
    return max(filter(None, times), default=None) if all(times) else None
