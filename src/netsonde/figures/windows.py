"""What became of the windows of a point of MPI: who was in time, and what that came to mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netsonde.ranks.repetitions import (
    KEPT_SHARE,
    LATE_NS,
    LATE_SHARE,
    has_windows,
    is_late,
    late_after_ns,
)
from netsonde.records.data import Point

FEW_SHARE = KEPT_SHARE
"""Below this share of repetitions in time, figures are of those that happened to be."""
WIDENED_SHARE = LATE_SHARE
"""Of a typical repetition: what lateness may be of it where its bound is widened."""


@dataclass(frozen=True)
class WindowsKept:
    """Of all batches with windows. ``asked_ns``: what was to count as late; ``after_ns``
    what did, at most, ns. Of the last batch: how long windows were, how many were agreed on at
    once and how long before the first of them; 0 where a run does not say it."""

    repetitions: int
    in_time: int
    asked_ns: int
    after_ns: int
    window_ns: int
    at_once: int
    slack_ns: int

    @property
    def share(self) -> float:
        return self.in_time / self.repetitions if self.repetitions else 0.0

    @property
    def is_few(self) -> bool:
        return self.share < FEW_SHARE


def windows_kept(*points: Point) -> WindowsKept | None:
    """Of points of one condition together; None where none has windows."""
    batches = [batch for point in points for batch in point.batches if has_windows(batch)]
    if not batches:
        return None
    late = np.concatenate([is_late(batch) for batch in batches])
    counters = batches[-1].ends[0].counters
    return WindowsKept(
        len(late),
        int((~late).sum()),
        counters.get("late_after_ns", LATE_NS),
        max(late_after_ns(batch) for batch in batches),
        counters.get("window_ns", 0),
        counters.get("windows_at_once", 0),
        counters.get("window_slack_ns", 0),
    )
