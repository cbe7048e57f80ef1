"""The catalogue's figures: each is made somewhere, told on a page, and has one row."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from netsonde.catalogue.figure import FigureKind
from netsonde.catalogue.known_figures import METHODS, ROWS, figure_kind, find_figure, unit_of

ROOT = Path(__file__).parents[3]
MAKERS = tuple(p for n in ("figures", "peers") for p in (ROOT / "src/netsonde" / n).glob("*.py"))
_WORD = re.compile(r"[a-z0-9]+")


def words_of_makers() -> set[str]:
    """All words of strings of the code that makes figures, but for its docstrings."""
    found = set()
    for path in MAKERS:
        tree = ast.parse(path.read_text())
        told = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set() if id(node) in told else {*_WORD.findall(node.value)}
    return found


def words_of(row: FigureKind) -> set[str]:
    """What the code that makes a figure must have of its name."""
    return {word for member in row.members() for word in _WORD.findall(member.name)} - {
        part for part in re.findall(r"\{(\w+)\}", row.name) if part not in row.parts
    }


def test_every_row_is_made_by_something() -> None:
    known = words_of_makers()
    missing = {row.name: words_of(row) - known for row in ROWS}
    assert {name: words for name, words in missing.items() if words} == {}


def test_every_figure_has_one_row() -> None:
    names = Counter(member.name for row in ROWS for member in row.members())
    assert [name for name, count in names.items() if count > 1] == []
    closed = [member for row in ROWS for member in row.members() if not member.is_open]
    assert len(closed) > 300
    for member in closed:
        assert figure_kind(member.name) == member
        families = [row for row in ROWS if row.is_open and row.match(member.name)]
        assert families == [], member.name


def test_every_row_is_told_and_every_method_has_a_row() -> None:
    of_rows = {place for row in ROWS for place in row.methods}
    assert of_rows == METHODS.keys()
    assert [place for place, short in METHODS.items() if not short.endswith(".")] == []


def test_every_row_has_words_and_a_unit_that_its_name_ends_in() -> None:
    for member in (member for row in ROWS for member in row.members()):
        assert member.label == member.label.strip() != ""
        ends = re.search(r"_(ns|bit_per_s|bytes|ratio)$", member.name)
        assert member.unit == (ends[1] if ends else None if member.unit is None else "count")


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("round_trip_p99_ns", "ns", "round trip p99"),
        ("program_residual_ns", "ns", "residual_ns"),
        ("program_residual", "count", "residual"),
        ("queue_3_most_packets", "count", "queue 3 most packets"),
        ("formula_line_use_ratio", "ratio", "formula line use ratio"),
        ("osu_completion_pure_min_ns", "ns", "osu completion pure min"),
    ],
)
def test_names_find_their_rows(name: str, unit: str, label: str) -> None:
    found = figure_kind(name)
    assert (found.name, found.unit) == (name, unit)
    assert found.label == label.replace("_", " ")


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("", "count"),
        ("round_trip", "count"),
        ("round_trip_p98_ns", "ns"),
        ("queue__most_packets", "count"),
        ("xround_trip_median_ns", "ns"),
        ("socket_bytes", "bytes"),
    ],
)
def test_other_names_find_none_and_have_the_unit_that_they_end_in(name: str, unit: str) -> None:
    assert find_figure(name) is None
    assert unit_of(name) == unit
