"""A panel as the JSON that the page's script draws (``templates/draw.js``).

Values stay in the unit of their axis's kind, colours are names of the style sheet, and what is as
usual is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from netsonde.report.plot import Axis, Curve, Heat, Panel, Stack, told_apart

Json = dict[str, Any]

_USUAL = {
    "log": False,
    "low": None,
    "high": None,
    "names": None,
    "dash": "solid",
    "symbol": "circle",
    "width": 1.6,
    "opacity": 1.0,
    "in_legend": True,
    "spaced": False,
    "areas": None,
    "hollow": False,
}


def panel_json(panel: Panel) -> Json:
    """``{"height", "x", "y"}`` and, of ``curves``, ``marks``, ``heat`` and ``stack``, those that
    the panel has."""
    made: Json = {"height": panel.height, "x": _axis(panel.x), "y": _axis(panel.y)}
    if panel.heat is not None:
        made["heat"] = _heat(panel.heat)
    if panel.stack is not None:
        made["stack"] = _stack(panel.stack)
    if panel.curves:
        made["curves"] = [_curve(curve) for curve in told_apart(panel.curves)]
    if panel.marks:
        made["marks"] = [asdict(mark) for mark in panel.marks]
    return made


def _unusual(items: Iterable[tuple[str, Any]]) -> Json:
    return {name: value for name, value in items if name not in _USUAL or value != _USUAL[name]}


def _rounded(values: Sequence[float | None] | None, digits: int = 6) -> list[float | None] | None:
    """Six digits are more than a screen can show and a third of the bytes."""
    if values is None:
        return None
    return [None if v is None else _shortest(float(f"{v:.{digits}g}")) for v in values]


def _shortest(value: float) -> float:
    return int(value) if value.is_integer() else value


def _axis(axis: Axis) -> Json:
    return _unusual(vars(axis).items())


def _curve(curve: Curve) -> Json:
    numbers = ("x", "y", "low", "high")
    rounded = {name: _rounded(getattr(curve, name)) for name in numbers}
    return _unusual((vars(curve) | rounded | {"areas": _rounded(curve.areas, 4)}).items())


def _stack(stack: Stack) -> Json:
    parts = [(name, colour, _rounded(lengths, 4)) for name, colour, lengths in stack.parts]
    return {"labels": stack.labels, "parts": parts}


def _heat(heat: Heat) -> Json:
    return {
        "columns": heat.columns,
        "rows": heat.rows,
        "shares": [_rounded(row, 4) for row in heat.shares],
        "words": heat.words,
        "least": heat.least,
        "strongest": heat.strongest,
        "meaning": heat.meaning,
        "shown": heat.words_shown,
    }
