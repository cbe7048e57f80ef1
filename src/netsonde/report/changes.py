"""How changes are drawn: a point with its interval for each, told apart by what was said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

from netsonde.report.plot import Curve

Word = TypeVar("Word", bound=str)
Looks: TypeAlias = Mapping[Word, tuple[str, str]]
"""Colour and symbol of each word that may be said of a change."""
Change: TypeAlias = tuple[float, Word, float | None, float | None, float | None]
"""Its place on the axis, what was said of it, its ratio and the interval of that."""


def change_curves(looks: Looks[Word], changes: Sequence[Change[Word]]) -> list[Curve]:
    """A curve for each word that was said, in the order of ``looks``; ratios are drawn less one."""
    curves = []
    for word, (colour, symbol) in looks.items():
        found = [change for change in changes if change[1] == word]
        if found:
            curves.append(
                Curve(
                    word,
                    [place for place, *_ in found],
                    [less_one(ratio) for _, _, ratio, _, _ in found],
                    colour,
                    "points",
                    symbol=symbol,
                    low=[less_one(low) for *_, low, _ in found],
                    high=[less_one(high) for *_, high in found],
                )
            )
    return curves


def less_one(ratio: float | None) -> float | None:
    return None if ratio is None else ratio - 1.0
