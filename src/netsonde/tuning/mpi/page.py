"""A tuning as a page: who wins where, as a picture, and the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from netsonde.report.page import Section, write_sections_page
from netsonde.report.plot import Axis, Column, Heat, Panel, Plot, Table, columns, tabled
from netsonde.schedules.algorithms import NATIVE
from netsonde.tuning.mpi.candidates import Cell
from netsonde.tuning.mpi.choose import Launches, median_ns
from netsonde.tuning.mpi.listen import Listened
from netsonde.tuning.mpi.run import Tuned
from netsonde.tuning.mpi.text import called_in_words, gain_in_words, place, rule_in_words
from netsonde.units import format_count, format_size

PAGE_NAME = "report.html"
MOST_WAYS = 24
"""In a picture; the slowest are left to the table."""


def write_page(tuned: Tuned, has_hosts: bool) -> Path:
    """Writes the page whole or not at all. Raises UsageError where it cannot be written."""
    path = tuned.directory / PAGE_NAME
    sections = [
        *([] if tuned.listened is None else [_called(tuned, tuned.listened)]),
        Section("rules", "Rules", [_rules_words(tuned)], _rules_table(tuned)),
        Section(
            "winners",
            "Who wins where",
            [
                "Each cell is the least time of its column over its own: 1 is the fastest way of "
                "that size in the survey. Whether it beats the library's own choice is judged by "
                "fresh launches in pairs, in the table of rules. How: netsonde man tune-mpi."
            ],
            None,
            list(_pictures(tuned, has_hosts)),
        ),
    ]
    write_sections_page(path, "Algorithms for an MPI", tuned.title, sections)
    return path


def _called(tuned: Tuned, listened: Listened) -> Section:
    """What a program calls, from what costs most of its time."""
    plan, measured = listened.plan, tuned.found.leaders
    total_ns = max(plan.total_ns, 1.0)
    rows: list[tuple[str | int | float | bool | None, ...]] = [
        (place(c, has_hosts=False), *plan.spans[c], round(plan.calls[c]), cost / total_ns,
         "yes" if c in measured else "no")
        for c, cost in plan.costs.items()
    ]  # fmt: skip
    for reason, cost in plan.uncovered.items():
        rows.append((f"calls {reason}", None, None, None, cost / total_ns, "no rule for them"))
    heads = (
        Column("operation", "operation"),
        Column("from_bytes", "from", "bytes"),
        Column("to_bytes", "to", "bytes"),
        Column("calls", "calls", "count"),
        *columns("ratio", share="of the time in all of them"),
        Column("measured", "measured"),
    )
    words = called_in_words(listened, measured) + " How: netsonde man tune-mpi."
    name = listened.program.name
    return Section(
        "called", f"What {name} calls", [words], Table("called", f"What {name} calls", heads, rows)
    )


def _rules_words(tuned: Tuned) -> str:
    if not tuned.rules.rules:
        return "Nowhere is it proven that another way is faster than the library's own."
    return f"{format_count(len(tuned.rules.rules), 'rule')}, each with a proven gain at its sizes."


def _rules_table(tuned: Tuned) -> Table | None:
    rows: list[tuple[str | int | float | bool | None, ...]] = []
    for rule in tuned.rules.rules:
        for cell, verdict in sorted(tuned.found.verdicts.items()):
            same = (rule.operation, rule.ranks) == (cell.operation, cell.ranks)
            if same and rule.holds(cell.size_bytes) and verdict.way == rule.algorithm:
                words = gain_in_words(verdict)
                rows.append((rule_in_words(rule), cell.size_bytes, words, verdict.pairs))
    heads = (
        Column("rule", "rule"),
        Column("size_bytes", "size", "bytes"),
        Column("ratio", "time over native"),
        Column("pairs", "pairs", "count"),
    )
    return Table("rules", "Rules", heads, rows) if rows else None


def _pictures(tuned: Tuned, has_hosts: bool) -> list[Plot]:
    found = []
    cells = sorted(tuned.found.leaders)
    for number, (_, group) in enumerate(
        groupby(cells, key=lambda cell: (cell.operation, cell.ranks, cell.ppn))
    ):
        plot = _picture(number, list(group), tuned, has_hosts)
        if plot is not None:
            found.append(plot)
    return found


def _picture(number: int, cells: Sequence[Cell], tuned: Tuned, has_hosts: bool) -> Plot | None:
    times = {cell: tuned.found.times[cell] for cell in cells}
    ways = _shown(times)
    least = {cell: min(median_ns(t) for t in times[cell].values() if t) for cell in cells}
    shares: list[list[float | None]] = []
    for way in ways:
        own = [times[cell].get(way) for cell in cells]
        shares.append(
            [least[c] / median_ns(t) if t else None for c, t in zip(cells, own, strict=True)]
        )
    words = [["" if s is None else f"{s:.2f}" for s in row] for row in shares]
    sizes = [format_size(cell.size_bytes) for cell in cells]
    title = place(cells[0], has_hosts)
    heat = Heat(sizes, list(ways), shares, words, palest=0.25, meaning="of the fastest")
    panel = Panel(
        title,
        Axis("size, bytes", "text"),
        Axis("way", "text"),
        heat=heat,
        height=26 * len(ways) + 80,
    )
    table = [
        (cell.size_bytes, way, median_ns(t))
        for cell in cells
        for way, t in sorted(times[cell].items())
        if t
    ]
    heads = (
        Column("size_bytes", "size", "bytes"),
        Column("way", "way"),
        *columns("time_ns", median="median of launches"),
    )
    led = ", ".join(f"{s}: {tuned.found.leaders[c]}" for s, c in zip(sizes, cells, strict=True))
    return tabled(
        f"winners-{number}", f"Who wins where: {title}",
        "Medians of launches of the survey, each the least of its column over its own.",
        f"The fastest way by size: {led}.", [panel], heads, table,
        methods=("tune-mpi#",), wide=True,
    )  # fmt: skip


def _shown(times: Mapping[Cell, Mapping[str, Launches]]) -> list[str]:
    """native, then ways by how many sizes they have and how fast they are in the mean."""
    ways = {way for of_cell in times.values() for way, found in of_cell.items() if found}
    totals = {
        way: [median_ns(of[way]) / min(map(median_ns, filter(None, of.values())))
              for of in times.values() if of.get(way)]
        for way in ways
    }  # fmt: skip
    ordered = sorted(ways, key=lambda w: (w != NATIVE, sum(totals[w]) / len(totals[w])))
    return ordered[:MOST_WAYS]
