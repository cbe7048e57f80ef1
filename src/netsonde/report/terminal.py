"""A run's summary for a terminal: tables by size, key figures, verdicts, where the report is.

Who waits for an answer waits for what is imported before: a table that only some runs have is
imported where a run has what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from netsonde.explain import Finding
from netsonde.figures import Figure
from netsonde.figures.kernel_trace import is_traced
from netsonde.records.data import Point, Run
from netsonde.report import REPORT_NAME
from netsonde.report.circumstances import heading
from netsonde.report.lookup import Study, condition_label, mark_of, marks_in_words
from netsonde.report.quantity import format_figure, format_value_and_interval, no_interval
from netsonde.report.session_table import session_lines
from netsonde.report.size_lines import BASES, print_size_tables
from netsonde.report.size_table import size_tables
from netsonde.report.verdict_order import LEVELS, WRONG, first_and_more

if TYPE_CHECKING:
    from netsonde.report.key_figures import KeyCell, KeyRow

_STYLES = {"bad": "bold red", "warning": "bold yellow", "note": "bold blue", "good": "bold green"}
_COLUMNS = ("", "median", "p99", "one way", "both ways", "lost")
FIGURES_ON_A_LINE = 2
"""So many notes behind what is wrong, or so many findings in all if that is more."""
ROWS_SHOWN = 6
CONDITION_WIDTH = 12
FEW_POINTS = 3
"""So few conditions that are in no table are shown figure by figure, more by a line each."""


def print_summary(
    run: Run,
    figures: Sequence[Figure],
    findings: Sequence[Finding],
    console: Console,
    groups: Sequence[str] = (),
) -> None:
    """Prints what was measured, what was found and the report's path; plain where there is no
    terminal.

    ``groups`` of figures (:mod:`netsonde.report.groups`) take the place of tables by size.
    """
    study = Study(run, figures)
    top = heading(study)
    console.print(Text(top.title, style="bold"), Text(f"({top.label}, {top.lasted})", style="dim"))
    console.print()
    told = _print_measured(study, groups, console)
    if not groups:
        _print_of_ranks(study, console)
        _print_segments(study, console)
        _print_clocks(study, console)
        _print_kernel_traces(study, console)
    if told:
        _print_told(study, console)
    console.print()
    print_findings(findings, run, console)
    for line in session_lines(run):
        console.print(Text(line))
    report = run.directory / REPORT_NAME
    where = f"Report: {report}" if report.exists() else f"Run: {run.directory}"
    console.print(Text(where), soft_wrap=True)


def _print_measured(study: Study, groups: Sequence[str], console: Console) -> bool:
    """The figures, in the table that is made for such a run, or by size; whether what other tools
    would say of them is still to be told."""
    if groups:
        from netsonde.report.groups import print_groups

        print_groups(study, groups, console)
    elif study.run.origin == "simulated":
        from netsonde.report.simulation_plots import print_simulated

        print_simulated(study, console)
    elif _print_agreements(study, console):
        return False  # which has every tool's figure
    elif _print_all_pairs(study, console):
        pass  # which has one line for all rounds
    elif _are_pairs(study.run.select()):
        pass  # which are shown together
    else:
        _print_by_size(study, console)
        if not _print_growth(study, console):
            _print_side_by_side(study, console)
    return True


def _print_agreements(study: Study, console: Console) -> bool:
    """Whether tools were played over MPI beside netsonde's own way, and the table of it."""
    if not any(p.spec.like is not None and p.carrier.has_ranks for p in study.run.points):
        return False
    from netsonde.report.agreement_table import print_agreements

    return print_agreements(study, console)


def _print_all_pairs(study: Study, console: Console) -> bool:
    """Whether the run has rounds of all pairs, and what they say."""
    if not any(point.kind.is_round for point in study.run.points):
        return False
    from netsonde.report.all_pairs_lines import print_all_pairs

    return print_all_pairs(study, console)


def _print_growth(study: Study, console: Console) -> bool:
    """Whether numbers of ranks were measured, and times against them."""
    if not any(point.spec.ranks_vary for point in study.run.points):
        return False
    from netsonde.report.growth_plots import print_growth

    return print_growth(study, console)


def _print_side_by_side(study: Study, console: Console) -> None:
    """Several MPIs, where there are several."""
    if len({point.spec.mpi for point in study.run.points}) > 1:
        from netsonde.report.side_by_side import print_side_by_side

        print_side_by_side(study, console)


