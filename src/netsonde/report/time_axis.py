"""An axis in true time, labelled at round times of UTC.

A plot's axis has words at 0, 1, 2 and so on. So places are counted in steps of a round length, from
the last round time before the first instant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from netsonde.report.plot import Axis

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
STEPS_S = (
    *(1, 2, 5, 10, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 30)),
    *(n * _HOUR for n in (1, 2, 6, 12)),
    *(n * _DAY for n in (1, 2, 7, 14, 28, 91, 182, 364, 728, 1820, 3640)),
)
LABELS_MOST = 7
"""As many days as stand beside each other under a plot of a page's width."""
MARGIN = 0.03
"""Of the whole time, left free on either side."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TimeAxis:
    """``places`` of the instants that it was made for, in their order."""

    axis: Axis
    places: list[float]


def time_axis(label: str, instants_s: Sequence[float]) -> TimeAxis:
    """Of instants in seconds since 1970, of which there is one at least."""
    first, last = min(instants_s), max(instants_s)
    step = next((s for s in STEPS_S if (last - first) / s <= LABELS_MOST - 1), STEPS_S[-1])
    origin = math.floor(first / step) * step
    places = [(instant - origin) / step for instant in instants_s]
    margin = max(MARGIN * (max(places) - min(places)), 0.1)
    labels = range(math.ceil(max(places)) + 1)
    return TimeAxis(
        Axis(
            label,
            "text",
            low=min(places) - margin,
            high=max(places) + margin,
            names=[_words(origin + step * number, step) for number in labels],
        ),
        places,
    )


def _words(instant_s: int, step_s: int) -> str:
    """The day; with the time of day where steps are shorter than a day."""
    form = "%Y-%m-%d" if step_s >= _DAY else "%m-%d %H:%M" if step_s >= _MINUTE else "%H:%M:%S"
    return (_EPOCH + timedelta(seconds=instant_s)).strftime(form)
