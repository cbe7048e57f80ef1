"""What a plot says, apart from how it is drawn.

A plot is described once; the page's script draws it (:mod:`netsonde.report.interactive`), the
images are matplotlib's (:mod:`netsonde.report.image`), and its table is what a reader without sight
of it, and the exports, get.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from netsonde.catalogue.transport import Dash
from netsonde.report.quantity import Kind
from netsonde.report.theme import DASHES, SYMBOLS

Cell = str | int | float | bool | None
Item = TypeVar("Item")
Choice = Literal["", "open", "folded"]
Draw = Literal["line", "points", "line+points", "step", "area"]


@dataclass(frozen=True)
class Column:
    """``name`` ends in the unit and is the heading of an export; ``label`` is for people."""

    name: str
    label: str
    kind: Kind = "text"


_UNITS: dict[Kind, str] = {"time_ns": "_ns", "bit_per_s": "_bit_per_s", "ratio": "_ratio"}


def columns(kind: Kind, **labels: str) -> tuple[Column, ...]:
    """Several of one kind, by names without its unit: ``p99`` of ``time_ns`` is ``p99_ns``."""
    unit = _UNITS.get(kind, "")
    return tuple(Column(f"{name}{unit}", label, kind) for name, label in labels.items())


@dataclass(frozen=True)
class Table:
    """Raw values; ``columns[i].kind`` says how ``rows[..][i]`` is shown."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: list[tuple[Cell, ...]]


def plain_table(
    id_: str, title: str, items: Iterable[Item], **cells: Callable[[Item], Cell]
) -> Table:
    """A row for each item; each column is called as its cell is."""
    rows = (tuple(cell(item) for cell in cells.values()) for item in items)
    return text_table(id_, title, tuple(cells), rows)


def text_table(
    id_: str, title: str, labels: Sequence[str], rows: Iterable[tuple[Cell, ...]]
) -> Table:
    """Cells that are shown as they are; names of columns are their labels in small letters."""
    return Table(id_, title, tuple(Column(n.lower(), n) for n in labels), list(rows))


@dataclass(frozen=True)
class Axis:
    """``kind`` gives the unit of the values that are drawn: nanoseconds, bit/s, bytes, a share.

    ``low`` and ``high`` limit the axis where given; ``names`` are the words at 0, 1, 2 and so on.
    """

    label: str
    kind: Kind
    log: bool = False
    low: float | None = None
    high: float | None = None
    names: list[str] | None = None


@dataclass(frozen=True)
class Curve:
    """One series. ``colour`` is a name of :mod:`netsonde.report.theme`.

    ``low`` and ``high`` are interval ends by point; None where there is none. ``y`` None breaks a
    line, as does x None. A ``step`` holds each y until the next x. For ``area`` the band between
    ``low`` and ``high`` is drawn.
    """

    label: str
    x: list[float | None]
    y: list[float | None]
    colour: str
    draw: Draw = "line"
    dash: Dash = "solid"
    symbol: str = "circle"
    low: list[float | None] | None = None
    high: list[float | None] | None = None
    width: float = 1.6
    opacity: float = 1.0
    in_legend: bool = True
    areas: list[float] | None = None
    """Of the points, as shares of the largest: bubbles."""
    hollow: bool = False
    """Bubbles are rings, which others can be seen through."""
    spaced: bool = False
    """A line with a few of its symbols along it, where dashes alone do not tell it apart."""


def told_apart(curves: Sequence[Curve]) -> list[Curve]:
    """The same, but those that differ in colour alone, or in nothing, get another dash or another
    symbol, for readers who see no colours: its own if that is free, else the first that is. Where
    there are more curves than such looks, colours tell apart those that have one in common, as long
    as they do; the table beneath a plot has every name."""
    used: set[tuple[str, ...]] = set()
    chosen: dict[tuple[str, str, str], tuple[str, Dash, str]] = {}
    made = []
    for curve in curves:
        if curve.areas is not None:  # another symbol would have another area
            made.append(curve)
            continue
        name = (curve.label, curve.colour, _kind(curve))
        if not curve.in_legend:  # one of many that the legend names once: it looks as that one does
            same = (n for n in chosen if n[1:] == name[1:])
            name = next(same, ("", *name[1:]))
        if name not in chosen:
            looks = list(_looks(curve))
            free = [k for k in looks if ("", *k) not in used]
            own = [k for k in looks if (curve.colour, *k) not in used]
            look = (free or own or looks)[0]
            chosen[name] = look
            used |= {("", *look), (curve.colour, *look)}
        kind, dash, symbol = chosen[name]
        spaced = bool(symbol) and kind == "line"
        made.append(replace(curve, dash=dash, symbol=symbol or curve.symbol, spaced=spaced))
    return made


