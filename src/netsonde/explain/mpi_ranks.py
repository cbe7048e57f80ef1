"""Ranks of MPI operations that others had to wait for, and delays that were put in on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from netsonde.catalogue.point import Collective
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import point_in_words
from netsonde.figures.rank_growth import is_crowded, processors_of
from netsonde.figures.stragglers import Straggler, lateness_of, stragglers
from netsonde.figures.time_outs import waits_of
from netsonde.figures.windows import FEW_SHARE, WIDENED_SHARE, WindowsKept, windows_kept
from netsonde.records.data import Point
from netsonde.units import format_count, format_time

TOLD = 3
"""Stragglers that are told one by one."""
NOTABLE = 0.05
"""A share of all time that repetitions with stragglers cost, from which on they are a finding."""


WIDER = (
    "Give each rank a CPU of its own; set wider bounds (--start window:growth=64,slack=1ms); "
    "or measure with --start barrier."
)


def injected_delays(seen: Seen) -> Iterator[Finding]:
    """Points whose figures hold a delay that a test put in."""
    found = [
        (end.rank, end.counters, point)
        for point in seen.run.points
        for batch in point.batches
        for end in batch.ends.values()
        if end.counters.get("delayed_ns", 0) > 0
    ]
    if not found:
        return
    rank, counters, point = found[0]
    yield Finding(
        "warning",
        f"Rank {rank} was delayed on purpose: figures of {point_in_words(point)} are not the "
        "network's.",
        f"{len(found)} delays; the first is {format_time(counters['delayed_ns'])} in "
        f"repetition {counters['delayed_repetition']} of its batch.",
        points=tuple(dict.fromkeys(p.id for _, _, p in found)),
    )


def more_than_processors(seen: Seen) -> Iterator[Finding]:
    """Points whose ranks share CPUs: whoever waits keeps one from others."""
    crowded = [p for p in seen.run.of_operations if is_crowded(seen.run, p)]
    if not crowded:
        return
    worst = max(crowded, key=lambda p: p.spec.ranks or 2)
    ranks = worst.spec.ranks or 2
    host = next(iter(worst.batches[0].ends.values())).host
    have = processors_of(seen.run, host)
    where = "this machine, which all hosts of the lab share" if seen.run.origin == "emulated" else (
        f"{host}")  # fmt: skip
    yield Finding(
        "warning",
        f"At {format_count(len(crowded), 'point')} there were more ranks than CPUs: "
        "their times are those of the scheduler as well.",
        f"{point_in_words(worst)}: {ranks} ranks; {where}, has "
        f"{format_count(have or 0, 'processor')} for them. "
        "Whoever waits in MPI polls, and keeps a CPU from the others.",
        "Take fewer ranks (-n), or put them on hosts with CPUs of their own.",
        tuple(p.id for p in crowded),
        place=host,
    )


def held_up(seen: Seen) -> list[Finding]:
    """Operations that lost a notable share of their time to ranks that came late."""
    findings = []
    for point in seen.run.of_operations:
        late = lateness_of(point.batches)
        if late is None or point.spec.of(Collective).start == "none":
            continue
        waits = waits_of(seen.run, point)
        if waits is not None and waits.judgement.verdict == "found" and waits.begun_late:
            continue  # they came late because the barrier waited for a timer, which is said
        found = [s for s in stragglers(late) if s.excess_ns > 0]
        cost = {(s.batch, s.repetition): s.excess_ns for s in found}
        share = sum(cost.values()) / max(1.0, float(late.stay.max(axis=0).sum()))
        if share >= NOTABLE:
            timers = (waits.time_outs or 0) if waits is not None else 0
            said = _finding(point, found, len(cost), share, late.stay.shape[1])
            findings.append((share, _or_timers(said, timers) if timers else said))
    findings.sort(key=lambda item: -item[0])
    return [finding for _, finding in findings[:TOLD]]


def _or_timers(finding: Finding, timers: int) -> Finding:
    """The rival explanation: a barrier that waited for TCP's timer lets ranks enter as late."""
    return replace(
        finding,
        claim=f"{finding.claim[:-1]}; or the barrier before waited for TCP's timer.",
        evidence=f"{finding.evidence} The hosts' kernels counted {timers} timeouts (TCPTimeouts) "
        "meanwhile, and a barrier that waits for one lets ranks enter as late.",
        confidence="possible",
    )


def _finding(
    point: Point, found: list[Straggler], hit: int, share: float, repetitions: int
) -> Finding:
    by_rank = Counter(s.rank for s in found)
    ranks = ", ".join(f"rank {rank} {count} times" for rank, count in by_rank.most_common(TOLD))
    worst = [
        f"rank {s.rank} by {format_time(s.late_ns)} in repetition {s.repetition} of batch "
        f"{s.batch}, which held up {_ranks(s.held_up)}"
        + (" and made the longest of all" if s.is_slowest else "")
        for s in found[:TOLD]
    ]
    return Finding(
        "note",
        f"{point_in_words(point)}: ranks that came late took {share:.0%} of all time, in {hit} of "
        f"{repetitions} repetitions.",
        f"Late: {ranks}. The latest: {'; '.join(worst)}.",
        "See what else runs on those hosts (netsonde host, the report's counters); give each rank "
        "a CPU of its own.",
        (point.id,),
    )


def _ranks(ranks: tuple[int, ...]) -> str:
    if not ranks:
        return "nobody"
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def windows_missed(seen: Seen) -> list[Finding]:
    """Points of which fewer than half of the repetitions began in time in all ranks, and those for
    which ranks count as in time that came later than was asked for."""
    found = [
        (kept, point)
        for point in seen.run.of_operations
        if (kept := windows_kept(point)) is not None
    ]
    few = [item for item in found if item[0].is_few]
    widened = [item for item in found if item[0].after_ns > item[0].asked_ns]
    return [*_few_in_time(few), *_widened(widened)]


def _few_in_time(few: list[tuple[WindowsKept, Point]]) -> Iterator[Finding]:
    if not few:
        return
    kept, point = min(few, key=lambda item: item[0].share)
    plan = (
        f", {kept.at_once} at once, {format_time(kept.slack_ns)} after they were agreed on"
        if kept.at_once
        else ""
    )
    yield Finding(
        "warning",
        f"{point_in_words(point)}: only {kept.share:.0%} of {kept.repetitions} repetitions "
        "began in time in all ranks, and the figures are of those.",
        f"Who entered more than {format_time(kept.after_ns)} after its window's begin was "
        f"late. Windows of {format_time(kept.window_ns)}{plan}. {len(few)} "
        f"{'point has' if len(few) == 1 else 'points have'} fewer than {FEW_SHARE:.0%}: those "
        "that were in time may be of a kind.",
        WIDER,
        tuple(p.id for _, p in few),
    )


def _widened(widened: list[tuple[WindowsKept, Point]]) -> Iterator[Finding]:
    if not widened:
        return
    kept, point = max(widened, key=lambda item: item[0].after_ns)
    yield Finding(
        "note",
        f"{point_in_words(point)}: ranks count as in time up to {format_time(kept.after_ns)} "
        "after their window's begin.",
        f"Fewer than {FEW_SHARE:.0%} were within {format_time(kept.asked_ns)}. Lateness is "
        f"part of the completion time: at most {WIDENED_SHARE:.0%} of its median.",
        WIDER,
        tuple(p.id for _, p in widened),
    )
