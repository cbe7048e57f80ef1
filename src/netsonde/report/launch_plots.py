"""Sockets in several launches: a value of each launch, and the median of them."""

from __future__ import annotations

import json

from netsonde.figures import Figure
from netsonde.figures.side_by_side import spread
from netsonde.records.data import Point
from netsonde.report.latency_plots import TIME_AXIS
from netsonde.report.lookup import Study, point_label
from netsonde.report.option_plots import COLOURS, DASHES, MAIN
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, Table
from netsonde.report.theme import transport_name

Conditions = dict[str, list[tuple[int, Figure]]]
"""By what was measured, each launch and its figure."""


def over_launches(study: Study) -> Plot | None:
    """The main figure of each point against the number of its launch."""
    panels, rows = [], list[tuple[Cell, ...]]()
    for transport in study.transports:
        for test, name in MAIN.items():
            found = _by_condition(study, transport, test, name)
            if not found:
                continue
            axis = TIME_AXIS if test == "latency" else Axis("throughput", "bit_per_s")
            curves = [_curve(label, own, i) for i, (label, own) in enumerate(found.items())]
            title = f"{transport_name(transport)} {test}"
            panels.append(Panel(title, Axis("launch", "count"), axis, curves))
            rows += [_row(label, test, own) for label, own in found.items()]
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
        "interval of order statistics from six of them on. Elsewhere on this page the first launch "
        "stands for all where there is room for one curve only.",
        f"{len(rows)} points were measured in {max(int(str(row[1])) for row in rows)} launches.",
        panels,
        Table("launches", "Over launches", columns, rows),
    )


def _by_condition(study: Study, transport: str, test: str, name: str) -> Conditions:
    labels: dict[str, str] = {}
    found: Conditions = {}
    for point in study.run.select(transport, test):
        figure = study.figure(point, name)
        if "launch" not in point.parameters or transport == "mpi" or figure is None:
            continue
        label = labels.setdefault(_key(point), _label(point))
        found.setdefault(label, []).append((int(point.parameters["launch"]), figure))
    return {label: sorted(own, key=lambda pair: pair[0]) for label, own in found.items()}


def _key(point: Point) -> str:
    own = {name: value for name, value in point.parameters.items() if name != "launch"}
    return json.dumps(own, sort_keys=True)


def _label(point: Point) -> str:
    return point_label(point).replace(f", launch {point.parameters['launch']}", "")


def _curve(label: str, own: list[tuple[int, Figure]], number: int) -> Curve:
    return Curve(
        label,
        [float(launch) for launch, _ in own],
        [figure.value for _, figure in own],
        COLOURS[number % len(COLOURS)],
        draw="line+points",
        dash=DASHES[number // len(COLOURS) % len(DASHES)],
        low=[figure.low for _, figure in own],
        high=[figure.high for _, figure in own],
    )


def _row(label: str, test: str, own: list[tuple[int, Figure]]) -> tuple[Cell, ...]:
    over = spread([figure.value for _, figure in own])
    values = (over.median, over.low, over.high)
    times = values if test == "latency" else (None, None, None)
    rates = values if test != "latency" else (None, None, None)
    return (label, over.n, *times, *rates)
