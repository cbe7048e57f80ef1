"""Times and timeouts of MPI operations against the number of ranks: plots, tables, terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from netsonde.explain.rank_growth import formula_in_words, outcome_in_words
from netsonde.figures.rank_growth import AtRanks, Scaling, scalings, waits_by_ranks
from netsonde.report.against import TEST_AND_SIZE, Between, curve, estimate_columns
from netsonde.report.lookup import Study, what_was_measured
from netsonde.report.plot import Axis, Cell, Column, Curve, Mark, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_value, list_in_words, size_text
from netsonde.report.shapes import evenly
from netsonde.report.theme import SERIES, series_look

SIZES_SHOWN = 6
PANELS_SHOWN = 8
NUMBERS_SHOWN = 5
"""Of ranks, on a line of the terminal."""
LINE_POINTS = 60
CROWDED = "more ranks than CPUs"


def label_of(scaling: Scaling, *, with_size: bool = True) -> str:
    """What was measured, without the number of ranks."""
    spec = scaling.example.spec
    own = {**spec.but_for("ranks_vary"), "message_bytes": scaling.message_bytes}
    plain = replace(scaling.example, parameters=own)
    words = what_was_measured(plain, with_size=with_size)
    mpi = f" ({spec.mpi})" if spec.mpi is not None else ""
    return ", ".join(filter(None, (f"{words}{mpi}", scaling.example.label)))


def _by_test(found: Sequence[Scaling]) -> dict[str, list[Scaling]]:
    tests: dict[str, list[Scaling]] = {}
    for scaling in found:
        tests.setdefault(label_of(scaling, with_size=False), []).append(scaling)
    return tests


def against_ranks(study: Study) -> Plot | None:
    """Time against the number of ranks, a panel for each test, a curve for each size."""
    found = scalings(study.run, study.figures)
    if not found:
        return None
    tests = _by_test(found)
    panels = [_panel(name, members) for name, members in list(tests.items())[:PANELS_SHOWN]]
    decided = [s for s in found if s.growth is not None and s.growth.verdict == "decided"]
    return tabled(
        "collectives-ranks",
        "Times against the number of ranks",
        "Median of the slowest rank's time (of messages between two, of the round trip) with "
        "95 % intervals: over launches where there are several, else of the median. Dashed: the "
        "law that foretells each number of ranks from the others, where one is decided. Beyond the "
        "dotted line a machine had more ranks than CPUs, which no law was fitted to unless "
        f"all had. At most {SIZES_SHOWN} sizes of {PANELS_SHOWN} tests are drawn; the table has "
        "all.",
        f"{len(found)} tests and sizes; of {len(decided)} the law of growth is decided.",
        panels,
        (
            *TEST_AND_SIZE,
            Column("ranks", "Ranks", "count"),
            *estimate_columns("time_ns", "Time"),
            Column("launches", "Launches", "count"),
            *columns("text", crowded="CPUs", growth="The time", law="Law"),
            Column("error_ratio", "Foretold within", "ratio"),
        ),
        [row for scaling in found for row in _rows(scaling)],
        methods=("collectives#", "rank-clocks#"),
    )


def _rows(scaling: Scaling) -> list[tuple[Cell, ...]]:
    growth = scaling.growth
    law = (
        (outcome_in_words(scaling), formula_in_words(growth.best), growth.best.error)
        if growth is not None
        else ("", "", None)
    )
    return [
        (
            label_of(scaling, with_size=False),
            scaling.message_bytes,
            at.ranks,
            at.time_ns,
            at.low,
            at.high,
            at.launches,
            CROWDED if at.is_crowded else "enough",
            *law,
        )
        for at in scaling.at
    ]


def _panel(name: str, members: Sequence[Scaling]) -> Panel:
    curves, marks = list[Curve](), list[Mark]()
    for place, scaling in enumerate(evenly(members, SIZES_SHOWN)):
        curves.append(_measured(scaling, place))
        if _has_law(scaling):
            curves.append(_law(scaling, place))
    free = [at.ranks for at in members[0].at if not at.is_crowded]
    crowded = [at.ranks for at in members[0].at if at.is_crowded]
    if free and crowded:
        marks.append(Mark("x", math.sqrt(max(free) * min(crowded)), CROWDED))
    elif crowded:
        name = f"{name}: {CROWDED} everywhere"
    axes = Axis("ranks", "number", log=True), Axis("time", "time_ns", log=True)
    return Panel(name, *axes, curves, marks)


def _has_law(scaling: Scaling) -> bool:
    return scaling.growth is not None and scaling.growth.verdict in ("decided", "constant")


def _measured(scaling: Scaling, place: int) -> Curve:
    return curve(
        size_text(scaling.message_bytes),
        [(float(at.ranks), Between(at.time_ns, at.low, at.high)) for at in scaling.at],
        series_look(place),
        draw="points" if _has_law(scaling) else "line+points",
    )


def _law(scaling: Scaling, place: int) -> Curve:
    assert scaling.growth is not None
    best, ranks = scaling.growth.best, [each.ranks for each in scaling.fitted]
    # The steps of a tree are between whole numbers of ranks; a line through them would slope.
    x = np.geomspace(ranks[0], ranks[-1], LINE_POINTS)
    whole = np.unique(x.round())
    x = whole if best.law == "steps" else x
    return Curve(
        f"{size_text(scaling.message_bytes)}: {best.formula or 'the same'}",
        x.tolist(),
        best.at(x).tolist(),
        series_look(place).colour,
        draw="step" if best.law == "steps" else "line",
        dash="dash",
        width=1.2,
        in_legend=False,
    )


def time_outs_against_ranks(study: Study) -> Plot | None:
    """Shares of repetitions that waited for TCP's timer, against the number of ranks."""
    found = [(s, waits_by_ranks(study.run, s)) for s in scalings(study.run, study.figures)]
    found = [(scaling, waits) for scaling, waits in found if waits]
    if not found:
        return None
    curves, rows = list[Curve](), list[tuple[Cell, ...]]()
    for place, (scaling, waits) in enumerate(found):
        known = [
            (float(at.ranks), Between(at.share, at.low, at.high))
            for at in waits
            if at.share is not None
        ]
        if len(curves) < len(SERIES):
            curves.append(curve(label_of(scaling), known, series_look(place)))
        rows += [
            (
                label_of(scaling, with_size=False),
                scaling.message_bytes,
                each.ranks,
                each.repetitions,
                each.slow,
                each.share,
                each.low,
                each.high,
            )
            for each in waits
        ]
    worst = max((row for row in rows if row[5] is not None), key=lambda r: float(r[5] or 0))
    return tabled(
        "collectives-ranks-timeouts",
        "Timeouts of TCP against the number of ranks",
        "Share of the repetitions that waited for a retransmission timer once or more, with "
        "Wilson's intervals; left out where times and counters do not decide it.",
        f"Most with {worst[2]} ranks: {float(worst[5] or 0):.1%} of {worst[0]} "
        f"{size_text(int(str(worst[1])))}.",
        [
            Panel(
                curves[0].label if len(curves) == 1 else "",
                Axis("ranks", "number", log=True),
                Axis("share with a timeout", "ratio", low=0.0),
                curves,
            )
        ],
        (
            *TEST_AND_SIZE,
            *columns("count", ranks="Ranks", repetitions="Repetitions", slow="With a timeout"),
            *estimate_columns("share_ratio", "Share", "ratio"),
        ),
        rows,
        methods=("collectives#", "rank-clocks#"),
    )


