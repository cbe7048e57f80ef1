"""All pairs of hosts: a heat map from whom to whom, bubbles, and the medians from switch to switch.

Bubbles after the appendix of Dasgupta's thesis (University of Tennessee 2001): an area for each
pair, so that like hosts give like bubbles and one that differs is seen at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netsonde.figures.all_pairs_verdict import Verdict, matrices_of, verdict_of
from netsonde.figures.pair_matrix import PairMatrix, Values
from netsonde.report.all_pairs_lines import chosen_measures, worse_way
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Cell, Column, Curve, Heat, Panel, Plot, Table
from netsonde.report.quantity import format_value, kind_of
from netsonde.report.theme import series_look

HOSTS_DRAWN = 128
"""Of more hosts those with the worst medians are drawn; the table has every pair."""
HOSTS_IN_WORDS = 12
HOSTS_WITH_BUBBLES = 32
WORSE_SEEN, LOST_SEEN = 0.2, 0.01
"""By so much the worst pair must be worse, or lose so much, to have the strongest colour: pairs
that are alike look alike."""
NAMES = {
    "round_trip_ns": "Round trips",
    "round_trip_min_ns": "Fastest round trips",
    "one_way_ns": "One-way delays",
    "one_way_min_ns": "Least one-way delays",
    "throughput_bit_per_s": "Throughput",
    "lost_ratio": "Datagrams lost",
    "retransmitted_ratio": "Retransmitted segments",
}


def plots_of_pairs(study: Study) -> list[Plot]:
    """The ranking of hosts, then a choice of measures; nothing of runs without rounds of pairs."""
    verdict = verdict_of(study.run)
    matrices = [] if verdict is None else matrices_of(study.run, verdict)
    if verdict is None or not matrices:
        return []
    names = {matrix.name: matrix for matrix in matrices}
    first = next(iter(chosen_measures(verdict, names)), matrices[0].name)
    choices = [
        replace(plot_of(matrix), choice="open" if matrix.name == first else "folded")
        for matrix in matrices
    ]
    return [ranking(names[first], matrices, verdict), *choices]


def plot_of(matrix: PairMatrix) -> Plot:
    """One measure as heat map, bubbles and, where there are switches, their pivot."""
    name = NAMES.get(matrix.name, matrix.name)
    ordered = _drawn(matrix.by_switch())
    panels = [_heat(ordered, "From each host (down) to each host (across)")]
    if _has_bubbles(ordered):
        panels.append(_bubbles(ordered))
    pivot = matrix.pivot()
    if pivot is not matrix:
        panels.append(_heat(pivot, "Medians from switch (down) to switch (across)"))
    return Plot(
        f"pairs-{matrix.name.replace('_', '-')}",
        f"{name} of all pairs",
        f"{_meaning(matrix)} Hosts below one switch stand side by side. "
        f"{_of_bubbles(ordered)}{_thinned(matrix)}",
        _summary(matrix),
        panels,
        _table(matrix),
        wide=True,
        methods=("all-pairs#",),
    )


def _has_bubbles(matrix: PairMatrix) -> bool:
    """Not for too many hosts, and not where all is 0, which no area shows."""
    return len(matrix.hosts) <= HOSTS_WITH_BUBBLES and matrix.largest > 0


def _of_bubbles(matrix: PairMatrix) -> str:
    if not _has_bubbles(matrix):
        return "Crosses are pairs that a verdict names. "
    return "In the bubbles, the area is the value; crosses are pairs that a verdict names. "


def _drawn(matrix: PairMatrix) -> PairMatrix:
    if len(matrix.hosts) <= HOSTS_DRAWN:
        return matrix
    middle = np.nan_to_num(matrix.sent + matrix.received, nan=-np.inf)
    worst = np.argsort(middle if matrix.larger_is_worse else -middle)[-HOSTS_DRAWN:]
    chosen = sorted(int(number) for number in worst)
    place = {old: new for new, old in enumerate(chosen)}
    marks = [
        (mark, tuple((place[a], place[b]) for a, b in mark.cells if a in place and b in place))
        for mark in matrix.marks
    ]
    return PairMatrix(
        matrix.name,
        tuple(matrix.hosts[number] for number in chosen),
        matrix.values[np.ix_(chosen, chosen)],
        matrix.larger_is_worse,
        matrix.switches,
        tuple(type(mark)(mark.place, mark.words, cells) for mark, cells in marks),
    )


def _thinned(matrix: PairMatrix) -> str:
    if len(matrix.hosts) <= HOSTS_DRAWN:
        return ""
    return f"Drawn are the {HOSTS_DRAWN} hosts with the worst medians of {len(matrix.hosts)}."


def _heat(matrix: PairMatrix, title: str) -> Panel:
    worse = [[_worse(matrix, float(value)) for value in row] for row in matrix.values]
    known = [share for row in worse for share in row if share is not None]
    is_loss = matrix.unit == "ratio"
    named = {cell for mark in matrix.marks for cell in mark.cells}
    words = [
        [
            ("✗ " if (row, column) in named else "") + _words(matrix, float(value))
            for column, value in enumerate(values)
        ]
        for row, values in enumerate(matrix.values)
    ]
    return Panel(
        title,
        Axis("to", "text"),
        Axis("from", "text"),
        heat=Heat(
            list(matrix.hosts),
            list(matrix.hosts),
            worse,
            words,
            palest=0.0,
            strongest=max([LOST_SEEN if is_loss else WORSE_SEEN, *known]),
            meaning="lost" if is_loss else "worse than the best",
            words_shown=len(matrix.hosts) <= HOSTS_IN_WORDS,
        ),
        height=max(180, min(900, 90 + 26 * len(matrix.hosts))),
    )


def _worse(matrix: PairMatrix, value: float) -> float | None:
    """By what share a value is worse than the best one; of what was lost, the value itself."""
    if not math.isfinite(value):
        return None
    if matrix.unit == "ratio":
        return value
    if matrix.larger_is_worse:
        return value / matrix.smallest - 1 if matrix.smallest > 0 else 0.0
    return 1 - value / matrix.largest if matrix.largest else 0.0


def _words(matrix: PairMatrix, value: float) -> str:
    return format_value(value, kind_of(matrix.unit)) if math.isfinite(value) else ""


def _bubbles(matrix: PairMatrix) -> Panel:
    named = {cell for mark in matrix.marks for cell in mark.cells}
    rows, columns = np.nonzero(np.isfinite(matrix.values))
    values = matrix.values[rows, columns]
    largest = float(values.max(initial=0.0)) or 1.0
    crossed = [(r, c) for r, c in zip(rows.tolist(), columns.tolist(), strict=True)]
    marked = [cell for cell in crossed if cell in named]
    curves = [
        Curve(
            "pair",
            [float(c) for _, c in crossed],
            [float(r) for r, _ in crossed],
            "blue",
            "points",
            opacity=0.7,
            areas=[float(v) / largest for v in values],
        )
    ]
    if marked:
        curves.append(
            Curve(
                "named by a verdict",
                [float(c) for _, c in marked],
                [float(r) for r, _ in marked],
                "bad",
                "points",
                symbol="x",
            )
        )
    ends = (-0.7, len(matrix.hosts) - 0.3)
    return Panel(
        "The same as bubbles",
        Axis("to", "text", low=ends[0], high=ends[1], names=list(matrix.hosts)),
        Axis("from", "text", low=ends[1], high=ends[0], names=list(matrix.hosts)),
        curves,
        note=f"largest {_words(matrix, matrix.largest)}, smallest "
        f"{_words(matrix, matrix.smallest)}",
        height=max(260, min(900, 120 + 26 * len(matrix.hosts))),
        folded=True,
    )


def _meaning(matrix: PairMatrix) -> str:
    if matrix.unit == "ratio":
        return "The stronger a cell's colour, the more was lost."
    return "The stronger a cell's colour, the worse the pair is than the best one."


def _summary(matrix: PairMatrix) -> str:
    kind = kind_of(matrix.unit)
    low, middle, high = (
        format_value(v, kind) for v in (matrix.smallest, matrix.median, matrix.largest)
    )
    found = f" {' '.join(mark.words for mark in matrix.marks[:5])}" if matrix.marks else ""
    return f"{len(matrix.hosts)} hosts: from {low} to {high}, median {middle}.{found}"


def _table(matrix: PairMatrix) -> Table:
    """From down, to across, as a pivot, with the medians of rows and columns."""
    kind = kind_of(matrix.unit)
    rows: list[tuple[Cell, ...]] = []
    sent, received = matrix.sent, matrix.received
    for number, host in enumerate(matrix.hosts):
        cells = [_cell(float(value)) for value in matrix.values[number]]
        rows.append((host, *cells, _cell(float(sent[number]))))
    rows.append(("median", *(_cell(float(v)) for v in received), _cell(matrix.median)))
    return Table(
        f"pairs_{matrix.name}",
        f"{NAMES.get(matrix.name, matrix.name)} of all pairs",
        (
            Column("from", "From \\ to"),
            *(Column(f"{host}_{matrix.unit}", host, kind) for host in matrix.hosts),
            Column(f"median_{matrix.unit}", "Median", kind),
        ),
        rows,
    )


def _cell(value: float) -> float | None:
    return value if math.isfinite(value) else None


def ranking(matrix: PairMatrix, matrices: Sequence[PairMatrix], verdict: Verdict) -> Plot:
    """Hosts by one measure, the worst first, with what they have in the others."""
    worse = worse_way(matrix)
    order = np.argsort(np.nan_to_num(worse, nan=-np.inf), kind="stable")[::-1].tolist()
    name = NAMES.get(matrix.name, matrix.name)
    ways = "its pairs"
    if not _is_same_both_ways(matrix):
        ways = "its pairs towards others and from others, of which the worse one counts"
    return Plot(
        "pairs-ranking",
        "Hosts, the worst first",
        f"{name}: the median of each host over {ways}. Beyond is by how much it is worse than the "
        "middle host.",
        f"{len(order)} hosts by {name.lower()}; the worst is {matrix.hosts[order[0]]}.",
        [_ranking_panel(matrix, order[:HOSTS_DRAWN])],
        _ranking_table(matrix, matrices, verdict, order),
        wide=True,
        methods=("all-pairs#",),
        table_open=True,
    )


def _is_same_both_ways(matrix: PairMatrix) -> bool:
    """Round trips belong to a pair."""
    return np.array_equal(matrix.values, matrix.values.T, equal_nan=True)


def _ranking_panel(matrix: PairMatrix, order: Sequence[int]) -> Panel:
    places = [float(place) for place in range(len(order))]
    ways = [("towards others", matrix.sent), ("from others", matrix.received)]
    if _is_same_both_ways(matrix):
        ways = [("its pairs", matrix.sent)]
    is_named = len(order) <= HOSTS_IN_WORDS
    return Panel(
        "",
        Axis(
            "host",
            "text" if is_named else "number",
            low=-0.6,
            high=len(order) - 0.4,
            names=[matrix.hosts[number] for number in order] if is_named else None,
        ),
        Axis("median", kind_of(matrix.unit), low=0),
        [
            Curve(
                label,
                list(places),
                [_cell(float(values[number])) for number in order],
                series_look(place).colour,
                "points",
                symbol=series_look(place).symbol,
            )
            for place, (label, values) in enumerate(ways)
        ],
    )


def _ranking_table(
    matrix: PairMatrix, matrices: Sequence[PairMatrix], verdict: Verdict, order: Sequence[int]
) -> Table:
    others = [other for other in matrices if other is not matrix]
    shown = [matrix, *others]
    values = [_worst_values(one) for one in shown]
    middle = float(np.nanmedian(values[0]))
    rows: list[tuple[Cell, ...]] = [
        (
            *(place, matrix.hosts[number], _cell(float(values[0][number]))),
            _beyond(matrix, float(values[0][number]), middle),
            _named(verdict, matrix.hosts[number]),
            *(_cell(float(found[number])) for found in values[1:]),
        )
        for place, number in enumerate(order, 1)
    ]
    heads = [Column(one.name, NAMES.get(one.name, one.name), kind_of(one.unit)) for one in shown]
    return Table(
        "pairs_ranking",
        "Hosts, the worst first",
        (
            *(Column("place", "Place", "count"), Column("host", "Host")),
            *(heads[0], Column("beyond_ratio", "Beyond", "ratio"), Column("named", "Named")),
            *heads[1:],
        ),
        rows,
    )


def _worst_values(matrix: PairMatrix) -> Values:
    """Of each host the worse of its medians, in the measure's unit."""
    worse = worse_way(matrix)
    return worse if matrix.larger_is_worse else -worse


def _beyond(matrix: PairMatrix, value: float, middle: float) -> float | None:
    """By what share it is worse than the middle; of what was lost, by how much more."""
    if not math.isfinite(value) or not math.isfinite(middle):
        return None
    if matrix.unit == "ratio":
        return value - middle
    above, below = (value, middle) if matrix.larger_is_worse else (middle, value)
    return above / below - 1 if below > 0 else None


def _named(verdict: Verdict, host: str) -> str:
    """What a verdict says of the host itself."""
    found = (one.manner for one in verdict.named if one.kind == "host" and one.place == host)
    return next(found, "")
