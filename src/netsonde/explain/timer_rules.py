"""Rules about round trips that waited for a timer of TCP: a delayed answer, or a timeout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from netsonde.explain.commands import advise, again
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import growth, host_of, point_in_words
from netsonde.explain.loss_rules import locate_segments
from netsonde.figures.time_outs import least_time_out_ns
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
