"""A plot as an image file, drawn by matplotlib without a display."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as MplAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import (
    EngFormatter,
    FixedLocator,
    FuncFormatter,
    MaxNLocator,
    NullLocator,
    PercentFormatter,
)

from netsonde.report.plot import Axis, Curve, Heat, Mark, Panel, Plot, Stack, told_apart
from netsonde.report.theme import LIGHT
from netsonde.report.ticks import Tick, x_ticks, y_ticks

PANEL_WIDTH_INCHES = 4.6
LONGEST_IN_LINE = 10
WIDE_INCHES = 9.2
PIXELS_PER_INCH = 160
NAMES_MOST = 8
"""Beneath an axis; more of them would run into each other."""
BUBBLE_POINTS = 14
"""Across, of the largest bubble."""
_SPACED = 8
"""Symbols along a line that is told apart by them."""
_SCALE = {"time_ns": 1e-9}
_LINES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
_SYMBOLS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "P",
    "triangle-up": "^",
    "triangle-down": "v",
    "x": "x",
}
_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.edgecolor": LIGHT["line"],
    "axes.labelcolor": LIGHT["quiet"],
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LIGHT["grid"],
    "xtick.color": LIGHT["quiet"],
    "ytick.color": LIGHT["quiet"],
    "text.color": LIGHT["ink"],
    "legend.frameon": False,
    "text.parse_math": False,  # a dollar in a host name is a dollar
    "svg.fonttype": "none",
    "svg.hashsalt": "netsonde",
    "pdf.fonttype": 42,
}


def draw_plot(plot: Plot, path: Path) -> None:
    """Writes the plot; the suffix of the path (png, svg, pdf) says how."""
    with drawing_settings():
        canvas_of(plot).savefig(path, dpi=PIXELS_PER_INCH, metadata=_metadata(path))


def canvas_of(plot: Plot) -> Canvas:
    """The plot, drawn; to be called and saved within :func:`drawing_settings`."""
    rows, columns = _grid(plot)
    heights = [
        max(p.height for p in plot.panels[r * columns : (r + 1) * columns]) / 90
        for r in range(rows)
    ]
    stacked = any(panel.stack for panel in plot.panels)
    width = WIDE_INCHES if plot.wide else PANEL_WIDTH_INCHES * columns * (1.5 if stacked else 1)
    canvas = Canvas(figsize=(width, sum(heights) + 0.5), layout="constrained")
    FigureCanvasAgg(canvas)
    canvas.suptitle(plot.title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    axes = canvas.subplots(rows, columns, squeeze=False, height_ratios=heights)
    for panel, place in zip(plot.panels, axes.flat, strict=False):
        _draw_panel(place, panel)
    for place in list(axes.flat)[len(plot.panels) :]:
        place.set_axis_off()
    return canvas


@contextmanager
def drawing_settings() -> Iterator[None]:
    """How everything is drawn, while it is."""
    with mpl.rc_context(_SETTINGS):
        yield


def _metadata(path: Path) -> dict[str, str | None]:
    """No date, so that the same run gives the same file."""
    dates: dict[str, dict[str, str | None]] = {
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    return dates.get(path.suffix, {})


def _grid(plot: Plot) -> tuple[int, int]:
    columns = 1 if plot.wide else min(2 if len(plot.panels) in (2, 4) else 3, len(plot.panels))
    return -(-len(plot.panels) // columns), columns


def _draw_panel(axes: Axes, panel: Panel) -> None:
    if panel.title:
        axes.set_title(panel.title, loc="left", fontsize=9, fontweight="bold")
    if panel.heat is not None:
        _draw_heat(axes, panel.heat)
        axes.set(xlabel=panel.x.label, ylabel=panel.y.label)
        return
    if panel.stack is not None:
        _draw_stack(axes, panel.stack)
    for curve in told_apart(panel.curves):
        _draw_curve(axes, curve, panel)
    _set_axis(axes, axes.xaxis, panel.x, x_ticks(panel))
    _set_axis(axes, axes.yaxis, panel.y, y_ticks(panel), is_stack=panel.stack is not None)
    for mark in panel.marks:
        _draw_mark(axes, mark, panel)
    if panel.note:
        axes.annotate(
            panel.note,
            (0.03, 0.97),
            xycoords="axes fraction",
            va="top",
            fontsize=7.5,
            color=LIGHT["quiet"],
        )
    labels = {c.label for c in panel.curves if c.in_legend}
    if panel.stack is not None:
        _draw_stack_legend(axes, panel.stack)
    elif len(labels) > 1:
        axes.legend(fontsize=7.5, loc="best")


def _draw_stack_legend(axes: Axes, stack: Stack) -> None:
    """Beneath the bars in one line, or above them in columns where the names are long."""
    if max(len(name) for name, _, _ in stack.parts) <= LONGEST_IN_LINE:
        axes.legend(fontsize=7.5, ncols=6, loc="upper left", bbox_to_anchor=(0, -0.07))
    else:
        axes.legend(fontsize=7.5, ncols=3, loc="lower left", bbox_to_anchor=(0, 1.01))


def _scaled(
    values: Sequence[float | None], axis: Axis
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([np.nan if v is None else v * _SCALE.get(axis.kind, 1.0) for v in values])


def _draw_curve(axes: Axes, curve: Curve, panel: Panel) -> None:
    x, y = _scaled(curve.x, panel.x), _scaled(curve.y, panel.y)
    colour = LIGHT[curve.colour]
    label = curve.label if curve.in_legend else "_hidden"
    if curve.draw == "area":
        low, high = _scaled(curve.low or [], panel.y), _scaled(curve.high or [], panel.y)
        axes.fill_between(x, low, high, color=colour, alpha=curve.opacity, linewidth=0, label=label)
        return
    marker = _SYMBOLS[curve.symbol] if curve.spaced or "points" in curve.draw else ""
    if curve.areas is not None:
        sizes = [BUBBLE_POINTS**2 * share for share in curve.areas]
        if curve.hollow:
            axes.scatter(x, y, s=sizes, facecolors="none", edgecolors=colour, label=label)
        else:
            axes.scatter(
                x, y, s=sizes, color=colour, alpha=curve.opacity, linewidths=0, label=label
            )
        return
    line = "" if curve.draw == "points" else _LINES[curve.dash]
    axes.plot(
        x,
        y,
        color=colour,
        linestyle=line,
        linewidth=curve.width,
        marker=marker,
        markersize=2 if len(x) > 200 and not curve.spaced else 4.5,
        markevery=max(1, len(x) // _SPACED) if curve.spaced else None,
        alpha=curve.opacity,
        label=label,
        drawstyle="steps-post" if curve.draw == "step" else "default",
    )
    if curve.low and curve.high:
        low, high = _scaled(curve.low, panel.y), _scaled(curve.high, panel.y)
        reach = np.nan_to_num(np.maximum([y - low, high - y], 0.0))
        axes.errorbar(x, y, reach, fmt="none", ecolor=colour, elinewidth=1, capsize=2)


def _draw_stack(axes: Axes, stack: Stack) -> None:
    places = np.arange(len(stack.labels))
    left = np.zeros(len(stack.labels))
    for name, colour, lengths in stack.parts:
        axes.barh(places, lengths, left=left, color=LIGHT[colour], label=name, height=0.75)
        left += np.array(lengths)
    axes.set_yticks(places, list(stack.labels))
    axes.invert_yaxis()


def _draw_heat(axes: Axes, heat: Heat) -> None:
    shares = np.array([[np.nan if v is None else v for v in row] for row in heat.shares])
    colours = LinearSegmentedColormap.from_list("heat", [LIGHT["panel"], LIGHT["heat"]])
    axes.imshow(shares, cmap=colours, vmin=heat.least, vmax=heat.strongest, aspect="auto")
    axes.grid(visible=False)
    axes.set_xticks(range(len(heat.columns)), heat.columns)
    axes.set_yticks(range(len(heat.rows)), heat.rows)
    if not heat.words_shown:
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        columns = dict(enumerate(heat.columns))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: columns.get(round(v), "")))
        return
    for row, words in enumerate(heat.words):
        for column, text in enumerate(words):
            axes.annotate(text, (column, row), ha="center", va="center", fontsize=7.5)


def _set_axis(
    axes: Axes, axis: MplAxis, of: Axis, ticks: list[Tick], *, is_stack: bool = False
) -> None:
    name = "x" if axis is axes.xaxis else "y"
    axis.set_label_text(of.label)
    scale = _SCALE.get(of.kind, 1.0)
    if of.log:
        axes.set(**{f"{name}scale": "log"})
    low, high = (None if end is None else end * scale for end in (of.low, of.high))
    if low is not None or high is not None:
        getattr(axes, f"set_{name}lim")(low, high)
    if is_stack and name == "y":
        return
    if ticks:
        axis.set_major_locator(FixedLocator([value * scale for value, _ in ticks]))
        words = {round(value * scale, 18): label for value, label in ticks}
        axis.set_major_formatter(FuncFormatter(lambda v, _: words.get(round(v, 18), "")))
        axis.set_minor_locator(NullLocator())
    elif of.names:
        named = dict(enumerate(of.names))
        axis.set_major_locator(MaxNLocator(NAMES_MOST, integer=True))
        axis.set_major_formatter(FuncFormatter(lambda v, _: named.get(round(v), "")))
    elif of.kind == "ratio":
        axis.set_major_formatter(PercentFormatter(1.0))
    elif of.kind in ("time_ns", "bit_per_s"):
        axis.set_major_formatter(EngFormatter("s" if of.kind == "time_ns" else "bit/s"))


def _draw_mark(axes: Axes, mark: Mark, panel: Panel) -> None:
    axis = panel.x if mark.along == "x" else panel.y
    value = mark.value * _SCALE.get(axis.kind, 1.0)
    draw = axes.axvline if mark.along == "x" else axes.axhline
    draw(value, color=LIGHT[mark.colour], linestyle=_LINES[mark.dash], linewidth=0.9)
    if not mark.label:
        return
    along_x = mark.along == "x"
    axes.annotate(
        mark.label,
        (value, 0.98) if along_x else (0.99, value),
        xycoords=("data", "axes fraction") if along_x else ("axes fraction", "data"),
        fontsize=7.5,
        ha="left" if along_x else "right",
        va="top" if along_x else "bottom",
        color=LIGHT["quiet"],
        annotation_clip=True,  # of a value far beyond the axis it would push all else away
    )
