"""What the figures of clocks and sleeps mean for who measures with them: a sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from netsonde.host_benchmarks.figures import ClockTable, SleepFigures, SleepTable
from netsonde.host_benchmarks.plan import CLOCKS, short_time

Level = Literal["good", "note", "warning", "bad"]

DEAR_NS = 200.0
"""A reading that costs more is not for loops that time single messages."""
COARSE_STEP_NS = 1000.0
STEPS_FOR_ACCURACY = 5000
"""So many steps of a clock are 0.02 % of a time (Huang 2004, section 3.4)."""
SHORT_SLEEP_NS = 100_000
"""Sleeps up to this length show by how much any sleep is late."""
LATE_NS = 1_000_000.0
STEADY_CLOCKS = ("counter", "monotonic", "monotonic_raw")


@dataclass(frozen=True)
class Judgement:
    """One sentence, and how bad that is."""

    level: Level
    sentence: str


def judge_clocks(table: ClockTable) -> list[Judgement]:
    """What stands out among the clocks, the worst not first but in the order of reading."""
    return [
        _way_to_the_clock(table),
        *(*_absent(table), *_dear(table), *_coarse(table), *_backward(table)),
    ]


def judge_sleeps(table: SleepTable) -> list[Judgement]:
    """What stands out among the sleeps."""
    early = [
        Judgement(
            "bad",
            f"{s.call} returned {short_time(s.asked_ns - s.slept.min_ns)} before the "
            f"{short_time(s.asked_ns)} that it was asked for were over.",
        )
        for s in table.sleeps
        if s.slept.min_ns < s.asked_ns
    ]
    return [*early, *_short_sleeps(table), *_latest(table)]


def _way_to_the_clock(table: ClockTable) -> Judgement:
    clock, call = table.clock("monotonic").cost, table.clock("system_call").cost
    assert clock is not None
    assert call is not None
    costs = f"{_ns(clock.median_ns)} against {_ns(call.median_ns)}"
    source = table.clock_source or "unknown"
    if clock.median_ns < call.median_ns / 2:
        return Judgement(
            "good",
            f"CLOCK_MONOTONIC is read without entering the kernel (vDSO): {costs} for a system "
            f"call. The kernel keeps time by {source}.",
        )
    return Judgement(
        "warning",
        f"Each reading of CLOCK_MONOTONIC costs as much as a system call ({costs}): the vDSO does "
        f"not answer it here. The kernel keeps time by {source}.",
    )


def _absent(table: ClockTable) -> Iterator[Judgement]:
    counter, own = table.clock("counter"), table.own_clock
    if counter.absent_because is not None:
        yield Judgement("note", f"There is no counter to read: {counter.absent_because}.")
    elif own["source"] != "cycle_counter":
        yield Judgement("note", f"The counter is not used for timing: {own['reason']}.")


def _dear(table: ClockTable) -> Iterator[Judgement]:
    dear = [
        f"{CLOCKS[c.clock]} ({_ns(c.cost.median_ns)})"
        for c in table.clocks
        if c.cost is not None and c.cost.median_ns > DEAR_NS and c.clock != "system_call"
    ]
    if dear:
        costs = "cost" if len(dear) > 1 else "costs"
        yield Judgement(
            "note",
            f"{_in_words(dear)} {costs} more than {DEAR_NS:.0f} ns a reading: not for loops that "
            "time single messages.",
        )


def _coarse(table: ClockTable) -> Iterator[Judgement]:
    for name in STEADY_CLOCKS:
        step_ns = table.clock(name).smallest_step_ns
        if step_ns is not None and step_ns > COARSE_STEP_NS:
            yield Judgement(
                "warning",
                f"{CLOCKS[name]} moves in steps of {short_time(step_ns)}: a time below "
                f"{short_time(step_ns * STEPS_FOR_ACCURACY)} is not known to 0.02 %.",
            )


def _backward(table: ClockTable) -> Iterator[Judgement]:
    for clock in table.clocks:
        if clock.steps_back:
            yield Judgement(
                "bad" if clock.clock in STEADY_CLOCKS else "note",
                f"{CLOCKS[clock.clock]} went back {_times(clock.steps_back)} while it was read.",
            )


def _short_sleeps(table: SleepTable) -> Iterator[Judgement]:
    """By how much sleeps of next to nothing are late, and whether the timer slack explains it."""
    short = [s for s in table.sleeps if 0 < s.asked_ns <= SHORT_SLEEP_NS]
    if not short:
        return
    low, high = (f(short, key=lambda s: s.late_ns) for f in (min, max))
    slack_ns = table.timer_slack_ns
    late = _range(low, high)
    if low.late_ns >= LATE_NS:
        yield Judgement(
            "warning",
            f"Short sleeps end {late} late (median): timers move with the kernel's tick here, "
            "so pauses between messages cannot be slept.",
        )
    elif slack_ns >= 1000 and 0.5 * slack_ns <= low.late_ns:
        yield Judgement(
            "note",
            f"Short sleeps end {late} late (median), of which up to {short_time(slack_ns)} are "
            "the timer slack, which a program can lower (PR_SET_TIMERSLACK). netsonde's "
            "workers do.",
        )
    else:
        yield Judgement("note", f"Short sleeps end {late} late (median).")


def _latest(table: SleepTable) -> Iterator[Judgement]:
    if not table.sleeps:
        return
    worst = max(table.sleeps, key=lambda s: s.slept.max_ns - s.asked_ns)
    late_ns = worst.slept.max_ns - worst.asked_ns
    if late_ns >= LATE_NS:
        count = sum(s.count for s in table.sleeps)
        yield Judgement(
            "note",
            f"Of {count} sleeps the latest came {short_time(late_ns)} after its time "
            f"({worst.call} of {short_time(worst.asked_ns)}). A busy CPU is the usual cause.",
        )


def _range(low: SleepFigures, high: SleepFigures) -> str:
    texts = short_time(max(0.0, low.late_ns)), short_time(max(0.0, high.late_ns))
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"


def _ns(value_ns: float) -> str:
    return short_time(value_ns) if value_ns else "0 ns"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _in_words(words: list[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"
