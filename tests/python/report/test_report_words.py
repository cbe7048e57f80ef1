"""Small things that a reader of the pages meets: names that are used once, plots that show
something, digits that mean something."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_pages import SLOW, matrix

import netsonde.report
from netsonde.explain import Finding
from netsonde.figures.pair_matrix import PairMatrix
from netsonde.report.circumstances import _fact
from netsonde.report.image import draw_plot
from netsonde.report.pair_plots import WORSE_SEEN, plot_of
from netsonde.report.plot import Axis, Column, Curve, Draw, Mark, Panel, Plot, Table, told_apart
from netsonde.report.theme import series_look
from netsonde.report.verdict_order import first_and_more
from netsonde.units import bytes_in_words


def test_no_two_plots_have_one_name() -> None:
    """Anchors and exported files are named by it: one would hide the other."""
    found = Counter(
        call.args[0].value
        for path in Path(netsonde.report.__file__).parent.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("Plot", "tabled")
        and isinstance(call.args[0], ast.Constant)
    )
    assert len(found) > 30
    assert [name for name, count in found.items() if count > 1] == []


@pytest.mark.parametrize(("value", "panels"), [(0.0, 1), (0.25, 2)])
def test_bubbles_are_drawn_where_they_have_an_area(value: float, panels: int) -> None:
    values = np.full((3, 3), value)
    np.fill_diagonal(values, np.nan)
    plot = plot_of(PairMatrix("lost_ratio", ("a", "b", "c"), values))
    assert len(plot.panels) == panels
    assert ("bubbles" in plot.caption) == (panels == 2)


def test_noise_in_the_digits_of_a_fact_is_no_difference() -> None:
    same = _fact("clock_cost_ns", [10.014870667228944, 10.014880484392013])
    assert (same.values, same.differs) == (["10.01", "10.01"], False)
    assert _fact("clock_cost_ns", [10.01, 25.2]).differs
    assert _fact("cpu.count", [2, 4]).differs


def test_the_worst_pairs_have_the_strongest_colour() -> None:
    alike = PairMatrix("round_trip_ns", ("a", "b"), np.array([[np.nan, 100.0], [102.0, np.nan]]))
    slow, quick = (plot_of(one).panels[0].heat for one in (matrix(), alike))
    assert slow is not None
    assert quick is not None
    cells = {
        (row, column): share
        for row, shares in enumerate(slow.shares)
        for column, share in enumerate(shares)
        if share is not None
    }
    named = [share for cell, share in cells.items() if SLOW in cell]
    others = [share for cell, share in cells.items() if SLOW not in cell]
    assert min(named) > 10 * max(others)
    assert slow.strongest == max(named)
    assert quick.strongest == WORSE_SEEN  # 2 % do not look like a difference


def test_a_loss_of_one_in_a_hundred_is_seen() -> None:
    lost = PairMatrix("lost_ratio", ("a", "b"), np.array([[np.nan, 0.01], [0.0, np.nan]]))
    heat = plot_of(lost).panels[0].heat
    assert heat is not None
    assert heat.shares == [[None, 0.01], [0.0, None]]
    assert (heat.least, heat.strongest, heat.meaning) == (0.0, 0.01, "lost")


def test_all_that_is_wrong_comes_before_the_figures_and_few_notes() -> None:
    found = [Finding(level, f"{level} {n}", "") for level in ("note", "bad") for n in range(12)]
    first, more = first_and_more(found)
    assert [f.level for f in first] == ["bad"] * 12 + ["note"] * 3
    assert sorted(f.claim for f in first + more) == sorted(f.claim for f in found)
    assert first_and_more(found[:8]) == (found[:8], [])


def test_a_mark_far_beyond_the_axis_leaves_room_for_the_plot(tmp_path: Path) -> None:
    """Streams of 600 Mbit/s over a link of 10 Gbit/s."""
    curve = Curve("TCP", [8192.0, 65536.0], [6.1e8, 6.6e8], "blue", "points")
    axes = Axis("message size", "size", log=True), Axis("throughput", "bit_per_s", low=0)
    mark = Mark("y", 1e10, "link 10 Gbit/s", "limit")
    table = Table("t", "t", (Column("size", "Size"),), [])
    plot = Plot("t", "Throughput", "", "", [Panel("Stream", *axes, [curve], marks=[mark])], table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_plot(plot, tmp_path / "t.png")
    assert (tmp_path / "t.png").stat().st_size > 1000


@pytest.mark.parametrize("draw", ["line", "line+points", "points", "step"])
@pytest.mark.parametrize("count", [2, 4, 5, 9, 16, 24])
def test_no_two_curves_look_alike(draw: Draw, count: int) -> None:
    """As plots number them. Few differ without their colour."""
    looks_of = [series_look(n) for n in range(count)]
    curves = [
        Curve(f"curve {n}", [1.0], [1.0], own.colour, draw, own.dash, own.symbol)
        for n, own in enumerate(looks_of)
    ]
    made = told_apart([*curves, replace(curves[0], in_legend=False)])
    looks = [
        (
            c.dash if draw != "points" else "",
            c.symbol if c.spaced or "points" in draw else "",
        )
        for c in made
    ]
    with_colour = [(c.colour, *look) for c, look in zip(made, looks, strict=True)]
    assert with_colour[-1] == with_colour[0]  # the same curve once more
    assert len(set(with_colour)) == count
    if count <= {"line": 4, "step": 4, "points": 5, "line+points": 20}[draw]:
        assert len(set(looks)) == count


def test_a_size_of_one_byte_is_one_byte() -> None:
    assert [bytes_in_words(n) for n in (0, 1, 2, 1024)] == [
        "0 bytes",
        "1 byte",
        "2 bytes",
        "1k bytes",
    ]
    written = re.compile(r"\{format_size\([^{}]*\)\} bytes")
    for path in Path(netsonde.report.__file__).parents[1].rglob("*.py"):
        assert not written.search(path.read_text()), path