def _looks(curve: Curve) -> Iterator[tuple[str, Dash, str]]:
    """How a curve may be drawn, its own way first. A line has symbols along it only where all
    dashes are taken, and an area only its colour."""
    kind = _kind(curve)
    dashes: Iterable[Dash] = ("solid",) if kind in ("points", "area") else (curve.dash, *DASHES)
    symbols: Iterable[str] = ("",) if kind == "area" else (curve.symbol, *SYMBOLS)
    if kind == "line":
        symbols = ("", *symbols)
    for symbol in dict.fromkeys(symbols):
        for dash in dict.fromkeys(dashes):
            yield kind, dash, symbol


def _kind(curve: Curve) -> str:
    """What it is drawn as, apart from its dash and symbol."""
    return "line" if curve.draw == "step" else curve.draw


@dataclass(frozen=True)
class Mark:
    """A line across the panel at a value of one axis, with words beside it."""

    along: Literal["x", "y"]
    value: float
    label: str
    colour: str = "quiet"
    dash: Dash = "dot"


@dataclass(frozen=True)
class Stack:
    """Stacked bars of shares: one bar per entry of ``labels``, one part per kind."""

    labels: list[str]
    parts: list[tuple[str, str, list[float]]]
    """(name, colour, length by bar)"""


@dataclass(frozen=True)
class Heat:
    """A matrix as coloured cells: ``shares`` of the best one, 0..1, None where nothing was
    measured, and the words in each cell; rows from the top, both of shape (rows, columns).

    ``palest``, ``strongest``: the shares at the ends of the colours, where given. ``meaning``: what
    the shares are of, for whoever points at a cell. Words that are not ``words_shown`` appear only
    then."""

    columns: list[str]
    rows: list[str]
    shares: list[list[float | None]]
    words: list[list[str]]
    palest: float | None = None
    strongest: float = 1.0
    meaning: str = "of the best"
    words_shown: bool = True

    @property
    def least(self) -> float:
        """The share with the palest colour: 4/5, or the least, so that a tenth can be seen."""
        if self.palest is not None:
            return self.palest
        known = [share for row in self.shares for share in row if share is not None]
        return min([0.8, *known])


@dataclass(frozen=True)
class Panel:
    """One pair of axes. ``note`` is a short text in a corner."""

    title: str
    x: Axis
    y: Axis
    curves: list[Curve] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    stack: Stack | None = None
    heat: Heat | None = None
    note: str = ""
    height: int = 320
    """Pixels on the page."""
    folded: bool = False
    """The page shows it where a reader opens it."""


@dataclass(frozen=True)
class Plot:
    """One question and the picture that answers it.

    ``caption`` says what is drawn and what was thinned; ``summary`` is what it shows, in words, for
    readers who cannot see it.
    """

    id: str
    title: str
    caption: str
    summary: str
    panels: list[Panel]
    table: Table
    wide: bool = False
    """Each panel takes the full width."""
    methods: tuple[str, ...] = ()
    """What the methods of its figures begin with, as ``sweeps#``."""
    choice: Choice = ""
    """One of several of which the page shows one at a time: the one that is open at first, or one
    that is folded. Empty for a plot by itself."""
    table_open: bool = False
    """The table says as much as the picture, and is not folded."""


def tabled(
    id_: str,
    title: str,
    caption: str,
    summary: str,
    panels: list[Panel],
    columns: tuple[Column, ...],
    rows: Iterable[tuple[Cell, ...]],
    *,
    methods: tuple[str, ...] = (),
    heading: str = "",
    wide: bool = False,
) -> Plot | None:
    """A plot whose table is named as it is; ``heading`` is another title of the table. None where
    nothing is drawn."""
    table = Table(id_.replace("-", "_"), heading or title, columns, list(rows))
    return Plot(id_, title, caption, summary, panels, table, wide, methods) if panels else None
