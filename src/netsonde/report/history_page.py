"""Figures over many runs as a page: each run's value, the levels, and where they changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from netsonde.catalogue.known_figures import label_of
from netsonde.errors import UsageError
from netsonde.history.data import ChangePoint, History, Trend
from netsonde.report.links import link_to_report
from netsonde.report.page import Section, write_sections_page
from netsonde.report.plot import (
    Axis,
    Cell,
    Column,
    Curve,
    Mark,
    Panel,
    Plot,
    Table,
    columns,
    text_table,
)
from netsonde.report.quantity import format_value, kind_of
from netsonde.report.time_axis import MARGIN, time_axis
from netsonde.units import change_in_words, format_count

TRENDS_DRAWN = 40


def write_history_page(history: History, path: Path) -> None:
    """Writes the page whole or not at all. Raises UsageError where it cannot be written."""
    changes = sum(len(trend.changes) for trend in history.trends)
    counts = {"run": len(history.runs), "figure": len(history.trends), "change": changes}
    line = ", ".join(format_count(count, word) for word, count in counts.items())
    write_sections_page(path, "Over all runs", line, sections_of(history, path.parent))


def sections_of(history: History, folder: Path) -> list[Section]:
    """Changes, a plot for each figure (those that changed first), and the runs, which lead to their
    reports from a page in that folder."""
    ordered = sorted(history.trends, key=lambda trend: not trend.changes)
    left = len(ordered) - TRENDS_DRAWN
    names = {run.id: link_to_report(run.name, Path(run.directory), folder) for run in history.runs}
    words = [f"{left} more figures are not drawn; netsonde history show lists them."] * (left > 0)
    return [
        Section(
            "changes",
            "Changes",
            [
                "Where the level of a figure changed, with the run after it and what else changed "
                "between the two. How: netsonde man history.",
                *history.notes,
            ]
            if any(t.changes for t in ordered)
            else ["No figure changed its level.", *history.notes],
            _changes(ordered, names) if any(t.changes for t in ordered) else None,
        ),
        Section(
            "figures",
            "Figures",
            words,
            None,
            [_plot(n, trend, names) for n, trend in enumerate(ordered[:TRENDS_DRAWN], 1)],
        ),
        Section("runs", "Runs", [], _runs(history, names)),
    ]


def _plot(number: int, trend: Trend, names: Mapping[str, str]) -> Plot:
    kind = kind_of(trend.key.unit)
    points = trend.points
    when = time_axis("began (UTC)", [_unix_s(point.started_utc) for point in points])
    edges = _edges(when.places)
    x: list[float | None] = []
    y: list[float | None] = []
    for first, last, level in trend.levels:
        x += [edges[first], edges[last + 1], None]
        y += [level, level, None]
    return Plot(
        f"trend-{number}",
        f"{trend.label}: {trend.key.figure}",
        f"{'Less' if trend.better == 'less' else 'More'} is better. The median of each run's "
        "launches with its interval, at the time when the run began. Steps: the levels between "
        "changes.",
        _in_words(trend),
        [
            Panel(
                "",
                when.axis,
                Axis(label_of(trend.key.figure), kind),
                [
                    Curve(
                        "runs",
                        list(when.places),
                        [point.median for point in points],
                        "blue",
                        "points",
                        low=[point.low for point in points],
                        high=[point.high for point in points],
                    ),
                    Curve("level", x, y, "fit", width=1.2),
                ],
                [Mark("x", edges[c.index], _change_words(trend, c), "bad") for c in trend.changes],
                height=260,
            )
        ],
        Table(
            f"trend_{number}",
            trend.label,
            (
                *columns("text", run="Run", started="Started"),
                Column("median", "Median", kind),
                Column("low", "From", kind),
                Column("high", "To", kind),
                Column("launches", "Launches", "count"),
            ),
            [
                (
                    *(names.get(p.run, p.run_name), p.started_utc, p.median, p.low, p.high),
                    len(p.launches),
                )
                for p in points
            ],
        ),
        wide=True,
    )


def _edges(places: list[float]) -> list[float]:
    """Where the stretch of each run begins, and where the last one ends: between two runs halfway,
    at both ends a little further out."""
    between = [(a + b) / 2 for a, b in pairwise(places)]
    out = MARGIN / 2 * (places[-1] - places[0]) or 0.05
    return [places[0] - out, *between, places[-1] + out]


def _unix_s(started_utc: str) -> float:
    """Raises UsageError where a file says no time."""
    try:
        began = datetime.fromisoformat(started_utc)
    except ValueError as error:
        raise UsageError(
            f"the history has a run that began at {started_utc[:40]!r}, which is no time"
        ) from error
    return (began if began.tzinfo else began.replace(tzinfo=UTC)).timestamp()


def _change_words(trend: Trend, change: ChangePoint) -> str:
    return f"{change.verdict}, {change_in_words(change.ratio, trend.key.unit)}"


def _in_words(trend: Trend) -> str:
    kind = kind_of(trend.key.unit)
    if not trend.changes:
        return f"{format_count(len(trend.points), 'run')}, no change of level."
    return "; ".join(
        f"{_change_words(trend, c)} at {c.started_utc[:10]}, from "
        f"{format_value(c.before, kind)} to {format_value(c.after, kind)}"
        for c in trend.changes
    )


def _changes(trends: list[Trend], names: Mapping[str, str]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            *(trend.label, trend.key.figure, change.verdict),
            change_in_words(change.ratio, trend.key.unit),
            *(names.get(change.run, change.run), change.started_utc, change.p),
            ", ".join(f"{c.name}: {c.before} → {c.after}" for c in change.changed)
            or "nothing known",
        )
        for trend in trends
        for change in trend.changes
    ]
    columns = (
        *(Column("measured", "Measured"), Column("figure", "Figure")),
        *(Column("verdict", "Verdict"), Column("change", "Change"), Column("run", "First run")),
        *(Column("started", "Started"), Column("p", "p", "number")),
        Column("changed", "What else changed"),
    )
    return Table("changes", "Changes", columns, rows)


def _runs(history: History, names: Mapping[str, str]) -> Table:
    rows = (
        (names[r.id], r.started_utc, r.origin, r.netsonde, r.launches, r.figures, r.directory)
        for r in history.runs
    )
    labels = ("Name", "Started", "Origin", "netsonde", "Launches", "Figures", "Directory")
    return text_table("runs", "Runs", labels, rows)
