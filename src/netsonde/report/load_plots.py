"""Plots of response times against the load that was offered."""

from __future__ import annotations

from dataclasses import replace

from netsonde.catalogue.point import OpenLoop
from netsonde.catalogue.transport import Dash
from netsonde.figures import Figure
from netsonde.records.data import Point
from netsonde.report.against import curve
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Cell, Column, Curve, Mark, Panel, Plot, tabled
from netsonde.report.quantity import format_figure, list_in_words, size_text
from netsonde.report.theme import transport_look, transport_name
from netsonde.stats.knee import KNEE_FACTOR, knee_load

QUANTILES: tuple[tuple[str, Dash], ...] = (("median", "solid"), ("p99", "dash"), ("p999", "dot"))
KNEE_OF = "response_p99_ns"


def against_load(study: Study) -> Plot | None:
    """Quantiles of response times against offered load, with the knee of the 99 % quantile."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for transport in study.transports:
        for points in _curves_of(study, transport):
            size = points[0].message_bytes
            knee = knee_of(study, points)
            marks = [] if knee is None else [Mark("x", knee, f"knee {knee:.0%}", "limit", "dash")]
            panels.append(
                Panel(
                    f"{transport_name(transport)} {size_text(size)}",
                    Axis("offered load, share of what is answered at most", "ratio", low=0),
                    Axis("response time", "time_ns", log=True),
                    [_curve(study, transport, points, q, dash) for q, dash in QUANTILES],
                    marks,
                )
            )
            rows += [_row(study, transport, point) for point in points]
            words.append(_in_words(study, transport, points, knee))
    return tabled(
        "response-load",
        "Response time against offered load",
        "Messages are sent at fixed times whatever became of those before, and a response time "
        "counts from the intended time: what a message waited because of others is in it. The "
        "knee is the offered load from which on the 99 % quantile stays above "
        f"{KNEE_FACTOR:g} times that of the least load.",
        f"{list_in_words(words)}.",
        panels,
        (
            Column("transport", "Transport"),
            Column("message_bytes", "Size", "size"),
            Column("load_ratio", "Offered load", "ratio"),
            Column("offered_messages_per_s", "Offered a second", "count"),
            Column("capacity_messages_per_s", "Capacity a second", "count"),
            *(Column(f"{q}_ns", q, "time_ns") for q, _ in QUANTILES),
            Column("unanswered_ratio", "Unanswered", "ratio"),
        ),
        rows,
        methods=("load#",),
        heading="Response time by offered load",
    )


def knee_of(study: Study, points: list[Point]) -> float | None:
    """The offered load of the knee; None where the curve has none."""
    known = [
        (_load(point), figure.value)
        for point in points
        if (figure := study.figure(point, KNEE_OF)) is not None
    ]
    if len(known) < 2:
        return None
    return knee_load([load for load, _ in known], [value for _, value in known])


def _curves_of(study: Study, transport: str) -> list[list[Point]]:
    """Points of one size each, by rising load."""
    found = [
        p for p in study.run.select(transport) if p.kind.is_open_loop and study.figure(p, KNEE_OF)
    ]
    sizes = sorted({point.message_bytes for point in found})
    return [sorted((p for p in found if p.message_bytes == s), key=_load) for s in sizes]


def _load(point: Point) -> float:
    return point.spec.of(OpenLoop).load_ratio


def _curve(study: Study, transport: str, points: list[Point], quantile: str, dash: Dash) -> Curve:
    name = f"response_{quantile}_ns"
    known = [(_load(p), f) for p in points if (f := study.figure(p, name)) is not None]
    return curve(quantile, known, replace(transport_look(transport), dash=dash))


def _row(study: Study, transport: str, point: Point) -> tuple[Cell, ...]:
    names = (
        *("offered_messages_per_s", "capacity_messages_per_s"),
        *(f"response_{q}_ns" for q, _ in QUANTILES),
        "unanswered_ratio",
    )
    values = (study.value(point, name) for name in names)
    return (transport, point.message_bytes, _load(point), *values)


def _in_words(study: Study, transport: str, points: list[Point], knee: float | None) -> str:
    def tail(point: Point) -> str:
        figure: Figure | None = study.figure(point, KNEE_OF)
        return f"{format_figure(figure) if figure else 'nothing'} at {_load(point):.0%}"

    bend = "no knee up to there" if knee is None else f"the knee is at {knee:.0%}"
    return f"{transport_name(transport)} p99 {tail(points[0])}, {tail(points[-1])}; {bend}"
