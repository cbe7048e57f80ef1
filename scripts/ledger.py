"""The ledger of repeated tests (tests/attempts.py): how many attempts, and how many were wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

TRUTH = "tests/truth/"
OUTSIDE_MOST = 1 / 20
"""Of the attempts of truth tests: with more, tolerances are not what was said of them."""


@dataclass(frozen=True)
class Counts:
    """Attempts that were counted, those of them outside of their tolerance, and those that were not
    counted since the machine could not be trusted."""

    counted: int
    outside: int
    not_trusted: int

    @property
    def too_many(self) -> bool:
        return self.outside > OUTSIDE_MOST * self.counted

    def __str__(self) -> str:
        return (
            f"{self.counted} attempts, {self.outside} outside of tolerance; "
            f"{self.not_trusted} more on a machine that could not be trusted"
        )


def read(path: Path) -> list[dict[str, object]]:
    """All lines; none where nothing was repeated."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def counts(entries: list[dict[str, object]], folder: str = "") -> Counts:
    """Of the tests in a folder, or of all."""
    chosen = [entry for entry in entries if str(entry["test"]).startswith(folder)]
    counted = [entry for entry in chosen if not entry["not_trusted"]]
    outside = sum(not entry["within"] for entry in counted)
    return Counts(len(counted), outside, len(chosen) - len(counted))


def outside_lines(entries: list[dict[str, object]]) -> list[str]:
    """A line for each attempt that was outside, with what it found."""
    return [
        f"outside: {entry['test']}, attempt {entry['attempt']}: " + first_line(entry["wrong"])
        for entry in entries
        if not entry["within"] and not entry["not_trusted"]
    ]


def first_line(wrong: object) -> str:
    return str(wrong[0]).split("\n", 1)[0] if isinstance(wrong, list) and wrong else ""
