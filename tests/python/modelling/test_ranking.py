"""Whether a model's order of algorithms is the measured one: which cells and pairs count."""

from __future__ import annotations

import pytest

from netsonde.modelling.ranking import Order, Ranked, order_document, order_in_words, order_of

CELL = ("alltoall", 1024, 8)


def one(name: str, measured: float, predicted: float, cell: tuple[str, int, int] = CELL) -> Ranked:
    return Ranked(cell, name, predicted, measured, 0.98 * measured, 1.02 * measured)


def test_a_cell_is_alike_where_all_that_are_apart_are_in_order() -> None:
    right = [one("a", 100, 7), one("b", 120, 8), one("c", 150, 9)]
    assert order_of(right) == Order(1, 3, [])
    order = order_of([*right, one("d", 200, 7.5)])
    assert (order.cells, order.cells_alike, order.pairs) == (1, 0, 6)
    assert [(each.first, each.second) for each in order.misplaced] == [("b", "d"), ("c", "d")]
    assert order.misplaced[0].by == pytest.approx(200 / 120)


def test_what_is_not_certainly_apart_has_no_order() -> None:
    """Within 5 %, or intervals that meet; a cell without a pair is none."""
    assert order_of([one("a", 100, 2), one("b", 104.9, 1)]).cells == 0
    wide = Ranked(CELL, "b", 1, 130, 101, 160)
    assert order_of([one("a", 100, 2), wide]).cells == 0
    assert order_of([one("a", 100, 2), Ranked(CELL, "b", 1, 130, 103, 160)]).pairs == 1


def test_equal_predictions_of_what_is_apart_are_no_order() -> None:
    assert order_of([one("a", 100, 5), one("b", 120, 5)]).cells_alike == 0


def test_cells_are_held_apart_and_counted_in_words() -> None:
    other = ("bcast", 1024, 8)
    found = [one("a", 1, 1), one("b", 2, 2), one("c", 1, 2, other), one("d", 2, 1, other)]
    order = order_of(found)
    assert order_in_words(order) == (
        "order as measured in 1 of 2 cells (1 of 2 pairs over 5% apart)"
    )
    said = order_document(order)
    assert (said["cells"], said["cells_alike"], said["pairs"]) == (2, 1, 2)
    assert said["misplaced"] == [
        {
            **{"operation": "bcast", "message_bytes": 1024, "ranks": 8},
            **{"measured_first": "c", "measured_second": "d", "measured_ratio": 2.0},
        }
    ]
