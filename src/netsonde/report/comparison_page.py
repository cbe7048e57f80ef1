"""A comparison of two sets of runs as a page."""

from __future__ import annotations

from pathlib import Path

from netsonde.compare.all_pairs import compared_pairs, words_on_hosts
from netsonde.compare.data import Comparison, FigureVerdict, Verdict
from netsonde.report.changes import Looks, change_curves, less_one
from netsonde.report.every_pair_plots import plots_beside
from netsonde.report.overlaid import runs_over_each_other
from netsonde.report.page import Section, write_sections_page
from netsonde.report.plot import (
    Axis,
    Cell,
    Column,
    Mark,
    Panel,
    Plot,
    Table,
    columns,
    tabled,
    text_table,
)
from netsonde.report.quantity import format_value, kind_of
from netsonde.units import change_in_words, format_count

PAGE_NAME = "comparison.html"
MARKS: dict[Verdict, str] = {"worse": "✗ worse", "better": "✓ better", "equal": "= equal"}
_LOOKS: Looks[Verdict] = {
    "worse": ("bad", "square"),
    "better": ("good", "triangle-up"),
    "equal": ("blue", "circle"),
    "unknown": ("other", "diamond"),
}
FIGURES_DRAWN = 60


def write_comparison_page(comparison: Comparison, path: Path) -> None:
    """Writes the page whole or not at all. Raises UsageError where it cannot be written."""
    counts = comparison.counts
    line = ", ".join(f"{number} {name}" for name, number in counts.items())
    write_sections_page(path, "Before and after", line, sections_of(comparison))


def sections_of(comparison: Comparison) -> list[Section]:
    """Verdicts with their plot, what else changed, and the runs."""
    share = f"{comparison.margin:.0%}"
    words = [
        f"Each value is of one {comparison.unit}. Before and after are medians; the change is not "
        f"their ratio but {_change(comparison)}. "
        f"A figure is equal where its change lies within {share} either way by its 90 % interval, "
        "better or worse where the interval of the ratio holds no 1, and unknown else. The chance "
        "that any figure is called better or worse where nothing changed is "
        f"{comparison.false_alarms:.0%}. How: netsonde man comparison.",
        *comparison.notes,
    ]
    made = (_changes(comparison), runs_over_each_other(comparison))
    plots = [plot for plot in made if plot is not None]
    pairs = plots_beside(compared_pairs(comparison))
    return [
        Section("verdicts", "Verdicts", words, _verdict_table(comparison), plots),
        *(
            [
                Section(
                    "all-pairs", "All pairs", words_on_hosts(comparison.circumstances), plots=pairs
                )
            ]
            if pairs
            else []
        ),
        Section(
            "changed",
            "What else changed",
            [_changed_in_words(comparison)],
            _circumstances(comparison) if comparison.circumstances else None,
        ),
        Section("runs", "The runs", _only(comparison), _runs(comparison)),
    ]


def _change(comparison: Comparison) -> str:
    if comparison.paired:
        return "that of neighbours in time, less what drifted: the median of the means of two"
    return "the median ratio of a value after to one before, over all pairs of them"


def _verdict_table(comparison: Comparison) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for number, found in enumerate(comparison.figures, 1):
        kind = kind_of(found.key.unit)
        rows.append(
            (
                *(number, MARKS.get(found.verdict, "? unknown"), found.label, found.key.figure),
                format_value(found.before.median, kind),
                format_value(found.after.median, kind),
                _percent(found.change_ratio),
                _interval(found),
                "" if found.ratio is None else change_in_words(found.ratio, found.key.unit),
                f"{len(found.before.launches)} and {len(found.after.launches)}",
                found.reason,
            )
        )
    names = ("Number", "Verdict", "Measured", "Figure", "Before", "After", "Change")
    columns = (*names, "Interval", "In words", "Values", "Why")
    return text_table("verdicts", "Verdicts", columns, rows)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:+.1f} %"


def _interval(found: FigureVerdict) -> str:
    if found.low is None or found.high is None:
        return "–"
    return f"{_percent(found.low - 1)} to {_percent(found.high - 1)}"


def _changes(comparison: Comparison) -> Plot | None:
    """Each figure's change with its interval; the band is the margin."""
    known = [(n, f) for n, f in enumerate(comparison.figures, 1) if f.ratio is not None]
    drawn = known[:FIGURES_DRAWN]
    if not drawn:
        return None
    curves = change_curves(
        _LOOKS,
        [(place, f.verdict, f.ratio, f.low, f.high) for place, (_, f) in enumerate(drawn)],
    )
    margin = comparison.margin
    edges = (-0.5, len(drawn) - 0.5)
    return tabled(
        "changes",
        "Change of each figure",
        "After over before, less one, with the interval over launches that all figures share. "
        "Between the dotted lines a change counts as none. The numbers below are those of the "
        f"table. At most {FIGURES_DRAWN} are drawn.",
        "; ".join(f"{f.label}: {_percent(f.change_ratio)}, {f.verdict}" for _, f in drawn[:20]),
        [
            Panel(
                "",
                Axis(
                    "number in the table",
                    "text",
                    low=edges[0],
                    high=edges[1],
                    names=[str(number) for number, _ in drawn],
                ),
                Axis("change", "ratio"),
                curves,
                [Mark("y", margin, "margin"), Mark("y", 0.0, ""), Mark("y", -margin, "")],
                height=360,
            )
        ],
        (
            Column("number", "Number", "count"),
            Column("measured", "Measured"),
            *columns("ratio", change="Change", low="From", high="To"),
            *columns("number", p="p", p_adjusted="p, all figures"),
        ),
        [
            (n, f.label, f.change_ratio, less_one(f.low), less_one(f.high), f.p, f.p_adjusted)
            for n, f in known
        ],
        wide=True,
    )


def _changed_in_words(comparison: Comparison) -> str:
    if not comparison.circumstances:
        return "Nothing that netsonde knows of the hosts, the path and the options changed."
    decisive = sum(c.decisive for c in comparison.circumstances)
    changed = format_count(len(comparison.circumstances), "circumstance")
    words = f"{changed} not the same on both sides"
    return words + (f", {decisive} of which change figures by themselves." if decisive else ".")


def _circumstances(comparison: Comparison) -> Table:
    rows = ((c.kind, c.name, c.before, c.after, c.decisive) for c in comparison.circumstances)
    names = ("Kind", "Name", "Before", "After", "Decisive")
    return text_table("changed", "What else changed", names, rows)


def _only(comparison: Comparison) -> list[str]:
    return [
        f"Measured {when} only: {', '.join(names)}."
        for when, names in (("before", comparison.only_before), ("after", comparison.only_after))
        if names
    ]


def _runs(comparison: Comparison) -> Table:
    rows = (
        (side, run.name, run.started_utc, run.origin, run.launches, run.directory)
        for side, runs in (("before", comparison.before), ("after", comparison.after))
        for run in runs
    )
    names = ("Side", "Name", "Started", "Origin", "Launches", "Directory")
    return text_table("runs", "The runs", names, rows)
