"""Nothing that a user sees of options changes by accident (tests/python/stored_copies.py)."""

from __future__ import annotations

import pytest
from stored_copies import COPIES, STORED, help_pages, read, replayed


@pytest.mark.parametrize("name", COPIES)
def test_what_is_said_is_what_was_said(name: str) -> None:
    stored = read(name)
    assert len(stored) > 100
    assert replayed(name) == stored


def test_help_is_as_stored() -> None:
    assert help_pages() == (STORED / "help.txt").read_text()
