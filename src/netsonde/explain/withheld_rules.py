"""Rules about processes that were not let run, and about silences that these do not explain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from netsonde.explain.commands import binding
from netsonde.explain.cpu_rules import ENDS, uses_of
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import (
    STEAL_NOTABLE,
    between_snapshots_ns,
    facts_of,
    growth,
    host_of,
    ids_of,
    point_in_words,
    steal_share,
)
from netsonde.explain.loss_rules import locate_datagrams, locate_segments
from netsonde.explain.setting_rules import others_use
from netsonde.records.data import Batch, Point
from netsonde.units import format_count, format_time

WAITED_NOTABLE = 0.3
"""Of a test's time: for how much of it a process must have been ready without a CPU."""
OTHERS_LEAST = 0.25
"""CPUs that others must have used meanwhile: else the ends waited for each other."""
THROTTLED_NOTABLE = 0.05
"""Of a test's time: what a quota must have held of it."""
USED_UP = 0.5
"""Of the periods of a quota: a group that had used it up in so many wants more than it, whatever
the kernel counts of the time, which begins only where something waits to run."""
PERIODS_LEAST = 5
HELD_LEAST = 0.01
"""Of a test's time: what a quota that is used up must have held of it."""
STOP_LEAST_NS = 2_000_000
"""A process that is continued without such a silence had not been stopped, or for nothing."""


def held_by_quota(seen: Seen) -> Iterator[Finding]:
    """Workers whose control group had used up what it may use of the CPUs."""
    found = []
    for point in seen.run.points:
        for rank in _ranks(point):
            held_ns = growth(point, rank, "process.throttled_ns")
            lasted_ns = between_snapshots_ns(point, rank)
            least = HELD_LEAST if _is_used_up(point, rank) else THROTTLED_NOTABLE
            if lasted_ns and held_ns >= least * lasted_ns:
                found.append((held_ns / lasted_ns, point, rank, held_ns))
    if not found:
        return
    share, point, rank, held_ns = max(found, key=lambda item: item[0])
    host, facts = facts_of(seen.run, point, rank)
    quota = facts.get("cpu.quota_processors")
    allowed = f", which allows {quota:.2f} CPUs" if isinstance(quota, int | float) else ""
    periods = growth(point, rank, "process.throttled_periods")
    counted = growth(point, rank, "process.quota_periods")
    of_all = f" of {counted}" if counted else ""
    yield Finding(
        "warning",
        f"A CPU quota held the processes of {host} for {share:.0%} of the time{allowed}: the "
        f"{ENDS[rank % 2]} could not run.",
        f"{point_in_words(point)}: the control group of the {ENDS[rank % 2]} was throttled in "
        f"{format_count(periods, 'period')}{of_all}, {format_time(held_ns)} altogether.",
        "Raise cpu.max (cpu.cfs_quota_us) of the group, or the CPU limit of the container.",
        ids_of({p.id: p for _, p, _, _ in found}.values()),
        place=f"CPU quota of {host}",
    )


def _is_used_up(point: Point, rank: int) -> bool:
    periods = growth(point, rank, "process.quota_periods")
    throttled = growth(point, rank, "process.throttled_periods")
    return periods >= PERIODS_LEAST and throttled >= USED_UP * periods


def stopped_workers(seen: Seen) -> Iterator[Finding]:
    """Workers that somebody stopped and continued in the middle of a test."""
    found = []
    for point in seen.run.points:
        for batch in point.batches:
            for rank, end in batch.ends.items():
                times = end.difference("process.continued") or 0
                silence_ns = longest_silence_ns(point, batch)
                if times > 0 and silence_ns >= STOP_LEAST_NS:
                    found.append((silence_ns, point, rank))
    if not found:
        return
    silence_ns, point, rank = max(found, key=lambda item: item[0])
    host = host_of(point, rank)
    times = growth(point, rank, "process.continued")
    yield Finding(
        "warning",
        f"The {ENDS[rank % 2]} at {host} was stopped and continued during the test: the "
        "silences are its own, not the network's.",
        f"{point_in_words(point)}: its process was told to go on (SIGCONT) "
        f"{format_count(times, 'time')} or more; the longest silence of the test lasted "
        f"{format_time(silence_ns)}.",
        "Find who stops it (SIGSTOP, a debugger, a batch system that suspends jobs), and "
        "measure again.",
        ids_of({p.id: p for _, p, _ in found}.values()),
        place=host,
    )


def waited_for_processor(seen: Seen) -> Iterator[Finding]:
    """Workers that were ready to run and waited for a CPU that others had, wherever the
    scheduler put them; said where it is not known which CPU it was."""
    used = max((use.least for use in others_use(seen.run).values()), default=0.0)
    if used < OTHERS_LEAST:
        return
    found = []
    for point in seen.run.points:
        if uses_of(seen.run, point):
            continue
        for rank in _ranks(point):
            waited_ns = growth(point, rank, "process.run_wait_ns")
            lasted_ns = between_snapshots_ns(point, rank)
            if lasted_ns and waited_ns >= WAITED_NOTABLE * lasted_ns:
                found.append((waited_ns / lasted_ns, point, rank, waited_ns))
    if not found:
        return
    share, point, rank, waited_ns = max(found, key=lambda item: item[0])
    host = host_of(point, rank)
    yield Finding(
        "warning",
        f"The {ENDS[rank % 2]} at {host} was ready to run and had no CPU for "
        f"{share:.0%} of the time: others had them.",
        f"{point_in_words(point)}: its process waited for {format_time(waited_ns)}; others "
        f"than the workers used {used:.2f} CPUs or more.",
        "Stop what else runs there, or give the test CPUs of its own with "
        f"{binding(point.transport)}.",
        ids_of({p.id: p for _, p, _, _ in found}.values()),
        place=f"CPUs of {host}",
    )


