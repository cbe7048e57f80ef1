"""What a run's figures have to be, as its study says it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Protocol

from netsonde.catalogue.known_figures import unit_of
from netsonde.catalogue.point import PointSpec
from netsonde.catalogue.test import Test
from netsonde.records.data import Run
from netsonde.units import format_size, value_in_words

REQUIREMENTS = "requirements"
"""Where the manifest of a run has them."""
Decision = Literal["missed", "unmeasured", "undecided", "met"]
DECISIONS: tuple[Decision, ...] = ("missed", "unmeasured", "undecided", "met")
"""The worst first."""


class Named(Protocol):
    """A point, planned or measured."""

    @property
    def transport(self) -> str: ...
    @property
    def test(self) -> str: ...
    @property
    def kind(self) -> Test: ...
    @property
    def spec(self) -> PointSpec: ...


@dataclass(frozen=True)
class Requirement:
    """What a figure has to be, at least or at most, in the unit that its name ends in.

    It is of every point that has the figure, or of those with this transport, test, operation, one
    of these sizes in bytes, and this label: the whole of it or one of its parts between commas.
    """

    figure: str
    at_least: float | None = None
    at_most: float | None = None
    transport: str | None = None
    test: str | None = None
    operation: str | None = None
    sizes: tuple[int, ...] = ()
    label: str | None = None

    @property
    def unit(self) -> str:
        return unit_of(self.figure)

    def concerns(self, point: Named) -> bool:
        """Whether a point is one of those that it is of; rounds of all pairs have only a test."""
        spec = point.spec
        if spec.scout is not None:
            return False
        if point.kind.is_round:
            alone = (self.transport, self.operation, self.label) == (None, None, None)
            return alone and not self.sizes and self.test in (None, point.test)
        return (
            self.transport in (None, point.transport)
            and self.test in (None, point.test)
            and self.operation in (None, spec.operation)
            and (not self.sizes or spec.message_bytes in self.sizes)
            and (self.label is None or _has_label(spec.label, self.label))
        )

    def decide(self, low: float, high: float) -> Decision:
        """The verdict on a value that lies between these two."""
        least = float("-inf") if self.at_least is None else self.at_least
        most = float("inf") if self.at_most is None else self.at_most
        if high < least or low > most:
            return "missed"
        return "met" if least <= low and high <= most else "undecided"

    def reserve_ratio(self, value: float) -> float:
        """How far a value is on the right side, as a share of the limit; below 0 on the wrong."""
        reserves = []
        if self.at_least is not None:
            reserves.append((value - self.at_least) / (abs(self.at_least) or 1.0))
        if self.at_most is not None:
            reserves.append((self.at_most - value) / (abs(self.at_most) or 1.0))
        return min(reserves)

    def in_words(self) -> str:
        """``throughput_bit_per_s of tcp stream 128k at least 900.0 Mbit/s``."""
        sizes = ", ".join(format_size(size) for size in self.sizes)
        given = (self.transport, self.operation or self.test, sizes, self.label)
        chosen = " ".join(part for part in given if part)
        return f"{self.figure}{f' of {chosen}' if chosen else ''} {self.limits_in_words()}"

    def limits_in_words(self) -> str:
        """``at least 900.0 Mbit/s``."""
        limits = (("at least", self.at_least), ("at most", self.at_most))
        words = (f"{w} {value_in_words(v, self.unit)}" for w, v in limits if v is not None)
        return " and ".join(words)

    def as_json(self) -> dict[str, Any]:
        """What the manifest has of it: without what is not given."""
        given = {**asdict(self), "sizes": list(self.sizes)}
        return {name: value for name, value in given.items() if value not in (None, [])}


def requirements_of(run: Run) -> list[Requirement]:
    """Those that the run's study made; what a later netsonde adds to them is left out."""
    known = {field.name for field in fields(Requirement)}
    return [
        Requirement(
            **{name: given[name] for name in known & given.keys() - {"sizes"}},
            sizes=tuple(given.get("sizes", ())),
        )
        for given in run.manifest.get(REQUIREMENTS) or ()
    ]


def _has_label(whole: str | None, wanted: str) -> bool:
    return whole is not None and (whole == wanted or wanted in whole.split(", "))
