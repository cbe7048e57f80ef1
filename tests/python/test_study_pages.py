"""Pages that go through what a study asks of software: each item stands there once, with a test, a
reason, or as open."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_docs import missing_tests

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
ITEMS = {
    "pvm-study.md": [*range(1, 44), 62, 65],
    "beowulf-study.md": [7, 21, 22, *range(24, 39)],
    "tam-study.md": [*range(1, 105)],
    "mpibench-study.md": [*range(81, 102)],
}
"""What each page has to have, by the number in its study's list."""
NO = "No:"
"""What begins the reason of what is not done."""


def rows(page: str) -> list[list[str]]:
    lines = (REFERENCE / page).read_text().splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [row for row in cells if row and row[0].isdecimal()]


def problem(row: list[str]) -> str | None:
    """What a row lacks."""
    if len(row) != 4:
        return "it has not four cells"
    _, what, here, test = row
    if not what:
        return "it says not what is asked"
    if test == "open":
        return "it is open and says where it is" if here else None
    if here.startswith(NO):
        return None if len(here) > len(NO) + 10 else "its reason is none"
    if not here:
        return "it says not where it is"
    if not re.search(r"`(python|truth|scenarios|lab|engine)/[^`]+`", test):
        return "it names no test"
    return "; ".join(missing_tests(test)) or None


@pytest.mark.parametrize("page", ITEMS)
def test_every_item_stands_there_once(page: str) -> None:
    assert [int(row[0]) for row in rows(page)] == ITEMS[page]


@pytest.mark.parametrize("page", ITEMS)
def test_every_item_has_a_test_or_a_reason_or_is_open(page: str) -> None:
    assert {row[0]: why for row in rows(page) if (why := problem(row))} == {}


def test_rows_that_lack_something_are_seen() -> None:
    test = "`python/test_docs.py::test_links_and_anchors_exist`"
    assert problem(["1", "what", "here", test]) is None
    assert problem(["1", "what", "", "open"]) is None
    assert problem(["1", "what", "No: it would take another machine", "–"]) is None
    for row in (
        ["1", "what", "here", "`python/test_docs.py::test_that_is_nowhere`"],
        ["1", "what", "here", "some test"],
        ["1", "what", "", test],
        ["1", "what", "No:", "–"],
        ["1", "what", "here", "open"],
        ["1", "", "here", test],
    ):
        assert problem(row) is not None, row
