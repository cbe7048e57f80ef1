"""Simulated points for a terminal of 80 columns."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from netsonde.catalogue.point import Simulation
from netsonde.records.data import Point
from netsonde.report.lookup import Study, point_label
from netsonde.report.quantity import format_value, kind_of
from netsonde.report.simulation_plots import compared_lines

COLUMNS = (
    ("completion_median_ns", "took"),
    ("host_throughput_bit_per_s", "each host"),
    ("line_use_ratio", "line used"),
    ("lost_overflow_ratio", "dropped"),
    ("retransmitted_ratio", "retransmitted"),
)
"""What a line says of a point that has nothing to be compared with."""
LABEL_COLUMNS = 30


def print_simulated(study: Study, console: Console) -> None:
    """Points with something to compare them with, and all others."""
    lines = compared_lines(study)
    if lines:
        table = _table("", "published", "formula", "simulated", "off")
        for label, *values in lines:
            table.add_row(Text(label, style="bold"), *values)
        console.print(table)
    simulated = study.run.where(lambda p: p.kind.is_simulated)
    rest = [p for p in simulated if p.spec.of(Simulation).compared is None]
    if rest:
        table = _table("", *(name for _, name in COLUMNS))
        for point in _in_order(study, rest):
            cells = (_cell(study, point, name) for name, _ in COLUMNS)
            table.add_row(Text(_words(point), style="bold"), *cells)
        console.print(table)


def _in_order(study: Study, points: list[Point]) -> list[Point]:
    wanted = {point.id for point in points}
    return [point for point in study.run.points if point.id in wanted]


def _words(point: Point) -> str:
    label = point.label
    return label if label is not None else point_label(point)


def _table(*names: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column(names[0], overflow="fold", max_width=LABEL_COLUMNS)
    for name in names[1:]:
        table.add_column(name, justify="right", overflow="fold")
    return table


def _cell(study: Study, point: Point, name: str) -> str:
    figure = study.figure(point, name)
    if figure is None:
        return "–"
    if name.endswith("_ratio") and not figure.value:
        return "none"
    return format_value(figure.value, kind_of(figure.unit))
