"""B_L and where a switch has its buffers, from bursts that were begun at once.

k packets of one size from S sources to R sinks leave at A = S/g_s and get away at D = R/g_r; what
the buffers hold in all, B, fills at A - D, and what finds them full is lost. So of the k packets
k D/A + B arrive, Eq. (A.2) times k. B grows with S where inputs have buffers, with R where outputs
have, and with neither where they share one. Source: A. T. C. Tam, Performance Studies of High-Speed
Communication on Commodity Cluster, PhD thesis, The University of Hong Kong, 2001, appendix A.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netsonde.model.platform import Architecture
from netsonde.stats.fits import fit_line
from netsonde.stats.quantiles import Interval

LEAST_BURSTS = 3
"""Bursts of one shape that lost packets, for a line with an interval."""
APART = 3.0
"""An architecture is named where its slopes agree so many times better than the next one's."""
Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class BurstLoss:
    """Of a burst of ``packets`` in all from ``sources`` to ``sinks`` this share arrived."""

    sources: int
    sinks: int
    packets: int
    received_ratio: float
    run: str


@dataclass(frozen=True, slots=True)
class ShapeFit:
    """Of the bursts of one shape: ``packets``, what the buffers held in all, and its interval;
    ``drained`` the share that left meanwhile, D/A, with its own, and ``is_even`` whether that is
    R/S, as where all links are alike: then it is taken as known."""

    packets: float
    interval: Interval
    drained: float
    drained_interval: Interval
    is_even: bool


@dataclass(frozen=True, slots=True)
class BufferFit:
    """B_L of a port, or of the whole switch where it is ``shared``, with the range that the shapes
    of bursts give; ``slopes`` of each shape. ``told_apart``: the shapes name the architecture."""

    architecture: Architecture
    packets: float
    low: float
    high: float
    shapes: Mapping[Shape, ShapeFit]
    told_apart: bool

    @property
    def slopes(self) -> Mapping[Shape, tuple[float, Interval]]:
        """(sources, sinks) -> packets that the buffers held, with the interval of the line."""
        return {shape: (fit.packets, fit.interval) for shape, fit in self.shapes.items()}


_UNITS: Mapping[Architecture, Callable[[int, int], int]] = {
    "input": lambda sources, _: sources,
    "output": lambda _, sinks: sinks,
    "shared": lambda _, __: 1,
}


def fit_buffer(bursts: Sequence[BurstLoss], notes: list[str]) -> BufferFit | None:
    """None with fewer than three bursts of a shape that lost packets; ``notes`` gets sentences."""
    shapes: dict[Shape, ShapeFit] = {}
    for shape in sorted({(one.sources, one.sinks) for one in bursts}):
        lossy = [b for b in bursts if (b.sources, b.sinks) == shape and b.received_ratio < 1.0]
        if len({one.packets for one in lossy}) >= LEAST_BURSTS:
            shapes[shape] = _fit_shape(shape, lossy)
    if not shapes:
        if bursts:
            notes.append("B_L is not known: fewer than 3 bursts of one shape lost packets")
        return None
    spread: dict[Architecture, float] = {}
    for architecture in _UNITS:
        each = _each(architecture, shapes)
        spread[architecture] = float(np.ptp(each) / abs(each.mean()))
    best = sorted(spread, key=spread.__getitem__)
    told_apart = len(shapes) > 1 and spread[best[1]] > APART * spread[best[0]]
    chosen: Architecture = best[0] if told_apart else "output"
    if not told_apart:
        notes.append(
            "bursts do not tell the switch's architecture: vary sources and sinks (six hosts make "
            "bursts to two sinks); B_L is as if outputs have buffers"
        )
    each = _each(chosen, shapes)
    return BufferFit(
        chosen, float(np.median(each)), float(each.min()), float(each.max()), shapes, told_apart
    )


def _each(architecture: Architecture, shapes: Mapping[Shape, ShapeFit]) -> np.ndarray:
    unit = _UNITS[architecture]
    return np.array([fit.packets / unit(*shape) for shape, fit in shapes.items()])


def _fit_shape(shape: Shape, lossy: Sequence[BurstLoss]) -> ShapeFit:
    """The line over k through what arrived: intercept B, slope D/A. Over 1/k, as the source draws
    it, they change places; over k all bursts have errors of about one packet."""
    sources, sinks = shape
    counts = np.array([one.packets for one in lossy], np.float64)
    arrived = np.array([one.packets * one.received_ratio for one in lossy])
    line = fit_line(counts, arrived)
    even = sinks / sources
    # A drop or a rise of one packet over the longest burst is none.
    slack = 2.0 / float(counts.max())
    is_even = line.slope_interval.low - slack <= even <= line.slope_interval.high + slack
    held = arrived - even * counts
    if not is_even:
        return ShapeFit(
            line.intercept, line.intercept_interval, line.slope, line.slope_interval, False
        )
    room = float(np.median(held))
    interval = Interval(float(held.min()), float(held.max()), line.intercept_interval.confidence)
    return ShapeFit(room, interval, line.slope, line.slope_interval, True)