def _ranks(point: Point) -> list[int]:
    if point.kind.is_program:
        return []
    return sorted({rank for batch in point.batches for rank in batch.ends})


OUTAGE_LEAST_NS = 250_000_000
"""One lost segment costs a timeout of 200 ms on Linux; what lasts longer lost more than one."""
SELDOM = 2
"""More silences than these, of a run's batches, are loss that goes on, not an interruption."""
EXPLAINED = 0.5
"""Of a silence: an end that was kept from running for so much of it is its cause."""
UNUSUAL = 20.0
"""How many times the usual distance between messages a silence is."""
TIME_OUTS = "netstat.TcpExt.TCPTimeouts"
WITHHELD = ("process.run_wait_ns", "process.throttled_ns")


def longest_silence_ns(point: Point, batch: Batch) -> float:
    """The longest time of a batch in which no message came: a round trip, or the distance between
    two arrivals (0 where no times were kept)."""
    longest = 0.0
    for end in batch.ends.values():
        times = end.series.get("round_trip_ns")
        if times is not None and len(times):
            longest = max(longest, float(times.max()))
        came = end.series.get("received_ns")
        if came is not None and len(came) > 1 and point.kind.is_stream:
            longest = max(longest, float(np.diff(np.sort(came), prepend=0).max()))
    return longest


def _usual_ns(batch: Batch) -> float:
    for end in batch.ends.values():
        for name, is_distance in (("round_trip_ns", True), ("received_ns", False)):
            times = end.series.get(name)
            if times is not None and len(times) > 1:
                return float(np.median(times if is_distance else np.diff(np.sort(times))))
    return 0.0


@dataclass(frozen=True)
class _Silence:
    point: Point
    batch: Batch
    silence_ns: float
    time_outs: int
    lost: int


def interrupted_way(seen: Seen) -> Iterator[Finding]:
    """A way that carried nothing for a while, by silences that no end's process explains and that
    timeouts or lost datagrams go with."""
    found: list[_Silence] = []
    for point in seen.run.points:
        if not point.carrier.has_sockets or point.flows > 1 or point.kind.is_open_loop:
            continue
        if steal_share(point) >= STEAL_NOTABLE:
            continue  # a silence may be the hypervisor's
        silences = [s for batch in point.batches if (s := _silence(point, batch))]
        if 0 < len(silences) <= SELDOM and len(silences) < max(2, len(point.batches)):
            found += silences
    if not found:
        return
    worst = max(found, key=lambda silence: silence.silence_ns)
    point = worst.point
    locate = locate_segments if point.carrier.has_connection else locate_datagrams
    located = locate(seen.run, point)
    counted = (
        f"{format_count(worst.time_outs, 'timeout')} of TCP"
        if point.carrier.has_connection
        else f"{worst.lost} datagrams lost"
    )
    where = f" Most losses were {located.words}: {located.evidence}." if located else ""
    yield Finding(
        "warning",
        f"The way was interrupted: nothing came through for {format_time(worst.silence_ns)}.",
        f"{point_in_words(point)}: {counted} in the batch with the silence, messages otherwise "
        f"come every {format_time(_usual_ns(worst.batch))}; the ends' processes were "
        f"kept from running for {format_time(_withheld_ns(worst.batch))} of it at most, and "
        f"were not stopped.{where}",
        "Look for what goes down at times: a cable or link (ethtool, dmesg), a spanning tree "
        "that settles, a route that changes.",
        ids_of({s.point.id: s.point for s in found}.values()),
        place=located.layer if located else "network",
        confidence="likely",
    )


def _silence(point: Point, batch: Batch) -> _Silence | None:
    silence_ns = longest_silence_ns(point, batch)
    ends = batch.ends.values()
    if silence_ns < OUTAGE_LEAST_NS or silence_ns < UNUSUAL * _usual_ns(batch):
        return None
    if any(end.difference("process.continued") for end in ends):
        return None
    if all(end.difference(WITHHELD[0]) is None for end in ends):
        return None  # whether an end ran is not known
    if _withheld_ns(batch) >= EXPLAINED * silence_ns:
        return None
    time_outs = max((end.difference(TIME_OUTS) or 0 for end in ends), default=0)
    lost = sum(end.counters.get(n, 0) for end in ends for n in ("lost", "unanswered"))
    if not (time_outs if point.carrier.has_connection else lost):
        return None
    return _Silence(point, batch, silence_ns, time_outs, lost)


def _withheld_ns(batch: Batch) -> int:
    """For how long an end's process was ready and not let run, at most, of both ends."""
    kept = (sum(end.difference(n) or 0 for n in WITHHELD) for end in batch.ends.values())
    return max(kept, default=0)