def _print_of_ranks(study: Study, console: Console) -> None:
    """What only ranks have: several of them on a host, and several pairs."""
    if not any(point.carrier.has_ranks for point in study.run.points):
        return
    if any(point.spec.ppn is not None for point in study.run.points):
        from netsonde.report.ranks_per_host import print_ranks_per_host

        print_ranks_per_host(study, console)
    if any(point.spec.pair is not None for point in study.run.points):
        from netsonde.report.partner_plots import print_pairs

        print_pairs(study, console)


def _print_segments(study: Study, console: Console) -> None:
    """Round trips against size, where there are several sizes."""
    trips = (point for point in study.run.points if point.kind.is_round_trip)
    if len({point.message_bytes for point in trips}) > 1:
        from netsonde.report.sweep_plots import print_segments

        print_segments(study, console)


def _print_kernel_traces(study: Study, console: Console) -> None:
    """What was seen inside the hosts, where somebody looked."""
    if any(is_traced(point) for point in study.run.select()):
        from netsonde.report.kernel_trace_table import print_kernel_traces

        print_kernel_traces(study, console, FEW_POINTS)


def _print_by_size(study: Study, console: Console) -> None:
    """Tables by size; what is in none; of several transports, the key figures."""
    tables = size_tables(study)
    print_size_tables(tables, console)
    shown = {id_ for table in tables for id_ in table.points}
    rest = [c for c in study.conditions if c[0].id not in shown]
    compared = {c[0].transport for c in study.conditions if c[0].kind.is_between_two}
    has_key_table = len(compared) > 1 and len(study.conditions) > FEW_POINTS
    if tables and (rest or has_key_table):
        console.print()
    if len(rest) <= FEW_POINTS:
        _print_points(study, rest, console)
    else:
        for condition in rest:
            if _has_own_line(condition[0]):
                console.print(_one_line(study, condition))
    if has_key_table:
        if rest:
            console.print()
        _print_key_table(study, console)


def _print_clocks(study: Study, console: Console) -> None:
    """Each rank's clock over rank 0's, by each method that was measured."""
    compared = study.run.where(lambda p: p.kind.compares_clocks)
    if not compared:
        return
    from netsonde.report.clock_table import clock_lines, rank_clocks

    for point in compared:
        lines = clock_lines(rank_clocks(point))
        if lines:
            console.print()
            console.print(Text(f"Clocks over rank 0's, {point.label or 'tree'}", style="bold"))
            for line in lines:
                console.print(Text(line))


def _print_told(study: Study, console: Console) -> None:
    """What other tools would say; of many points, the report has the sentences."""
    if not any(point.spec.like is not None for point in study.run.points):
        return
    from netsonde.report.other_tools import remaining_differences, told_rows

    rows = told_rows(study)
    if not rows:
        return
    console.print()
    few = len({row.point for row in rows}) <= FEW_POINTS
    for point, group in groupby(rows, key=lambda row: row.point):
        found = list(group)
        console.print(Text(f"As {found[0].tool} says it: {found[0].label} ({point})", style="bold"))
        reasons = set[str]()
        for row in found:
            console.print(Text(f"  {row.words}"), Text(f"(netsonde: {row.ours})", style="dim"))
            if few and row.why not in reasons:
                _print_indented(row.why, 4, console)
                reasons.add(row.why)
    for sentence in remaining_differences(study):
        console.print(Text(sentence, style="dim"))
    console.print()


def _print_indented(words: str, columns: int, console: Console) -> None:
    """Lines end with their last word: whoever copies or compares them finds no blanks there."""
    for line in Text(words).wrap(console, console.width - columns):
        console.print(Text.assemble(" " * columns, (line.plain.rstrip(), "dim")))


def print_findings(findings: Sequence[Finding], run: Run, console: Console) -> None:
    """All that is wrong, and the first of what is only worth knowing: the figures come below."""
    shown, more = first_and_more(findings)
    for finding in shown:
        print_finding(finding, console)
    if more:
        words = f"{len(more)} more: netsonde explain {run.directory}"
        console.print(Text(words, style="dim"), soft_wrap=True)
    if findings:
        console.print()


def print_finding(finding: Finding, console: Console) -> None:
    """A claim, and its evidence and advice where it is a warning or worse."""
    text = Text.assemble((f"{LEVELS[finding.level]}: ", _STYLES[finding.level]), finding.claim)
    console.print(text)
    if finding.level in WRONG:
        for words in (finding.evidence, finding.advice):
            if words:
                _print_indented(words, 2, console)


