"""What a run has to be compared by: values of each figure by launch, and circumstances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from netsonde.compare.circumstances import Facts, facts_of
from netsonde.compare.data import Better, Launch, RunInfo
from netsonde.compare.directions import better_way, is_main
from netsonde.errors import UsageError
from netsonde.figures.compute import figures_of_point
from netsonde.figures.data import Figure
from netsonde.figures.keys import FigureKey, key_of
from netsonde.records.data import Point, Run
from netsonde.records.rundir import open_run

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
    values = values_of(open_run(directory), figures)
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
    found: dict[FigureKey, dict[int, list[tuple[Figure, Point]]]] = {}
    ways: dict[FigureKey, Better] = {}
    numbers: set[int] = set()
    for point in run.points:
        if "scout" in point.parameters or not point.measured:
            continue
        for number, part in _launches(point):
            numbers.add(number)
            for figure in figures_of_point(part):
                way = better_way(point, figure.name)
                if way is None or not _is_wanted(point, figure.name, figures):
                    continue
                key = key_of(point, figure.name)
                ways[key] = way
                found.setdefault(key, {}).setdefault(number, []).append((figure, point))
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


def _launches(point: Point) -> Iterable[tuple[int, Point]]:
    """A point and its launch; each seed of a simulation is one of its own."""
    if point.test == "simulation":
        return [(batch.index + 1, replace(point, batches=[batch])) for batch in point.batches]
    return [(int(point.parameters.get("launch", 1)), point)]


def _is_wanted(point: Point, name: str, figures: Sequence[str]) -> bool:
    if tuple(figures) == ALL_FIGURES:
        return True
    return is_main(point, name) if tuple(figures) == MAIN_FIGURES else name in figures


def _values(run: str, launches: Mapping[int, list[tuple[Figure, Point]]]) -> tuple[Launch, ...]:
    """One value for each launch: the median where it measured a thing several times."""
    made = []
    for number, measured in sorted(launches.items()):
        only = measured[0][0] if len(measured) == 1 else None
        points = [point for _, point in measured]
        made.append(
            Launch(
                run,
                number,
                float(median(figure.value for figure, _ in measured)),
                only.low if only else None,
                only.high if only else None,
                tuple(point.id for point in points),
                first_time([point.started_utc for point in points]),
                last_time([point.ended_utc for point in points]),
            )
        )
    return tuple(made)


def first_time(times: Sequence[str | None]) -> str | None:
    """The first of times in one form; None where one is not known."""
    known = [time for time in times if time]
    return min(known) if known and len(known) == len(times) else None


def last_time(times: Sequence[str | None]) -> str | None:
    """The last of times in one form; None where one is not known."""
    known = [time for time in times if time]
    return max(known) if known and len(known) == len(times) else None
