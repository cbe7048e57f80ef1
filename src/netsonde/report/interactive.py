"""A panel as plotly's JSON.

Colours stay names, written ``@name`` or ``@name/opacity``: the page puts in those of the reader's
colour scheme. Texts are escaped, because plotly reads some HTML in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log10
from typing import Any

from netsonde.report.plot import Axis, Curve, Heat, Mark, Panel, Stack, told_apart
from netsonde.report.ticks import Tick, x_ticks, y_ticks

Json = dict[str, Any]

_SYMBOL_SIZE = 7
HATCHES = ("", "/", "x", "\\", ".", "-", "+", "|")
BUBBLE_PIXELS = 22
"""Across, of the largest bubble."""
_FEW = 6
"""An axis of counts up to here has a label at each."""
_SCALE = {"time_ns": 1e-9}
_HOVER = {"time_ns": ".4~s", "bit_per_s": ".4~s", "ratio": ".3~%", "size": ",d", "count": ",~r"}
_UNIT = {"time_ns": "s", "bit_per_s": "bit/s", "ratio": "", "size": " B", "count": "", "text": ""}


def panel_json(panel: Panel) -> Json:
    """``{"data": [...], "layout": {...}}`` of one panel."""
    if panel.heat is not None:
        data = [_heat_trace(panel.heat)]
    elif panel.stack is not None:
        data = _stack_traces(panel.stack)
    else:
        data = [t for curve in told_apart(panel.curves) for t in _traces(curve, panel)]
    layout: Json = {
        "height": panel.height,
        "margin": {"l": 8, "r": 20, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": "@ink"},
        "xaxis": _axis(panel.x, x_ticks(panel)),
        "yaxis": _axis(panel.y, y_ticks(panel)),
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": 12},
            "traceorder": "normal",
        },
        "showlegend": _legend_is_needed(panel),
        "shapes": [_mark_line(mark, panel) for mark in panel.marks],
        "annotations": [_mark_words(mark, panel) for mark in panel.marks if mark.label],
        "hoverlabel": {"font": {"color": "@ink"}, "bgcolor": "@panel", "bordercolor": "@line"},
        "hovermode": "closest",
    }
    if any(curve.areas for curve in panel.curves):
        layout["legend"]["itemsizing"] = "constant"  # else it has the area of the first one
    if panel.stack is not None:
        layout |= {"barmode": "stack", "bargap": 0.25}
        longest = max(len(name) for name, _, _ in panel.stack.parts)
        layout["legend"]["entrywidth"] = max(58, 7 * longest)
        layout["yaxis"] |= {
            "tickmode": "array",
            "tickvals": list(range(len(panel.stack.labels))),
            "ticktext": [_text(label) for label in panel.stack.labels],
            "autorange": "reversed",
            "showgrid": False,
            "zeroline": False,
        }
    if panel.heat is not None:
        for axis in ("xaxis", "yaxis"):
            layout[axis] |= {"type": "category", "showgrid": False, "ticks": ""}
        layout["yaxis"]["autorange"] = "reversed"
    return {"data": data, "layout": layout}


def _text(text: str) -> str:
    return escape(text, quote=False)


def _rounded(values: Sequence[float | None], axis: Axis) -> list[float | None]:
    """Six digits are more than a screen can show and a third of the bytes."""
    scale = _SCALE.get(axis.kind, 1.0)
    return [None if v is None else float(f"{v * scale:.6g}") for v in values]


def _traces(curve: Curve, panel: Panel) -> list[Json]:
    colour = f"@{curve.colour}"
    x, y = _rounded(curve.x, panel.x), _rounded(curve.y, panel.y)
    if curve.draw == "area":
        low = _rounded(curve.low or [], panel.y)
        high = _rounded(curve.high or [], panel.y)
        return [
            {
                "type": "scatter",
                "mode": "lines",
                "name": _text(curve.label),
                "x": x + x[::-1],
                "y": high + low[::-1],
                "fill": "toself",
                "fillcolor": f"{colour}/{curve.opacity}",
                "line": {"width": 0},
                "hoverinfo": "skip",
                "showlegend": curve.in_legend,
            }
        ]
    mode = {"points": "markers", "line+points": "lines+markers"}.get(curve.draw, "lines")
    trace: Json = {
        "type": "scatter",
        "mode": mode,
        "name": _text(curve.label),
        "x": x,
        "y": y,
        "opacity": curve.opacity,
        "showlegend": curve.in_legend,
        "connectgaps": False,
        "line": {"color": colour, "width": curve.width, "dash": curve.dash},
        "marker": {"color": colour, "symbol": curve.symbol, **_marker_size(curve)},
        "hovertemplate": _hover(curve, panel),
    }
    if curve.draw == "step":
        trace["line"]["shape"] = "hv"
    if curve.low and curve.high:
        trace["error_y"] = _error_bars(curve, panel, colour)
    return [trace]


def _marker_size(curve: Curve) -> Json:
    if curve.areas is not None:
        areas = [float(f"{share:.4g}") for share in curve.areas]
        return {"size": areas, "sizemode": "area", "sizeref": 2 / BUBBLE_PIXELS**2, "sizemin": 1}
    return {"size": 3 if len(curve.x) > 200 else _SYMBOL_SIZE}


def _error_bars(curve: Curve, panel: Panel, colour: str) -> Json:
    ends = list(zip(curve.y, curve.low or [], curve.high or [], strict=True))
    up = [None if y is None or high is None else high - y for y, _, high in ends]
    down = [None if y is None or low is None else y - low for y, low, _ in ends]
    return {
        "type": "data",
        "symmetric": False,
        "array": _rounded(up, panel.y),
        "arrayminus": _rounded(down, panel.y),
        "thickness": 1.2,
        "width": 4,
        "color": colour,
    }


def _hover(curve: Curve, panel: Panel) -> str:
    def value(letter: str, axis: Axis) -> str:
        if axis.names is not None:
            return f"%{{{letter}}}"
        return f"%{{{letter}:{_HOVER.get(axis.kind, '.4~g')}}}{_UNIT.get(axis.kind, '')}"

    return f"{_text(curve.label)}<br>{value('x', panel.x)}, {value('y', panel.y)}<extra></extra>"


def _stack_traces(stack: Stack) -> list[Json]:
    return [
        {
            "type": "bar",
            "orientation": "h",
            "name": _text(name),
            "y": list(range(len(lengths))),
            "x": [float(f"{v:.4g}") for v in lengths],
            "marker": {"color": f"@{colour}", "pattern": _pattern(number)},
            "customdata": [_text(label) for label in stack.labels],
            "hovertemplate": f"%{{customdata}}<br>{_text(name)} %{{x:.1%}}<extra></extra>",
        }
        for number, (name, colour, lengths) in enumerate(stack.parts)
    ]


def _pattern(number: int) -> Json:
    """Hatching, so that parts of a bar differ in more than colour."""
    return {"shape": HATCHES[number % len(HATCHES)], "size": 6, "solidity": 0.2}


def _heat_trace(heat: Heat) -> Json:
    """Cells from the colour of the page to the accent; light enough for the words in them."""
    return {
        "type": "heatmap",
        "x": [_text(name) for name in heat.columns],
        "y": [_text(name) for name in heat.rows],
        "z": [[None if v is None else float(f"{v:.4g}") for v in row] for row in heat.shares],
        "zmin": heat.least,
        "zmax": heat.strongest,
        "text": [[_text(words) for words in row] for row in heat.words],
        "texttemplate": "%{text}" if heat.words_shown else "",
        "hovertemplate": f"%{{y}}, %{{x}}<br>%{{text}}, %{{z:.1%}} {heat.meaning}<extra></extra>",
        "xgap": 2 if heat.words_shown else 0,
        "ygap": 2,
        "showscale": False,
        "colorscale": [[0, "@panel"], [1, "@heat"]],
    }


def _axis(axis: Axis, ticks: list[Tick]) -> Json:
    made: Json = {
        "title": {
            "text": _text(axis.label),
            "font": {"size": 12, "color": "@quiet"},
            "standoff": 8,
        },
        "automargin": True,
        "type": "log" if axis.log else "linear",
        "gridcolor": "@grid",
        "linecolor": "@line",
        "zerolinecolor": "@line",
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "@line",
        "tickfont": {"size": 11, "color": "@quiet"},
    }
    if axis.kind == "time_ns":
        made |= {"tickformat": "~s", "ticksuffix": "s"}
    elif axis.kind == "bit_per_s":
        made |= {"tickformat": "~s", "ticksuffix": "bit/s"}
    elif axis.kind == "ratio":
        made |= {"tickformat": "~%"}
    elif axis.kind == "count":
        made |= {"tickformat": "~s"}
        if axis.high is not None and axis.high < _FEW:
            made["dtick"] = 1
    scale = _SCALE.get(axis.kind, 1.0)
    if axis.names is not None:
        ticks = [(float(place), name) for place, name in enumerate(axis.names)]
        made |= {"showgrid": False, "zeroline": False}
    if ticks:
        made |= {
            "tickmode": "array",
            "tickvals": [value * scale for value, _ in ticks],
            "ticktext": [_text(label) for _, label in ticks],
        }
    if axis.low is not None and axis.high is not None:
        ends = (axis.low * scale, axis.high * scale)
        made["range"] = [log10(end) for end in ends] if axis.log else list(ends)
    elif axis.low == 0:
        made["rangemode"] = "tozero"
    return made


def _legend_is_needed(panel: Panel) -> bool:
    if panel.stack is not None:
        return True
    return len({c.label for c in panel.curves if c.in_legend}) > 1


def _mark_line(mark: Mark, panel: Panel) -> Json:
    along, across, axis = _axes_of(mark, panel)
    value = mark.value * _SCALE.get(axis.kind, 1.0)  # a shape on a log axis takes the value itself
    return {
        "type": "line",
        f"{along}ref": along,
        f"{across}ref": "paper",
        f"{along}0": value,
        f"{along}1": value,
        f"{across}0": 0,
        f"{across}1": 1,
        "line": {"color": f"@{mark.colour}", "width": 1, "dash": mark.dash},
        "layer": "below",
    }


def _mark_words(mark: Mark, panel: Panel) -> Json:
    along, across, axis = _axes_of(mark, panel)
    value = mark.value * _SCALE.get(axis.kind, 1.0)
    return {
        "text": _text(mark.label),
        "showarrow": False,
        "font": {"size": 11, "color": "@quiet"},
        f"{along}ref": along,
        f"{across}ref": "paper",
        along: log10(value) if axis.log else value,
        across: 1,
        "xanchor": "left" if along == "x" else "right",
        "yanchor": "top" if along == "x" else "bottom",
    }


def _axes_of(mark: Mark, panel: Panel) -> tuple[str, str, Axis]:
    """The axis that has the mark's value, the other one, and the former itself."""
    return ("x", "y", panel.x) if mark.along == "x" else ("y", "x", panel.y)
