"""Plots of runs that measured the same with several options: a curve for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.option import Size
from netsonde.catalogue.options.run_keys import study_key
from netsonde.catalogue.options.sockets import STUDY_OPTIONS
from netsonde.catalogue.test import Test
from netsonde.figures import Figure
from netsonde.records.data import Point
from netsonde.report.against import (
    RATE_AXIS,
    ROUND_TRIP_AXIS,
    SIZE_AXIS,
    Series,
    by_size,
    series_panels,
)
from netsonde.report.lookup import TWO_ENDED, Study
from netsonde.report.plot import Axis, Cell, Column, Heat, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_figure, format_value, list_in_words, size_text
from netsonde.report.shapes import evenly
from netsonde.report.theme import transport_name
from netsonde.units import format_size

SIZES = frozenset(
    {key for key, row in STUDY_OPTIONS.items() if isinstance(row.kind, Size)} | {"message_bytes"}
)


def by_option(study: Study) -> Plot | None:
    """The main figure of each test against size, a curve for each combination of options."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for transport in study.transports:
        for test in TWO_ENDED:
            curves = _curves_of(study, transport, test)
            if not curves:
                continue
            axis = ROUND_TRIP_AXIS if test.asks_round_trip else RATE_AXIS
            title = f"{transport_name(transport)} {test.name}"
            series = [Series(title, label, by_size(found)) for label, found in curves.items()]
            panels += series_panels(series, SIZE_AXIS, axis)
            rows += [
                (transport, test.name, label, f.message_bytes, *_either(f), f.samples)
                for label, found in curves.items()
                for f in found
            ]
            words.append(f"{title} is best with {_best_in_words(curves)}")
    return tabled(
        "by-option",
        "By options",
        "The same measurement with each combination of the options that were asked for, with 95 % "
        "intervals. What the system gave of a buffer stands under the circumstances.",
        f"{list_in_words(words)}.",
        panels,
        (
            *columns("text", transport="Transport", test="Test", options="Options"),
            Column("message_bytes", "Size", "size"),
            Column("median_ns", "Median round trip", "time_ns"),
            Column("throughput_bit_per_s", "Throughput", "bit_per_s"),
            Column("samples", "Samples", "count"),
        ),
        rows,
        methods=("throughput#", "latency#quantiles"),
    )


def _curves_of(study: Study, transport: str, test: Test) -> dict[str, list[Figure]]:
    """The figures of labelled points by label, each by size."""
    found: dict[str, list[Figure]] = {}
    for condition in study.conditions:
        point = condition[0]
        if (point.transport, point.test) != (transport, test.name) or not point.label:
            continue
        figure = study.figure_of(condition, test.against_size)
        if figure is not None and point.spec.perturbed_bytes is None:
            found.setdefault(_curve_name(point), []).append(figure)
    return found


def _curve_name(point: Point) -> str:
    return f"{point.label}, {point.spec.mpi}" if point.spec.mpi else str(point.label)


def _either(figure: Figure) -> tuple[Cell, Cell]:
    """A time, or a rate."""
    return (figure.value, None) if figure.unit == "ns" else (None, figure.value)


def _best_in_words(curves: dict[str, list[Figure]]) -> str:
    every = [(label, figure) for label, found in curves.items() for figure in found]
    pick = min if every[0][1].unit == "ns" else max
    label, figure = pick(every, key=lambda pair: pair[1].value)
    return f"{label}: {format_figure(figure)}"


def matrices(study: Study) -> Plot | None:
    """Where two options were varied together, or one over a few sizes: each pair's best figure; a
    matrix for each value of a third."""
    panels, rows, words, left = [], list[tuple[Cell, ...]](), [], []
    for transport in study.transports:
        for test in TWO_ENDED:
            name = f"{transport_name(transport)} {test.name}"
            facets = _facets(study, transport, test)
            drawn = evenly(facets, FACETS_SHOWN)
            scale = _scale_of(facets)
            panels += [_heat_panel(f"{name}{f.grid.title}", f, scale) for f in drawn]
            rows += [row for facet in facets for row in _facet_rows(transport, test, facet)]
            if facets:
                words.append(_best_cell_in_words(name, facets))
            if len(drawn) < len(facets):
                left.append(f"Of {name} {len(drawn)} of {len(facets)} matrices are drawn.")
    names = ("transport", "test", "others", "row_option", "row", "column_option", "column")
    return tabled(
        "matrix",
        "Two options together",
        "The highest throughput of each combination over all its sizes; of round trips, twice the "
        "message over the median. The darker, the nearer to the best. Where more options vary, "
        "there is a matrix for each of their values, all of a test in the same colours; the table "
        f"has every one. {' '.join(left)}".rstrip(),
        f"{list_in_words(words)}.",
        panels,
        (
            *(Column(n, n.replace("_", " ").capitalize()) for n in names),
            Column("message_bytes", "At size", "size"),
            Column("throughput_bit_per_s", "Throughput", "bit_per_s"),
            Column("round_trip_median_ns", "Median round trip", "time_ns"),
        ),
        rows,
        methods=("throughput#", "latency#quantiles"),
        heading="Matrix of options",
    )


@dataclass(frozen=True)
class _Grid:
    """Points that differ in two options, named so, besides their sizes; ``title`` names others."""

    varied: tuple[str, str]
    title: str
    points: list[Point]


@dataclass(frozen=True)
class _Facet:
    """A grid with the best figure of each of its cells, and what that is worth in bit/s."""

    grid: _Grid
    cells: _Cells


@dataclass(frozen=True)
class _Scale:
    """What all matrices of a test have in common, so that they can be held beside each other."""

    rows: list[Any]
    columns: list[Any]
    best: float
    palest: float


