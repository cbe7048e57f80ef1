"""Ranks of MPI operations that others had to wait for, and delays that were put in on purpose."""

from __future__ import annotations

from collections import Counter

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import point_in_words
from netsonde.figures.stragglers import Straggler, lateness_of, stragglers
from netsonde.figures.time_outs import waits_of
from netsonde.records.data import Point
from netsonde.units import format_time

TOLD = 3
"""Stragglers that are told one by one."""
NOTABLE = 0.05
"""A share of all time that repetitions with stragglers cost, from which on they are a finding."""


def injected_delays(seen: Seen) -> list[Finding]:
    """Points whose figures hold a delay that a test put in."""
    found = [
        (end.rank, end.counters, point)
        for point in seen.run.points
        for batch in point.batches
        for end in batch.ends.values()
        if end.counters.get("delayed_ns", 0) > 0
    ]
    if not found:
        return []
    rank, counters, point = found[0]
    return [
        Finding(
            "warning",
            f"Rank {rank} was delayed on purpose: figures of {point_in_words(point)} are not the "
            "network's.",
            f"{len(found)} delays; the first is {format_time(counters['delayed_ns'])} in "
            f"repetition {counters['delayed_repetition']} of its batch.",
            points=tuple(dict.fromkeys(p.id for _, _, p in found)),
        )
    ]


def held_up(seen: Seen) -> list[Finding]:
    """Operations that lost a notable share of their time to ranks that came late."""
    findings = []
    for point in seen.run.select("mpi", "collective"):
        late = lateness_of(point.batches)
        if late is None or point.parameters.get("start") == "none":
            continue
        waits = waits_of(seen.run, point)
        if waits is not None and waits.judgement.verdict == "found" and waits.begun_late:
            continue  # they came late because the barrier waited for a timer, which is said
        found = [s for s in stragglers(late) if s.excess_ns > 0]
        cost = {(s.batch, s.repetition): s.excess_ns for s in found}
        share = sum(cost.values()) / max(1.0, float(late.stay.max(axis=0).sum()))
        if share >= NOTABLE:
            findings.append((share, _finding(point, found, len(cost), share, late.stay.shape[1])))
    findings.sort(key=lambda item: -item[0])
    return [finding for _, finding in findings[:TOLD]]


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
        "a processor of its own.",
        (point.id,),
    )


def _ranks(ranks: tuple[int, ...]) -> str:
    if not ranks:
        return "nobody"
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
