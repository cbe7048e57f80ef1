"""One table of what netsonde waits for, and how long."""

from __future__ import annotations

import re
from pathlib import Path

import netsonde
from netsonde.limits import LIMITS, limit_s

SOURCES = Path(netsonde.__file__).parent
A_LIMIT = re.compile(r"^_?[A-Z_]*(?:TIMEOUT|PATIENCE)[A-Z_]*_S\b.*= *[0-9]", re.MULTILINE)
OTHERS = {"serve", "hpcbench"}
"""Packages with tables of their own: of a server's limits, and of another tool's waits."""


def test_no_module_has_a_limit_of_its_own() -> None:
    found = [
        f"{path.relative_to(SOURCES)}: {line[0]}"
        for path in SOURCES.rglob("*.py")
        if path.relative_to(SOURCES).parts[0] not in OTHERS
        for line in A_LIMIT.finditer(path.read_text())
    ]
    assert found == []


def test_each_row_is_used() -> None:
    tests = Path(__file__).parents[1] / "scenarios"
    files = [*SOURCES.rglob("*.py"), *tests.glob("*.py")]
    text = "".join(path.read_text() for path in files)
    assert [row.name for row in LIMITS if f'limit_s("{row.name}")' not in text] == []


def test_names_are_different_and_limits_are_some() -> None:
    assert len({row.name for row in LIMITS}) == len(LIMITS)
    assert all(0 < limit_s(row.name) <= 3600 for row in LIMITS)
