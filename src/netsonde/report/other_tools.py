"""What other tools say: of points measured like they do, and of points that they measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netsonde.catalogue.known_figures import label_of
from netsonde.figures import Figure
from netsonde.peers.told import remains, told
from netsonde.records.data import Point
from netsonde.report.against import SIZE_AXIS, Series, by_size, series_panels
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import (
    Axis,
    Cell,
    Column,
    Curve,
    Panel,
    Plot,
    Table,
    columns,
    tabled,
    text_table,
)
from netsonde.report.quantity import format_figure, format_value, list_in_words

CURVES_SHOWN = 12
FIGURES_SHOWN = 40


@dataclass(frozen=True)
class ToldRow:
    """A figure as another tool defines and prints it, netsonde's beside it, and why they differ."""

    point: str
    label: str
    tool: str
    words: str
    ours: str
    why: str


def told_rows(study: Study) -> list[ToldRow]:
    """Of each point that was measured like another tool, in the order of the study; of several
    passes the first."""
    return [
        ToldRow(
            point.id,
            point_label(point),
            str(point.spec.like),
            each.words,
            _ours(study, point, each.beside),
            each.why,
        )
        for point in study.run.points
        if (point.spec.pass_number or 1) == 1
        for each in told(point)
    ]


def remaining_differences(study: Study) -> list[str]:
    """What differs still from how the tools measure, each sentence once."""
    found = (remains(p) for p in study.run.points if p.batches)
    return list(dict.fromkeys(words for words in found if words))


def told_table(study: Study) -> Table:
    """The same with values, one row for each figure."""
    rows: list[tuple[Cell, ...]] = []
    for point in study.run.points:
        for each in told(point):
            value, tool = study.value(point, each.beside), str(point.spec.like)
            rows.append(
                (point.id, tool, each.name, each.value, each.words, each.beside, value, each.why)
            )
    names = ("point", "tool", "figure", "value", "as_printed", "beside", "netsonde", "why")
    return text_table("other_tools", "As other tools say it", names, rows)


def _ours(study: Study, point: Point, name: str) -> str:
    figure = study.figure(point, name)
    return f"{label_of(name)} {format_figure(figure)}" if figure else "not measured"


def imported_figures(study: Study, point: Point, beside: Sequence[str]) -> list[str]:
    """The figures of an imported point in words, but for those that are shown anyway."""
    if point.imported is None:
        return []
    own = {figure.name for figure in point.imported.figures} - set(beside)
    found = [f for f in study.of_point(point) if f.name in own]
    words = [f"{label_of(f.name)} {format_figure(f)}" for f in found[:FIGURES_SHOWN]]
    return words + [f"and {len(found) - FIGURES_SHOWN} more"] * (len(found) > FIGURES_SHOWN)


def intervals(study: Study) -> Plot | None:
    """The rates that another tool gave for each of its intervals."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for point in study.run.points:
        series = point.imported.series if point.imported is not None else {}
        begins, ends = (series.get(f"interval_{word}_ns", []) for word in ("begin", "end"))
        rates = series.get("interval_bit_per_s", [])
        if len(rates) < 2 or not len(begins) == len(ends) == len(rates):
            continue
        x, y = list[float | None](), list[float | None]()
        for begin, end, rate in zip(begins, ends, rates, strict=True):
            x += [begin, end]
            y += [rate, rate]
        panels.append(
            Panel(
                point_label(point),
                Axis("time", "time_ns", low=0, high=ends[-1]),
                Axis("throughput", "bit_per_s", low=0),
                [Curve("rate", x, y, point.carrier.colour, width=1.3)],
                height=240,
            )
        )
        again = series.get("interval_retransmits", [])
        rows += [
            (point.id, begin, end, rate, again[i] if i < len(again) else None)
            for i, (begin, end, rate) in enumerate(zip(begins, ends, rates, strict=True))
        ]
        words.append(
            f"{point_label(point)} between {format_value(min(rates), 'bit_per_s')} and "
            f"{format_value(max(rates), 'bit_per_s')}"
        )
    return tabled(
        "imported-intervals",
        "Intervals as the other tool gave them",
        "The rate in each interval of the tool that measured, at the end that it counted at.",
        f"{list_in_words(words)}.",
        panels,
        (
            Column("point", "Point"),
            *columns("time_ns", begin="From", end="To"),
            Column("rate_bit_per_s", "Rate", "bit_per_s"),
            Column("retransmits", "Retransmitted", "count"),
        ),
        rows,
        methods=("other-tools#",),
        heading="Intervals of another tool",
        wide=True,
    )


def against_size(study: Study) -> Plot | None:
    """Imported figures of more than one size, times and rates apart."""
    curves = _curves(study)
    if not curves:
        return None
    panels = []
    for unit, label, log in (("ns", "time", True), ("bit_per_s", "throughput", False)):
        chosen = {name: found for name, found in curves.items() if found[0].unit == unit}
        if chosen:
            kind = "time_ns" if unit == "ns" else "bit_per_s"
            axis = Axis(label, kind, log=log, low=None if log else 0)  # type: ignore[arg-type]
            shown = list(chosen.items())[:CURVES_SHOWN]
            series = [Series("", name, by_size(found)) for name, found in shown]
            panels += series_panels(series, SIZE_AXIS, axis)
    return tabled(
        "imported-size",
        "Figures of the other tool against message size",
        "As that tool defines them; how, is said with each figure's method. Times in the table are "
        "in ns, rates in bit/s.",
        f"{len(curves)} figures over message size.",
        panels,
        (
            Column("figure", "Figure"),
            Column("message_bytes", "Size", "size"),
            Column("value", "Value", "number"),
        ),
        [(name, f.message_bytes, f.value) for name, found in curves.items() for f in found],
        methods=("other-tools#",),
        heading="Figures of another tool by size",
    )


def _curves(study: Study) -> dict[str, list[Figure]]:
    """Figures that begin with a tool's name and have several sizes, each by size."""
    found: dict[str, list[Figure]] = {}
    for point in sorted(study.run.select(), key=lambda p: p.message_bytes):
        tool = point.imported.tool if point.imported is not None else None
        for figure in study.of_point(point) if tool else []:
            if figure.name.startswith(f"{tool}_") and figure.value > 0:
                words = (point.operation, point.label, label_of(figure.name))
                found.setdefault(" ".join(w for w in words if w), []).append(figure)
    return {n: f for n, f in found.items() if len({each.message_bytes for each in f}) > 1}
