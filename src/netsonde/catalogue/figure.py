"""What a figure is: its name, unit, words, which way is better, and where its method is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal, get_args

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
    def method(self) -> str:
        """The only place that defines it. Raises LookupError where there are several."""
        if len(self.methods) > 1:
            raise LookupError(f"{self.name} is defined in several places; say which")
        return self.methods[0]

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


def unit_in(name: str) -> Unit:
    """The unit that ends a figure's name; ``count`` where none does."""
    return next((unit for unit in get_args(Unit) if name.endswith(f"_{unit}")), "count")


def figure(
    name: str, *methods: str, better: Better = "neither", label: str = "", **parts: Sequence[str]
) -> FigureKind:
    """A row by its name: the unit is what ends it, unless that is an open part, and the label is
    what comes before the unit, unless another one is given."""
    unit, last = unit_in(name), re.search(_PART.pattern + "$", name)
    is_of_part = last is not None and last[1] not in parts
    words = re.sub("_per_s$", "/s", name.removesuffix(f"_{unit}"))
    words = words.replace("time_out", "timeout").replace("_", " ")
    return FigureKind(name, None if is_of_part else unit, label or words, methods, better, parts)


def times(
    stem: str, *pages: str, orders: Sequence[str] = ORDERS, also: str = ""
) -> tuple[FigureKind, ...]:
    """Quantiles, least and largest, and mean of times, as every page with these anchors defines
    them; ``also`` defines the quantiles and the extremes of a test of its own."""

    def row(name: str, anchor: str, **parts: Sequence[str]) -> FigureKind:
        methods = tuple(f"{page}#{anchor}" for page in pages)
        if also and anchor != "mean":
            methods = (*methods, also)
        return figure(f"{stem}_{name}_ns", *methods, better="less", label="", **parts)

    return (
        row("{order}", "quantiles", order=orders),
        row("{extreme}", "extremes", extreme=EXTREMES),
        row("mean", "mean"),
    )
