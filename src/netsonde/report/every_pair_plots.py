"""All pairs of hosts, alone and all at once: over message size, over the number of hosts, and from
whom to whom; and those of two runs beside each other.

What is drawn follows P. Dasgupta's study (MS thesis, University of Tennessee 2001): bubbles whose
area is the round trip, two networks over each other, and the ratio over bytes for each number of
hosts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from netsonde.figures.every_pair import PairTimes
from netsonde.figures.pair_matrix import Values
from netsonde.figures.pair_sets import WORDS, BesideEachOther, TwoWays, Way, ways_of
from netsonde.model.meetings import COMPANIES
from netsonde.report.against import RATE_AXIS, ROUND_TRIP_AXIS, SIZE_AXIS, size_place, times_axis
from netsonde.report.lookup import Study
from netsonde.report.plot import (
    Axis,
    Cell,
    Column,
    Curve,
    Heat,
    Panel,
    Plot,
    Table,
    columns,
    tabled,
)
from netsonde.report.quantity import format_value, size_text
from netsonde.report.theme import Look, series_look
from netsonde.units import change_in_words, format_count

MAPS_MOST = 24
"""So many matrices a page has at most; the exports have all."""
HOSTS_WITH_BUBBLES = 32
HOSTS_IN_WORDS = 12
HOSTS_AXIS = Axis("hosts", "number")
SURE = 0.1
"""By so much a ratio must differ from 1 to have the strongest colour."""


def plots_of_every_pair(study: Study) -> list[Plot]:
    """Nothing of runs without all pairs."""
    ways = ways_of(study.run)
    if not ways:
        return []
    made = [_over_size(ways), _over_hosts(ways)]
    return [*(plot for plot in made if plot is not None), *_maps(ways)]


def _sets(ways: Iterable[Way]) -> Iterator[tuple[str, PairTimes]]:
    for way in ways:
        for (hosts, _, company), times in way.sets.items():
            several = len(way.hosts) > 1
            of = f"{way.name}, {hosts} hosts" if several else way.name
            yield f"{of}, {WORDS[company]}", times


def _over_size(ways: Sequence[Way]) -> Plot | None:
    """Round trips over size, and how many times as long they take all at once."""
    panels = [panel for way in ways for panel in _panels_over_size(way)]
    words = [
        f"{name} {format_value(times.reduced.mean, 'time_ns')}"
        for name, times in _sets(ways)
        if times.point.message_bytes == min(t.point.message_bytes for _, t in _sets(ways))
    ]
    return tabled(
        "all-pairs-sizes",
        "All pairs of hosts over message size",
        "The averages of all pairs of two hosts as one number, without outliers, which the table "
        "counts. Alone: no host is in two pairs at a time. Off is by how much the line from the "
        "smallest message to the rate of the largest is more than half of the round trip.",
        "; ".join(words) + ".",
        panels,
        (
            *columns("text", way="Measured", company="Company"),
            Column("hosts", "Hosts", "count"),
            Column("message_bytes", "Size", "size"),
            *columns("time_ns", mean="Round trip", least="Fastest pair", most="Slowest pair"),
            *columns("time_ns", plain="With outliers", median="Median pair", own="With itself"),
            Column("left_out", "Left out", "count"),
            Column("rate_bit_per_s", "Rate", "bit_per_s"),
            Column("off_ratio", "Line off", "ratio"),
        ),
        _rows_over_size(ways),
        methods=("all-pairs#each-with-each", "all-pairs#one-number"),
        wide=len(panels) == 1,
    )


def _rows_over_size(ways: Sequence[Way]) -> Iterator[tuple[Cell, ...]]:
    for way in ways:
        for (hosts, size, company), times in way.sets.items():
            reduced, line = times.reduced, way.line(hosts, company)
            values = (reduced.mean, reduced.least, reduced.most, reduced.plain, reduced.median)
            yield (
                *(way.name, WORDS[company], hosts, size),
                *(_cell(value) for value in (*values, reduced.diagonal)),
                reduced.count_left_out,
                times.rate_bit_per_s(reduced.mean) if size else None,
                None if line is None else line.off(size, reduced.mean / 2.0),
            )


def _panels_over_size(way: Way) -> Iterator[Panel]:
    curves: list[Curve] = []
    ratios: list[Curve] = []
    for place, (hosts, company) in enumerate((n, c) for n in way.hosts for c in COMPANIES):
        sizes = way.over_size(hosts, company)
        if sizes:
            curves.append(_curve(f"{hosts} hosts, {WORDS[company]}", _means(sizes), place))
    for place, hosts in enumerate(way.hosts):
        alone, together = (way.over_size(hosts, company) for company in COMPANIES)
        both = {b: together[b].reduced.mean / alone[b].reduced.mean for b in alone if b in together}
        if both:
            ratios.append(_curve(f"{hosts} hosts", _placed(both), place))
    if curves:
        yield Panel(way.name, SIZE_AXIS, ROUND_TRIP_AXIS, curves)
    if ratios:
        yield Panel(
            f"{way.name}: all at once over alone", SIZE_AXIS, times_axis("times", ratios), ratios
        )


def _means(sets: Mapping[int, PairTimes]) -> list[tuple[float, float]]:
    return _placed({place: times.reduced.mean for place, times in sets.items()})


def _placed(values: Mapping[int, float]) -> list[tuple[float, float]]:
    return [(size_place(place), value) for place, value in values.items() if math.isfinite(value)]


def _curve(label: str, places: Sequence[tuple[float, float]], number: int) -> Curve:
    return _looking(label, places, series_look(number))


def _looking(label: str, places: Sequence[tuple[float, float]], look: Look) -> Curve:
    ordered = sorted(places)
    return Curve(
        label,
        [x for x, _ in ordered],
        [y for _, y in ordered],
        look.colour,
        "line+points",
        dash=look.dash,
        symbol=look.symbol,
    )


def _over_hosts(ways: Sequence[Way]) -> Plot | None:
    """Latency of the smallest message and rate of the largest over the number of hosts."""
    named = [(way, way.name) for way in ways if len(way.hosts) > 1]
    return _hosts_plot(named, "all-pairs-hosts")


def _hosts_plot(named: Sequence[tuple[Way, str]], id_: str) -> Plot | None:
    latency: list[Curve] = []
    rates: list[Curve] = []
    offered: list[Curve] = []
    rows: list[tuple[Cell, ...]] = []
    for way, name in named:
        sizes = sorted({size for _, size, _ in way.sets})
        for company in COMPANIES:
            smallest = way.over_hosts(sizes[0], company)
            largest = way.over_hosts(sizes[-1], company)
            label, place = f"{name}, {WORDS[company]}", len(latency)
            if len(smallest) < 2:
                continue
            times = [(float(n), t.reduced.mean) for n, t in smallest.items()]
            carried = [(float(n), t.rate_bit_per_s(t.reduced.mean)) for n, t in largest.items()]
            latency.append(_curve(label, times, place))
            if sizes[-1]:
                rates.append(_curve(label, carried, place))
            found = {n: rate for n, rate in carried if rate}
            asked = [(n, n * rate) for n, rate in found.items()]
            if asked:
                offered.append(_curve(label, asked, place))
            rows += [
                (label, int(n), time, found.get(n), n * found[n] if n in found else None)
                for n, time in times
            ]
    panels = [
        Panel(
            "Round trip, smallest message", HOSTS_AXIS, replace(ROUND_TRIP_AXIS, log=False), latency
        ),
        Panel("Rate, largest message", HOSTS_AXIS, RATE_AXIS, rates),
        Panel("All hosts, each at that rate", HOSTS_AXIS, RATE_AXIS, offered),
    ]
    return tabled(
        id_,
        "All pairs over the number of hosts",
        "The smallest and the largest size of each way, and what all hosts together come to where "
        "each has that rate: where that no longer grows, something that they share may be full. "
        "Whether it is the switch, the hosts or the links, this does not tell.",
        f"{len(latency)} curves.",
        [panel for panel in panels if panel.curves],
        (
            Column("way", "Measured"),
            Column("hosts", "Hosts", "count"),
            Column("round_trip_ns", "Round trip", "time_ns"),
            Column("rate_bit_per_s", "Rate", "bit_per_s"),
            Column("all_bit_per_s", "All hosts", "bit_per_s"),
        ),
        rows,
        methods=("all-pairs#each-with-each",),
    )


def _maps(ways: Sequence[Way]) -> list[Plot]:
    """From whom to whom, of each way, number of hosts, size and company; of too many those of the
    most hosts, and of the smallest and the largest message. The first of all at once is open."""
    found = list(_sets(ways))
    sizes = sorted({times.point.message_bytes for _, times in found})
    most = max(len(times.hosts) for _, times in found)

    def is_left_first(times: PairTimes) -> tuple[bool, bool]:
        ends = times.point.message_bytes in (sizes[0], sizes[-1], max(1, sizes[0]))
        return len(times.hosts) < most, not ends

    chosen = sorted(range(len(found)), key=lambda n: (*is_left_first(found[n][1]), n))[:MAPS_MOST]
    shown = [found[number] for number in sorted(chosen)]
    best = (True, sizes[-1], most)
    opened = next((n for n, (_, times) in enumerate(shown) if _place(times) == best), 0)
    return [
        replace(_map(name, times, number), choice="open" if number == opened else "folded")
        for number, (name, times) in enumerate(shown)
    ]


def _place(times: PairTimes) -> tuple[bool, int, int]:
    return times.company == COMPANIES[-1], times.point.message_bytes, len(times.hosts)


def _map(name: str, times: PairTimes, number: int) -> Plot:
    title = f"{name}, {size_text(times.point.message_bytes)}"
    reduced = times.reduced
    panels = [_heat(times)]
    if len(times.hosts) <= HOSTS_WITH_BUBBLES:
        panels.append(bubbles("The same as bubbles", times.hosts, [(name, times.means_ns)]))
    left = reduced.count_left_out
    return Plot(
        f"all-pairs-map-{number + 1}",
        f"From whom to whom: {title}",
        "Averages of round trips. The stronger a cell's colour, the longer beside the fastest "
        "pair. In the bubbles the area is the round trip, and the diagonal is each host with "
        f"itself.{_left_out_in_words(left)}",
        f"{len(times.hosts)} hosts: from {format_value(reduced.least, 'time_ns')} to "
        f"{format_value(reduced.most, 'time_ns')}, median "
        f"{format_value(reduced.median, 'time_ns')}.",
        panels,
        _pairs_table(times, number),
        wide=True,
        methods=("all-pairs#each-with-each",),
    )


def _left_out_in_words(left: int) -> str:
    if not left:
        return ""
    return f" ✗: {format_count(left, 'pair')} that the one number leaves out."


def _pairs_table(times: PairTimes, number: int) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            *(times.hosts[a], times.hosts[b], len(own)),
            *(float(own.mean()), float(own.min()), float(own.max())),
            "" if a == b or not times.reduced.left_out[a, b] else "left out",
        )
        for (a, b), own in sorted(times.times_ns.items())
        if len(own)
    ]
    return Table(
        f"all_pairs_map_{number + 1}",
        "Each pair",
        (
            *columns("text", origin="From", target="To"),
            Column("count", "Round trips", "count"),
            *columns("time_ns", mean="Average", least="Least", most="Most"),
            Column("left_out", "In the one number"),
        ),
        rows,
    )


def _heat(times: PairTimes) -> Panel:
    values = times.means_ns.copy()
    np.fill_diagonal(values, np.nan)
    best = times.reduced.least
    shares = [[_cell(float(v) / best - 1.0) for v in row] for row in values]
    words = [
        [
            ("✗ " if left else "") + (format_value(float(v), "time_ns") if math.isfinite(v) else "")
            for v, left in zip(row, marks, strict=True)
        ]
        for row, marks in zip(values, times.reduced.left_out, strict=True)
    ]
    known = [share for row in shares for share in row if share is not None]
    return _heat_panel(
        "From each host (down) to each host (across)",
        times.hosts,
        Heat(
            list(times.hosts),
            list(times.hosts),
            shares,
            words,
            palest=0.0,
            strongest=max([0.2, *known]),
            meaning="longer than the fastest pair",
            words_shown=len(times.hosts) <= HOSTS_IN_WORDS,
        ),
    )


def _heat_panel(title: str, hosts: Sequence[str], heat: Heat) -> Panel:
    axes = Axis("to", "text"), Axis("from", "text")
    return Panel(title, *axes, heat=heat, height=max(180, min(900, 90 + 26 * len(hosts))))


def bubbles(title: str, hosts: Sequence[str], layers: Sequence[tuple[str, Values]]) -> Panel:
    """A bubble for each pair of each layer, whose area is its value beside the largest of all
    layers; several are drawn over each other, all but the first as rings."""
    largest = max((float(np.nanmax(v)) for _, v in layers if np.isfinite(v).any()), default=1.0)
    curves, notes = [], []
    for number, (label, values) in enumerate(layers):
        rows, across = np.nonzero(np.isfinite(values))
        known = values[rows, across]
        look = series_look(number)
        curves.append(
            Curve(
                label,
                [float(column) for column in across],
                [float(row) for row in rows],
                look.colour,
                "points",
                opacity=1.0 if number else 0.7,
                areas=[float(value) / largest for value in known],
                hollow=number > 0,
            )
        )
        if len(known):
            most, least = (format_value(float(v), "time_ns") for v in (known.max(), known.min()))
            notes.append(
                f"{label + ': ' if len(layers) > 1 else ''}largest {most}, smallest {least}"
            )
    ends = (-0.7, len(hosts) - 0.3)
    return Panel(
        title,
        Axis("to", "text", low=ends[0], high=ends[1], names=list(hosts)),
        Axis("from", "text", low=ends[1], high=ends[0], names=list(hosts)),
        curves,
        note="; ".join(notes),
        height=max(260, min(900, 120 + 26 * len(hosts))),
    )


def plots_beside(compared: Sequence[TwoWays]) -> list[Plot]:
    """Of two runs: the ratio over bytes with a curve for each number of hosts, both over the number
    of hosts, and each pair over each other."""
    if not compared:
        return []
    made = [_ratio_over_size(compared), *(_both_over_hosts(two) for two in compared)]
    maps = [(two, pair) for two in compared for pair in two.pairs]
    maps = sorted(maps, key=lambda own: own[1].place[0], reverse=True)[:MAPS_MOST]
    best = max((pair.place[:2] for _, pair in maps), default=None)
    opened = next(n for n, (_, pair) in enumerate(maps) if pair.place[:2] == best)
    return [
        *(plot for plot in made if plot is not None),
        *(
            replace(_beside(two, pair, number), choice="open" if number == opened else "folded")
            for number, (two, pair) in enumerate(maps)
        ),
    ]


def _ratio_over_size(compared: Sequence[TwoWays]) -> Plot | None:
    panels = []
    for two in compared:
        for company in COMPANIES:
            curves = [
                _curve(f"{hosts} hosts", _placed({b: p.ratio for b, p in sizes.items()}), number)
                for number, hosts in enumerate(two.hosts)
                if (sizes := two.over_size(hosts, company))
            ]
            if curves:
                title = f"{two.before.name}, {WORDS[company]}: after over before"
                panels.append(Panel(title, SIZE_AXIS, times_axis("times", curves), curves))
    return tabled(
        "all-pairs-ratio",
        "All pairs: after over before",
        "The averages of all pairs as one number, after over before; below 1 the time is shorter. "
        "In words: the time and the rate, which are two per cents for one change.",
        "; ".join(_pair_in_words(two, pair) for two in compared for pair in two.pairs[:8]) + ".",
        panels,
        (
            *columns("text", way="Measured", company="Company"),
            Column("hosts", "Hosts", "count"),
            Column("message_bytes", "Size", "size"),
            *columns("time_ns", before="Before", after="After"),
            Column("ratio", "After over before", "number"),
            Column("words", "In words"),
        ),
        [
            (
                *(two.before.name, WORDS[pair.place[2]], pair.place[0], pair.place[1]),
                *(pair.before.reduced.mean, pair.after.reduced.mean, pair.ratio),
                change_in_words(pair.ratio, "ns"),
            )
            for two in compared
            for pair in two.pairs
        ],
        methods=("all-pairs#two-runs",),
    )


def _pair_in_words(two: TwoWays, pair: BesideEachOther) -> str:
    hosts, size, company = pair.place
    place = f"{two.before.name}, {hosts} hosts, {WORDS[company]}, {size_text(size)}"
    return f"{place}: {change_in_words(pair.ratio, 'ns')}"


def _both_over_hosts(two: TwoWays) -> Plot | None:
    if len(two.hosts) < 2:
        return None
    return _hosts_plot(
        [(two.before, f"{two.before.name}, before"), (two.after, f"{two.after.name}, after")],
        "all-pairs-hosts",
    )


def _beside(two: TwoWays, pair: BesideEachOther, number: int) -> Plot:
    """Two networks over each other, and the ratio of each pair."""
    hosts, size, company = pair.place
    names = pair.before.hosts
    places = f"{hosts} hosts, {size_text(size)}, {WORDS[company]}"
    ratios = pair.ratios.copy()
    np.fill_diagonal(ratios, np.nan)
    layers = [("before", pair.before.means_ns), ("after", pair.after.means_ns)]
    panels = [_ratio_heat(names, ratios)]
    if hosts <= HOSTS_WITH_BUBBLES:
        panels.append(bubbles("Both over each other, as bubbles", names, layers))
    other = "" if names == pair.after.hosts else f" After, these are {', '.join(pair.after.hosts)}."
    return Plot(
        f"all-pairs-beside-{number + 1}",
        f"From whom to whom: {two.before.name}, {places}",
        "After over before of each pair; the colour says how far from 1. In the bubbles the area "
        f"is the round trip, of both in one scale.{other}",
        f"{_pair_in_words(two, pair)}.",
        panels,
        Table(
            f"all_pairs_beside_{number + 1}",
            "Each pair",
            (
                *columns("text", origin="From", target="To"),
                *columns("time_ns", before="Before", after="After"),
                Column("ratio", "After over before", "number"),
            ),
            [
                (
                    *(names[a], names[b], _cell(float(pair.before.means_ns[a, b]))),
                    _cell(float(pair.after.means_ns[a, b])),
                    _cell(float(pair.ratios[a, b])),
                )
                for a in range(hosts)
                for b in range(hosts)
            ],
        ),
        wide=True,
        methods=("all-pairs#two-runs",),
    )


def _ratio_heat(hosts: Sequence[str], ratios: Values) -> Panel:
    shares = [[_cell(abs(math.log(v)) if v > 0 else math.nan) for v in row] for row in ratios]
    words = [[f"{v:.3g}" if math.isfinite(v) else "" for v in row] for row in ratios]
    known = [share for row in shares for share in row if share is not None]
    return _heat_panel(
        "After over before, from each host (down) to each host (across)",
        hosts,
        Heat(
            list(hosts),
            list(hosts),
            shares,
            words,
            palest=0.0,
            strongest=max([SURE, *known]),
            meaning="away from 1",
            words_shown=len(hosts) <= HOSTS_IN_WORDS,
        ),
    )


def _cell(value: float) -> float | None:
    return value if math.isfinite(value) else None
