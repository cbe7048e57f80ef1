"""Plots of runs that measured the same with several options: a curve for each."""

from __future__ import annotations

from netsonde.figures import Figure
from netsonde.report.latency_plots import TIME_AXIS
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, Table
from netsonde.report.quantity import format_figure, list_in_words
from netsonde.report.theme import Dash, transport_name

MAIN = {
    "latency": "round_trip_median_ns",
    "pingpong": "throughput_bit_per_s",
    "stream": "throughput_bit_per_s",
    "duplex": "throughput_bit_per_s",
}
COLOURS = ("tcp", "udp", "mpi", "limit")  # the theme's distinct ones, by its names
DASHES: tuple[Dash, ...] = ("solid", "dash", "dot")


def by_option(study: Study) -> Plot | None:
    """The main figure of each test against size, a curve for each combination of options."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for transport in study.transports:
        for test, name in MAIN.items():
            curves = _curves_of(study, transport, test, name)
            if not curves:
                continue
            latency = test == "latency"
            panels.append(
                Panel(
                    f"{transport_name(transport)} {test}",
                    Axis("message size", "size", log=True),
                    TIME_AXIS if latency else Axis("throughput", "bit_per_s", low=0),
                    [_curve(label, found, i) for i, (label, found) in enumerate(curves.items())],
                )
            )
            rows += [
                (transport, test, label, f.message_bytes, *_either(f, latency), f.samples)
                for label, found in curves.items()
                for f in found
            ]
            words.append(_best_in_words(transport, test, curves, latency))
    if not panels:
        return None
    table = Table(
        "by_option",
        "By options",
        (
            Column("transport", "Transport"),
            Column("test", "Test"),
            Column("options", "Options"),
            Column("message_bytes", "Size", "size"),
            Column("median_ns", "Median round trip", "time_ns"),
            Column("throughput_bit_per_s", "Throughput", "bit_per_s"),
            Column("samples", "Samples", "count"),
        ),
        rows,
    )
    return Plot(
        "by-option",
        "By options",
        "The same measurement with each combination of the options that were asked for, with 95 % "
        "intervals. What the system gave of a buffer stands under the circumstances.",
        f"{list_in_words(words)}.",
        panels,
        table,
    )


def _curves_of(study: Study, transport: str, test: str, name: str) -> dict[str, list[Figure]]:
    """The figures of labelled points by label, each by size."""
    found: dict[str, list[Figure]] = {}
    for point in study.run.select(transport, test):
        figure = study.figure(point, name)
        if point.label and figure is not None:
            found.setdefault(point.label, []).append(figure)
    return found


def _curve(label: str, found: list[Figure], number: int) -> Curve:
    return Curve(
        label,
        [float(max(f.message_bytes, 1)) for f in found],
        [f.value for f in found],
        COLOURS[number % len(COLOURS)],
        draw="line+points",
        dash=DASHES[number // len(COLOURS) % len(DASHES)],
        low=[f.low for f in found],
        high=[f.high for f in found],
    )


def _either(figure: Figure, latency: bool) -> tuple[Cell, Cell]:
    return (figure.value, None) if latency else (None, figure.value)


def _best_in_words(
    transport: str, test: str, curves: dict[str, list[Figure]], latency: bool
) -> str:
    every = [(label, figure) for label, found in curves.items() for figure in found]
    pick = min if latency else max
    label, figure = pick(every, key=lambda pair: pair[1].value)
    return f"{transport_name(transport)} {test} is best with {label}: {format_figure(figure)}"
