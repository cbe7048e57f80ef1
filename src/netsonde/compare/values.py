"""What a run has to be compared by: values of each figure by launch, and circumstances."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from netsonde.compare.circumstances import Facts, facts_of
from netsonde.compare.data import Better, FigureKey, Launch, RunInfo
from netsonde.compare.directions import better_way, is_main
from netsonde.errors import UsageError
from netsonde.figures.compute import figures_of_point
from netsonde.figures.data import Figure
from netsonde.records.data import Point, Run
from netsonde.records.rundir import open_run
from netsonde.units import format_size

_EFFORT = frozenset(
    {
        *("message_bytes", "operation", "options", "figures", "cap_ns", "interval", "count"),
        *("keep_samples", "refine", "refined", "sought", "launch", "pass", "ranks_vary", "port"),
        *("timeout_ns", "duration_ns", "interval_ns", "seeds", "block"),
    }
)
"""Parameters of a point that say how long, how often or when, not what; and those with a place of
their own."""
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


def key_of(point: Point, figure: str) -> FigureKey:
    """What tells a figure of a point from others, whatever run it is in."""
    parameters = {k: v for k, v in point.parameters.items() if k not in _EFFORT}
    options: Mapping[str, Any] = point.parameters.get("options") or {}
    parameters |= {f"options.{name}": value for name, value in options.items()}
    texts = ((name, json.dumps(value, sort_keys=True)) for name, value in parameters.items())
    return FigureKey(
        point.transport,
        point.test,
        point.operation,
        point.message_bytes,
        tuple(sorted((name, text) for name, text in texts if text != "null")),
        figure,
    )


def labels_of(keys: Iterable[FigureKey]) -> dict[FigureKey, str]:
    """Each point in a few words: ``tcp latency 64``; with those parameters that tell it from others
    of that test and size."""
    groups: dict[str, list[FigureKey]] = {}
    for key in keys:
        groups.setdefault(_plain_label(key), []).append(key)
    labels = {}
    for plain, members in groups.items():
        common = set(members[0].parameters).intersection(*(k.parameters for k in members))
        for key in members:
            own = dict(item for item in key.parameters if item not in common)
            name = own.pop("label", None)
            words = [f"{n.removeprefix('options.')} {_plain(v)}" for n, v in own.items()]
            told = [_plain(name)] if name else words
            labels[key] = ", ".join([plain, *told])
    return labels


def _plain_label(key: FigureKey) -> str:
    words = [key.transport, key.operation or key.test, format_size(key.message_bytes)]
    if key.transport == key.test:
        words[:2] = [_plain(dict(key.parameters).get("name", key.test))]
    return " ".join(words)


def _plain(text: str) -> str:
    """A JSON value without what only JSON needs."""
    return text.translate(str.maketrans("", "", '"[]{}'))
