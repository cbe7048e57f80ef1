"""Several MPIs side by side: which is faster where, by how much, over how many launches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from netsonde.figures.headlines import Headline
from netsonde.figures.keys import key_of
from netsonde.figures.side_by_side import Comparison, Spread, comparisons, mpis_of
from netsonde.operations import GROUPS, operations
from netsonde.report.against import SIZE_AXIS, Between, curve, size_place, times_axis
from netsonde.report.lookup import FEW_IN_TIME, LATE, Study, mark_of_headline, what_was_measured
from netsonde.report.plot import Cell, Column, Curve, Mark, Panel, Plot, tabled
from netsonde.report.quantity import format_value_and_interval, list_in_words, times_text
from netsonde.report.theme import series_look
from netsonde.stats.quantiles import samples_needed

OTHER_TESTS = "Between ranks 0 and 1"
UNDECIDED = "undecided"


@dataclass(frozen=True)
class SideCell:
    """What one MPI has in a row: ``share`` of the best one's speed, 0..1, for a bar. ``is_best``
    where that is decided."""

    value: str
    interval: str
    share: float
    is_best: bool
    is_lacking: bool = False


@dataclass(frozen=True)
class SideRow:
    """One test. ``verdict`` names the winner and by how much, or says why there is none."""

    label: str
    cells: tuple[SideCell, ...]
    winner: str
    verdict: str


@dataclass(frozen=True)
class SideBySide:
    """The whole comparison, for the page and the terminal."""

    names: tuple[str, ...]
    libraries: tuple[str, ...]
    summary: str
    rows: tuple[SideRow, ...]
    launches: int

    @property
    def has_intervals(self) -> bool:
        """Whether there are launches enough for intervals of 95 %."""
        return self.launches >= samples_needed(0.5)


def side_by_side(study: Study) -> SideBySide | None:
    """None for a run without several MPIs or launches."""
    mpis = mpis_of(study.run)
    found = comparisons(study.run, study.figures)
    if not mpis or not found:
        return None
    names = _short_names(mpis)
    known: Mapping[str, Mapping[str, object]] = study.run.manifest.get("mpis") or {}
    libraries = tuple(_library(known.get(mpi, {})) + _unseen(mpi, known) for mpi in mpis)
    launches = max((len(v) for c in found for v in c.values.values()), default=0)
    rows = tuple(_row(study, comparison, mpis, names) for comparison in found)
    return SideBySide(
        tuple(names[mpi] for mpi in mpis),
        libraries,
        _summary(rows, [names[mpi] for mpi in mpis], launches),
        rows,
        launches,
    )


def _short_names(mpis: Sequence[str]) -> dict[str, str]:
    """Paths by their last parts, as many as it takes to tell them apart."""
    names = dict[str, str]()
    for mpi in mpis:
        parts = mpi.rstrip("/").split("/")
        for kept in range(1, len(parts) + 1):
            names[mpi] = "/".join(parts[-kept:])
            if sum(other.endswith(names[mpi]) for other in mpis) == 1:
                break
    return names


def _library(facts: Mapping[str, object]) -> str:
    words = f"{facts.get('mpi.library', '')}".split(",")[0].removesuffix("Package").strip()
    standard = facts.get("mpi.standard")
    return f"{words}, MPI {standard}" if standard else words


def _unseen(mpi: str, known: Mapping[str, Mapping[str, object]]) -> str:
    """Settings in an MPI's name of which the library was not seen to have taken them: that it is as
    fast as another says nothing of them."""
    names = [part.partition("=")[0] for part in mpi.split("+")[1:] if "=" in part]
    facts = known.get(mpi, {})
    unseen = [name for name in names if f"mpi.in_effect.{name}" not in facts]
    return f"; not seen whether in effect: {', '.join(unseen)}" if facts and unseen else ""


def _summary(rows: Sequence[SideRow], names: Sequence[str], launches: int) -> str:
    if len(names) < 2:
        return f"{names[0]} in {launches} launches."
    wins = [f"{name} is faster in {n}" for name in names if (n := _wins(rows, name))]
    open_ = sum(not row.winner for row in rows)
    wins += [f"{open_} undecided"] if open_ else []
    return f"Of {len(rows)} tests, {list_in_words(wins)}."


def _wins(rows: Sequence[SideRow], name: str) -> int:
    return sum(row.winner == name for row in rows)


def _row(
    study: Study, comparison: Comparison, mpis: Sequence[str], names: Mapping[str, str]
) -> SideRow:
    ranking = comparison.ranking
    best = comparison.spread(ranking[0]) if ranking else None
    cells = tuple(_cell(study, comparison, mpi, best) for mpi in mpis)
    winner = comparison.winner
    return SideRow(
        what_was_measured(comparison.example),
        cells,
        names[winner] if winner else "",
        _verdict(comparison, names),
    )


def _headline(study: Study, comparison: Comparison, mpi: str) -> Headline | None:
    """The figure of one MPI over its launches, as it is said everywhere."""
    key = key_of(comparison.example, comparison.figure)
    own = dict(key.parameters) | {"mpi": json.dumps(mpi)}
    return study.headlines.by_key.get(replace(key, parameters=tuple(sorted(own.items()))))


def _cell(study: Study, comparison: Comparison, mpi: str, best: Spread | None) -> SideCell:
    found, headline = comparison.spread(mpi), _headline(study, comparison, mpi)
    if found is None or headline is None or best is None:
        is_lacking = mpi in comparison.lacking
        return SideCell("has none" if is_lacking else "–", "", 0.0, False, is_lacking)
    share = best.median / found.median
    share = share if comparison.less_is_better else 1 / share
    value, interval = format_value_and_interval(headline.figure)
    value += mark_of_headline(study, headline)
    return SideCell(value, interval, share, comparison.winner == mpi)


def _verdict(comparison: Comparison, names: Mapping[str, str]) -> str:
    ranking = comparison.ranking
    if len(ranking) < 2:
        return ""
    found = comparison.advantage(ranking[0], ranking[1])
    if found is not None and found.median < 1.0:  # launch by launch it is the other one
        ranking = [ranking[1], ranking[0]]
        found = comparison.advantage(*ranking)
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return f"{names[ranking[0]]} {times_text(found.median)} ×, no interval of {found.n}"
    by = f"{times_text(found.median)} × [{times_text(found.low)}, {times_text(found.high)}]"
    return (
        f"{names[ranking[0]]} {by}"
        if comparison.winner
        else f"{UNDECIDED}, {names[ranking[0]]} {by}"
    )


def print_side_by_side(study: Study, console: Console) -> bool:
    """Prints the table, in 80 columns for two or three MPIs, beneath what is there; whether there
    was one. A single MPI is in the tables by size alone."""
    found = side_by_side(study)
    if found is None or len(found.names) < 2:
        return False
    table = RichTable(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("", overflow="fold")
    for name in found.names:
        table.add_column(name, overflow="fold", justify="right")
    table.add_column("faster, by", overflow="fold")
    for row in found.rows:
        style = "bold" if row.winner else ""
        cells = [
            Text(f"{c.value}\n{c.interval}" if c.interval else c.value, _style(c))
            for c in row.cells
        ]
        table.add_row(Text(row.label), *cells, Text(row.verdict, style=style))
    console.print()
    console.print(Text(found.summary, style="bold"))
    for name, library in zip(found.names, found.libraries, strict=True):
        console.print(Text(f"  {name}: {library}", style="dim"))
    console.print(table)
    what = "95 % intervals over them" if found.has_intervals else "beneath: their span"
    console.print(Text(f"medians of {found.launches} launches each; {what}", "dim"))
    if any(LATE in cell.value for row in found.rows for cell in row.cells):
        console.print(Text(FEW_IN_TIME, "dim"))
    return True


def _style(cell: SideCell) -> str:
    return "green" if cell.is_best else "dim" if cell.is_lacking else ""


def ratio_by_size(study: Study) -> Plot | None:
    """Each MPI's time over the first one's, against message size; one panel for each group."""
    mpis = mpis_of(study.run)
    if len(mpis) < 2:
        return None
    names = _short_names(mpis)
    found = comparisons(study.run, study.figures)
    panels, rows = list[Panel](), list[tuple[Cell, ...]]()
    for title, members in _by_group(found).items():
        for mpi in mpis[1:]:
            curves = _curves(members, mpi, mpis[0])
            if curves:
                panels.append(_panel(f"{title}: {names[mpi]}", curves, names[mpis[0]]))
    for comparison in found:
        rows += [_table_row(comparison, mpi, mpis[0], names) for mpi in mpis]
    if not panels:
        return None
    columns = (
        *(Column("test", "Test"), Column("message_bytes", "Size", "size"), Column("mpi", "MPI")),
        *(Column("figure", "Figure"), Column("launches", "Launches", "count")),
        *(Column(n, t, "number") for n, t in (("median", "Median"), ("low", "From"))),
        Column("high", "To", "number"),
        Column("times_as_fast", f"Times as fast as {names[mpis[0]]}", "number"),
        *(Column(f"times_{n}", t, "number") for n, t in (("low", "From"), ("high", "To"))),
    )
    return tabled(
        "side-by-side",
        f"How many times as fast as {names[mpis[0]]}",
        f"Speed over that of {names[mpis[0]]}, launch by launch: above the line it is faster. "
        "Medians over launches with 95 % intervals; an interval that crosses the line decides "
        "nothing.",
        f"{len(found)} tests of {list_in_words([names[m] for m in mpis])}.",
        panels,
        columns,
        rows,
        heading="MPIs side by side",
        wide=True,
    )


def _panel(title: str, curves: list[Curve], reference: str) -> Panel:
    words = f"as fast as {reference}"
    axes = SIZE_AXIS, times_axis(f"times {words}", curves)
    return Panel(title, *axes, curves, [Mark("y", 1.0, words)])


def _by_group(found: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    groups: dict[str, list[Comparison]] = {}
    for comparison in found:
        operation = operations().get(comparison.example.operation or "")
        title = GROUPS[operation.group] if operation else OTHER_TESTS
        groups.setdefault(title, []).append(comparison)
    return groups


def _curves(members: Sequence[Comparison], mpi: str, reference: str) -> list[Curve]:
    by_test: dict[str, list[tuple[float, Between]]] = {}
    for comparison in members:
        ratio = comparison.advantage(mpi, reference)
        if ratio is not None:
            size = size_place(comparison.example.message_bytes)
            label = what_was_measured(comparison.example, with_size=False)
            by_test.setdefault(label, []).append(
                (size, Between(ratio.median, ratio.low, ratio.high))
            )
    return [
        curve(label, sorted(ratios, key=lambda pair: pair[0]), series_look(place))
        for place, (label, ratios) in enumerate(by_test.items())
    ]


def _table_row(
    comparison: Comparison, mpi: str, reference: str, names: Mapping[str, str]
) -> tuple[Cell, ...]:
    example = comparison.example
    own = comparison.spread(mpi)
    ratio = comparison.advantage(mpi, reference)
    return (
        what_was_measured(example, with_size=False),
        example.message_bytes,
        names[mpi],
        comparison.figure,
        own.n if own else 0,
        *((own.median, own.low, own.high) if own else (None, None, None)),
        *((ratio.median, ratio.low, ratio.high) if ratio else (None, None, None)),
    )
