"""Rules about what waited for a timer of TCP: round trips for a delayed answer or a timeout, and
operations of MPI for a timeout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from netsonde.explain.commands import advise, again
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import growth, host_of, point_in_words
from netsonde.explain.loss_rules import locate_segments
from netsonde.figures.time_outs import Waits, least_time_out_ns, waits_of
from netsonde.model.time_outs import stands_out
from netsonde.records.data import Point
from netsonde.units import bytes_in_words, format_time

DELAYED_ACK_NS = 40_000_000
"""Linux's TCP_DELACK_MIN: an acknowledgement waits so long for data to go with."""
STALL = (0.9, 1.25)
"""A wait for it is seen as so much of it: timers end at ticks."""
STALLED_NOTABLE = 0.02
"""Of the round trips."""
TIMER_NOTABLE = 0.05
"""Of all time: what waits for timeouts must have cost."""
WAITS_LEAST = 2
BAND = (0.9, 1.6)
"""The first timeout is 200 ms or, on a path that varies, somewhat more; the next ones double."""
DELAYED_COUNTER = "netstat.TcpExt.DelayedACKs"
TIMER_COUNTERS = ("netstat.TcpExt.TCPTimeouts", "netstat.TcpExt.TCPLossProbes")


def delayed_answers(seen: Seen) -> Iterator[Finding]:
    """Nagle's algorithm holds a small segment until an acknowledgement that the other end delays.

    Source: RFC 1122 sections 4.2.3.2 and 4.2.3.4, RFC 896.
    """
    for point in seen.run.points:
        if not point.carrier.has_connection or not point.kind.is_round_trip:
            continue
        if all(end.get("no_delay") is not False for end in point.opened.values()):
            continue
        times = point.series("round_trip_ns")
        stalls = _stalls(times)
        share = float((stalls > 0).mean()) if len(times) else 0.0
        if share >= STALLED_NOTABLE:
            yield _delayed(seen, point, times, stalls, share)
            return
    return


