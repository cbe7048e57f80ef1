"""Figures over many runs as a page: each run's value, the levels, and where they changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netsonde.catalogue.known_figures import label_of
from netsonde.history.data import ChangePoint, History, Trend
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
from netsonde.units import format_count

TRENDS_DRAWN = 40


def write_history_page(history: History, path: Path) -> None:
    """Writes the page whole or not at all. Raises UsageError where it cannot be written."""
    changes = sum(len(trend.changes) for trend in history.trends)
    counts = {"run": len(history.runs), "figure": len(history.trends), "change": changes}
    line = ", ".join(format_count(count, word) for word, count in counts.items())
    write_sections_page(path, "Over all runs", line, sections_of(history))


def sections_of(history: History) -> list[Section]:
    """Changes, a plot for each figure (those that changed first), and the runs."""
    ordered = sorted(history.trends, key=lambda trend: not trend.changes)
    left = len(ordered) - TRENDS_DRAWN
    words = [f"{left} more figures are not drawn; netsonde history show lists them."] * (left > 0)
    return [
        Section(
            "changes",
            "Changes",
            [
                "Where the level of a figure changed, with the run after it and what else changed "
                "between the two. How: docs/methods/history.md.",
                *history.notes,
            ]
            if any(t.changes for t in ordered)
            else ["No figure changed its level.", *history.notes],
            _changes(ordered) if any(t.changes for t in ordered) else None,
        ),
        Section(
            "figures",
            "Figures",
            words,
            None,
            [_plot(number, trend) for number, trend in enumerate(ordered[:TRENDS_DRAWN], 1)],
        ),
        Section("runs", "Runs", [], _runs(history)),
    ]


def _plot(number: int, trend: Trend) -> Plot:
    kind = kind_of(trend.key.unit)
    points = trend.points
    places = [float(place) for place in range(len(points))]
    x: list[float | None] = []
    y: list[float | None] = []
    for first, last, level in trend.levels:
        x += [first - 0.4, last + 0.4, None]
        y += [level, level, None]
    return Plot(
        f"trend-{number}",
        f"{trend.label}: {trend.key.figure}",
        f"{'Less' if trend.better == 'less' else 'More'} is better. The median of each run's "
        "launches with its interval; runs from the oldest to the newest, not to scale of time. "
        "Steps: the levels between changes.",
        _in_words(trend),
        [
            Panel(
                "",
                Axis(
                    "run",
                    "text",
                    low=-0.6,
                    high=len(points) - 0.4,
                    names=_names([point.started_utc for point in points]),
                ),
                Axis(label_of(trend.key.figure), kind),
                [
                    Curve(
                        "runs",
                        list(places),
                        [point.median for point in points],
                        "blue",
                        "points",
                        low=[point.low for point in points],
                        high=[point.high for point in points],
                    ),
                    Curve("level", x, y, "fit", width=1.2),
                ],
                [Mark("x", c.index - 0.5, _change_words(c), "bad") for c in trend.changes],
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
            [(p.run_name, p.started_utc, p.median, p.low, p.high, len(p.launches)) for p in points],
        ),
        wide=True,
    )


def _names(started_utc: Sequence[str]) -> list[str]:
    """Days; with the time of day where one has several runs."""
    days = [started[:10] for started in started_utc]
    if len(set(days)) == len(days):
        return days
    return [started[:16].replace("T", " ") for started in started_utc]


def _change_words(change: ChangePoint) -> str:
    return f"{change.verdict} {100 * (change.ratio - 1):+.1f} %"


def _in_words(trend: Trend) -> str:
    kind = kind_of(trend.key.unit)
    if not trend.changes:
        return f"{format_count(len(trend.points), 'run')}, no change of level."
    return "; ".join(
        f"{_change_words(c)} at {c.started_utc[:10]}, from {format_value(c.before, kind)} to "
        f"{format_value(c.after, kind)}"
        for c in trend.changes
    )


def _changes(trends: list[Trend]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            *(trend.label, trend.key.figure, change.verdict, f"{100 * (change.ratio - 1):+.1f} %"),
            *(change.run, change.started_utc, change.p),
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


def _runs(history: History) -> Table:
    rows = (
        (r.name, r.started_utc, r.origin, r.netsonde, r.launches, r.figures, r.directory)
        for r in history.runs
    )
    names = ("Name", "Started", "Origin", "netsonde", "Launches", "Figures", "Directory")
    return text_table("runs", "Runs", names, rows)
