"""What was measured, by size: one row for each size and each option that varies, one table for each
test of a transport, one for all operations of MPI.

Columns are told by the test's row (:attr:`netsonde.catalogue.test.Test.tells`); a column has one
unit, and its cells stand with the decimal points beneath each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from netsonde.catalogue.test import Test
from netsonde.figures.data import Figure
from netsonde.figures.headlines import Basis
from netsonde.figures.keys import key_of, labels_of
from netsonde.figures.slowest_rank import slowest_rank
from netsonde.records.data import Point
from netsonde.report.lookup import Study, beside_size, mark_of, marks_in_words, operation_place
from netsonde.report.quantity import (
    Kind,
    common_scale,
    group_digits,
    kind_of,
    margin_text,
    three_digits,
    value_and_ends,
)
from netsonde.report.theme import transport_name
from netsonde.units import format_size

MISSING = "–"
FIGURE_SPACE, POINT_SPACE = "\u2007", "\u2008"
"""As wide as a digit and as a point, in any face whose digits are of one width."""
Role = Literal["name", "value", "interval", "margin", "mark"]


@dataclass(frozen=True)
class Column:
    """``cells`` are of one width, filled with spaces that are as wide as what they stand for. A
    table has its interval twice: from end to end, and as a ``margin`` for where there is less room.
    """

    role: Role
    heading: str
    unit: str
    cells: tuple[str, ...]

    @property
    def is_words(self) -> bool:
        """Whether its cells begin beneath each other; those of numbers end so."""
        return self.role in ("name", "mark") and not self.unit

    @cached_property
    def width(self) -> int:
        return max(len(self.heading), len(self.unit), *map(len, self.cells))


@dataclass(frozen=True)
class Row:
    """``point`` is the id of the first of its launches. ``error`` stands where figures would;
    ``note`` says what the row's mark means."""

    point: str
    error: str = ""
    note: str = ""


@dataclass(frozen=True)
class SizeTable:
    """``bases``: what its intervals are of. ``points`` are the ids of all points in it."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    bases: frozenset[Basis]
    points: frozenset[str]


@dataclass(frozen=True)
class _Condition:
    """Points that differ in their launch alone; of one without a result, the error."""

    points: Sequence[Point]
    error: str = ""
    words: tuple[str, ...] = field(default=())

    @property
    def first(self) -> Point:
        return self.points[0]


def size_tables(study: Study) -> list[SizeTable]:
    """A table for each test with several conditions, and for each test of ranks, in the order of
    the layers; none of what has pages of its own: programs, rounds, clocks and simulations."""
    groups: dict[tuple[str, str], list[_Condition]] = {}
    for points in study.conditions:
        if _is_tabled(points[0]):
            group = groups.setdefault((points[0].transport, points[0].test), [])
            group.append(_with_words(points))
    measured = {_place(c) for group in groups.values() for c in group}
    for point in study.run.points:
        if point.status == "failed" and _is_tabled(point):
            failed = _with_words([point], point.error or "no result")
            if _place(failed) not in measured:
                measured.add(_place(failed))
                groups.setdefault((point.transport, point.test), []).append(failed)
    order = {name: number for number, name in enumerate(study.transports)}
    return [
        _table(study, found)
        for (transport, _), found in sorted(
            groups.items(), key=lambda item: order.get(item[0][0], len(order))
        )
        if len(found) > 1 or found[0].first.carrier.has_ranks
    ]


def _is_tabled(point: Point) -> bool:
    kind = point.kind
    apart = kind.is_program or kind.is_round or kind.compares_clocks or kind.is_simulated
    return bool(kind.tells) and not apart and point.imported is None


def _with_words(points: Sequence[Point], error: str = "") -> _Condition:
    return _Condition(points, error, tuple(beside_size(points[0])))


def _place(condition: _Condition) -> tuple[object, ...]:
    point = condition.first
    return point.transport, point.test, point.operation, point.message_bytes, condition.words


def _told_apart(found: Sequence[_Condition]) -> Sequence[_Condition]:
    """With the options that differ, where several of one size have the same words."""
    if len({_place(c) for c in found}) == len(found):
        return found
    keys = [replace(key_of(c.first, ""), message_bytes=0) for c in found]
    labels = labels_of(dict.fromkeys(keys))
    own = [[word for word in labels[key].split(", ")[1:] if word] for key in keys]
    return [
        replace(c, words=(*c.words, *(word for word in words if word not in c.words)))
        for c, words in zip(found, own, strict=True)
    ]


def _table(study: Study, found: Sequence[_Condition]) -> SizeTable:
    found = _told_apart(found)
    common = set(found[0].words).intersection(*(c.words for c in found))
    seen = {words: place for place, words in enumerate(dict.fromkeys(c.words for c in found))}
    ordered = sorted(
        found,
        key=lambda c: (
            operation_place(c.first),
            seen[c.words],
            c.first.message_bytes,
        ),
    )
    first = found[0].first
    title = ", ".join(
        [f"{transport_name(first.transport)} {first.kind.title}", *_in_order(found, common)]
    )
    columns = [*_names(ordered, common), *_values(study, ordered)]
    return SizeTable(
        f"{first.transport}-{first.test}".replace("_", "-"),
        title,
        tuple(column for column in columns if any(cell.strip() for cell in column.cells)),
        tuple(Row(c.first.id, c.error, "; ".join(marks_in_words(c.points))) for c in ordered),
        frozenset(_bases(study, ordered)),
        frozenset(point.id for c in ordered for point in c.points),
    )


def _in_order(found: Sequence[_Condition], common: set[str]) -> list[str]:
    return [words for words in found[0].words if words in common]


def _names(ordered: Sequence[_Condition], common: set[str]) -> list[Column]:
    operations = [(c.first.operation or "").replace("_", " ") for c in ordered]
    words = [", ".join(w for w in c.words if w not in common) for c in ordered]
    sizes = [format_size(c.first.message_bytes) for c in ordered]
    return [
        _left("operation", operations),
        _left(*_headed(words)),
        Column("name", "size", "B", tuple(_justified(sizes))),
    ]


def _headed(words: Sequence[str]) -> tuple[str, list[str]]:
    """The option's name as a heading, where all that is told of rows is its values."""
    names = {text.partition(" ")[0] for text in words}
    values = [text.partition(" ")[2] for text in words]
    if len(names) == 1 and all(value and "," not in value for value in values):
        return names.pop(), values
    return "", list(words)


