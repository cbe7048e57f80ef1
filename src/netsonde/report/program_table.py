"""Users' own programs: their figures, the network's beside them, and whether they go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netsonde.catalogue.method import method_anchor
from netsonde.catalogue.point import Program
from netsonde.figures import Figure
from netsonde.figures.programs import (
    ELAPSED,
    Relation,
    better_of,
    network_beside,
    program_figure,
    relations_of,
)
from netsonde.records.data import Point
from netsonde.report.lookup import Study, point_label
from netsonde.report.other_tools import imported_figures
from netsonde.report.plot import Table, plain_table
from netsonde.report.quantity import (
    format_figure,
    format_in_unit,
    format_value_and_interval,
    size_text,
)
from netsonde.report.theme import transport_name
from netsonde.stats.correlation import LEAST_PAIRS
from netsonde.stats.quantiles import Interval

NETWORK_NAMES = {"round_trip_median_ns": "round trip", "throughput_bit_per_s": "throughput"}
BETTER = {"more": "higher", "less": "lower"}


@dataclass(frozen=True)
class FigureRow:
    name: str
    value: str
    interval: str
    runs: int
    better: str
    anchor: str


@dataclass(frozen=True)
class ProgramRows:
    """One program at one host under one condition. ``output`` is the end of its last one."""

    point: str
    label: str
    host: str
    rows: list[FigureRow]
    network: list[str]
    output: str


@dataclass(frozen=True)
class RelationRow:
    program: str
    figure: str
    network: str
    pairs: int
    value: str
    interval: str


def program_rows(study: Study) -> list[ProgramRows]:
    """Every program that ran well at least once, in the order of the study."""
    made = [_program(study, point) for point in study.programs]
    return [program for program in made if program.rows]


def _program(study: Study, point: Point) -> ProgramRows:
    end = point.batches[-1].ends[0]
    beside = network_beside(point, study.run.points, study.figures)
    return ProgramRows(
        point.id,
        point_label(point),
        end.host,
        [_row(point, figure) for figure in study.of_point(point)],
        [_network_in_words(figure) for figure in beside.values()] or ["nothing was measured"],
        str(end.done.get("output_tail", "")).strip(),
    )


def _row(point: Point, figure: Figure) -> FigureRow:
    value, interval = _value_and_interval(point, figure)
    return FigureRow(
        figure_in_words(figure.name),
        value,
        interval or "too few runs",
        figure.samples,
        BETTER.get(better_of(point, figure.name), ""),
        method_anchor(figure.method),
    )


def _value_and_interval(point: Point, figure: Figure) -> tuple[str, str]:
    if figure.name == ELAPSED:
        return format_value_and_interval(figure)
    asked = (point.spec.of(Program).figures or {}).get(figure_in_words(figure.name))
    return format_in_unit(figure, (asked and asked.unit) or "")


def figure_in_words(name: str) -> str:
    """A program's own figure by the name that the study gave it."""
    return "elapsed" if name == ELAPSED else name.removeprefix(program_figure(""))


def _network_in_words(figure: Figure) -> str:
    what = f"{transport_name(figure.transport)} {NETWORK_NAMES[figure.name]}"
    return f"{what} {format_figure(figure)}, {size_text(figure.message_bytes)}"


def further_figures(study: Study, point: Point, shown: Sequence[str]) -> list[str]:
    """What a point has besides the figures of its test, in words: those of an imported one, and of
    a program."""
    if not point.kind.is_program:
        return imported_figures(study, point, shown)
    words = []
    for figure in study.of_point(point):
        if figure.name not in shown:
            value, interval = _value_and_interval(point, figure)
            name = figure_in_words(figure.name)
            words.append(f"{name} {value} [{interval}]" if interval else f"{name} {value}")
    return words


def relation_rows(study: Study) -> list[RelationRow]:
    """Each figure of each program with each of the network, where conditions were varied."""
    return [_relation(r) for r in relations_of(study.run.points, study.figures)]


def _relation(relation: Relation) -> RelationRow:
    found = relation.correlation
    value, interval = "–", "one of the two is the same in all"
    if found is not None:
        value, interval = f"{found.value:.2f}", "no interval: too few points"
        if found.interval is not None:
            interval = f"{found.interval.low:.2f} to {found.interval.high:.2f}"
    elif len(relation.pairs) < LEAST_PAIRS:
        interval = "too few points"
    return RelationRow(
        relation.program,
        figure_in_words(relation.figure),
        f"{transport_name(relation.transport)} {NETWORK_NAMES[relation.network]}",
        len(relation.pairs),
        value,
        interval,
    )


def relations_table(study: Study) -> Table:
    """The pairs behind each relation, one row for each, with the correlation of all of them."""
    return plain_table(
        "programs",
        "Programs and the network",
        [(r, *pair) for r in relations_of(study.run.points, study.figures) for pair in r.pairs],
        program=lambda row: row[0].program,
        figure=lambda row: row[0].figure,
        point=lambda row: row[1].point,
        value=lambda row: row[1].value,
        transport=lambda row: row[0].transport,
        network=lambda row: row[0].network,
        network_point=lambda row: row[2].point,
        network_value=lambda row: row[2].value,
        rank_correlation=lambda row: row[0].correlation.value if row[0].correlation else None,
        low=lambda row: interval.low if (interval := _interval(row[0])) else None,
        high=lambda row: interval.high if (interval := _interval(row[0])) else None,
    )


def _interval(relation: Relation) -> Interval | None:
    return relation.correlation.interval if relation.correlation else None
