"""What a figure is: its name, unit, words, which way is better, and where its method is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

Unit = Literal["ns", "bit_per_s", "bytes", "ratio", "count"]
"""``count`` is of all that has no other."""
Better = Literal["more", "less", "neither"]
ORDERS = ("median", "p90", "p99", "p999")
EXTREMES = ("min", "max")
_PART = re.compile(r"\{(\w+)\}")
_ANY = r"[A-Za-z0-9][A-Za-z0-9_.-]*"


@dataclass(frozen=True)
class FigureKind:
    """A figure, or a family of them that are told alike.

    ``name`` and ``label`` may have parts in braces. ``parts`` are the values of each; one that is
    not there is a word of somebody else: a user's, a scenario's, another tool's. ``label`` is for
    people, without the unit, that stands with the value. ``methods`` are the places in docs/methods
    that define it, ``page#anchor``: several where it depends on the test. ``unit`` is None where it
    is that of the figure that the open part names.
    """

    name: str
    unit: Unit | None
    label: str
    methods: tuple[str, ...]
    better: Better = "neither"
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether others than netsonde have a say in the name."""
        return any(part not in self.parts for part in _PART.findall(self.name))

    def members(self) -> Iterable[FigureKind]:
        """Each figure of the family by its own name; open parts stay open."""
        for values in product(*self.parts.values()):
            yield self.of(dict(zip(self.parts, values, strict=True)))

    def of(self, values: Mapping[str, str]) -> FigureKind:
        """The figure that has these values for its parts."""

        def filled(text: str) -> str:
            return _PART.sub(lambda part: values.get(part[1], part[0]), text)

        def words(text: str) -> str:
            said = {part: value.replace("time_out", "timeout") for part, value in values.items()}
            return _PART.sub(lambda p: said.get(p[1], p[0]).replace("_", " "), text)

        label = words(self.label)
        return replace(self, name=filled(self.name), label=label, parts={})

    def match(self, name: str) -> Mapping[str, str] | None:
        """What the open parts are in a name; None where it is of no figure of the family."""
        pattern = "".join(
            f"(?P<{piece}>{_ANY})" if place % 2 else re.escape(piece)
            for place, piece in enumerate(_PART.split(self.name))
        )
        found = re.fullmatch(pattern, name)
        return None if found is None else found.groupdict()


def times(
    stem: str,
    label: str,
    better: Better,
    *pages: str,
    orders: Sequence[str] = ORDERS,
    also: str = "",
) -> tuple[FigureKind, ...]:
    """Quantiles, least and largest, and mean of times, as every page with these anchors defines
    them; ``also`` defines the quantiles and the extremes of a test of its own."""

    def row(name: str, anchor: str, **parts: Sequence[str]) -> FigureKind:
        methods = tuple(f"{page}#{anchor}" for page in pages)
        if also and anchor != "mean":
            methods = (*methods, also)
        return FigureKind(f"{stem}_{name}_ns", "ns", f"{label} {name}", methods, better, parts)

    return (
        row("{order}", "quantiles", order=orders),
        row("{extreme}", "extremes", extreme=EXTREMES),
        row("mean", "mean"),
    )
