"""Pairs of ranks beside each other: who is slow with whom, and how far apart they are."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from netsonde.figures.levels import Level, levels_of
from netsonde.figures.partners import Pair, Pairs, pairs_of_run
from netsonde.report.against import (
    ROUND_TRIP_AXIS,
    SIZE_AXIS,
    TEST_AND_SIZE,
    Between,
    Series,
    curve,
    estimate_cells,
    estimate_columns,
    series_panels,
    size_place,
)
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import Axis, Cell, Column, Heat, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_figure, format_value, format_with_margin, size_text
from netsonde.report.rank_names import named_axis, rank_on
from netsonde.report.shapes import map_panel
from netsonde.report.theme import Look, transport_name

TESTS_SHOWN = 4
LINES_SHOWN = 12
RANKS_SHOWN = 32


def print_pairs(study: Study, console: Console) -> bool:
    """The slowest pairs of each test, a line each; then the levels. Whether there were any."""
    found = pairs_of_run(study.run, study.figures)
    for pairs in found[:TESTS_SHOWN]:
        console.print(Text(f"Round trips by pair, {_title(pairs)}", style="bold"))
        for pair in pairs.pairs[:LINES_SHOWN]:
            console.print(Text(_line(pair, pairs)))
        if len(pairs.pairs) > LINES_SHOWN:
            rest = len(pairs.pairs) - LINES_SHOWN
            console.print(Text(f"  and {rest} faster pairs", style="dim"))
        levels = levels_of(study.run, pairs)
        for level in levels if len(levels) > 1 else []:
            console.print(Text(_level_line(level, levels[0])))
    if len(found) > TESTS_SHOWN:
        console.print(Text(f"and {len(found) - TESTS_SHOWN} more tests", style="dim"))
    return bool(found)


def _title(pairs: Pairs) -> str:
    example = pairs.example
    name = transport_name(example.transport)
    return f"{name} {example.test} {size_text(example.message_bytes)}"


def _line(pair: Pair, pairs: Pairs) -> str:
    ranks = f"{pair.ranks[0]}–{pair.ranks[1]}"
    hosts = " – ".join(dict.fromkeys(pair.hosts))
    times = pair.median.value / pairs.pairs[-1].median.value
    return f"  {ranks:<9} {format_figure(pair.median):<32} {times:5.2f} ×  {hosts}"[:80]


def _level_line(level: Level, nearest: Level) -> str:
    times = level.median_ns / nearest.median_ns
    value = format_value(level.median_ns, "time_ns")
    return f"  {level.name}: {value}, {times:.2f} times the nearest, {len(level.pairs)} pairs"[:80]


def pairs_plot(study: Study) -> Plot | None:
    """Each pair's median round trip: by partner, or rank against rank."""
    found = pairs_of_run(study.run, study.figures)
    if not found:
        return None
    slowest = found[0].slowest
    named = " and ".join(
        f"rank {rank} ({host})" for rank, host in zip(slowest.ranks, slowest.hosts, strict=True)
    )
    return tabled(
        "pairs",
        "Pairs of ranks, one after the other",
        "Median round trip of each pair, measured alone and in random order, with 95 % intervals. "
        "A matrix where every two ranks were measured: the darker, the slower, with how far the "
        "farther end of the interval is. The table has every "
        "pair with what lies between its ranks.",
        f"{point_label(found[0].example).partition(',')[0]}: the slowest of {len(found[0].pairs)} "
        f"pairs is {named}.",
        [_panel(pairs) for pairs in found[:TESTS_SHOWN]],
        (
            *TEST_AND_SIZE,
            *columns("text", first_rank="Rank", second_rank="With", first_host="On"),
            *columns("text", second_host="And", between="Between them"),
            *estimate_columns("median_ns", "Median"),
            Column("p99_ns", "p99", "time_ns"),
            Column("times_fastest", "× the fastest", "number"),
        ),
        [row for pairs in found for row in _rows(study, pairs)],
        methods=("latency#quantiles", "throughput#"),
        heading="Pairs of ranks",
        wide=True,
    )


