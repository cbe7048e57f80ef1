"""The places of docs/methods that define figures, each once, with the figures that they define."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from netsonde.catalogue.known_figures import METHODS


@dataclass(frozen=True)
class Method:
    """``place`` is ``page#anchor``, ``names`` are the figures that were obtained by it."""

    place: str
    names: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """The id within a report."""
        return method_anchor(self.place)

    @property
    def command(self) -> str:
        """What shows it in full."""
        return method_command(self.place)

    @property
    def short(self) -> str:
        """What it says, in short."""
        return METHODS.get(self.place, "")


def method_anchor(place: str) -> str:
    """The id in a report of a place such as ``latency#quantiles``."""
    return "method-" + re.sub(r"[^a-z0-9]+", "-", place.lower()).strip("-")


def method_command(place: str) -> str:
    """What shows a place such as ``latency#quantiles`` to readers without the repository."""
    return f"netsonde man {place}".rstrip("#")


class Defined(Protocol):
    """A figure with the place that defines it."""

    @property
    def name(self) -> str: ...

    @property
    def method(self) -> str: ...


def methods_of(figures: Iterable[Defined]) -> list[Method]:
    """The places that define the figures, in order."""
    names: dict[str, set[str]] = {}
    for figure in figures:
        names.setdefault(figure.method, set()).add(figure.name)
    return [Method(place, tuple(sorted(found))) for place, found in sorted(names.items())]
