"""A figure over a factor: one way to draw it and to list it."""

from __future__ import annotations

import pytest

from netsonde.catalogue.transport import TRANSPORTS
from netsonde.report.against import (
    SIZE_AXIS,
    Between,
    Series,
    curve,
    estimate_columns,
    series_panels,
    series_rows,
    size_place,
    times_axis,
)
from netsonde.report.plot import Axis, Curve
from netsonde.report.theme import SERIES, Look, series_look, transport_look

TIME = Axis("time", "time_ns", log=True)


def _series(panel: str, name: str, count: int = 2) -> Series:
    places = [(float(x), Between(10.0 * x, 9.0 * x, 11.0 * x)) for x in range(1, count + 1)]
    return Series(panel, name, places, (name,))


def test_each_panel_has_a_curve_for_each_series_with_its_interval() -> None:
    found = [_series("a", "one"), _series("b", "alone", 1), _series("a", "two")]
    first, second = series_panels(found, SIZE_AXIS, TIME)
    assert [(c.label, c.x, c.y, c.low, c.high) for c in first.curves] == [
        (name, [1.0, 2.0], [10.0, 20.0], [9.0, 18.0], [11.0, 22.0]) for name in ("one", "two")
    ]
    assert (first.title, second.title, first.note) == ("a", "b", "")
    assert len({(c.colour, c.symbol) for c in first.curves}) == 2
    assert [p.title for p in series_panels(found, SIZE_AXIS, TIME, least=2)] == ["a"]


def test_a_panel_says_how_many_curves_it_leaves_out() -> None:
    found = [_series("", str(number)) for number in range(5)]
    (panel,) = series_panels(found, SIZE_AXIS, TIME, most=3)
    assert [c.label for c in panel.curves] == ["0", "1", "2"]
    assert panel.note == "2 more curves are in the table"
    assert len(series_rows(found)) == 10


def test_rows_have_what_the_columns_say() -> None:
    columns = estimate_columns("throughput_bit_per_s", "Throughput", "bit_per_s")
    assert [c.name for c in columns] == ["throughput_bit_per_s", "low_bit_per_s", "high_bit_per_s"]
    assert series_rows([_series("a", "one", 1)]) == [("one", 1.0, 10.0, 9.0, 11.0)]


def test_an_estimate_without_a_value_breaks_its_curve() -> None:
    made = curve("c", [(1.0, Between(2.0)), (2.0, Between(None))], Look("blue"), width=2.4)
    assert (made.y, made.low, made.width) == ([2.0, None], [None, None], 2.4)


def test_ratios_near_one_look_small_and_all_of_them_are_seen() -> None:
    near = times_axis("times", [Curve("c", [1.0], [1.01], "blue")])
    assert (near.low, near.high) == (0.8, 1.25)
    far = times_axis("times", [Curve("c", [1.0], [2.0], "blue", low=[0.5], high=[4.0])])
    assert None not in (far.low, far.high)
    assert (far.low or 1) < 0.5 < 4.0 < (far.high or 1)


def test_an_empty_message_has_a_place_among_powers_of_two() -> None:
    assert (size_place(0), size_place(64)) == (1.0, 64.0)


@pytest.mark.parametrize("name", [t.name for t in TRANSPORTS.values() if t.layer])
def test_transports_differ_in_more_than_their_colour(name: str) -> None:
    own = transport_look(name)
    others = [transport_look(t.name) for t in TRANSPORTS.values() if t.layer and t.name != name]
    assert own.colour in SERIES
    assert all((own.symbol, own.dash) != (other.symbol, other.dash) for other in others)


def test_more_curves_than_colours_differ() -> None:
    assert len({series_look(place) for place in range(4 * len(SERIES))}) == 4 * len(SERIES)