def levels_plot(study: Study) -> Plot | None:
    """Round trips by what lies between two ranks, against size."""
    found = [
        (pairs, levels_of(study.run, pairs)) for pairs in pairs_of_run(study.run, study.figures)
    ]
    found = [(pairs, levels) for pairs, levels in found if len(levels) > 1]
    if not found:
        return None
    by_name: dict[str, list[tuple[float, Between]]] = {}
    for pairs, levels in sorted(found, key=lambda own: own[0].example.message_bytes):
        for level in levels:
            value = Between(level.median_ns, level.low_ns, level.high_ns)
            place = size_place(pairs.example.message_bytes)
            by_name.setdefault(level.name, []).append((place, value))
    series = [Series("", name, places) for name, places in by_name.items()]
    first = found[0][1]
    return tabled(
        "levels",
        "Round trips by what lies between two ranks",
        "The median over pairs of their median round trips, by how near the ranks are: by the "
        "hosts' own word on their sockets, where ranks are bound, and by the description of the "
        "switches. Bars are 95 % intervals over pairs, and from the fastest to the slowest pair "
        "where there are fewer than six.",
        f"{first[-1].name} takes {first[-1].median_ns / first[0].median_ns:.2f} times "
        f"{first[0].name}.",
        series_panels(series, SIZE_AXIS, ROUND_TRIP_AXIS),
        (
            *TEST_AND_SIZE,
            Column("between", "Between them"),
            Column("pairs", "Pairs", "count"),
            *estimate_columns("median_ns", "Median"),
        ),
        [
            (
                pairs.example.test,
                pairs.example.message_bytes,
                level.name,
                len(level.pairs),
                level.median_ns,
                level.low_ns,
                level.high_ns,
            )
            for pairs, levels in found
            for level in levels
        ],
        methods=("latency#quantiles",),
        heading="Round trips by level",
    )


def _panel(pairs: Pairs) -> Panel:
    every = {pair.ranks: pair for pair in pairs.pairs}
    ranks = sorted({rank for both in every for rank in both})
    others = {rank for both in every for rank in both if rank != 0}
    if len(every) == len(others) and all(0 in both for both in every):
        return _by_partner(pairs)
    return _matrix(pairs, every, ranks[:RANKS_SHOWN])


def _by_partner(pairs: Pairs) -> Panel:
    own = sorted(pairs.pairs, key=lambda pair: pair.ranks[1])
    numbers = Axis("partner of rank 0", "count", low=0.5, high=own[-1].ranks[1] + 0.5)
    names = [rank_on(pair.ranks[1], pair.hosts[1]) for pair in own]
    axis = named_axis("partner of rank 0", names, numbers)
    places = range(len(own)) if axis.names else [pair.ranks[1] for pair in own]
    return Panel(
        _title(pairs),
        axis,
        Axis("round trip", "time_ns", low=0),
        [
            curve(
                "median",
                [(float(at), pair.median) for at, pair in zip(places, own, strict=True)],
                Look("green"),
                draw="points",
            )
        ],
        height=260,
    )


def _matrix(pairs: Pairs, every: dict[tuple[int, int], Pair], ranks: list[int]) -> Panel:
    slowest = pairs.slowest.median.value
    shares: list[list[float | None]] = []
    words: list[list[str]] = []
    for row in ranks:
        cells = [every.get((min(row, c), max(row, c))) for c in ranks]
        shares.append([None if cell is None else cell.median.value / slowest for cell in cells])
        words.append(["" if cell is None else format_with_margin(cell.median) for cell in cells])
    hosts = {r: h for pair in pairs.pairs for r, h in zip(pair.ranks, pair.hosts, strict=True)}
    names = [rank_on(rank, hosts.get(rank, "")) for rank in ranks]
    least = min(pair.median.value for pair in pairs.pairs) / slowest
    heat = Heat(
        names,
        [f"rank {name}" for name in names],
        shares,
        words,
        palest=least * 0.98,
        meaning="of the slowest",
        words_shown=len(ranks) <= 8,
    )
    return map_panel(_title(pairs), "with rank", heat)


def _rows(study: Study, pairs: Pairs) -> list[tuple[Cell, ...]]:
    fastest = pairs.pairs[-1].median.value
    between = {
        pair.ranks: level.name for level in levels_of(study.run, pairs) for pair in level.pairs
    }
    return [
        (
            pairs.example.test,
            pairs.example.message_bytes,
            str(pair.ranks[0]),
            str(pair.ranks[1]),
            *pair.hosts,
            between.get(pair.ranks, ""),
            *estimate_cells(pair.median),
            pair.p99.value if pair.p99 else None,
            pair.median.value / fastest,
        )
        for pair in pairs.pairs
    ]