FACETS_SHOWN = 6
"""Matrices of one test; of more, some at even distances."""
_Cells = dict[tuple[Any, Any], tuple[Figure, float]]
SIZE = "message_bytes"
SIZES_SHOWN = 12
"""More sizes than this are a sweep, which has its own plot."""
OWN_NAMES = {"mtu": "MTU", "max_segment": "MSS", SIZE: "message size"}


def _grids(study: Study, transport: str, test: str) -> list[_Grid]:
    """The labelled points by the first two options that vary; one grid for each of the others."""
    points = [p for p in study.run.select(transport, test) if p.label]
    values: dict[str, set[Any]] = {}
    for point in points:
        for option, value in point.spec.chosen.to_json().items():
            values.setdefault(option, set()).add(value)
    varied = sorted((o for o, found in values.items() if len(found) > 1), key=_option_order)
    if len(varied) == 1 and 1 < len({p.message_bytes for p in points}) <= SIZES_SHOWN:
        return [_Grid((SIZE, varied[0]), "", points)]
    if len(varied) < 2:
        return []
    others = varied[2:]
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in points:
        options = point.spec.chosen.to_json()
        groups.setdefault(tuple(options.get(o) for o in others), []).append(point)
    ordered = sorted(groups.items(), key=lambda item: [_sortable(value) for value in item[0]])
    return [
        _Grid((varied[0], varied[1]), _others_in_words(others, values), members)
        for values, members in ordered
    ]


def _others_in_words(options: Sequence[str], values: Sequence[Any]) -> str:
    """``, no delay True``: the options that a matrix does not have, behind its name."""
    named = zip(options, values, strict=True)
    return "".join(f", {_option_name(o)} {_option_text(o, value)}" for o, value in named)


def _facets(study: Study, transport: str, test: Test) -> list[_Facet]:
    found = [_Facet(g, _best_cells(study, g, test)) for g in _grids(study, transport, test.name)]
    return [facet for facet in found if facet.cells]


def _scale_of(facets: Sequence[_Facet]) -> _Scale:
    keys = {key for facet in facets for key in facet.cells}
    rows, columns = (sorted({key[i] for key in keys}, key=_sortable) for i in (0, 1))
    worth = [rate for facet in facets for _, rate in facet.cells.values()]
    best = max(worth, default=1.0)
    return _Scale(rows, columns, best, min([0.8, *(rate / best for rate in worth)]))


def _facet_rows(transport: str, test: Test, facet: _Facet) -> Iterator[tuple[Cell, ...]]:
    first, second = facet.grid.varied
    for (a, b), (figure, rate) in facet.cells.items():
        others = facet.grid.title.strip(", ")
        pair = (first, str(a), second, str(b))
        yield transport, test.name, others, *pair, *_worth(figure, rate)


def _option_order(option: str) -> tuple[bool, bool, str]:
    """What packets may hold first, as rows: it decides how a buffer fares."""
    return option != "mtu", option != "max_segment", option


def _best_cells(study: Study, grid: _Grid, test: Test) -> _Cells:
    """The best figure of each pair of values and what it is worth in bit/s."""
    cells: _Cells = {}
    for point in grid.points:
        figure = study.figure_of([point], test.against_size)
        if figure is None or not figure.value:
            continue
        rate = 16e9 * point.message_bytes / figure.value if test.asks_round_trip else figure.value
        options = {**point.spec.chosen.to_json(), SIZE: point.message_bytes}
        key = tuple(options.get(option) for option in grid.varied)
        if key not in cells or rate > cells[key[0], key[1]][1]:
            cells[key[0], key[1]] = figure, rate
    return cells


def _heat_panel(title: str, facet: _Facet, scale: _Scale) -> Panel:
    first, second = facet.grid.varied
    found = [[facet.cells.get((row, column)) for column in scale.columns] for row in scale.rows]
    return Panel(
        title,
        Axis(_option_name(second), "text"),
        Axis(_option_name(first), "text"),
        heat=Heat(
            [_option_text(second, column) for column in scale.columns],
            [_option_text(first, row) for row in scale.rows],
            [[None if cell is None else cell[1] / scale.best for cell in row] for row in found],
            [
                ["" if cell is None else format_value(cell[1], "bit_per_s") for cell in row]
                for row in found
            ],
            palest=scale.palest,
        ),
        height=110 + 44 * len(scale.rows),
    )


def _sortable(value: Any) -> tuple[bool, float, str]:
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if is_number else 0.0, str(value)


def _option_name(option: str) -> str:
    return OWN_NAMES.get(option, study_key(option).replace("_", " "))


def _option_text(option: str, value: Any) -> str:
    """A value as it was asked for: sizes short, the system's own choice in words."""
    if value is None:
        return "default"
    is_size = isinstance(value, int) and option in SIZES
    return format_size(value) if is_size else str(value)


def _worth(figure: Figure, rate: float) -> tuple[Cell, ...]:
    return figure.message_bytes, rate, figure.value if figure.unit == "ns" else None


def _best_cell_in_words(name: str, facets: Sequence[_Facet]) -> str:
    """The best of all matrices of a test."""
    every = ((facet.grid, *item) for facet in facets for item in facet.cells.items())
    grid, (a, b), (figure, rate) = max(every, key=lambda cell: cell[2][1])
    first, second = grid.varied
    return (
        f"{name}{grid.title} is best with {_option_name(first)} {_option_text(first, a)} and "
        f"{_option_name(second)} {_option_text(second, b)}: {format_value(rate, 'bit_per_s')} at "
        f"{size_text(figure.message_bytes)}"
    )
