"""Whether a model puts algorithms into the order in which they were measured, cell by cell.

Method: docs/methods/model-measure.md, "Order".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

APART = 1.05
"""Times that are closer have no order that matters."""


@dataclass(frozen=True)
class Ranked:
    """One algorithm of a cell: ``cell`` says which operation, size and ranks; ``measured_ns`` is
    from ``low_ns`` to ``high_ns``."""

    cell: tuple[str, int, int]
    algorithm: str
    predicted_ns: float
    measured_ns: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True)
class Misplaced:
    """``first`` was measured ``by`` times as fast as ``second``, and is predicted behind it."""

    cell: tuple[str, int, int]
    first: str
    second: str
    by: float


@dataclass(frozen=True)
class Order:
    """Of all cells with two algorithms that are certainly apart: how many there are, and what is in
    another order there. ``pairs`` are those that are apart, in all cells."""

    cells: int = 0
    pairs: int = 0
    misplaced: Sequence[Misplaced] = field(default_factory=tuple)

    @property
    def cells_alike(self) -> int:
        return self.cells - len({one.cell for one in self.misplaced})


def order_of(found: Iterable[Ranked]) -> Order:
    """Two algorithms are apart where the median of one is more than 5 % above that of the other,
    and their intervals do not meet."""
    cells: dict[tuple[str, int, int], list[Ranked]] = {}
    for one in found:
        cells.setdefault(one.cell, []).append(one)
    pairs = [pair for own in cells.values() for pair in _apart(own)]
    misplaced = [
        Misplaced(fast.cell, fast.algorithm, slow.algorithm, _ratio(fast, slow))
        for fast, slow in pairs
        if fast.predicted_ns >= slow.predicted_ns
    ]
    return Order(len({fast.cell for fast, _ in pairs}), len(pairs), misplaced)


def _apart(own: Sequence[Ranked]) -> Iterable[tuple[Ranked, Ranked]]:
    """Pairs, the faster one first."""
    for pair in combinations(own, 2):
        fast, slow = sorted(pair, key=lambda one: one.measured_ns)
        if _ratio(fast, slow) > APART and fast.high_ns < slow.low_ns:
            yield fast, slow


def _ratio(fast: Ranked, slow: Ranked) -> float:
    return slow.measured_ns / fast.measured_ns


def order_in_words(order: Order) -> str:
    return (
        f"order as measured in {order.cells_alike} of {order.cells} cells "
        f"({order.pairs - len(order.misplaced)} of {order.pairs} pairs over 5% apart)"
    )


def order_document(order: Order) -> Mapping[str, object]:
    return {
        "cells": order.cells,
        "cells_alike": order.cells_alike,
        "pairs": order.pairs,
        "misplaced": [
            {
                **dict(zip(("operation", "message_bytes", "ranks"), one.cell, strict=True)),
                "measured_first": one.first,
                "measured_second": one.second,
                "measured_ratio": one.by,
            }
            for one in order.misplaced
        ],
    }
