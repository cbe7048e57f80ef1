"""Rules about MPI's timer beside the clock, and about what a reading of the timer takes."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.explain.data import Finding, Level, Seen
from netsonde.explain.evidence import ids_of, point_in_words
from netsonde.figures.data import Figure
from netsonde.figures.timers import Agreement, agreement, step_ns, timers_of
from netsonde.records.data import Point
from netsonde.records.timer import is_taken_off
from netsonde.units import format_time

_CLAIMS: dict[Agreement, tuple[Level, str]] = {
    "agree": ("good", "MPI_Wtime and the clock give the same times"),
    "differ": ("warning", "MPI_Wtime and the clock give other times"),
    "open": ("note", "whether MPI_Wtime and the clock give the same times is not decided"),
}
_ADVICE: dict[Agreement, str] = {
    "agree": "",
    "differ": "Do not put times by the one beside times by the other.",
    "open": "Measure more repetitions, with --count.",
}


def timers_compared(seen: Seen) -> list[Finding]:
    """A finding for each point that both timers measured."""
    return [
        finding
        for point in seen.run.of_operations
        if (finding := _compared(seen, point)) is not None
    ]


def _compared(seen: Seen, point: Point) -> Finding | None:
    timers = timers_of(point)
    if timers is None:
        return None
    step = step_ns(seen.run, point)
    verdict = agreement(timers, step)
    level, claim = _CLAIMS[verdict]
    mean, peak = (
        seen.figure(f"timers_{name}_difference_ns", point.id) for name in ("mean", "peak")
    )
    words = [
        f"{what} {_with_interval(figure)}"
        for what, figure in (
            ("means differ by", mean),
            ("the peak that moved most, by", peak),
        )
        if figure is not None
    ]
    shared = seen.value("timers_shared_ratio", point.id)
    words.append(f"the histograms have {shared:.0%} in common")
    allowed = max(timers.allowed_ns, step)
    return Finding(
        level,
        f"{point_in_words(point)}: {claim}.",
        f"{len(timers.clock_ns)} calls, each by both: {'; '.join(words)}. Within "
        f"{format_time(allowed)} they agree (1 % of the mean, or a step of the coarser timer, "
        f"{format_time(step)}).",
        _ADVICE[verdict],
        (point.id,),
    )


def _with_interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return f"{format_time(figure.value)} [no interval]"
    return f"{format_time(figure.value)} [{format_time(figure.low)} to {format_time(figure.high)}]"


def overhead_taken_off(seen: Seen) -> Iterator[Finding]:
    """That times are without what a reading of the timer takes, and how much that was."""
    asked = [point for point in seen.run.points if is_taken_off(point) and point.batches]
    if not asked:
        return
    costs = [(p, c) for p in asked if (c := seen.figure("timer_overhead_ns", p.id)) is not None]
    if not costs:
        yield Finding(
            "warning",
            "The timer's overhead was to be taken off, and nothing was.",
            "The records hold no readings of it.",
            "Measure again with this version's workers.",
            ids_of(asked),
        )
        return
    point, cost = max(costs, key=lambda found: found[1].value)
    yield Finding(
        "note",
        "The timer's overhead is taken off all times"
        + (f" of {len(asked)} points" if len(asked) > 1 else "")
        + f": a reading took {_with_interval(cost)}.",
        f"{point_in_words(point)}: the median of {cost.samples} parts of 100 readings; each "
        "rank's own is taken off its times.",
        "The journal has the times as they were measured.",
        ids_of(asked),
    )
