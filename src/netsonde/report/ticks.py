"""Where an image's axis is labelled: matplotlib crowds short logarithmic axes; this does not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from netsonde.report.plot import Axis, Curve, Panel
from netsonde.report.quantity import Kind
from netsonde.units import format_size

Tick = tuple[float, str]

_MANTISSAS = (
    (1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 9),
    (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.5, 2, 3, 4, 5, 7),
    (1, 2, 3, 5),
    (1, 2, 5),
    (1, 3),
    (1,),
)
LEAST_DISTANCE_X = 0.15
"""Of the axis between two labels: 45 of 300 pixels, as wide as ``100 µs``."""
LEAST_DISTANCE_Y = 0.07
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def x_ticks(panel: Panel) -> list[Tick]:
    """Labels of a logarithmic x axis; none where the axis is linear."""
    values = [v for c in panel.curves for v in c.x]
    return _ticks(panel.x, values, LEAST_DISTANCE_X)


def y_ticks(panel: Panel) -> list[Tick]:
    """Labels of a logarithmic y axis; none where the axis is linear."""
    values = [v for c in panel.curves for v in _heights(c)]
    return _ticks(panel.y, values, LEAST_DISTANCE_Y)


def _heights(curve: Curve) -> list[float | None]:
    return [*curve.y, *(curve.low or []), *(curve.high or [])]


def _ticks(axis: Axis, values: Iterable[float | None], least_distance: float) -> list[Tick]:
    known = [v for v in values if v is not None and v > 0]
    if not axis.log or not known:
        return []
    low = axis.low or min(known)
    high = axis.high or max(known)
    if axis.kind == "size":
        return _size_ticks(low, high, known)
    places = _places(low / 1.02, high * 1.02, least_distance)
    return [(value, _label(value, axis.kind)) for value in places]


def _places(low: float, high: float, least_distance: float) -> list[float]:
    decades = max(math.log10(high / low), 1e-9)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in _MANTISSAS:
        found = [m * 10.0**p for p in powers for m in mantissas if low <= m * 10.0**p <= high]
        apart = [math.log10(b / a) for a, b in pairwise(found)]
        if not apart or min(apart) >= least_distance * decades:
            return found
    step = math.ceil(least_distance * decades)
    return [10.0**p for p in powers if p % step == 0 and low <= 10.0**p <= high]


def _size_ticks(low: float, high: float, known: list[float]) -> list[Tick]:
    step = 4 if high / low > 2**10 else 2
    powers = [float(2**p) for p in range(0, 41, step) if low / 1.5 <= 2**p <= high * 1.5]
    places = powers if len(powers) > 1 else sorted(set(known))
    return [(place, format_size(int(place))) for place in places]


def _label(value: float, kind: Kind) -> str:
    if kind == "time_ns":
        scale, unit = next(((s, u) for s, u in _TIMES if value >= s * 0.999), _TIMES[-1])
        return f"{value / scale:.3g} {unit}"
    if kind == "ratio":
        return f"{value * 100:.3g}%"
    return f"{value:.3g}"
