"""One test over message size in several ways, over each other: libraries and settings of them,
ranks on a host; and before and after, of two sets of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from netsonde.compare.data import Comparison, FigureVerdict, Side
from netsonde.figures.alike import LAUNCH, MPI, PASS, RANKS_PER_HOST, SIZE, alike
from netsonde.figures.headlines import Headline, LaunchValue, OverLaunches, over_launches
from netsonde.figures.keys import FigureKey, labels_of
from netsonde.records.data import Point
from netsonde.report.against import SIZE_AXIS, curve, estimate_cells, size_place
from netsonde.report.lookup import Study, mark_of_headline, what_was_measured
from netsonde.report.plot import Axis, Cell, Column, Panel, Plot, columns, tabled
from netsonde.report.quantity import kind_of
from netsonde.report.theme import series_look
from netsonde.units import format_count

PANELS_SHOWN = 8
WAYS_DRAWN = 6
Values = Mapping[int, OverLaunches]
"""By message size."""


def ways_of_operations(study: Study) -> Plot | None:
    """A panel for each MPI test that was measured at several sizes and in several ways, a curve for
    each way."""
    found = _tests(study)
    if not found:
        return None
    rows: list[tuple[Cell, ...]] = [
        (name, way, size, kind_of(h.figure.unit), *estimate_cells(h.over), h.basis_in_words(), mark)
        for name, ways in found.items()
        for way, headlines in ways.items()
        for size, h in headlines.items()
        for mark in (mark_of_headline(study, h).strip(),)
    ]
    return tabled(
        "ways-of-operations",
        "MPI: libraries, settings and ranks on a host over each other",
        "The figure of each test over its launches with its interval, for every MPI and setting of "
        "one, and every number of ranks on a host; the table says what the interval is of, and † "
        f"where it is of less than half of the repetitions. At most {WAYS_DRAWN} ways of "
        f"{PANELS_SHOWN} tests are drawn; the table has all.",
        f"{format_count(len(found), 'test')} in up to "
        f"{max(len(ways) for ways in found.values())} ways.",
        [
            _panel(
                name,
                {way: {n: h.over for n, h in own.items()} for way, own in ways.items()},
                next(iter(next(iter(ways.values())).values())).figure.unit,
            )
            for name, ways in list(found.items())[:PANELS_SHOWN]
        ],
        _COLUMNS,
        rows,
        methods=("collectives#quantiles", "latency#quantiles", "throughput#"),
        heading="MPI: several ways over each other",
    )


_COLUMNS = (
    *columns("text", test="Test", way="Way"),
    Column("message_bytes", "Size", "size"),
    Column("kind", "Of"),
    *columns("number", value="Median", low="From", high="To"),
    *columns("text", basis="Interval of", mark="Marked"),
)


def _tests(study: Study) -> dict[str, dict[str, dict[int, Headline]]]:
    """By test and way, the headlines by size."""
    own = study.run.where(lambda p: p.carrier.has_ranks and bool(p.kind.main))
    own = [p for p in own if not _is_special(p)]
    names = short_names([p.spec.mpi or "" for p in own])
    found: dict[str, dict[str, dict[int, Headline]]] = {}
    for same in alike(own, MPI, RANKS_PER_HOST, SIZE, LAUNCH, PASS):
        ways: dict[str, dict[int, Headline]] = {}
        for point in sorted(same, key=lambda p: p.message_bytes):
            headline = study.headlines.of(point.id, point.kind.main)
            if headline is not None and headline.value > 0:
                ways.setdefault(_way_of(point, names), {})[point.message_bytes] = headline
        ways = {way: by_size for way, by_size in ways.items() if len(by_size) > 1}
        if len(ways) > 1:
            found[_name_of(same[0], found)] = ways
    return found


def _is_special(point: Point) -> bool:
    return point.spec.perturbed_bytes is not None or point.spec.scout is not None


def _way_of(point: Point, names: Mapping[str, str]) -> str:
    """``mpich``, ``mpich binomial, 2 a host``."""
    ppn = f"{point.spec.ppn} a host" if point.spec.ppn else ""
    return ", ".join(filter(None, (names[point.spec.mpi or ""], ppn)))


def short_names(mpis: Sequence[str]) -> dict[str, str]:
    """MPIs without the names of the variables that are set, and the last parts of paths, where
    that tells them apart; else as they are."""
    every = list(dict.fromkeys(mpis))
    names = {mpi: _short(mpi) for mpi in every}
    taken = list(names.values())
    return {mpi: name if taken.count(name) == 1 else mpi for mpi, name in names.items()}


def _short(mpi: str) -> str:
    name, *settings = mpi.split("+")
    values = [setting.partition("=")[2] or setting for setting in settings]
    return " ".join([name.rstrip("/").rsplit("/", 1)[-1], *values])


def _name_of(point: Point, taken: Mapping[str, object]) -> str:
    words = what_was_measured(point.but_for("ppn", "mpi"), with_size=False)
    ranks = "" if point.spec.ranks_vary else format_count(point.spec.ranks or 2, "rank")
    name = ", ".join(filter(None, (words, ranks, point.label)))
    return f"{name} ({point.id})" if name in taken else name


def runs_over_each_other(comparison: Comparison) -> Plot | None:
    """A panel for each test that both sides measured at several sizes: before and after."""
    tests: dict[FigureKey, list[FigureVerdict]] = {}
    for figure in comparison.figures:
        tests.setdefault(replace(figure.key, message_bytes=0), []).append(figure)
    tests = {key: own for key, own in tests.items() if len(own) > 1}
    if not tests:
        return None
    names = labels_of(tests)
    drawn: dict[str, dict[str, Values]] = {
        _test_of(key, names[key]): {
            way: {f.key.message_bytes: _over(side) for f in own for side in (_side(f, way),)}
            for way in ("before", "after")
        }
        for key, own in tests.items()
    }
    units = {name: key.unit for name, key in zip(drawn, tests, strict=True)}
    return tabled(
        "runs-over-each-other",
        "Before and after over message size",
        "The median over launches of each side, with the interval of the median from six launches "
        f"on, else the span of what they hold. At most {PANELS_SHOWN} tests are drawn.",
        f"{format_count(len(drawn), 'test')} at several sizes.",
        [_panel(name, ways, units[name]) for name, ways in list(drawn.items())[:PANELS_SHOWN]],
        (
            *(Column("test", "Test"), Column("side", "Side")),
            Column("message_bytes", "Size", "size"),
            *(Column(n, t, "number") for n, t in (("value", "Median"), ("low", "From"))),
            Column("high", "To", "number"),
            Column("launches", "Launches", "count"),
        ),
        [
            (name, way, size, *estimate_cells(over), over.launches)
            for name, ways in drawn.items()
            for way, values in ways.items()
            for size, over in values.items()
        ],
    )


def _test_of(key: FigureKey, label: str) -> str:
    """``mpi bcast, ranks 4: completion_median_ns``."""
    condition = label.partition(", ")[2]
    words = f"{key.transport} {(key.operation or key.test).replace('_', ' ')}"
    return f"{', '.join(filter(None, (words, condition)))}: {key.figure}"


def _side(figure: FigureVerdict, way: str) -> Side:
    return figure.before if way == "before" else figure.after


def _over(side: Side) -> OverLaunches:
    return over_launches(
        [LaunchValue(each.number, each.value, each.low, each.high) for each in side.launches]
    )


def _panel(name: str, ways: Mapping[str, Values], unit: str) -> Panel:
    curves = [
        curve(way, [(size_place(n), over) for n, over in sorted(own.items())], series_look(place))
        for place, (way, own) in enumerate(list(ways.items())[:WAYS_DRAWN])
    ]
    is_time = unit == "ns"
    y = Axis("time" if is_time else "", kind_of(unit), log=True)
    return Panel(name, SIZE_AXIS, y, curves)
