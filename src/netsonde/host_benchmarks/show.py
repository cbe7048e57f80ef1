"""Tables of clocks and sleeps for a terminal of 80 columns, and as documents."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from netsonde.host_benchmarks.figures import ClockFigures, ClockTable, SleepFigures, SleepTable
from netsonde.host_benchmarks.judge import Judgement, judge_clocks, judge_sleeps
from netsonde.host_benchmarks.plan import CLOCKS, short_time
from netsonde.units import format_time

WIDTH = 80
MISSING = "–"
_COUNTERS = {"x86_64": "counter (TSC)", "aarch64": "counter (CNTVCT)"}
_LEVELS = {"bad": "Bad: ", "warning": "Warning: ", "good": "", "note": ""}


def clock_lines(table: ClockTable) -> list[str]:
    """The table of clocks, then what stands out; no line is longer than 80 characters."""
    readings = max(clock.readings for clock in table.clocks)
    return [
        f"Clocks of {table.host}, {readings} readings each"[:WIDTH],
        "",
        f"{'':<24}{'resolution':>20}{'cost of a reading, ns':>36}",
        _clock_line(("clock", "stated", "seen", "min", "median", "mean", "max")),
        *(_clock_line(_clock_cells(clock, table.architecture)) for clock in table.clocks),
        "",
        *sentences(judge_clocks(table)),
    ]


def sleep_lines(table: SleepTable) -> list[str]:
    """The table of sleeps, then what stands out; no line is longer than 80 characters."""
    count = max(sleep.count for sleep in table.sleeps)
    return [
        f"Sleeps of {table.host}, {count} of each"[:WIDTH],
        "",
        _sleep_line(("call", "asked", "mean", "median", "p99", "max", "late")),
        *(_sleep_line(_sleep_cells(sleep)) for sleep in table.sleeps),
        "",
        *sentences(judge_sleeps(table)),
    ]


def clock_document(table: ClockTable) -> dict[str, Any]:
    """The clocks, for JSON; times in ns."""
    return {
        "host": table.host,
        "architecture": table.architecture,
        "clock_source": table.clock_source,
        "own_clock": dict(table.own_clock),
        "reading_ns": table.reading_ns,
        "clocks": [{**asdict(c), "name": clock_name(c, table.architecture)} for c in table.clocks],
        "judgements": [asdict(judgement) for judgement in judge_clocks(table)],
    }


def sleep_document(table: SleepTable) -> dict[str, Any]:
    """The sleeps, for JSON; times in ns."""
    return {
        "host": table.host,
        "timer_slack_ns": table.timer_slack_ns,
        "sleeps": [{**asdict(s), "late_median_ns": s.late_ns} for s in table.sleeps],
        "judgements": [asdict(judgement) for judgement in judge_sleeps(table)],
    }


def _clock_line(cells: Sequence[str]) -> str:
    name, stated, seen, *costs = cells
    return f"{name:<24}{stated:>10}{seen:>10}" + "".join(f"{cell:>9}" for cell in costs)


def _clock_cells(clock: ClockFigures, architecture: str) -> tuple[str, ...]:
    name = clock_name(clock, architecture)
    steps = [
        MISSING if step_ns is None else short_time(step_ns)
        for step_ns in (clock.stated_resolution_ns, clock.smallest_step_ns)
    ]
    cost = clock.cost
    if cost is None:
        return (name, *steps, *[MISSING] * 4)
    costs = (cost.min_ns, cost.median_ns, cost.mean_ns, cost.max_ns)
    return (name, *steps, *(_cost(value_ns) for value_ns in costs))


def clock_name(clock: ClockFigures, architecture: str) -> str:
    """As people know it."""
    if clock.clock == "counter":
        return _COUNTERS.get(architecture, CLOCKS["counter"])
    return CLOCKS[clock.clock]


def _cost(value_ns: float) -> str:
    return f"{value_ns:.1f}" if value_ns < 1000 else f"{value_ns:.0f}"


def _sleep_line(cells: Sequence[str]) -> str:
    call, asked, *times = cells
    return f"{call:<15}{asked:>9}" + "".join(f"{cell:>11}" for cell in times)


def _sleep_cells(sleep: SleepFigures) -> tuple[str, ...]:
    slept = sleep.slept
    times = (slept.mean_ns, slept.median_ns, slept.p99_ns, slept.max_ns, sleep.late_ns)
    return (
        sleep.call,
        short_time(sleep.asked_ns),
        *(MISSING if t is None else format_time(t) for t in times),
    )


def sentences(judgements: Sequence[Judgement]) -> list[str]:
    """Each in lines of a terminal."""
    return [line for one in judgements for line in textwrap.wrap(in_words(one), WIDTH)]


def in_words(judgement: Judgement) -> str:
    """The sentence, with its level where that is bad."""
    return _LEVELS[judgement.level] + judgement.sentence
