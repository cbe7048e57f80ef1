"""The page of a history: runs at the time when they began, and the way to each run's own page."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from netsonde.errors import UsageError
from netsonde.figures.keys import FigureKey
from netsonde.history.data import ChangePoint, History, HistoryRun, Trend, TrendPoint
from netsonde.report.history_page import sections_of, write_history_page
from netsonde.report.time_axis import LABELS_MOST, STEPS_S, time_axis

DAYS = (1, 2, 3, 23)
DAY_S = 86400.0


def made(folder: Path) -> History:
    """Four runs, the last one 20 days after the others and slower."""
    stamps = [f"2026-03-{day:02d}T06:00:00+00:00" for day in DAYS]
    runs = tuple(
        HistoryRun(f"id{n}", f"run{n}", str(folder / "runs" / f"run {n}"), s, "real", "0.2.0", 6, 1)
        for n, s in enumerate(stamps)
    )
    points = tuple(
        TrendPoint(run.id, run.name, run.started_utc, (value,), value, None, None)
        for run, value in zip(runs, (20e3, 20e3, 20e3, 22e3), strict=True)
    )
    change = ChangePoint(3, 3, 3, "id3", stamps[3], 20e3, 22e3, 1.1, 0.01, "worse", ())
    key = FigureKey("tcp", "latency", None, 64, (), "round_trip_median_ns")
    return History("h.duckdb", runs, (Trend(key, "TCP latency 64 B", "less", points, (change,)),))


def test_runs_stand_at_the_time_when_they_began(tmp_path: Path) -> None:
    (plot,) = sections_of(made(tmp_path), tmp_path)[1].plots
    (panel,) = plot.panels
    runs, levels = panel.curves
    places = [place for place in runs.x if place is not None]
    gaps = [b - a for a, b in pairwise(places)]
    assert [gap / gaps[0] for gap in gaps] == pytest.approx([1, 1, 20])
    assert levels.x[1] == levels.x[3] == panel.marks[0].value
    assert panel.marks[0].value == pytest.approx((places[2] + places[3]) / 2)
    assert panel.x.names is not None
    assert panel.x.names[0] <= "2026-03-01"
    assert "2026-03" in panel.x.names[-1]


def test_a_run_leads_to_its_report_where_there_is_one(tmp_path: Path) -> None:
    history = made(tmp_path)
    report = tmp_path / "runs" / "run 1" / "report.html"
    report.parent.mkdir(parents=True)
    report.write_text("a page")
    write_history_page(history, tmp_path / "pages" / "trends.html")
    text = (tmp_path / "pages" / "trends.html").read_text()
    assert text.count('<a href="../runs/run%201/report.html">run1</a>') == 2  # plot and runs
    assert "run%202/report.html" not in text
    assert "<td>run2</td>" in text


def test_a_run_without_a_time_is_one_sentence(tmp_path: Path) -> None:
    history = made(tmp_path)
    (trend,) = history.trends
    points = (replace(trend.points[0], started_utc="yesterday"), *trend.points[1:])
    with pytest.raises(UsageError, match="began at 'yesterday', which is no time"):
        sections_of(replace(history, trends=(replace(trend, points=points),)), tmp_path)


@pytest.mark.parametrize("span_s", [0.0, 3.0, 90.0, 5000.0, 2 * DAY_S, 50 * DAY_S, 5000 * DAY_S])
def test_labels_are_few_and_where_their_words_say(span_s: float) -> None:
    first = 1_767_225_600.0 + 12_345.0  # 2026-01-01 and some hours
    axis = time_axis("began", [first, first + span_s])
    names = axis.axis.names or []
    assert len(names) == len(set(names)) <= LABELS_MOST + 2
    assert axis.axis.low is not None
    assert axis.axis.low < axis.places[0] <= axis.places[1] <= len(names) - 1
    step = span_s / (axis.places[1] - axis.places[0]) if span_s else 1.0
    assert round(step) in STEPS_S


def test_words_are_days_or_times_of_day() -> None:
    day = 1_767_225_600.0
    assert time_axis("", [day, day + 5 * DAY_S]).axis.names == [
        *("2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05", "2026-01-06")
    ]
    assert time_axis("", [day + 3600, day + 7200]).axis.names == [
        *("01-01 01:00", "01-01 01:10", "01-01 01:20", "01-01 01:30", "01-01 01:40"),
        *("01-01 01:50", "01-01 02:00"),
    ]
