"""Several runs over each other, as a page: the same curves of each, a colour, a dash and a symbol
for every run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from netsonde.catalogue.test import Test
from netsonde.catalogue.transport import in_layers
from netsonde.errors import UsageError
from netsonde.figures import Figure
from netsonde.records.data import Point
from netsonde.report.against import (
    RATE_AXIS,
    ROUND_TRIP_AXIS,
    SIZE_AXIS,
    by_size,
    curve,
    estimate_cells,
)
from netsonde.report.lookup import Study, condition_label, point_label
from netsonde.report.page import Section, write_sections_page
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, Table, columns, tabled
from netsonde.report.quantity import format_value_and_interval, size_text
from netsonde.report.shapes import TAIL_AXIS, tail_curve
from netsonde.report.theme import Look, series_look, transport_name
from netsonde.report.thinning import sequence
from netsonde.report.throughput_plots import middle_of_fastest, rates_over_time, time_curve
from netsonde.units import format_count

OVERLAY_NAME = "overlay.html"
RUNS_MOST = 12
"""More curves in one panel nobody can follow."""
TRANSPORTS_DRAWN = 4
_QUANTILES = ("median", "p90", "p99", "p999", "max")


@dataclass(frozen=True)
class Laid:
    """One of the runs, with what it is called and how its curves look."""

    name: str
    study: Study
    look: Look


def write_overlay(studies: Sequence[Study], path: Path) -> Path:
    """Writes the page whole or not at all; returns its path. Raises UsageError where there are too
    many runs, or the page cannot be written."""
    if len(studies) > RUNS_MOST:
        raise UsageError(
            f"{len(studies)} runs cannot be told apart over each other; name {RUNS_MOST} at most"
        )
    runs = laid_over(studies)
    line = f"{format_count(len(runs), 'run')} over each other"
    write_sections_page(path, "Runs over each other", line, sections_of(runs))
    return path


def laid_over(studies: Sequence[Study]) -> list[Laid]:
    """Each by the name of its directory, and by more of its path where two have one name."""
    names = [study.run.directory.name for study in studies]
    if len(set(names)) < len(names):
        names = [study.run.directory.as_posix() for study in studies]
    if len(set(names)) < len(names):
        raise UsageError("a run is named twice; name runs that are not the same")
    looks = [replace(series_look(n), dash=series_look(6 * n).dash) for n in range(len(names))]
    return [Laid(*parts) for parts in zip(names, studies, looks, strict=True)]


def sections_of(runs: Sequence[Laid]) -> list[Section]:
    """The plots of each transport, then the medians of all."""
    every = in_layers({t for run in runs for t in run.study.transports})
    made = {t: plots for t in every if (plots := plots_of(runs, t))}
    drawn, left = list(made)[:TRANSPORTS_DRAWN], list(made)[TRANSPORTS_DRAWN:]
    names = ", ".join(transport_name(transport) for transport in left)
    most = format_count(TRANSPORTS_DRAWN, "transport")
    words = [f"Not drawn, as a page has {most} at most: {names}."] * bool(left)
    return [
        *(Section(t, transport_name(t), _lacking(runs, t), plots=made[t]) for t in drawn),
        Section("medians", "Medians", [*words, _WHAT_MEDIANS], _medians(runs)),
    ]


_WHAT_MEDIANS = (
    "Round trip of the smallest message and throughput of the fastest stream of each run, over its "
    "launches, with their intervals. Whether runs differ for certain, netsonde compare says. How "
    "figures are obtained: netsonde man latency, netsonde man throughput."
)


def _lacking(runs: Sequence[Laid], transport: str) -> list[str]:
    names = [run.name for run in runs if transport not in run.study.transports]
    return [f"Without {transport_name(transport)}: {', '.join(names)}."] if names else []


def plots_of(runs: Sequence[Laid], transport: str) -> list[Plot]:
    """Those of a transport for which something was measured."""
    makers = (over_time, over_size, tails)
    return [plot for make in makers if (plot := make(runs, transport)) is not None]


def over_time(runs: Sequence[Laid], transport: str) -> Plot | None:
    """Throughput and round trips over one time axis."""
    streams = _streams(runs, transport)
    trips = _round_trips(runs, transport)
    rows: list[tuple[Cell, ...]] = []
    rates, times = list[Curve](), list[Curve]()
    for name, (run, point) in zip(_named(streams), streams, strict=True):
        begins, ends, found = rates_over_time(point, run.study.rate_bit_per_s)
        made = time_curve(name, run.look.colour, (begins, ends, found))
        rates += [replace(made, dash=run.look.dash)] if found else []
        rows += [(name, point_label(point), b, r, None) for b, r in zip(begins, found, strict=True)]
    for name, (run, point) in zip(_named(trips), trips, strict=True):
        made = _trips_curve(name, point, run.look)
        times.append(made)
        rows += [
            (name, point_label(point), b, None, t) for b, t in zip(made.x, made.y, strict=True)
        ]
    x = Axis("time since the point began", "time_ns", low=0, high=_last((*rates, *times)))
    panels = [
        *([Panel("Throughput", x, RATE_AXIS, rates)] if rates else []),
        *([Panel("Round trip", x, ROUND_TRIP_AXIS, times)] if times else []),
    ]
    return tabled(
        f"overlay-time-{transport}",
        f"{transport_name(transport)}: against time",
        "Each run's fastest stream at its receiver, and its round trips of the smallest message, "
        "of several launches the one nearest to their median. Time counts from the point's begin, "
        "batch after batch, without the pauses between them; both panels have one time axis. Each "
        "round trip stands where those before it had ended; of more than 600 the median of each "
        "stretch is drawn, and extremes are with the tails.",
        f"Throughput of {format_count(len(rates), 'run')}, round trips of {len(times)}.",
        panels,
        (
            *columns("text", run="Run", point="Point"),
            Column("begin_ns", "From", "time_ns"),
            Column("throughput_bit_per_s", "Throughput", "bit_per_s"),
            Column("round_trip_ns", "Round trip", "time_ns"),
        ),
        rows,
        wide=True,
    )


def _trips_curve(name: str, point: Point, look: Look) -> Curve:
    samples = point.series("round_trip_ns")
    began = np.concatenate(([0], np.cumsum(samples)[:-1]))
    drawn = sequence(samples)
    x, y = began[drawn.index].astype(float).tolist(), drawn.middle.tolist()
    return Curve(name, x, y, look.colour, dash=look.dash, symbol=look.symbol, width=1.3)


def _last(curves: Sequence[Curve]) -> float:
    return max((x for one in curves for x in one.x if x is not None), default=1.0)


def over_size(runs: Sequence[Laid], transport: str) -> Plot | None:
    """Median round trip and throughput against message size."""
    asked: tuple[tuple[str, Axis, Callable[[Test], bool]], ...] = (
        ("Round trip, median", ROUND_TRIP_AXIS, lambda test: test.asks_round_trip),
        ("Throughput, one way", RATE_AXIS, lambda test: test.is_one_way_stream),
    )
    panels, rows = [], list[tuple[Cell, ...]]()
    for title, axis, is_wanted in asked:
        curves = []
        for run in runs:
            figures = _by_size(run.study, transport, is_wanted)
            if len(figures) > 1:
                curves.append(curve(run.name, by_size(figures), run.look))
                rows += [_size_row(run.name, title, axis, figure) for figure in figures]
        if curves:
            panels.append(Panel(title, SIZE_AXIS, axis, curves))
    return tabled(
        f"overlay-size-{transport}",
        f"{transport_name(transport)}: against message size",
        "Medians over the launches of each run with their 95 % intervals, where there is one; runs "
        "that measured two sizes or more. Points with options of their own are left out.",
        f"{format_count(len({row[0] for row in rows}), 'run')} over several sizes.",
        panels,
        (
            *columns("text", run="Run", what="What"),
            Column("message_bytes", "Size", "size"),
            *columns("time_ns", value="Round trip", low="From", high="To"),
            *columns("bit_per_s", value="Throughput", low="From", high="To"),
        ),
        rows,
    )


def _by_size(study: Study, transport: str, is_wanted: Callable[[Test], bool]) -> list[Figure]:
    return [headline.figure for headline in study.plain_headlines(transport, is_wanted)]


def _size_row(name: str, title: str, axis: Axis, figure: Figure) -> tuple[Cell, ...]:
    cells, none = estimate_cells(figure), (None, None, None)
    both = (*cells, *none) if axis.kind == "time_ns" else (*none, *cells)
    return (name, title, figure.message_bytes, *both)


def tails(runs: Sequence[Laid], transport: str) -> Plot | None:
    """How many round trips of each run took longer than so long."""
    trips = _round_trips(runs, transport)
    curves, rows = [], list[tuple[Cell, ...]]()
    for name, (run, point) in zip(_named(trips), trips, strict=True):
        samples = point.series("round_trip_ns")
        curves.append(tail_curve(name, samples, run.look))
        values = (run.study.value(point, f"round_trip_{q}_ns") for q in _QUANTILES)
        rows.append((name, point_label(point), len(samples), *values))
    return tabled(
        f"overlay-tails-{transport}",
        f"{transport_name(transport)}: tails of round trips",
        "The share of round trips of the smallest message that took at least so long, the warm-up "
        "included; quantiles in the table leave it out. Curves are thinned, but the slowest and "
        "the fastest round trips are always drawn.",
        f"Round trips of {format_count(len(rows), 'run')}.",
        [Panel("", ROUND_TRIP_AXIS, TAIL_AXIS, curves)] if curves else [],
        (
            *columns("text", run="Run", point="Point"),
            Column("samples", "Samples", "count"),
            *(Column(f"{q}_ns", q, "time_ns") for q in _QUANTILES),
        ),
        rows,
        wide=True,
    )


def _streams(runs: Sequence[Laid], transport: str) -> list[tuple[Laid, Point]]:
    found = ((run, middle_of_fastest(run.study, transport)) for run in runs)
    return [(run, point) for run, point in found if point is not None]


def _round_trips(runs: Sequence[Laid], transport: str) -> list[tuple[Laid, Point]]:
    found = ((run, run.study.smallest_latency_point(transport)) for run in runs)
    return [(run, point) for run, point in found if point is not None]


def _named(found: Sequence[tuple[Laid, Point]]) -> list[str]:
    """The runs' names, with the size where they have not the same."""
    differ = len({point.message_bytes for _, point in found}) > 1
    return [
        f"{run.name}, {size_text(point.message_bytes)}" if differ else run.name
        for run, point in found
    ]


def _medians(runs: Sequence[Laid]) -> Table:
    rows = [row for run in runs for row in _median_rows(run)]
    labels = ("Run", "Transport", "Point", "Figure", "Value", "Interval", "Launches")
    named = (Column(label.lower(), label) for label in labels)
    return Table("overlay_medians", "Medians of the runs", tuple(named), rows)


def _median_rows(run: Laid) -> Iterator[tuple[Cell, ...]]:
    for transport in run.study.transports:
        for point in (
            run.study.smallest_latency_point(transport),
            middle_of_fastest(run.study, transport),
        ):
            found = run.study.headlines.of(point.id, point.kind.main) if point else None
            if point is not None and found is not None:
                value, interval = format_value_and_interval(found.figure)
                name = found.figure.name.removesuffix("_ns").removesuffix("_bit_per_s")
                words = name.replace("_", " ")
                yield (
                    *(run.name, transport_name(transport), condition_label(point), words),
                    *(value, interval or found.figure.why_no_interval, found.over.launches),
                )
