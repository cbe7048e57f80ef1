"""Sockets in several launches: a value of each launch, and the median of them."""

from __future__ import annotations

from netsonde.catalogue.test import Test
from netsonde.figures.headlines import Headline
from netsonde.records.data import Point
from netsonde.report.against import ROUND_TRIP_AXIS, curve, estimate_cells, estimate_columns
from netsonde.report.lookup import TWO_ENDED, Study, condition_label
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, tabled
from netsonde.report.theme import series_look, transport_name


def over_launches(study: Study) -> Plot | None:
    """The main figure of each point against the number of its launch."""
    panels, rows = [], list[tuple[Cell, ...]]()
    for transport in study.transports:
        for test in TWO_ENDED:
            found = [
                h
                for h in study.headlines.all
                if (h.key.transport, h.key.test) == (transport, test.name)
                and h.key.figure == test.against_size
                and any(_has_launches(study.point(point)) for point in h.points)
            ]
            if not found:
                continue
            axis = ROUND_TRIP_AXIS if test.asks_round_trip else Axis("throughput", "bit_per_s")
            curves = [_curve(study, headline, i) for i, headline in enumerate(found)]
            title = f"{transport_name(transport)} {test.name}"
            panels.append(Panel(title, Axis("launch", "count"), axis, curves))
            rows += [_row(study, headline, test) for headline in found]
    if not panels:
        return None
    columns = (
        Column("point", "Point"),
        Column("launches", "Launches", "count"),
        *estimate_columns("median_ns", "Median"),
        *estimate_columns("median_bit_per_s", "Median", "bit_per_s"),
    )
    return tabled(
        "launches",
        "Over launches",
        "Each launch is one value: new workers, new connections. The median of launches has a 95 % "
        "interval of order statistics from six of them on; of fewer their span is given, beyond "
        "which no launch lies. It is the median of launches that the rest of this page shows.",
        f"{len(rows)} points were measured in {max(int(str(row[1])) for row in rows)} launches.",
        panels,
        columns,
        rows,
    )


def _has_launches(point: Point | None) -> bool:
    """Of sockets; those of MPI are put side by side."""
    return point is not None and point.spec.launch is not None and not point.carrier.has_ranks


def _label(study: Study, headline: Headline) -> str:
    point = study.point(headline.middle)
    return condition_label(point) if point else headline.label


def _curve(study: Study, headline: Headline, number: int) -> Curve:
    places = [(float(launch.number), launch) for launch in headline.launches]
    return curve(_label(study, headline), places, series_look(number))


def _row(study: Study, headline: Headline, test: Test) -> tuple[Cell, ...]:
    over = headline.over
    time, rate = (over, None) if test.asks_round_trip else (None, over)
    label = _label(study, headline)
    return (label, over.launches, *estimate_cells(time), *estimate_cells(rate))
