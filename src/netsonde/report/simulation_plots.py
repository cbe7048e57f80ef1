"""Simulated points: beside what was published of them, against what was swept, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from netsonde.catalogue.known_figures import unit_of
from netsonde.catalogue.point import Scalar, Simulation
from netsonde.figures import Figure
from netsonde.records.data import Point
from netsonde.report.against import Series, series_panels, series_rows
from netsonde.report.effect_plots import print_effects
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import Axis, Column, Curve, Panel, Plot, columns, tabled
from netsonde.report.quantity import Kind, format_value, kind_of, list_in_words
from netsonde.report.theme import Look
from netsonde.units import format_count

CURVES_SHOWN = 12
SHOWN = ("line_use_ratio", "host_throughput_bit_per_s", "completion_median_ns")
"""What a sweep shows where nothing was published of it: the first that there is."""
LOST = {"lost_overflow_ratio": "dropped", "retransmitted_ratio": "retransmitted"}


@dataclass(frozen=True)
class Compared:
    """A simulated figure beside others' of the same: None where there is none. ``deviation`` is of
    the simulated from the published, as a share of it."""

    point: str
    label: str
    figure: str
    kind: Kind
    published: float | None
    predicted: float | None
    formula: float | None
    simulated: float
    source: str
    reason: str

    @property
    def deviation(self) -> float | None:
        return self.simulated / self.published - 1.0 if self.published else None


def compared_points(study: Study) -> Iterator[Compared]:
    """Every simulated point with something to compare it with, in the order of the study."""
    for point in _simulated(study):
        spec = point.spec.of(Simulation)
        figure = study.figure(point, spec.compared or "")
        if figure is None:
            continue
        formula = study.figure(point, f"formula_{figure.name}")
        yield Compared(
            point.id,
            str(point.label or point.operation),
            figure.name,
            kind_of(figure.unit),
            spec.published,
            spec.published_prediction,
            None if formula is None else formula.value,
            figure.value,
            spec.source or "",
            spec.reason or "",
        )


def _simulated(study: Study) -> list[Point]:
    return [point for point in study.run.points if point.kind.is_simulated and point.batches]


def beside_published(study: Study) -> Plot | None:
    """Simulated over published, point by point."""
    rows = [row for row in compared_points(study) if row.published is not None]
    if not rows:
        return None
    panels = []
    for figure in dict.fromkeys(row.figure for row in rows):
        own = [row for row in rows if row.figure == figure]
        most = max(max(row.simulated, row.published or 0.0) for row in own)
        kind = own[0].kind
        panels.append(
            Panel(
                figure.rsplit("_", 1)[0].replace("_", " "),
                Axis("published", kind, low=0),
                Axis("simulated, and by formula", kind, low=0),
                [
                    Curve("equal", [0.0, most], [0.0, most], "limit", dash="dot"),
                    _dots("simulated", own, lambda row: row.simulated, Look("user")),
                    _dots("by formula", own, lambda row: row.formula, Look("system", "diamond")),
                ],
            )
        )
    kind = rows[0].kind if len({row.kind for row in rows}) == 1 else "number"
    return tabled(
        "simulated-published",
        "Simulated beside published",
        "Each point is one that was published. On the dotted line, the simulation gives what was "
        "measured then. Deviations are of the simulated from the published figure. Where they "
        "differ, the reason is the study's own words.",
        f"{_spread_in_words(rows)}.",
        panels,
        (
            *columns("text", point="Point", label="Of", figure="Figure"),
            Column("published", "Published", kind),
            Column("published_prediction", "Its own model", kind),
            Column("formula", "Formula", kind),
            Column("simulated", "Simulated", kind),
            Column("deviation_ratio", "Deviation", "ratio"),
            *columns("text", source="Source", reason="Why they differ"),
        ),
        [
            (
                *(row.point, row.label, row.figure, row.published, row.predicted, row.formula),
                *(row.simulated, row.deviation, row.source, row.reason),
            )
            for row in rows
        ],
        wide=True,
    )


def _dots(
    label: str, rows: list[Compared], value: Callable[[Compared], float | None], look: Look
) -> Curve:
    known = [row for row in rows if value(row) is not None]
    x, y = [row.published for row in known], [value(row) for row in known]
    return Curve(label, x, y, look.colour, draw="points", symbol=look.symbol)


def _spread_in_words(rows: list[Compared]) -> str:
    deviations = [row.deviation for row in rows if row.deviation is not None]
    if not deviations:
        return format_count(len(rows), "point")
    mean = sum(map(abs, deviations)) / len(deviations)
    return (
        f"{format_count(len(deviations), 'point')}; the simulation deviates by {mean:.1%} on "
        f"average, from {min(deviations):+.1%} to {max(deviations):+.1%}"
    )


def swept(study: Study) -> Plot | None:
    """The figure that is compared, else a usual one, against what was swept first."""
    points = _over_a_number(study)
    name = _shown_figure(study, points)
    if name is None:
        return None
    found = _series(study, points, name)
    kind, label = kind_of(unit_of(name)), name.rsplit("_", 1)[0].replace("_", " ")
    axes = list(dict.fromkeys(str(series.key[0]) for series in found))
    panels = _panels(found, Axis(label, kind, low=0))
    rows = series_rows(found)
    return tabled(
        "simulated-swept",
        "Simulated sweeps",
        "Medians over the seeds of each point, with 95 % intervals where there are enough.",
        f"{name.replace('_', ' ')} against {list_in_words(axes)}, "
        f"{format_count(len(rows), 'point')}.",
        panels,
        (
            *columns("text", key="Swept", beside="With"),
            Column("value", "Value", "number"),
            Column(name, name.replace("_", " "), kind),
            Column("low", "From", kind),
            Column("high", "To", kind),
        ),
        rows,
    )


def lost_over_swept(study: Study) -> Plot | None:
    """Drops and retransmissions against what was swept first. None where nothing was lost."""
    points = _over_a_number(study)
    found = {name: _series(study, points, name) for name in LOST}
    lossy = {
        name: series
        for name, series in found.items()
        if any(estimate.value for one in series for _, estimate in one.places)
    }
    return tabled(
        "simulated-lost",
        "Drops and retransmissions over what was swept",
        "Dropped: packets that found a queue full, of all packets made, acknowledgements among "
        "them. Retransmitted: of all data packets sent. Over all seeds of a point, with 95 % "
        "intervals.",
        f"{list_in_words([LOST[name] for name in lossy])} packets.".capitalize(),
        [
            panel
            for name, series in lossy.items()
            for panel in _panels(series, Axis(LOST[name], "ratio", low=0))
        ],
        (
            *columns("text", figure="Figure", key="Swept", beside="With"),
            Column("value", "Value", "number"),
            Column("share_ratio", "Share", "ratio"),
            Column("low_ratio", "From", "ratio"),
            Column("high_ratio", "To", "ratio"),
        ),
        [(name, *row) for name, series in lossy.items() for row in series_rows(series)],
    )


def _panels(found: list[Series], y: Axis) -> list[Panel]:
    """One for each key that was swept first."""
    return [
        panel
        for key in dict.fromkeys(str(series.key[0]) for series in found)
        for panel in series_panels(
            (series for series in found if series.key[0] == key),
            Axis(_last_part(key), _kind_of_values(found, key)),
            y,
            least=2,
            most=CURVES_SHOWN,
        )
    ]


def _kind_of_values(found: Iterable[Series], key: str) -> Kind:
    """There is no window of six packets and a half."""
    values = [x for series in found if series.key[0] == key for x, _ in series.places]
    return "count" if all(float(x).is_integer() for x in values) else "number"


def _over_a_number(study: Study) -> list[Point]:
    """Those of which the key that was swept first is a number."""
    simulated = _simulated(study)
    varied = _varied(simulated)
    return [p for p in simulated if _number(_swept(p).get(_axis_key(p, varied))) is not None]


def _varied(points: Iterable[Point]) -> frozenset[str]:
    """The keys of more than one value: ``--sweep senders=5`` sets, it does not sweep."""
    values: dict[str, set[Scalar]] = {}
    for point in points:
        for key, value in _swept(point).items():
            values.setdefault(key, set()).add(value)
    return frozenset(key for key, own in values.items() if len(own) > 1)


def _axis_key(point: Point, varied: Container[str]) -> str:
    keys = list(_swept(point))
    return next((key for key in keys if key in varied), keys[0] if keys else "")


def _number(value: Scalar | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _rest(point: Point, axis: str) -> str:
    given = [item for item in _swept(point).items() if item[0] != axis]
    words = ", ".join(f"{_last_part(key)} {value}" for key, value in given)
    return ", ".join(filter(None, (point.spec.of(Simulation).scenario, words))) or "all"


def _swept(point: Point) -> Mapping[str, Scalar]:
    return point.spec.of(Simulation).swept or {}


def _shown_figure(study: Study, points: list[Point]) -> str | None:
    asked = [name for p in points if (name := p.spec.of(Simulation).compared) is not None]
    for name in (*dict.fromkeys(asked), *SHOWN):
        if any(study.figure(point, name) for point in points):
            return name
    return None


def _series(study: Study, points: list[Point], name: str) -> list[Series]:
    """A figure over what was swept first, by that and by all else."""
    groups: dict[tuple[str, str], list[tuple[float, Figure]]] = {}
    varied = _varied(points)
    for point in points:
        axis = _axis_key(point, varied)
        figure, value = study.figure(point, name), _number(_swept(point).get(axis))
        if figure is not None and value is not None:
            groups.setdefault((axis, _rest(point, axis)), []).append((value, figure))
    return [
        Series(_last_part(key), rest, sorted(own, key=lambda place: place[0]), (key, rest))
        for (key, rest), own in groups.items()
    ]


def _last_part(key: str) -> str:
    return key.split(".")[-1].replace("_", " ")


def compared_lines(study: Study) -> list[tuple[str, str, str, str, str]]:
    """For a terminal: what, published, formula, simulated, deviation."""
    return [
        (
            row.label,
            format_value(row.published, row.kind),
            format_value(row.formula if row.formula is not None else row.predicted, row.kind),
            format_value(row.simulated, row.kind),
            "" if row.deviation is None else f"{row.deviation:+.1%}",
        )
        for row in compared_points(study)
    ]


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
    print_effects(study, console)


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
