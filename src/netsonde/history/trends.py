"""From the runs of a history to trends of figures and where they changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from netsonde.compare.circumstances import differences
from netsonde.errors import UsageError
from netsonde.figures.keys import FigureKey, labels_of
from netsonde.history.data import ChangePoint, History, Trend, TrendPoint
from netsonde.history.store import StoredRun, read_runs
from netsonde.stats.change_points import LEAST_STRETCH, Change, change_points
from netsonde.stats.quantiles import quantile_interval
from netsonde.units import format_count

FALSE_ALARMS = 0.05
"""The chance of any change-point in all figures where nothing ever changed."""
LEAST_CHANGE = 0.01
_ROUNDS_PER_FIGURE = 50
_ROUNDS = (2000, 20_000)


def read_history(
    file: Path,
    wanted: Sequence[str] = (),
    *,
    least_change: float = LEAST_CHANGE,
    false_alarms: float = FALSE_ALARMS,
) -> History:
    """The trends of a history's file: of the main figure of each test, else of those figures whose
    name or label holds one of the ``wanted`` texts.

    A change of a level by less than ``least_change``, a share, is left out. Raises UsageError where
    the file is no history, or nothing in it is wanted.
    """
    stored = read_runs(file)
    trends = _trends(stored, wanted)
    if wanted and not trends:
        raise UsageError(f"{file} has no figure with {' or '.join(wanted)} in its name or label")
    long_enough = [t for t in trends if len(t.points) >= 2 * LEAST_STRETCH]
    level = false_alarms / max(1, len(long_enough))
    rounds = int(np.clip(_ROUNDS_PER_FIGURE * len(long_enough) / false_alarms, *_ROUNDS))
    by_id = {run.run.id: run for run in stored}
    made = tuple(_with_changes(t, by_id, level, rounds, least_change) for t in trends)
    notes = []
    if len(long_enough) < len(trends):
        few = format_count(len(trends) - len(long_enough), "figure")
        notes.append(
            f"In fewer than {2 * LEAST_STRETCH} runs no change can be told from chance: so it is "
            f"with {few}."
        )
    return History(str(file), tuple(run.run for run in stored), made, tuple(notes))


def _trends(stored: Sequence[StoredRun], wanted: Sequence[str]) -> list[Trend]:
    keys: dict[FigureKey, None] = {}
    for run in stored:
        keys |= dict.fromkeys(run.values)
    labels = labels_of(keys)
    found = []
    for key in keys:
        if not _is_wanted(key, labels[key], wanted):
            continue
        having = [run for run in stored if key in run.values]
        points = tuple(_point(run, key) for run in having)
        found.append(Trend(key, labels[key], having[0].ways[key], points, ()))
    return found


def _is_wanted(key: FigureKey, label: str, wanted: Sequence[str]) -> bool:
    if wanted:
        return any(text in key.figure or text in label for text in wanted)
    return key.figure == key.kind.main or key.kind.is_program


def _point(run: StoredRun, key: FigureKey) -> TrendPoint:
    values = tuple(launch.value for launch in run.values[key])
    interval = quantile_interval(values, 0.5)
    return TrendPoint(
        run.run.id,
        run.run.name,
        run.run.started_utc,
        values,
        float(median(values)),
        interval.low if interval else None,
        interval.high if interval else None,
    )


def _with_changes(
    trend: Trend, by_id: dict[str, StoredRun], level: float, rounds: int, least_change: float
) -> Trend:
    medians = np.array([point.median for point in trend.points])
    found = change_points(medians, level, rounds=rounds)
    edges = [0, *(change.index for change in found), len(medians)]
    changes = []
    for place, change in enumerate(found, 1):
        old = float(np.median(medians[edges[place - 1] : change.index]))
        new = float(np.median(medians[change.index : edges[place + 1]]))
        if old > 0.0 and abs(new / old - 1.0) < least_change:
            continue
        changes.append(_change(trend, by_id, change, old, new))
    return Trend(trend.key, trend.label, trend.better, trend.points, tuple(changes))


def _change(
    trend: Trend, by_id: dict[str, StoredRun], change: Change, old: float, new: float
) -> ChangePoint:
    around = [by_id[trend.points[i].run].facts for i in (change.first - 1, change.last)]
    point = trend.points[change.index]
    return ChangePoint(
        change.index,
        change.first,
        change.last,
        point.run,
        point.started_utc,
        old,
        new,
        new / old if old > 0.0 else float("inf"),
        change.p,
        "better" if (new > old) == (trend.better == "more") else "worse",
        differences(around[:1], around[1:]),
    )
