"""The plots of a report for gnuplot: a script and its data for each, to be drawn as they are or to
be changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from netsonde.report.plot import Axis, Curve, Panel, Plot
from netsonde.report.theme import LIGHT
from netsonde.report.ticks import Tick, x_ticks, y_ticks

_SCALES = {"time_ns": 1e-9}
_FORMATS = {"time_ns": "%.0s %cs", "bit_per_s": "%.0s %cbit/s", "ratio": "%g"}
_DASHES = {"solid": 1, "dash": 2, "dot": 3, "dashdot": 4}
_POINTS = {
    "circle": 7,
    "square": 5,
    "diamond": 13,
    "cross": 1,
    "triangle-up": 9,
    "triangle-down": 11,
    "x": 2,
}
_PANEL_PIXELS = 460


def write_gnuplot(plots: Sequence[Plot], directory: Path) -> list[Path]:
    """``NAME.dat`` and ``NAME.gp`` for each plot with curves; returns their paths.

    ``gnuplot NAME.gp``, in that directory, draws ``NAME.svg``. The data are blocks of the columns
    x, y, low, high in seconds, bit/s and bytes, ``-`` for what is not there.
    """
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for plot in plots:
        panels = [panel for panel in plot.panels if any(c.x for c in panel.curves)]
        if not panels:
            continue
        data, script = directory / f"{plot.id}.dat", directory / f"{plot.id}.gp"
        data.write_text("\n".join(_data(panels)) + "\n", encoding="utf-8")
        script.write_text("\n".join(_script(plot, panels)) + "\n", encoding="utf-8")
        paths += [data, script]
    return paths


def _data(panels: Sequence[Panel]) -> Iterator[str]:
    """A block for each curve, two empty lines apart, as gnuplot's ``index`` counts them."""
    for panel in panels:
        for curve in _curves(panel):
            yield f"# {_plain(panel.title)}: {_plain(curve.label)}: x y low high"
            lows = curve.low or [None] * len(curve.x)
            highs = curve.high or [None] * len(curve.x)
            ys = curve.y or [None] * len(curve.x)
            for x, y, low, high in zip(curve.x, ys, lows, highs, strict=False):
                cells = [_number(x, panel.x)] + [_number(v, panel.y) for v in (y, low, high)]
                # A line is broken by an empty one.
                yield " ".join(cells) if x is not None else ""
            yield ""
            yield ""


def _curves(panel: Panel) -> list[Curve]:
    return [curve for curve in panel.curves if any(x is not None for x in curve.x)]


def _number(value: float | None, axis: Axis) -> str:
    return "-" if value is None else f"{value * _SCALES.get(axis.kind, 1.0):.9g}"


def _script(plot: Plot, panels: Sequence[Panel]) -> Iterator[str]:
    columns = 1 if plot.wide else min(2, len(panels))
    rows = -(-len(panels) // columns)
    width = 920 if plot.wide else _PANEL_PIXELS * columns
    yield f"# {_plain(plot.title)}"
    yield f"# {_plain(plot.caption)}"
    yield f"set terminal svg size {width},{360 * rows + 30} font 'sans-serif,11' background 'white'"
    yield f"set output '{plot.id}.svg'"
    yield "set datafile missing '-'"
    yield "set encoding utf8"
    yield "set termoption noenhanced"
    yield "set grid"
    yield "set key top left"
    yield f"set multiplot layout {rows},{columns} title {_quoted(plot.title)}"
    block = 0
    for panel in panels:
        yield from _panel(plot, panel, block)
        block += len(_curves(panel))
    yield "unset multiplot"


def _panel(plot: Plot, panel: Panel, block: int) -> Iterator[str]:
    yield f"set title {_quoted(panel.title)}"
    yield "unset arrow"
    yield from _axis("x", panel.x, x_ticks(panel))
    yield from _axis("y", panel.y, y_ticks(panel))
    for mark in panel.marks:
        axis = panel.x if mark.along == "x" else panel.y
        place = f"{mark.value * _SCALES.get(axis.kind, 1.0):.9g}"
        ends = ("{0}, graph 0", "{0}, graph 1") if mark.along == "x" else (
            "graph 0, first {0}", "graph 1, first {0}")  # fmt: skip
        start, end = (text.format(place) for text in ends)
        yield f"set arrow from {start} to {end} nohead dashtype 3 linecolor '#777777'"
    drawn = [
        words
        for number, curve in enumerate(_curves(panel))
        for words in _drawn(plot, curve, block + number)
    ]
    yield "plot " + ", \\\n     ".join(drawn)


def _axis(name: str, axis: Axis, ticks: Sequence[Tick]) -> Iterator[str]:
    yield f"set {name}label {_quoted(axis.label)}"
    yield f"{'set' if axis.log else 'unset'} logscale {name}"
    low, high = (
        "*" if end is None else f"{end * _SCALES.get(axis.kind, 1.0):.9g}"
        for end in (axis.low, axis.high)
    )
    yield f"set {name}range [{low}:{high}]"
    yield f"set format {name} {_quoted(_FORMATS.get(axis.kind, '%g'))}"
    scale = _SCALES.get(axis.kind, 1.0)
    # A label is a format, in which a percent sign is two.
    words = [(_quoted(label.replace("%", "%%")), value * scale) for value, label in ticks]
    listed = ", ".join(f"{label} {value:.9g}" for label, value in words)
    yield f"set {name}tics ({listed})" if ticks else f"set {name}tics autofreq"


def _drawn(plot: Plot, curve: Curve, block: int) -> Iterator[str]:
    data = f"'{plot.id}.dat' index {block}"
    colour = f"linecolor '{LIGHT[curve.colour]}'"
    title = f"title {_quoted(curve.label)}" if curve.in_legend else "notitle"
    dash = f"dashtype {_DASHES[curve.dash]} linewidth {curve.width:g}"
    points = f"pointtype {_POINTS.get(curve.symbol, 7)} pointsize 0.5"
    if curve.draw == "area":
        shade = f"fillstyle transparent solid {curve.opacity:g} noborder"
        yield f"{data} using 1:3:4 with filledcurves {colour} {shade} {title}"
        return
    styles = {
        "line": f"lines {colour} {dash}",
        "step": f"steps {colour} {dash}",
        "points": f"points {colour} {points}",
        "line+points": f"linespoints {colour} {dash} {points}",
    }
    yield f"{data} using 1:2 with {styles[curve.draw]} {title}"
    if curve.low and curve.high:
        yield f"{data} using 1:2:3:4 with yerrorbars {colour} pointtype -1 notitle"


def _quoted(text: str) -> str:
    return "'" + _plain(text).replace("'", "''") + "'"


def _plain(text: str) -> str:
    """On one line, without what a terminal would take as a command."""
    return "".join(c if c.isprintable() else " " for c in text)
