"""All pairs of hosts on a terminal of 80 columns: who is slow, and a table from x to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from netsonde.explain.all_pairs import MEASURES
from netsonde.figures.all_pairs_verdict import Verdict, matrices_of, verdict_of
from netsonde.figures.pair_matrix import PairMatrix, Values
from netsonde.report.lookup import Study
from netsonde.report.quantity import Kind, format_value, kind_of

SHOWN_AS_MATRIX = ("throughput_bit_per_s", "one_way_min_ns", "round_trip_ns", "lost_ratio")
MATRICES_SHOWN = 1
WORST_SHOWN = 3
COLUMNS_MOST = 16
"""Hosts, or switches, that a table has room for."""
CELL = 4
NAME = 10
MARKED = "*"


def print_all_pairs(study: Study, console: Console) -> bool:
    """Prints nothing and returns False where a run has no rounds of all pairs."""
    verdict = verdict_of(study.run)
    if verdict is None:
        return False
    matrices = matrices_of(study.run, verdict)
    console.print(Text(_what(verdict), style="bold"))
    if not matrices:  # there are too many hosts for any
        console.print(Text(_usual(verdict)))
        return True
    console.print(_measures(matrices))
    by_name = {matrix.name: matrix for matrix in matrices}
    chosen = [by_name[name] for name in chosen_measures(verdict, by_name)]
    for matrix in chosen[:MATRICES_SHOWN]:
        small = matrix.by_switch() if len(matrix.hosts) <= COLUMNS_MOST else matrix.pivot()
        if len(small.hosts) <= COLUMNS_MOST:
            console.print()
            for line in matrix_lines(small):
                console.print(Text(line), soft_wrap=True)
    return True


def _what(verdict: Verdict) -> str:
    hosts = len(verdict.hosts)
    possible = hosts * (hosts - 1) // 2
    switches = f"; switches by {verdict.switches_from}" if verdict.switches else ""
    switches = switches.replace("by inferred", "inferred")
    dropped = f"; {len(verdict.dropped)} dropped" if verdict.dropped else ""
    return (
        f"{verdict.meetings} meetings in {verdict.rounds} rounds; {hosts} hosts have "
        f"{possible} pairs{switches}{dropped}"
    )


def _usual(verdict: Verdict) -> str:
    return "median " + ", ".join(
        f"{MEASURES.get(name, name)} {format_value(value, _kind_of(name))}"
        for name, value in verdict.usual.items()
    )


def _kind_of(name: str) -> Kind:
    return kind_of(next(unit for unit in ("bit_per_s", "ratio", "ns") if name.endswith(unit)))


def _measures(matrices: Sequence[PairMatrix]) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, heading in enumerate(("", "median", "least", "largest", "worst hosts")):
        table.add_column(heading, justify="left" if number in (0, 4) else "right")
    for matrix in matrices:
        kind = kind_of(matrix.unit)
        values = (matrix.median, matrix.smallest, matrix.largest)
        shown = [format_value(value, kind) for value in values]
        table.add_row(MEASURES.get(matrix.name, matrix.name), *shown, ", ".join(_worst(matrix)))
    return table


def _worst(matrix: PairMatrix) -> list[str]:
    """Hosts by the worse one of what they send and receive, the worst first; those that are worse
    than the middle one."""
    worse = np.nan_to_num(worse_way(matrix), nan=-np.inf)
    known = worse[np.isfinite(worse)]
    middle = float(np.median(known)) if len(known) else np.inf
    order = [n for n in np.argsort(-worse, kind="stable").tolist() if worse[n] > middle]
    return [matrix.hosts[number] for number in order[:WORST_SHOWN]]


def worse_way(matrix: PairMatrix) -> Values:
    """Of each host the worse one of what it sends and receives, the larger the worse; NaN of one
    that nothing is known of."""
    sign = 1.0 if matrix.larger_is_worse else -1.0
    both = np.stack([sign * matrix.sent, sign * matrix.received])
    worse: Values = np.where(np.isfinite(both), both, -np.inf).max(axis=0)
    return np.where(np.isfinite(worse), worse, np.nan)


def chosen_measures(verdict: Verdict, by_name: dict[str, PairMatrix]) -> list[str]:
    """The measures in which something was named, else the first that there is."""
    named = {symptom.name for named in verdict.named for symptom in named.symptoms}
    there = [name for name in SHOWN_AS_MATRIX if name in by_name]
    return [name for name in there if name in named] or there[:1]


def matrix_lines(matrix: PairMatrix) -> list[str]:
    """The matrix as text: shares as %, everything else in % of the median; * marks what was named.

    Each line has 80 characters at most for up to ``COLUMNS_MOST`` hosts.
    """
    is_share = matrix.unit == "ratio"
    title = MEASURES.get(matrix.name, matrix.name)
    unit = (
        "%" if is_share else f"% of the median {format_value(matrix.median, kind_of(matrix.unit))}"
    )
    scaled: Values = matrix.values * 100 if is_share else matrix.values / matrix.median * 100
    marked = {cell for mark in matrix.marks for cell in mark.cells}
    note = f"; {MARKED} named" if marked else ""
    lines = [f"{title} from (down) to (across), {unit}{note}"]
    lines.append(" " * NAME + "".join(f"{_short(host):>{CELL}}" for host in matrix.hosts))
    for row, host in enumerate(matrix.hosts):
        cells = [
            _cell(scaled[row, column], (row, column) in marked)
            for column in range(len(matrix.hosts))
        ]
        lines.append(f"{host[: NAME - 1]:<{NAME}}" + "".join(cells))
    return lines


def _short(host: str) -> str:
    """The end of a name, where the numbers are."""
    return host[-(CELL - 1) :]


def _cell(value: float, marked: bool) -> str:
    if not np.isfinite(value):
        return f"{'·':>{CELL}}"
    text = f"{value:.0f}" if value < 1000 else ">1k"
    mark = MARKED if marked and len(text) < CELL else ""
    return f"{mark + text:>{CELL}}"
