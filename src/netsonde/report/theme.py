"""Colours, symbols and names that every rendering of a report shares.

Colours are named by what they stand for; the page and the images each look them up, so that a light
and a dark page and a printed image show the same thing. Transports also differ by symbol and dash,
so that nothing rests on colour alone. Hues follow the colour-blind safe set of M. Okabe and K. Ito,
Color Universal Design (2008), darkened or lightened for a contrast of at least 3:1.
"""

from collections.abc import Iterable
from typing import Final, Literal

Dash = Literal["solid", "dash", "dot", "dashdot"]

TRANSPORTS: Final = ("icmp", "udp", "tcp", "mpi")
"""From the thinnest layer to the thickest."""

TRANSPORT_NAMES: Final = {
    "icmp": "ICMP",
    "udp": "UDP",
    "tcp": "TCP",
    "mpi": "MPI",
    "all_pairs": "All pairs",
    "go-back-n": "Go-Back-N",
    "datagram": "Datagrams",
}
SYMBOLS: Final = {"icmp": "triangle-up", "udp": "diamond", "tcp": "circle", "mpi": "square"}
DASHES: Final[dict[str, Dash]] = {
    "icmp": "dashdot",
    "udp": "dash",
    "tcp": "solid",
    "mpi": "dot",
}

LIGHT: Final = {
    "page": "#ffffff",
    "panel": "#f6f7f8",
    "ink": "#1a1d21",
    "quiet": "#565d66",
    "line": "#d5d9de",
    "grid": "#e6e9ec",
    "accent": "#0b5cad",
    "tcp": "#0068a8",
    "udp": "#c04f00",
    "mpi": "#00805c",
    "icmp": "#a8336f",
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
    "tcp": "#5ab4f0",
    "udp": "#f0924c",
    "mpi": "#3fc99a",
    "icmp": "#e58ab8",
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
    return TRANSPORT_NAMES.get(transport, transport.upper())


def in_order(transports: Iterable[str]) -> list[str]:
    """Transports from the thinnest layer to the thickest, unknown ones last."""
    measured = set(transports)
    known = [t for t in TRANSPORTS if t in measured]
    return known + sorted(measured - set(known))


def style_sheet_colours(colours: dict[str, str]) -> str:
    """The colours as custom properties of a style sheet."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())
