"""What the repetitions of a test have in common: mean, median, least, most and deviation."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from netsonde.hpcbench.options import Settings
from netsonde.hpcbench.results import Columns, Repetition, cells_of, figures_of
from netsonde.hpcbench.table import table

HEADING = ("mean", "median", "least", "most", "deviation")


@dataclass(frozen=True)
class Spread:
    """Of the figures of one column. deviation is that of a sample (n - 1); None where there is one
    repetition only."""

    column: str
    words: str
    number: int
    mean: float
    median: float
    least: float
    most: float
    deviation: float | None


def spreads_of(
    settings: Settings, columns: Columns, repetitions: Sequence[Repetition]
) -> list[Spread]:
    """One for each figure of the test; none where each repetition has a size of its own, or where
    there are none."""
    if settings.exponential or not repetitions:
        return []
    names = [name for name, _, _ in columns]
    rows = [cells_of(columns, repetition) for repetition in repetitions]
    found = []
    for column, words in figures_of(settings):
        texts = [row[names.index(column)] for row in rows]
        values = [float(text) for text in texts if text is not None]
        values = [value for value in values if math.isfinite(value)]
        if values:
            found.append(
                Spread(
                    column,
                    words,
                    len(values),
                    statistics.fmean(values),
                    statistics.median(values),
                    min(values),
                    max(values),
                    statistics.stdev(values) if len(values) > 1 else None,
                )
            )
    return found


def spread_lines(spreads: Sequence[Spread]) -> list[str]:
    """A table of them for the screen and the result file, at most 80 characters wide; nothing of a
    single repetition, which is in its own line."""
    several = [one for one in spreads if one.number > 1]
    if not several:
        return []
    rows = [
        [one.words, *map(_digits, (one.mean, one.median, one.least, one.most, one.deviation))]
        for one in several
    ]
    first = f"of {several[0].number} repetitions"
    return table([first, *HEADING], rows).splitlines()


def _digits(value: float | None) -> str:
    """Six digits, as many as tell two repetitions apart."""
    return "-" if value is None else f"{value:#.6g}"
