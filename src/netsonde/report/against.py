"""A figure against a factor: curves with their intervals, their axes, the columns beside them.

Most plots are this: a value at each size, load or number of ranks, a curve for each way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from netsonde.figures import Figure
from netsonde.report.plot import Axis, Cell, Column, Curve, Draw, Panel
from netsonde.report.quantity import Kind
from netsonde.report.theme import Look, series_look

SIZE_AXIS = Axis("message size", "size", log=True)
RATE_AXIS = Axis("throughput", "bit_per_s", low=0)
ROUND_TRIP_AXIS = Axis("round trip", "time_ns", log=True)
SIZE = Column("message_bytes", "Size", "size")
OPERATION_AND_SIZE = (Column("operation", "Operation"), SIZE)
TEST_AND_SIZE = (Column("test", "Test"), SIZE)


class Estimate(Protocol):
    """A value with the ends of its interval; None where it has none."""

    @property
    def value(self) -> float | None: ...

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


@dataclass(frozen=True)
class Between:
    """An estimate of what has other names for its parts; a value of None breaks the curve."""

    value: float | None
    low: float | None = None
    high: float | None = None


def size_place(message_bytes: int) -> float:
    """Where a size stands on a logarithmic axis: an empty message at 1."""
    return float(max(message_bytes, 1))


def by_size(figures: Iterable[Figure]) -> list[tuple[float, Figure]]:
    """Figures at their sizes."""
    return [(size_place(figure.message_bytes), figure) for figure in figures]


def curve(
    label: str,
    places: Iterable[tuple[float, Estimate]],
    look: Look,
    draw: Draw = "line+points",
    **drawn: Any,
) -> Curve:
    """Estimates over a factor, with their intervals; ``drawn`` are further fields of the curve."""
    known = list(places)
    made = Curve(
        label,
        [x for x, _ in known],
        [estimate.value for _, estimate in known],
        look.colour,
        draw=draw,
        dash=look.dash,
        symbol=look.symbol,
        low=[estimate.low for _, estimate in known],
        high=[estimate.high for _, estimate in known],
    )
    return replace(made, **drawn)


@dataclass(frozen=True)
class Series:
    """A figure over a factor: the panel that it is drawn in, its name there, and the cells that its
    rows of the table begin with."""

    panel: str
    name: str
    places: Sequence[tuple[float, Estimate]]
    key: tuple[Cell, ...] = ()


def series_panels(
    found: Iterable[Series], x: Axis, y: Axis, *, least: int = 1, most: int | None = None
) -> list[Panel]:
    """A panel for each that is named, with a curve for each series of ``least`` places or more; of
    more than ``most`` it says how many are left out."""
    panels: dict[str, list[Series]] = {}
    for series in found:
        if len(series.places) >= least:
            panels.setdefault(series.panel, []).append(series)
    return [
        Panel(
            title,
            x,
            y,
            [curve(s.name, s.places, series_look(i)) for i, s in enumerate(own[:most])],
            note=f"{len(own) - most} more curves are in the table" if most and own[most:] else "",
        )
        for title, own in panels.items()
    ]


def series_rows(found: Iterable[Series]) -> list[tuple[Cell, ...]]:
    """A row of each place, with the interval."""
    return [(*s.key, x, *estimate_cells(estimate)) for s in found for x, estimate in s.places]


def figure_rows(found: Mapping[tuple[Cell, ...], Iterable[Figure]]) -> list[tuple[Cell, ...]]:
    """A row of each figure behind the cells that say what it is of: its size, its interval, and how
    many samples it is made of."""
    return [
        (*key, figure.message_bytes, *estimate_cells(figure), figure.samples)
        for key, figures in found.items()
        for figure in figures
    ]


def times_axis(label: str, curves: Sequence[Curve]) -> Axis:
    """Of ratios around 1, with room on both sides, so that small differences look small."""
    ends = [v for c in curves for part in (c.y, c.low, c.high) for v in part or [] if v]
    low, high = min([0.8, *(0.95 * e for e in ends)]), max([1.25, *(1.05 * e for e in ends)])
    return Axis(label, "number", log=True, low=low, high=high)


def estimate_columns(
    name: str, label: str, kind: Kind = "time_ns", low: str = "", high: str = ""
) -> tuple[Column, ...]:
    """A value, and from where to where its interval is; the names of the ends have its unit."""
    unit = name.partition("_")[2]
    return (
        Column(name, label, kind),
        Column(low or f"low_{unit}", "From", kind),
        Column(high or f"high_{unit}", "To", kind),
    )


def estimate_cells(estimate: Estimate | None) -> tuple[Cell, Cell, Cell]:
    """The same three of a row."""
    if estimate is None:
        return None, None, None
    return estimate.value, estimate.low, estimate.high
