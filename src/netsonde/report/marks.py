"""What a figure must not be read without, as a mark beside it and in words below."""

from __future__ import annotations

from collections.abc import Sequence

from netsonde.figures.headlines import Headline
from netsonde.figures.windows import windows_kept
from netsonde.records.data import Point
from netsonde.report.lookup import Study

LATE = "†"
"""Beside a figure of few of the repetitions that were made: the others missed their windows."""
FEW_IN_TIME = f"{LATE} of less than half of the repetitions: the others began late"


def mark_of(points: Sequence[Point]) -> str:
    """`` †`` or nothing, for the figures of one condition."""
    kept = windows_kept(*points)
    return f" {LATE}" if kept is not None and kept.is_few else ""


def mark_of_headline(study: Study, headline: Headline) -> str:
    """The same for a figure over its launches."""
    return mark_of([p for name in headline.points if (p := study.point(name)) is not None])


def marks_in_words(points: Sequence[Point]) -> list[str]:
    """What the marks mean, for the figures of one condition."""
    kept = windows_kept(*points)
    if kept is None or not kept.is_few:
        return []
    return [f"{LATE} of {kept.share:.0%} of {kept.repetitions} repetitions: the others began late"]
