"""Sockets in several launches: a value of each launch, and the median of them."""

from __future__ import annotations

from netsonde.catalogue.test import test_row
from netsonde.figures.headlines import Headline
from netsonde.records.data import Point
from netsonde.report.latency_plots import TIME_AXIS
from netsonde.report.lookup import Study, condition_label
from netsonde.report.option_plots import COLOURS, DASHES, MAIN
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, Table
from netsonde.report.theme import transport_name


def over_launches(study: Study) -> Plot | None:
    """The main figure of each point against the number of its launch."""
    panels, rows = [], list[tuple[Cell, ...]]()
    for transport in study.transports:
        for test, name in MAIN.items():
            found = [
                h
                for h in study.headlines.all
                if (h.key.transport, h.key.test, h.key.figure) == (transport, test, name)
                and any(_has_launches(study.point(point)) for point in h.points)
            ]
            if not found:
                continue
            axis = TIME_AXIS if test_row(test).asks_round_trip else Axis("throughput", "bit_per_s")
            curves = [_curve(study, headline, i) for i, headline in enumerate(found)]
            title = f"{transport_name(transport)} {test}"
            panels.append(Panel(title, Axis("launch", "count"), axis, curves))
            rows += [_row(study, headline, test) for headline in found]
    if not panels:
        return None
    columns = (
        Column("point", "Point"),
        Column("launches", "Launches", "count"),
        Column("median_ns", "Median", "time_ns"),
        Column("low_ns", "From", "time_ns"),
        Column("high_ns", "To", "time_ns"),
        Column("median_bit_per_s", "Median", "bit_per_s"),
        Column("low_bit_per_s", "From", "bit_per_s"),
        Column("high_bit_per_s", "To", "bit_per_s"),
    )
    return Plot(
        "launches",
        "Over launches",
        "Each launch is one value: new workers, new connections. The median of launches has a 95 % "
        "interval of order statistics from six of them on; of fewer their span is given, beyond "
        "which no launch lies. It is the median of launches that the rest of this page shows.",
        f"{len(rows)} points were measured in {max(int(str(row[1])) for row in rows)} launches.",
        panels,
        Table("launches", "Over launches", columns, rows),
    )


def _has_launches(point: Point | None) -> bool:
    """Of sockets; those of MPI are put side by side."""
    return point is not None and point.spec.launch is not None and not point.carrier.has_ranks


def _label(study: Study, headline: Headline) -> str:
    point = study.point(headline.middle)
    return condition_label(point) if point else headline.label


def _curve(study: Study, headline: Headline, number: int) -> Curve:
    launches = headline.launches
    return Curve(
        _label(study, headline),
        [float(launch.number) for launch in launches],
        [launch.value for launch in launches],
        COLOURS[number % len(COLOURS)],
        draw="line+points",
        dash=DASHES[number // len(COLOURS) % len(DASHES)],
        low=[launch.low for launch in launches],
        high=[launch.high for launch in launches],
    )


def _row(study: Study, headline: Headline, test: str) -> tuple[Cell, ...]:
    over = headline.over
    values = (over.value, over.low, over.high)
    times = values if test_row(test).asks_round_trip else (None, None, None)
    rates = values if not test_row(test).asks_round_trip else (None, None, None)
    return (_label(study, headline), over.launches, *times, *rates)