def _print_key_table(study: Study, console: Console) -> None:
    from netsonde.report.key_figures import key_rows

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for name in _COLUMNS:
        table.add_column(name, overflow="fold")
    rows = key_rows(study)
    shown = rows[:ROWS_SHOWN]
    legend = any(len(row.condition) > CONDITION_WIDTH for row in shown)
    for number, row in enumerate(shown, 1):
        table.add_row(_row_name(row, number if legend else None), *map(_cell, row.cells))
    console.print(table)
    for number, row in enumerate(shown if legend else (), 1):
        console.print(Text(f"({number}) {row.condition or 'as usual'}"))
    bases = {c.headline.basis for row in rows for c in row.cells if c.headline}
    words = "; ".join(BASES[basis] for basis in BASES if basis in bases)
    console.print(Text(f"smallest message; fastest stream; beneath: {words}", style="dim"))
    if len(rows) > ROWS_SHOWN:
        more = f"{len(rows) - ROWS_SHOWN} more conditions: they are in the report"
        console.print(Text(more, style="dim"))


def _row_name(row: KeyRow, number: int | None) -> Text:
    """With its condition, or the number of that where conditions are long."""
    name = Text(row.name, style="bold")
    condition = row.condition if number is None else f"({number})"
    for words in (condition, row.launches if row.launches != "1 launch" else ""):
        name.append(f"\n{words}" if words else "", style="not bold dim")
    return name


def _cell(cell: KeyCell) -> Text:
    if not cell.interval and not cell.of:
        return Text("–", style="dim")
    text = Text(cell.value)
    beneath = "no interval" if cell.interval.startswith("no interval") else cell.interval
    if beneath:
        text.append(f"\n{beneath}", style="dim")
    return text


def _are_pairs(measured: Sequence[Point]) -> bool:
    """Whether all are of a test between several pairs of ranks."""
    pairs = {point.spec.pair for point in measured}
    return len(pairs) > 1 and None not in pairs


def _has_own_line(point: Point) -> bool:
    """Whether no table of its own shows it."""
    return not (point.kind.compares_clocks or point.kind.is_round)


def _one_line(study: Study, condition: Sequence[Point]) -> Text:
    """Of points that differ in their launch alone: the median over launches."""
    point = condition[0]
    label = condition_label(point)
    # A program's name may be long, and its figures have their units and intervals.
    text = f"{label}\n  " if point.kind.is_program else f"{label:<27}  "
    line = Text(text, style="bold")
    mark = mark_of(condition)
    for name, word in point.kind.tells:
        figure = study.figure_of(condition, name)
        if figure and (figure.value or not name.endswith("_ratio")):
            line.append(f"{word} {format_figure(figure)}{mark}  ", style="not bold")
    shown = [n for n, _ in point.kind.tells if study.figure_of(condition, n)]
    if not shown or point.kind.is_program:
        words = _further_figures(study, point, shown)[:FIGURES_ON_A_LINE]
        line.append("  ".join(words), style="not bold")
    if len(condition) > 1:
        line.append(_launches_in_words(study, condition), style="not bold dim")
    for words_of_mark in marks_in_words(condition):
        line.append(f"\n  {words_of_mark}", style="not bold")
    return line


def _further_figures(study: Study, point: Point, shown: Sequence[str]) -> list[str]:
    """Of programs and of what other tools measured: the figures that no test has."""
    if not point.kind.is_program and point.imported is None:
        return []
    from netsonde.report.program_table import further_figures

    return further_figures(study, point, shown)


def _launches_in_words(study: Study, condition: Sequence[Point]) -> str:
    for name, _ in condition[0].kind.tells:
        headline = study.headlines.of(condition[0].id, name)
        if headline is not None:
            return headline.basis_in_words()
    return ""


def _print_points(study: Study, conditions: Sequence[list[Point]], console: Console) -> None:
    for condition in conditions:
        point = condition[0]
        console.print(Text(condition_label(point), style="bold"))
        found = [
            (word or "throughput", headline)
            for name, word in point.kind.tells
            if (headline := study.headline_of(condition, name))
        ]
        width = max((12, *(len(word) for word, _ in found)))
        for word, headline in found:
            value, interval = format_value_and_interval(headline.figure)
            beside = f" [{interval or no_interval(headline.figure)}]{mark_of(condition)}"
            beside += f" {headline.basis_in_words()}" if interval else ""
            console.print(Text.assemble(f"  {word:<{width}} {value}", (beside, "dim")))
        shown = [name for name, _ in point.kind.tells]
        for words in [*marks_in_words(condition), *_further_figures(study, point, shown)]:
            console.print(Text(f"  {words}"))
