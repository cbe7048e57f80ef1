"""Colours, symbols and names that every rendering of a report shares.

Colours are named by what they stand for, those of curves by their hue; the page and the images each
look them up, so that a light and a dark page and a printed image show the same thing. Transports
also differ by symbol and dash, so that nothing rests on colour alone. Hues follow the colour-blind
safe set of M. Okabe and K. Ito, Color Universal Design (2008), darkened or lightened for a contrast
of at least 3:1.
"""

from dataclasses import dataclass
from typing import Final

from netsonde.catalogue.transport import Dash, transport_row

SERIES: Final = ("green", "blue", "orange", "pink", "violet", "grey")
"""The palette of curves that stand for nothing in particular, in turn."""
DASHES: Final[tuple[Dash, ...]] = ("solid", "dash", "dot", "dashdot")
SYMBOLS: Final = ("circle", "square", "diamond", "cross", "triangle-up", "triangle-down")


@dataclass(frozen=True)
class Look:
    """How a curve is drawn; ``colour`` is a name of the schemes below."""

    colour: str
    symbol: str = "circle"
    dash: Dash = "solid"


def transport_look(transport: str) -> Look:
    """That of a transport's row."""
    row = transport_row(transport)
    return Look(row.colour, row.symbol, row.dash)


def series_look(place: int, palette: tuple[str, ...] = SERIES) -> Look:
    """By a curve's place: the next colour and symbol; after all colours, the next dash."""
    turn, colour = divmod(place, len(palette))
    return Look(palette[colour], SYMBOLS[place % len(SYMBOLS)], DASHES[turn % len(DASHES)])


LIGHT: Final = {
    "page": "#ffffff",
    "panel": "#f6f7f8",
    "ink": "#1a1d21",
    "quiet": "#565d66",
    "line": "#d5d9de",
    "grid": "#e6e9ec",
    "accent": "#0b5cad",
    "blue": "#0068a8",
    "orange": "#c04f00",
    "green": "#00805c",
    "pink": "#a8336f",
    "violet": "#6b4fb3",
    "grey": "#7a828c",
    "limit": "#565d66",
    "fit": "#1a1d21",
    "loss": "#a8336f",
    "user": "#0068a8",
    "system": "#c98500",
    "softirq": "#a8336f",
    "irq": "#6b4fb3",
    "steal": "#8a1f1f",
    "other": "#7a828c",
    "idle": "#e3e6ea",
    "bad": "#b3261e",
    "warning": "#8a5a00",
    "good": "#1c6b3f",
    "note": "#0b5cad",
    "mark": "#fff3cd",
    "heat": "#8fc1e8",
}

DARK: Final = {
    "page": "#14171a",
    "panel": "#1c2024",
    "ink": "#e7eaee",
    "quiet": "#a4adb8",
    "line": "#363c44",
    "grid": "#2a3037",
    "accent": "#7ab8f5",
    "blue": "#5ab4f0",
    "orange": "#f0924c",
    "green": "#3fc99a",
    "pink": "#e58ab8",
    "violet": "#b19cf0",
    "grey": "#98a1ac",
    "limit": "#a4adb8",
    "fit": "#e7eaee",
    "loss": "#e58ab8",
    "user": "#5ab4f0",
    "system": "#e6b04d",
    "softirq": "#e58ab8",
    "irq": "#b19cf0",
    "steal": "#f07a72",
    "other": "#98a1ac",
    "idle": "#2a3037",
    "bad": "#ff8a80",
    "warning": "#f0b957",
    "good": "#6fd39b",
    "note": "#7ab8f5",
    "mark": "#4a3c10",
    "heat": "#1f5f94",
}


def transport_name(transport: str) -> str:
    """``TCP`` for ``tcp``; a transport that is not known is written in capitals."""
    return transport_row(transport).title


def style_sheet_colours(colours: dict[str, str]) -> str:
    """The colours as custom properties of a style sheet."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())
