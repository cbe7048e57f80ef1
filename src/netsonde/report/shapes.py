"""Curves and panels that several plots have: distributions, tails, maps and bars of shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from netsonde.records.data import Series
from netsonde.report.plot import Axis, Curve, Heat, Panel, Stack
from netsonde.report.theme import Look
from netsonde.report.thinning import Floats, density, slower_than
from netsonde.stats.fits import Segment

TAIL_AXIS = Axis("share that took longer", "ratio", log=True)
STEPS = 40
"""Of a line that was fitted."""
Item = TypeVar("Item")


def histogram_curve(label: str, times: Series, look: Look) -> Curve:
    """The share of times per relative width of 1 %, as steps."""
    shape = density(times)
    edges, heights = shape.edges.tolist(), shape.share_per_percent.tolist()
    x, y = [edges[0], *edges], [0.0, *heights, 0.0]
    return Curve(label, x, y, look.colour, "step", look.dash, look.symbol)


def tail_curve(
    label: str, times: Series | tuple[Floats, Floats], look: Look, **drawn: Any
) -> Curve:
    """The share of times that are as long or longer; or times with their shares as they are."""
    x, y = times if isinstance(times, tuple) else slower_than(times)
    return Curve(
        label, x.tolist(), y.tolist(), look.colour, "line", look.dash, look.symbol, **drawn
    )


def fitted_curves(segments: Iterable[Segment], width: float, opacity: float = 1.0) -> list[Curve]:
    """Lines over sizes, which are bent on logarithmic axes; broken where they are below 0. Those
    that miss their points, or by which a byte costs less than nothing, are no lines to draw."""
    curves = []
    for segment in segments:
        if not segment.holds or segment.line.slope <= 0.0:
            continue
        sizes = np.geomspace(max(segment.low, 1.0), max(segment.high, 1.0), STEPS)
        times: list[float | None] = [t if t > 0 else None for t in segment.line.at(sizes).tolist()]
        made = Curve("fitted line", sizes.tolist(), times, "fit", width=width, opacity=opacity)
        curves.append(replace(made, in_legend=False))
    return curves


def map_panel(title: str, across: str, heat: Heat, row_pixels: int = 26) -> Panel:
    """A matrix whose rows say themselves what they are."""
    height = 110 + row_pixels * len(heat.rows)
    return Panel(title, Axis(across, "text"), Axis("", "text"), heat=heat, height=height)


def shares_panel(title: str, of_what: str, stack: Stack, height: int) -> Panel:
    """Bars that each are a whole, divided."""
    axes = Axis(of_what, "ratio", low=0, high=1), Axis("", "text")
    return Panel(title, *axes, stack=stack, height=height)


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """All of few; of many, ``most`` at even distances, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    places = np.unique(np.linspace(0, len(items) - 1, most).round().astype(int))
    return [items[place] for place in places]
