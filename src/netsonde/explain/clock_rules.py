"""Rules about clocks and timers: what is too short for them, which cannot be trusted, why a
comparison of ranks has no values, MPI's timer beside the clock, and what a reading of it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netsonde.explain.data import Finding, Level, Seen
from netsonde.explain.evidence import ids_of, point_in_words
from netsonde.figures.data import Figure
from netsonde.figures.throughput import target_elapsed_ns
from netsonde.figures.timers import Agreement, agreement, step_ns, timers_of
from netsonde.records.data import Batch, Point
from netsonde.records.timer import is_taken_off
from netsonde.units import format_time

CLOCK_SHARE = 0.0002
"""A test that lasts less than 5000 steps of its clock is called short (Huang 2004, section 3.4)."""
CLOCK_COSTS = 10
"""A time shorter than so many readings of the clock, or so many of its steps, is called short."""
CLOCK_ALONE = 2
"""A time shorter than so many readings is that of a reading, with nothing that could be told from
it."""
REPEATED = {
    "round_trip_median_ns": "a round trip takes",
    "completion_median_ns": "a repetition takes",
}
"""Times that are measured one by one."""
DIFFERENCE_NS = 100.0
"""From so much on the counters of two CPUs are two clocks, as the workers judge."""


def short_for_the_clock(seen: Seen) -> Iterator[Finding]:
    """Streams, round trips and operations that last too little for the clock's step and cost."""
    found = [(p, words) for p in seen.run.points if (words := _too_short(seen, p))]
    if not found:
        return
    point, words = found[0]
    yield Finding(
        "warning",
        f"{len(found)} {'point is' if len(found) == 1 else 'points are'} too short for the clock.",
        f"{point_in_words(point)}: {words}.",
        "Measure more or larger messages; read these figures with care.",
        ids_of(p for p, _ in found),
    )


def _too_short(seen: Seen, point: Point) -> str:
    step_ns, cost_ns = (_worst(seen, point, f"clock_{name}_ns") for name in ("resolution", "cost"))
    if point.kind.is_stream and step_ns and point.batches:
        ends = [b.ends[1] for b in point.batches if 1 in b.ends and "end_ns" in b.ends[1].counters]
        shortest_ns = min((target_elapsed_ns(end) for end in ends), default=0.0)
        if shortest_ns > 0 and step_ns / shortest_ns > CLOCK_SHARE:
            return (
                f"its shortest batch lasts {format_time(shortest_ns)}, and the clock's step of "
                f"{format_time(step_ns)} is {step_ns / shortest_ns:.2%} of it"
            )
    for name, words in REPEATED.items():
        median = seen.figure(name, point.id)
        if median is None or median.value <= 0:
            continue
        if median.value < CLOCK_COSTS * cost_ns:
            own = ": that is the clock's own time" if median.value < CLOCK_ALONE * cost_ns else ""
            return (
                f"{words} {format_time(median.value)}, and reading the clock "
                f"{format_time(cost_ns)}{own}"
            )
        if median.value < CLOCK_COSTS * step_ns:
            return (
                f"{words} {format_time(median.value)}, and a step of the clock "
                f"{format_time(step_ns)}"
            )
    return ""


def _worst(seen: Seen, point: Point, name: str) -> float:
    """The largest of the hosts that measured the point; 0 where none said it."""
    hosts = {end.host for batch in point.batches[:1] for end in batch.ends.values()}
    found = (seen.run.host_facts(host).get(name) for host in hosts)
    return max((float(value) for value in found if isinstance(value, int | float)), default=0.0)


def counters_distrusted(seen: Seen) -> Iterator[Finding]:
    """Hosts whose cycle counter is there and is not used, and why."""
    hosts: Mapping[str, Mapping[str, Any]] = seen.run.manifest.get("hosts") or {}
    found = list(_distrusted(hosts))
    if not found:
        return
    yield Finding(
        "warning" if any(apart for *_, apart in found) else "note",
        f"{_listed([host for host, *_ in found])}: the cycle counter cannot be trusted, so "
        "times are the kernel's own.",
        "; ".join(f"{host}: {reason}" for host, reason, _ in found) + ".",
        "Each reading costs more, which counts for short times. See why with dmesg (tsc), and "
        "do not compare them with times of a host that reads its counter.",
    )


def _distrusted(hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, bool]]:
    """Host, reason, and whether its CPUs' counters were seen to differ."""
    for host, facts in hosts.items():
        reason = str(facts.get("clock_reason", ""))
        apart_ns = facts.get("clock_apart_least_ns", 0)
        apart = isinstance(apart_ns, int | float) and apart_ns > DIFFERENCE_NS
        distrusted = facts.get("clock_source") == "monotonic" and (
            apart or reason.startswith(("the kernel distrusts", "the counter's rate changed"))
        )
        if distrusted:
            yield host, reason, apart


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def clocks_without_values(seen: Seen) -> Iterator[Finding]:
    """Points of test ``clock`` that compared nothing, and what would."""
    from netsonde.figures.clock_quality import clock_quality

    found = [
        (point, *_why(point.batches[0]))
        for point in seen.run.where(lambda p: p.kind.compares_clocks)
        if point.batches and all(clock_quality(batch) is None for batch in point.batches)
    ]
    for evidence, advice in dict.fromkeys(why[1:] for why in found):
        points = [point for point, *why in found if tuple(why) == (evidence, advice)]
        yield Finding(
            "note",
            f"{_names(points)}: no clocks were compared, so there is no value.",
            evidence,
            advice,
            tuple(point.id for point in points),
        )


def _names(points: list[Point]) -> str:
    more = f" and {len(points) - 1} more" if len(points) > 1 else ""
    return point_in_words(points[0]) + more


def _why(batch: Batch) -> tuple[str, str]:
    """The reason, and what to do about it."""
    if len(batch.ends) < 2:
        return "There is one rank, and its clock is the measure of all.", "Take -n 2 or more."
    from netsonde.figures.clock_quality import is_by_wtime

    if is_by_wtime(batch):
        return (
            "No rank but one read MPI_Wtime beside its own clock.",
            "Measure again; the worker's own words may say more.",
        )
    hosts = {end.host for end in batch.ends.values()}
    groups = {end.counters.get("clock_group") for end in batch.ends.values()}
    if len(groups) == 1:
        where = (
            f"{len(hosts)} hosts of one machine (an emulated cluster without clocks of their own)"
            if len(hosts) > 1
            else f"{next(iter(hosts))}"
        )
        return (
            f"All {len(batch.ends)} ranks read one clock, that of {where}: none is ahead.",
            "With --compare-clocks apart they are compared as if each had its own, and the truth "
            "is 0.",
        )
    return (
        "The ranks have several clocks, and the records hold no comparison of them.",
        "Measure again.",
    )


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