def print_growth(study: Study, console: Console) -> bool:
    """Prints a line for each test and size, in 80 columns, beneath what is there; whether there was
    one."""
    found = scalings(study.run, study.figures)
    if not found:
        return False
    numbers = _numbers_shown(found)
    table = RichTable(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("time", overflow="fold")
    for number in numbers:
        table.add_column(f"n = {number}", justify="right", no_wrap=True)
    table.add_column("growth", overflow="fold")
    for scaling in found:
        by_ranks = {at.ranks: at for at in scaling.at}
        cells = [_cell(by_ranks.get(number)) for number in numbers]
        table.add_row(Text(label_of(scaling)), *cells, Text(_short_outcome(scaling)))
    console.print()
    console.print(Text("Time against the number of ranks", style="bold"))
    console.print(table)
    notes = []
    if any(at.is_crowded for scaling in found for at in scaling.at):
        notes.append(f"*: {CROWDED}, left out of the law unless all have")
    measured = sorted({at.ranks for scaling in found for at in scaling.at})
    if len(measured) > len(numbers):
        left_out = [str(number) for number in measured if number not in numbers]
        notes.append(f"{list_in_words(left_out)} ranks are in the report")
    if notes:
        console.print(Text("; ".join(notes), style="dim"))
    return True


def _numbers_shown(found: Sequence[Scaling]) -> list[int]:
    measured = sorted({at.ranks for scaling in found for at in scaling.at})
    if len(measured) <= NUMBERS_SHOWN:
        return measured
    places = np.linspace(0, len(measured) - 1, NUMBERS_SHOWN).round().astype(int)
    return [measured[place] for place in np.unique(places)]


def _cell(at: AtRanks | None) -> Text:
    if at is None:
        return Text("–", style="dim")
    return Text(f"{format_value(at.time_ns, 'time_ns')}{'*' if at.is_crowded else ''}")


def _short_outcome(scaling: Scaling) -> str:
    found = scaling.growth
    if found is None:
        return "–"
    match found.verdict:
        case "decided":
            return found.best.formula
        case "open":
            return "undecided"
        case "constant":
            return "no growth"
        case "falling":
            return "falls"
        case _:
            return "no law"
