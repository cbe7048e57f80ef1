"""Throughput against how many flows, hosts or ranks were at it, beside the line of perfect scaling.

Speed-ups are given with their absolute base (rule 1 of Hoefler and Belli 2015).
"""

from __future__ import annotations

from dataclasses import dataclass

from netsonde.figures import Figure
from netsonde.records.data import Point
from netsonde.report.against import curve, estimate_cells, estimate_columns
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Cell, Column, Curve, Mark, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_value, size_text
from netsonde.report.theme import Look, transport_name

PANELS_SHOWN = 6
FIGURE = "throughput_bit_per_s"
COUNTS = (("ranks", "ranks"), ("streams", "flows"), ("hosts", "hosts"), ("threads", "threads"))


@dataclass(frozen=True)
class _Group:
    """Points that differ only in how many were at it."""

    title: str
    noun: str
    members: list[tuple[int, Point, Figure]]


def against_count(study: Study) -> Plot | None:
    """A panel for each test that was measured with two counts or more; None where none was."""
    groups = _groups(study)
    if not groups:
        return None
    return tabled(
        "scaling",
        "Throughput against flows, hosts or ranks",
        "Throughput of all together with 95 % intervals. Dashed: the first value times the growth "
        "of the count, which is perfect scaling; dotted: the link's rate. Lines between the "
        f"measured counts guide the eye. At most {PANELS_SHOWN} tests are drawn; the table has "
        "all.",
        " ".join(_in_words(group) for group in groups),
        [_panel(study, group) for group in groups[:PANELS_SHOWN]],
        (
            *columns("text", test="Test", of="Of"),
            Column("count", "How many", "count"),
            *estimate_columns("throughput_bit_per_s", "Throughput", "bit_per_s"),
            Column("over_first_ratio", "Times the first", "number"),
            Column("efficiency_ratio", "Of perfect scaling", "ratio"),
        ),
        [_row(group, count, figure) for group in groups for count, _, figure in group.members],
        methods=("throughput#", "patterns#throughput"),
    )


def _groups(study: Study) -> list[_Group]:
    found: dict[tuple[str, ...], _Group] = {}
    for point in study.run.select():
        figure = study.figure(point, FIGURE)
        if figure is None or not figure.value:
            continue
        for key, noun in COUNTS:
            count = getattr(point.spec, key, None)
            if not isinstance(count, int):
                continue
            size = size_text(point.message_bytes)
            words = [transport_name(point.transport), point.operation or point.test, size]
            title = " ".join([*words, *([point.label] if point.label else [])])
            group = found.setdefault((title, noun), _Group(title, noun, []))
            group.members.append((count, point, figure))
    several = [g for g in found.values() if len({count for count, _, _ in g.members}) > 1]
    for group in several:
        group.members.sort(key=lambda member: member[0])
    return several


def _panel(study: Study, group: _Group) -> Panel:
    counts = [float(count) for count, _, _ in group.members]
    figures = [figure for _, _, figure in group.members]
    ideal = [figures[0].value * count / counts[0] for count in counts]
    look = Look(group.members[0][1].carrier.colour)
    rate = study.rate_bit_per_s
    highest = max(*ideal, *(f.high or f.value for f in figures))
    return Panel(
        group.title,
        Axis(group.noun, "count", low=0, high=counts[-1] * 1.05),
        Axis("throughput", "bit_per_s", low=0, high=highest * 1.08),
        [
            curve("measured", zip(counts, figures, strict=True), look),
            Curve("perfect scaling", list(counts), list(ideal), "fit", dash="dash", width=1.2),
        ],
        [Mark("y", rate, "link")] if rate and rate < highest else [],
    )


def _efficiency(group: _Group, count: int, figure: Figure) -> float:
    first, _, base = group.members[0]
    return figure.value / base.value * first / count


def _row(group: _Group, count: int, figure: Figure) -> tuple[Cell, ...]:
    over_first = figure.value / group.members[0][2].value
    efficiency = _efficiency(group, count, figure)
    return (group.title, group.noun, count, *estimate_cells(figure), over_first, efficiency)


def _in_words(group: _Group) -> str:
    count, _, figure = group.members[-1]
    first, _, base = group.members[0]
    return (
        f"{group.title}: {format_value(base.value, 'bit_per_s')} with {first} {group.noun}, "
        f"{format_value(figure.value, 'bit_per_s')} with {count}, which is "
        f"{_efficiency(group, count, figure):.0%} of perfect scaling."
    )