def _stalls(times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many delays of 40 ms each round trip holds: none, one, or one in each direction."""
    if not len(times):
        return np.empty(0, np.int64)
    excess = times - times.min()
    if times.min() > STALL[0] * DELAYED_ACK_NS:  # no round trip was without
        excess = times
    low, high = (bound * DELAYED_ACK_NS for bound in STALL)
    one = (excess >= low) & (excess <= high)
    two = (excess >= 2 * low) & (excess <= 2 * high)
    return np.asarray(one.astype(np.int64) + 2 * two.astype(np.int64), np.int64)


def _delayed(
    seen: Seen,
    point: Point,
    times: npt.NDArray[np.int64],
    stalls: npt.NDArray[np.int64],
    share: float,
) -> Finding:
    delayed = {rank: growth(point, rank, DELAYED_COUNTER) for rank in (0, 1)}
    enough = 0.25 * int(stalls.sum())
    delaying = [rank for rank, count in delayed.items() if count >= max(1.0, enough)]
    names = {0: "origin", 1: "target"}
    place = " and ".join(names[rank] for rank in delaying)
    held = " and ".join(names[1 - rank] for rank in delaying) or "an end"
    counted = ", ".join(f"{count} at {host_of(point, rank)}" for rank, count in delayed.items())
    return Finding(
        "warning",
        f"Nagle's algorithm and delayed acknowledgements stall {share:.0%} of the round trips of "
        f"{bytes_in_words(point.message_bytes)} by 40 ms each time.",
        f"{point_in_words(point)}: {int(stalls.sum())} waits of about 40 ms in {len(times)} round "
        f"trips, the shortest {format_time(float(times.min()))}, the median "
        f"{format_time(float(np.median(times)))}. Acknowledgements that were delayed: {counted}. "
        f"The {held} sent a message in parts and held back the last, for no_delay is off.",
        advise(
            "Turn Nagle's algorithm off, or send a message in one call",
            again(seen.run, {"--nodelay": ""}, ("--nagle", "--call")),
        ),
        (point.id,),
        place=f"acknowledgements of the {place}" if place else "",
        confidence="certain" if delaying else "likely",
    )


def time_outs(seen: Seen) -> Iterator[Finding]:
    """Round trips that waited for TCP's retransmission timer, whose least is 200 ms on Linux, where
    neither the hosts nor a route nor the connection say otherwise.

    Source: RFC 6298; Linux's TCP_RTO_MIN.
    """
    found = []
    for point in seen.run.where(lambda p: p.carrier.has_connection):
        if not point.kind.is_round_trip:
            continue
        times = point.series("round_trip_ns")
        if len(times) < WAITS_LEAST:
            continue
        excess = times - np.median(times)
        waits = excess >= BAND[0] * least_time_out_ns(seen.run, point)
        cost = float(excess[waits].sum() / times.sum())
        counted = sum(growth(point, r, name) for r in (0, 1) for name in TIMER_COUNTERS)
        if waits.sum() >= WAITS_LEAST and cost >= TIMER_NOTABLE and counted:
            found.append((cost, point, excess[waits]))
    if not found:
        return
    cost, point, waited = max(found, key=lambda item: item[0])
    yield _time_out(seen, point, cost, waited)


def _time_out(seen: Seen, point: Point, cost: float, waited: npt.NDArray[np.float64]) -> Finding:
    times = point.series("round_trip_ns")
    least = least_time_out_ns(seen.run, point)
    first = int(((waited >= BAND[0] * least) & (waited < BAND[1] * least)).sum())
    located = locate_segments(seen.run, point)
    where = located.words if located else "somewhere on the way"
    retransmitted = sum(growth(point, r, "connection.test.total_retrans") for r in (0, 1))
    counters = ", ".join(
        f"{sum(growth(point, r, name) for r in (0, 1))} {name.rsplit('.', 1)[1]}"
        for name in TIMER_COUNTERS
    )
    return Finding(
        "warning",
        f"{len(waited)} of {len(times)} round trips waited for TCP's retransmission timer, which "
        f"took {cost:.0%} of all time: segments were lost {where}.",
        f"{point_in_words(point)}: {first} waits near one timeout of {format_time(least)}, "
        f"{len(waited) - first} longer; the kernels counted {counters}, and {retransmitted} "
        f"segments were retransmitted; the median round trip is "
        f"{format_time(float(np.median(times)))}" + (f"; {located.evidence}." if located else "."),
        "Find where segments are lost (the interfaces' and switches' drops); a shorter least "
        "timeout makes each loss cheaper: ip route change NETWORK dev DEVICE rto_min 5ms.",
        (point.id,),
        place=located.layer if located else "",
        confidence="certain" if located else "likely",
    )


MOST_FINDINGS = 2
"""Points that are told one by one, those that lost the most time first."""


def waits_for_timers(seen: Seen) -> list[Finding]:
    """Source: N. A. W. Abdul Hamid 2008, sections 5.4.1, 5.6 and 5.8."""
    found = [
        (waits, point)
        for point in seen.run.of_operations
        if (waits := waits_of(seen.run, point)) is not None and waits.judgement.verdict != "none"
    ]
    found.sort(key=lambda item: _lost_ns(item[0]), reverse=True)
    findings = [_finding(waits, point) for waits, point in found[:MOST_FINDINGS]]
    if len(found) > MOST_FINDINGS:
        rest = found[MOST_FINDINGS:]
        findings.append(
            Finding(
                "note",
                f"{len(rest)} more points of MPI have repetitions that stand out by a timeout.",
                "; ".join(f"{point_in_words(p)}: {_share_in_words(w)}" for w, p in rest) + ".",
                points=tuple(point.id for _, point in rest),
            )
        )
    return findings


def _share_in_words(waits: Waits) -> str:
    slow = 1 - waits.judgement.shares()[0]
    return f"{slow:.1%}" if waits.judgement.verdict == "found" else f"{slow:.1%}, not decided"


def _lost_ns(waits: Waits) -> float:
    usual = waits.judgement.bands.usual_ns
    slow = waits.judgement.bands.waits != 0
    return float((waits.times_ns[slow] - usual).sum())


def _finding(waits: Waits, point: Point) -> Finding:
    verdict = waits.judgement.verdict
    return _found(waits, point) if verdict == "found" else _undecided(waits, point)


def _found(waits: Waits, point: Point) -> Finding:
    bands = waits.judgement.bands
    none, one, two, more = waits.judgement.shares()
    lost = _lost_ns(waits) / float(waits.times_ns.sum())
    mean = float(waits.times_ns.mean())
    without = float(waits.times_ns[bands.waits == 0].mean())
    ranks = [f"rank {r} in {n}" for r, n in sorted(waits.by_rank.items()) if n]
    return Finding(
        "warning",
        f"{point_in_words(point)}: {1 - none:.1%} of the repetitions waited for TCP's "
        f"retransmission timer, which took {lost:.0%} of all their time.",
        f"One timeout of {format_time(waits.least_ns)} in {one:.1%}, two in {two:.1%}, more in "
        f"{more:.1%} of {len(bands.waits)}. Mean {format_time(mean)}, without these "
        f"{format_time(without)}. {_counted(waits)} Own stays were so long: "
        f"{', '.join(ranks) or 'none'}.{_before(waits)}",
        "Find where segments are lost (the interfaces' and the switch's drops); try larger "
        "buffers there, fewer or smaller messages at once, or a shorter least timeout (ip route "
        "... rto_min).",
        (point.id,),
    )


def _undecided(waits: Waits, point: Point) -> Finding:
    judged = waits.judgement
    slow = int((judged.bands.waits != 0).sum())
    least = format_time(waits.least_ns)
    longer = f"{slow} of {len(judged.bands.waits)} repetitions took longer by about {least} or more"
    if judged.verdict == "below":
        out = waits.times_ns[stands_out(waits.times_ns)] - judged.bands.usual_ns
        longer = (
            f"{len(out)} of {len(waits.times_ns)} repetitions stand out, by "
            f"{format_time(float(out.min()))} to {format_time(float(out.max()))}"
            if len(out)
            else longer
        )
    why, level = {
        "broad": (f"their usual times differ by more than half of {least}", "note"),
        "between": (f"they do not stand at multiples of {least}", "note"),
        "contradicted": ("the kernels counted no timeouts to go with them", "note"),
        "uncounted": ("nobody counted timeouts", "note"),
        "below": (f"the kernels counted {waits.time_outs} timeouts, and what stands out does so "
                  f"by less than the {least} that are known as the least", "warning"),
        "hidden": (f"the shortest, {format_time(float(np.min(waits.times_ns)))}, may hold one too",
                   "warning"),
    }[judged.verdict]  # fmt: skip
    claim = f"{point_in_words(point)}: whether repetitions waited for TCP's timer is not decided"
    return Finding(
        "warning" if level == "warning" else "note",
        f"{claim}: {why}.",
        f"{longer}. {_counted(waits)}{_before(waits)}",
        "See what routes and connections have for the least timeout: ip route show; ss -ti (rto)."
        if judged.verdict == "below"
        else "Look at the modes and at the slowest ranks of this point.",
        (point.id,),
    )


def _counted(waits: Waits) -> str:
    if waits.time_outs is None or waits.probes is None:
        return "The kernels' counters were not read."
    return (
        f"The hosts' kernels counted {waits.time_outs} timeouts (TCPTimeouts) and {waits.probes} "
        "probes for a lost tail (TCPLossProbes), the barriers between repetitions included."
    )


def _before(waits: Waits) -> str:
    if not waits.begun_late:
        return ""
    return (
        f" In {waits.begun_late} of them a rank entered late by as much: the barrier before it "
        "waited."
    )
