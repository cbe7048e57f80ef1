"""Outliers over launches: where they were, and which of them come again."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.figures.recurrence import Again, Outlier, Recurrence, recurrences
from netsonde.report.lookup import Study, what_was_measured
from netsonde.report.plot import Axis, Cell, Column, Curve, Mark, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_value, list_in_words
from netsonde.report.theme import SERIES, series_look

TESTS_SHOWN = 4
MARKS_SHOWN = 6
"""Of one panel: more lines than that hide the points."""
OUTLIERS_LISTED = 20
"""Of one launch, the largest."""


def outliers_over_launches(study: Study) -> Plot | None:
    """Of the tests of which most comes again, every outlier by place and value."""
    found = [r for r in recurrences(study.run) if r.outliers]
    if not found:
        return None
    found.sort(key=lambda r: -_again_count(r))
    every = sum(len(r.outliers) for r in found)
    again = sum(_again_count(r) for r in found)
    return tabled(
        "recurrence",
        "Outliers over launches: what comes again",
        "Repetitions beyond the outer fence of their launch, by their place in the sequence. A "
        "diamond comes again in at least half of the launches, at its place, because of its "
        "rank or with its value, more often than chance would have it. Lines are the places that "
        "come again. The others are accidents of the system. The table has the largest of every "
        "launch, with what they share.",
        f"{again} of {every} outliers come again.",
        [_panel(r) for r in found[:TESTS_SHOWN]],
        (
            *columns("text", test="Test", mpi="MPI"),
            *columns("count", launch="Launch", repetition="Repetition"),
            *columns("time_ns", value="Time", median="Median"),
            *columns("text", rank="Rank behind it", again="Comes again"),
            Column("launches", "In launches", "count"),
            Column("expected_by_chance", "By chance such", "number"),
        ),
        [row for r in found for row in _rows(r)],
        methods=("recurrence#",),
        heading="Outliers over launches",
        wide=True,
    )


def _again_count(found: Recurrence) -> int:
    return sum(bool(found.ways(outlier)) for outlier in found.outliers)


def _panel(found: Recurrence) -> Panel:
    curves = []
    for number, launch in enumerate(found.launches):
        colour = series_look(number, SERIES[1:]).colour
        accidents = [o for o in launch.outliers if not found.ways(o)]
        if accidents:
            curves.append(_points(f"launch {launch.number}", accidents, colour, opacity=0.45))
    again = [o for o in found.outliers if found.ways(o)]
    if again:
        curves.append(_points("comes again", again, SERIES[0], opacity=1.0))
    places = [a for a in found.again if a.is_real and a.way == "place"][:MARKS_SHOWN]
    marks = [Mark("x", a.what, f"{a.hits} of {a.launches}", SERIES[0]) for a in places]
    return Panel(
        what_was_measured(found.example),
        Axis("repetition", "count"),
        Axis("time", "time_ns", log=True),
        curves,
        marks,
        height=280,
    )


def _points(label: str, outliers: list[Outlier], colour: str, *, opacity: float) -> Curve:
    return Curve(
        label,
        [float(o.place) for o in outliers],
        [o.value_ns for o in outliers],
        colour,
        draw="points",
        symbol="diamond" if opacity == 1.0 else "circle",
        opacity=opacity,
    )


def _rows(found: Recurrence) -> Iterator[tuple[Cell, ...]]:
    for launch in found.launches:
        largest = sorted(launch.outliers, key=lambda o: -o.value_ns)[:OUTLIERS_LISTED]
        for outlier in largest:
            ways = found.ways(outlier)
            yield (
                what_was_measured(found.example),
                launch.point.spec.mpi,
                launch.number,
                outlier.place,
                outlier.value_ns,
                launch.median_ns,
                "" if outlier.rank is None else str(outlier.rank),
                list_in_words([_way(again) for again in ways]) if ways else "no",
                max((again.hits for again in ways), default=1),
                min((again.expected for again in ways), default=None),
            )


def _way(again: Again) -> str:
    match again.way:
        case "place":
            return "place"
        case "rank":
            return f"rank {again.what:.0f}"
        case "value":
            return f"about {format_value(again.what, 'time_ns')}"