def _left(heading: str, texts: Sequence[str]) -> Column:
    width = max(map(len, texts))
    return Column("name", heading, "", tuple(text.ljust(width) for text in texts))


def _values(study: Study, ordered: Sequence[_Condition]) -> list[Column]:
    kind = ordered[0].first.kind
    found = {name: [study.figure_of(c.points, name) for c in ordered] for name, _ in kind.tells}
    scales = _scales(kind, found)
    columns: list[Column] = []
    for number, (name, words) in enumerate(kind.tells):
        figures = found[name]
        if all(figure is None for figure in figures):
            continue
        scale, unit = scales[kind_of(_unit(figures))]
        texts = [
            _texts(figure, scale) if not c.error else ("", "", "")
            for figure, c in zip(figures, ordered, strict=True)
        ]
        cells = aligned([value for value, _, _ in texts])
        columns.append(Column("value", words or "rate", unit, tuple(cells)))
        if number == 0:
            columns += _intervals(figures, texts, unit)
            columns.append(_marks(ordered))
    if kind.is_operation:
        columns.append(_slowest(study, ordered, kind))
    return columns


def _unit(figures: Iterable[Figure | None]) -> str:
    return next(figure.unit for figure in figures if figure is not None)


def _scales(kind: Test, found: dict[str, list[Figure | None]]) -> dict[Kind, tuple[float, str]]:
    """One unit for all times of a table and one for all rates, by the first column of them."""
    scales: dict[Kind, tuple[float, str]] = {}
    for name, _ in kind.tells:
        known = [figure for figure in found[name] if figure is not None]
        if known:
            own = kind_of(known[0].unit)
            scales.setdefault(own, common_scale([f.value for f in known], own))
    return scales


def _texts(figure: Figure | None, scale: float) -> tuple[str, str, str]:
    """Value and both ends of its interval, in the column's unit."""
    if figure is None:
        return MISSING, "", ""
    value = figure.value / scale
    if figure.low is None or figure.high is None:
        return group_digits(value) if figure.is_a_count else three_digits(value), "", ""
    return value_and_ends(value, figure.low / scale, figure.high / scale)


def _intervals(
    figures: Sequence[Figure | None], texts: Sequence[tuple[str, str, str]], unit: str
) -> list[Column]:
    lows = aligned([low for _, low, _ in texts])
    highs = aligned([high for _, _, high in texts])
    width = len(lows[0]) + len(highs[0]) + 3
    spans = [
        f"{low} – {high}"
        if low.strip()
        else (MISSING if figure else "").center(width, FIGURE_SPACE)
        for low, high, figure in zip(lows, highs, figures, strict=True)
    ]
    margins = [
        (margin_text(f.value, f.low, f.high) or MISSING).removesuffix(" %") if f else ""
        for f in figures
    ]
    return [
        Column("interval", "95 % interval", unit, tuple(spans)),
        Column("margin", "±", "%", tuple(aligned([m.removeprefix("±") for m in margins]))),
    ]


def _marks(ordered: Sequence[_Condition]) -> Column:
    return Column("mark", "", "", tuple(mark_of(c.points).strip() or " " for c in ordered))


def _slowest(study: Study, ordered: Sequence[_Condition], kind: Test) -> Column:
    """Which rank it is, in the launch that stands for all."""
    ranks = []
    for condition in ordered:
        headline = study.headline_of(condition.points, kind.main)
        middle = headline.middle if headline is not None else ""
        found = [slowest_rank(point.batches) for point in condition.points if point.id == middle]
        ranks.append(str(found[0].rank) if found and found[0] is not None else "")
    return Column("value", "rank", "", tuple(_justified(ranks)))


def _bases(study: Study, ordered: Sequence[_Condition]) -> Iterable[Basis]:
    for condition in ordered:
        name = condition.first.kind.tells[0][0]
        headline = study.headline_of(condition.points, name)
        if headline is not None:
            yield headline.basis


def aligned(texts: Sequence[str]) -> list[str]:
    """Texts of one width with their decimal points beneath each other."""
    most = max((len(text.partition(".")[2]) for text in texts), default=0)
    filled = []
    for text in texts:
        point = POINT_SPACE if most and "." not in text else ""
        filled.append(text + point + FIGURE_SPACE * (most - len(text.partition(".")[2])))
    return _justified(filled)


def _justified(texts: Sequence[str]) -> list[str]:
    width = max(map(len, texts), default=0)
    return [text.rjust(width, FIGURE_SPACE) for text in texts]
