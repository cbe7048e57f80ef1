"""A history as text for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

from netsonde.compare.text import shorten_end
from netsonde.history.data import ChangePoint, History, Trend
from netsonde.units import change_in_words, value_in_words

WIDTH = 80
_LABEL = 34
_MOST_NAMED = 4


def history_lines(history: History) -> Iterable[str]:
    """The runs in a line, each figure in one, and below it where it changed."""
    runs = history.runs
    if not runs:
        yield f"{history.file} holds no run; add some with `netsonde history add`"
        return
    span = f"{runs[0].started_utc[:10]} to {runs[-1].started_utc[:10]}"
    yield f"{len(runs)} run{'s' * (len(runs) > 1)}, {span}"
    yield ""
    yield f"{'Figure':<{_LABEL}} {'Runs':>4} {'First':>11} {'Last':>11} {'Changes':>8}"
    for trend in history.trends:
        yield _line(trend, history)
        for change in trend.changes:
            yield from _changed(trend, change)
    for note in history.notes:
        yield ""
        yield from wrap(note, WIDTH)


def _line(trend: Trend, history: History) -> str:
    label = trend.label
    if sum(other.label == label for other in history.trends) > 1:
        label = f"{label} {trend.key.figure}"
    first, last = (value_in_words(trend.points[i].median, trend.key.unit) for i in (0, -1))
    return (
        f"{shorten_end(label, _LABEL):<{_LABEL}} {len(trend.points):>4} {first:>11} {last:>11} "
        f"{len(trend.changes) or '':>8}"
    ).rstrip()


def _changed(trend: Trend, change: ChangePoint) -> Iterable[str]:
    old, new = (value_in_words(v, trend.key.unit) for v in (change.before, change.after))
    place = f"run {change.index + 1}"
    if change.first != change.last:
        place += f" (between {change.first + 1} and {change.last + 1})"
    sentence = (
        f"{change.verdict} from {change.started_utc[:16]}, {place}: {old} -> {new}, "
        f"{change_in_words(change.ratio, trend.key.unit)}"
    )
    yield from wrap(sentence, WIDTH, initial_indent="  ", subsequent_indent="    ")
    decisive = [c for c in change.changed if c.decisive] or list(change.changed)
    named = [f"{c.name}: {c.before} -> {c.after}" for c in decisive[:_MOST_NAMED]]
    more = len(change.changed) - len(named)
    if named:
        text = f"changed there: {'; '.join(named)}" + (f"; and {more} more" if more else "")
        yield from wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
