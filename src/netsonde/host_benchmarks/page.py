"""What a host does alone, as a page: what stands out, the tables of the terminal, HINT's curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from pathlib import Path

from netsonde.host_benchmarks.figures import ClockTable, SleepTable, Spread
from netsonde.host_benchmarks.judge import Judgement, judge_clocks, judge_sleeps
from netsonde.host_benchmarks.judge_work import judge_work
from netsonde.host_benchmarks.kernel import (
    Ceiling,
    Offers,
    ceiling_rows,
    controls_sentence,
    offer_rows,
)
from netsonde.host_benchmarks.parts import Found
from netsonde.host_benchmarks.show import clock_name, in_words
from netsonde.host_benchmarks.show_work import (
    context_switch_rows,
    detours_sentence,
    hint_levels,
    hint_name,
)
from netsonde.host_benchmarks.work_figures import (
    CopyFigures,
    HintFigures,
    NoiseFigures,
    WorkTables,
)
from netsonde.report.page import Section, write_sections_page
from netsonde.report.plot import (
    Axis,
    Cell,
    Column,
    Curve,
    Mark,
    Panel,
    Plot,
    Table,
    columns,
    tabled,
    text_table,
)
from netsonde.report.theme import series_look

Rows = list[tuple[Cell, ...]]
HOW = "How each figure is obtained: netsonde man host."


def write_host_page(found: Sequence[Found], path: Path) -> None:
    """Writes the page whole or not at all. Raises UsageError where it cannot be written."""
    host = next((one.host for one in found), "host")
    sections = [section for one in found for section in sections_of(one)]
    judged = [in_words(judgement) for one in found for judgement in judgements_of(one)]
    first = [Section("odd", "What stands out", judged)] if judged else []
    write_sections_page(path, f"What {host} does alone", HOW, [*first, *sections])


def judgements_of(found: Found) -> list[Judgement]:
    """What stands out of a part; nothing of what is only listed."""
    if isinstance(found, ClockTable):
        return judge_clocks(found)
    if isinstance(found, SleepTable):
        return judge_sleeps(found)
    return judge_work(found) if isinstance(found, WorkTables) else []


@singledispatch
def sections_of(found: Found) -> list[Section]:
    """The tables and plots of a part."""
    raise TypeError(f"no page has {type(found).__name__}")


@sections_of.register
def _clocks(found: ClockTable) -> list[Section]:
    readings = max(clock.readings for clock in found.clocks)
    rows: Rows = [
        (
            *(clock_name(one, found.architecture), one.stated_resolution_ns, one.smallest_step_ns),
            *((None,) * 4 if one.cost is None else _mean_between(one.cost)),
        )
        for one in found.clocks
    ]
    table = Table(
        "clocks",
        "Clocks",
        (
            Column("clock", "Clock"),
            *columns("time_ns", stated="Resolution, stated", seen="Resolution, seen"),
            *columns("time_ns", least="Cost, least", median="Median", mean="Mean", most="Most"),
        ),
        rows,
    )
    return [Section("clocks", "Clocks", [f"{readings} readings of each."], table)]


def _mean_between(cost: Spread) -> tuple[Cell, ...]:
    return cost.min_ns, cost.median_ns, cost.mean_ns, cost.max_ns


@sections_of.register
def _sleeps(found: SleepTable) -> list[Section]:
    count = max(sleep.count for sleep in found.sleeps)
    rows: Rows = [
        (
            *(one.call, one.asked_ns, one.slept.mean_ns, one.slept.median_ns, one.slept.p99_ns),
            *(one.slept.max_ns, one.late_ns),
        )
        for one in found.sleeps
    ]
    table = Table(
        "sleeps",
        "Sleeps",
        (
            Column("call", "Call"),
            *columns("time_ns", asked="Asked", mean="Mean", median="Median", p99="p99"),
            *columns("time_ns", most="Most", late="Late"),
        ),
        rows,
    )
    return [Section("sleeps", "Sleeps", [f"{count} of each."], table)]


@sections_of.register
def _work(found: WorkTables) -> list[Section]:
    sections = []
    if found.noise is not None:
        sections.append(_noise(found.noise))
    if found.copies:
        sections.append(_copies(found.copies))
    if found.context_switches is not None:
        rows: Rows = list(context_switch_rows(found.context_switches))
        names = (Column("what", "What"), Column("time_ns", "Takes", "time_ns"))
        title = "Context switches"
        sections.append(Section("threads", title, [], Table("threads", title, names, rows)))
    if found.hint:
        sections.append(_hint(found.hint))
    return sections


def _noise(noise: NoiseFigures) -> Section:
    rows: Rows = [
        (name, one.min_ns, one.median_ns, one.p99_ns, one.max_ns)
        for name, one in (("quantum", noise.quantum), ("detour", noise.detours))
        if one is not None
    ]
    names = columns("time_ns", least="Shortest", median="Median", p99="p99", most="Longest")
    words = f"{noise.quanta} quanta of equal work; {detours_sentence(noise)}."
    table = Table("noise", "Disturbance", (Column("what", "What"), *names), rows)
    return Section("noise", "Disturbance", [words], table)


def _copies(copies: Sequence[CopyFigures]) -> Section:
    rows: Rows = [(c.size_bytes, c.kind, c.copy_ns, c.byte_per_s / 1e9) for c in copies]
    names = (
        *(Column("size_bytes", "Size", "size"), Column("kind", "From where to where")),
        *(Column("copy_ns", "Median", "time_ns"), Column("gigabyte_per_s", "GB/s", "number")),
    )
    title = "Copies of memory"
    return Section("copies", title, [], Table("copies", title, names, rows))


def _hint(hints: Sequence[HintFigures]) -> Section:
    levels = hint_levels(hints)
    rows: Rows = []
    for hint in hints:
        quips = {regime.level: regime.quips for regime in hint.regimes}
        cells = [quips[level] / 1e6 if level in quips else None for level in levels]
        rows.append((hint_name(hint), *cells, hint.net_quips / 1e6))
    names = (
        Column("numbers", "Numbers"),
        *(Column(level, level.upper(), "number") for level in levels),
        Column("net", "Net", "number"),
    )
    words = [
        "Million QUIPS where the memory fits in each level; net is the area under the curve over "
        "the logarithm of time."
    ]
    plot = hint_plot(hints)
    table = Table("hint", "HINT", names, rows)
    return Section("hint", "HINT", words, table, [] if plot is None else [plot])


def hint_plot(hints: Sequence[HintFigures]) -> Plot | None:
    """QUIPS of each kind of number and number of threads, over time and over memory."""
    rows: Rows = [
        (hint_name(hint), *row)
        for hint in hints
        for row in zip(hint.subintervals, hint.time_ns, hint.memory_bytes, hint.quips, strict=True)
    ]
    best = max(hints, key=lambda hint: hint.net_quips)
    quips = Axis("QUIPS", "count", low=0)
    return tabled(
        "hint-curves",
        "HINT over time and memory",
        "Quality by time: each point is a run from the start with half as many subintervals again. "
        "The curve falls where a level of the memory ends; lines: the caches that one thread has.",
        f"The largest area has {hint_name(best)}, {max(best.quips) / 1e6:.1f} million QUIPS at "
        "most.",
        [
            Panel("", Axis("time of a run", "time_ns", log=True), quips, list(_over_time(hints))),
            Panel(
                "",
                Axis("memory", "size", log=True),
                quips,
                list(_over_memory(hints)),
                list(_caches(hints)),
            ),
        ],
        (
            Column("numbers", "Numbers"),
            Column("subintervals", "Subintervals", "count"),
            Column("time_ns", "Time", "time_ns"),
            Column("memory_bytes", "Memory", "bytes"),
            Column("quips", "QUIPS", "count"),
        ),
        rows,
        wide=True,
    )


def _over_time(hints: Sequence[HintFigures]) -> Iterator[Curve]:
    for place, hint in enumerate(hints):
        yield _curve(place, hint, hint.time_ns)


def _over_memory(hints: Sequence[HintFigures]) -> Iterator[Curve]:
    for place, hint in enumerate(hints):
        yield _curve(place, hint, hint.memory_bytes)


def _curve(place: int, hint: HintFigures, x: Sequence[int]) -> Curve:
    look = series_look(place)
    return Curve(
        hint_name(hint),
        [float(value) for value in x],
        list(hint.quips),
        look.colour,
        "line+points",
        dash=look.dash,
        symbol=look.symbol,
    )


def _caches(hints: Sequence[HintFigures]) -> Iterator[Mark]:
    """Where they end for one thread; several threads have as many of those next to a core."""
    alone = next((hint for hint in hints if hint.threads == 1), None)
    for regime in alone.regimes if alone is not None else ():
        if regime.up_to_bytes is not None:
            yield Mark("x", float(regime.up_to_bytes), regime.level.upper())


@sections_of.register
def _offers(found: Offers) -> list[Section]:
    table = text_table("kernel", "Offers", ("What", "Answer"), offer_rows(found))
    words = [f"What an option needs; {controls_sentence(found)}."]
    return [Section("kernel", "What the kernel offers", words, table)]


@sections_of.register
def _ceiling(found: Ceiling) -> list[Section]:
    table = text_table("ceiling", "Within the host", ("What", "Most"), ceiling_rows(found))
    return [Section("ceiling", "The most that netsonde moves within the host", [], table)]
