"""Where the time of round trips goes: what each host takes and what is left for the network."""

from __future__ import annotations

from netsonde.figures.stages import PARTS
from netsonde.records.data import Point
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import Cell, Column, Plot, Stack, columns, tabled
from netsonde.report.quantity import format_figure, format_value, list_in_words
from netsonde.report.shapes import shares_panel

NAMES = {
    "origin_send_to_queue": ("origin: send to queue", "blue"),
    "origin_queue_to_driver": ("origin: queue to driver", "irq"),
    "network": ("network, both ways", "idle"),
    "target_driver_to_receive": ("target: driver to receive", "orange"),
    "target_receive_to_send": ("target: program", "steal"),
    "target_send_to_queue": ("target: send to queue", "green"),
    "target_queue_to_driver": ("target: queue to driver", "softirq"),
    "origin_driver_to_receive": ("origin: driver to receive", "system"),
}
"""What a part is called, and its colour by the theme's names."""
BARS = (("typical", "typical"), ("slow", "slowest 1 %"))
POINTS_SHOWN = 12


def where_time_goes(study: Study) -> Plot | None:
    """Bars of the typical and of the slowest round trips, divided into their parts."""
    points = [p for p in study.run.select() if study.figure(p, "typical_network_ns")]
    if not points:
        return None
    labels, bars = [], []
    for point in _shown(points):
        for word, name in BARS:
            means = [_value(study, point, f"{word}_{part}_ns") for part in PARTS]
            whole = sum(means)
            labels.append(f"{point_label(point)} · {name} {format_value(whole, 'time_ns')}")
            # A part that is within the clocks' error of nothing may be a little less than it.
            bars.append([max(mean, 0.0) / whole for mean in means])
    parts = [(*NAMES[part], [bar[i] for bar in bars]) for i, part in enumerate(PARTS)]
    stack = Stack(labels, parts)
    return tabled(
        "where-the-time-goes",
        "Where the time goes",
        "Each round trip is divided where the kernel stamped it: at the queue of the sending "
        "device, at its driver, and at the arrival. Bars are means over the round trips in the "
        "middle tenth and over the slowest hundredth. The network is what neither host accounts "
        "for, both ways together: the wire, the cards, and what lies between driver and driver.",
        f"{list_in_words([_in_words(study, p) for p in _shown(points)])}.",
        [shares_panel("", "share of the round trip", stack, 150 + 22 * len(labels))],
        (
            *columns("text", point="Point", label="What", part="Part"),
            *columns("time_ns", median="Median", p99="p99", typical="In typical round trips"),
            Column("slow_ns", "In the slowest 1 %", "time_ns"),
        ),
        [_row(study, point, part) for point in points for part in PARTS],
        wide=True,
        methods=("kernel-times#",),
    )


def _shown(points: list[Point]) -> list[Point]:
    """All of few points; of many, evenly chosen ones."""
    step = -(-len(points) // POINTS_SHOWN)
    return points[::step]


def _value(study: Study, point: Point, name: str) -> float:
    return study.value(point, name) or 0.0


def _row(study: Study, point: Point, part: str) -> tuple[Cell, ...]:
    names = (f"{part}_median_ns", f"{part}_p99_ns", f"typical_{part}_ns", f"slow_{part}_ns")
    values = (study.value(point, name) for name in names)
    return (point.id, point_label(point), NAMES[part][0], *values)


def _in_words(study: Study, point: Point) -> str:
    shares = {part: _value(study, point, f"typical_{part}_ns") for part in PARTS}
    largest = max(shares, key=lambda part: shares[part])
    figure = study.figure(point, f"{largest}_median_ns")
    value = "" if figure is None else f", {format_figure(figure)}"
    return f"of {point_label(point)} the largest part is {NAMES[largest][0]}{value}"
