"""Repetitions of MPI operations that waited for TCP's retransmission timer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.model.time_outs import LEAST_TIME_OUT_NS, Judgement, judge_waits, wait_bands
from netsonde.ranks.clocks import common_start
from netsonde.ranks.repetitions import (
    has_summary,
    has_windows,
    is_late,
    repetition_times_ns,
)
from netsonde.records.data import Batch, Point, Run

TIME_OUTS = "netstat.TcpExt.TCPTimeouts"
TAIL_PROBES = "netstat.TcpExt.TCPLossProbes"
SENT_IN_VAIN = "netstat.TcpExt.TCPDSACKRecv"
"""The other end had it already: where its process had no CPU, its answer was late."""
SETTINGS_NS = {"sysctl.net.ipv4.tcp_rto_min_us": 1_000.0, "route.rto_min_ms": 1_000_000.0}
"""Facts of a host that set its least timeout, and their unit."""
TIMER, ROUND_TRIP = "connection.test.rto", "connection.test.rtt"
SLOWEST_PART = 10
"""The slowest tenth stands for the slowest process (Abdul Hamid 2008, section 5.6)."""
NAMES = ("no_time_out", "one_time_out", "two_time_outs", "more_time_outs")


@dataclass(frozen=True)
class Waits:
    """What is known of the waits of a point. ``judgement`` is None where nothing was repeated.

    ``time_outs`` and ``probes`` are what all hosts counted, None where they did not.
    ``begun_late``: of the repetitions with a wait, those that a rank entered late by half a
    timeout, so that the wait was in the barrier before. ``by_rank``: in how many each rank's own
    stay was longer than it usually is by most of a timeout. ``stays_ns``: those stays, of the
    repetitions that count; empty where the samples of each rank were not kept.
    """

    judgement: Judgement
    least_ns: float
    time_outs: int | None
    probes: int | None
    begun_late: int
    by_rank: Mapping[int, int]
    times_ns: npt.NDArray[np.int64]
    stays_ns: Mapping[int, npt.NDArray[np.int64]]


def waits_of(run: Run, point: Point) -> Waits | None:
    """None for a point that is no MPI operation, or of which no repetition counts."""
    if not point.kind.is_operation or not point.batches:
        return None
    batches = [batch for batch in point.batches if len(repetition_times_ns(batch))]
    if not batches:
        return None
    least_ns = least_time_out_ns(run, point)
    times = [repetition_times_ns(batch) for batch in batches]
    found = [(counted(batch, TIME_OUTS), _needed_probes(batch)) for batch in batches]
    together = [None if t is None or p is None else t + p for t, p in found]
    judgement = judge_waits(times, together, least_ns, [ran_out for ran_out, _ in found])
    stays = _stays(batches)
    slow = np.split(judgement.bands.waits != 0, np.cumsum([len(t) for t in times])[:-1])
    return Waits(
        judgement,
        least_ns,
        _sum([counted(batch, TIME_OUTS) for batch in point.batches]),
        _sum([counted(batch, TAIL_PROBES) for batch in point.batches]),
        sum(_begun_late(b, s, least_ns) for b, s in zip(batches, slow, strict=True)),
        _by_rank(stays, slow, least_ns),
        np.concatenate(times),
        stays,
    )


def time_out_figures(run: Run, point: Point) -> list[Figure]:
    """Counts of the kernels, and where times and counts agree the shares of repetitions with no,
    one, two and more timeouts and the mean without any. Nothing where nothing timed out."""
    waits = waits_of(run, point)
    if waits is None or (waits.judgement.verdict == "none" and not waits.time_outs):
        return []
    maker = Maker(point)
    figures = [
        maker.figure(name, float(value), len(point.batches), method="mpi-timeouts#counts")
        for name, value in (("time_outs", waits.time_outs), ("tail_probes", waits.probes))
        if value is not None
    ]
    if not waits.judgement.is_decided:
        return figures
    whole = len(waits.times_ns)
    figures += [
        maker.ratio(f"{name}_ratio", round(share * whole), whole)
        for name, share in zip(NAMES, waits.judgement.shares(), strict=True)
    ]
    without = waits.times_ns[waits.judgement.bands.waits == 0]
    figures.append(maker.mean("without_time_outs_mean_ns", without))
    stays = stays_without_ns(waits.stays_ns, waits.least_ns)
    if stays:
        pooled = np.concatenate(list(stays.values()))
        slowest = np.sort(pooled)[-max(1, len(pooled) // SLOWEST_PART) :]
        figures += [
            maker.mean("without_time_outs_rank_mean_ns", pooled),
            maker.figure(
                "without_time_outs_slowest_tenth_mean_ns", float(slowest.mean()), len(slowest)
            ),
        ]
    return figures


def stays_without_ns(
    stays: Mapping[int, npt.NDArray[np.int64]], least_ns: float
) -> dict[int, npt.NDArray[np.int64]]:
    """Each rank's own times without a wait of its own; a rank that always waited has none."""
    kept = {rank: own[wait_bands(own, least_ns).waits == 0] for rank, own in stays.items()}
    return {rank: own for rank, own in kept.items() if len(own)}


def least_time_out_ns(run: Run, point: Point) -> float:
    """The least of what the point's hosts have set, for all connections or for those of a route,
    and of what the point's own connection went by; else Linux's 200 ms."""
    named = {end.host for batch in point.batches for end in batch.ends.values()}
    facts = [run.host_facts(name) for name in named]
    found = [(own.get(name), unit) for own in facts for name, unit in SETTINGS_NS.items()]
    known = [unit * value for value, unit in found if isinstance(value, int) and value > 0]
    own = [least for batch in point.batches if (least := _of_connection_ns(batch))]
    return min([*(known or [float(LEAST_TIME_OUT_NS)]), *own])


def _of_connection_ns(batch: Batch) -> float | None:
    """A connection's timer is its smoothed round trip and the least timeout at least, so that what
    is left of it without the former is no less than the latter (RFC 6298)."""
    found = [
        1000.0 * (snapshot.values[TIMER] - snapshot.values.get(ROUND_TRIP, 0))
        for end in batch.ends.values()
        for snapshot in (end.before, end.after)
        if snapshot is not None and TIMER in snapshot.values
    ]
    return min((least for least in found if least > 0), default=None)


def counted(batch: Batch, name: str) -> int | None:
    """Growth of a counter over a batch, summed over hosts; of the ranks of one host, which read the
    same counter, the one that saw most. None where a rank did not read it."""
    hosts: dict[str, int] = {}
    for end in batch.ends.values():
        grown = end.difference(name)
        if grown is None:
            return None
        hosts[end.host] = max(hosts.get(end.host, 0), grown)
    return sum(hosts.values())


def _needed_probes(batch: Batch) -> int | None:
    """Probes for a lost tail, without as many as may have been answered with "I had that"."""
    probes = counted(batch, TAIL_PROBES)
    return None if probes is None else max(0, probes - (counted(batch, SENT_IN_VAIN) or 0))


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _kept(batch: Batch) -> npt.NDArray[np.bool_]:
    """The repetitions of a batch that repetition_times_ns() has a time of."""
    if has_windows(batch):
        return ~is_late(batch)
    return np.ones(len(repetition_times_ns(batch)), dtype=np.bool_)


def _begun_late(batch: Batch, slow: npt.NDArray[np.bool_], least_ns: float) -> int:
    if not slow.any():
        return 0
    common = common_start(batch)
    if common is None:
        return 0
    return int((common.spread_ns[_kept(batch)][slow] >= least_ns / 2).sum())


def _stays(batches: Sequence[Batch]) -> dict[int, npt.NDArray[np.int64]]:
    """Of each rank, in the repetitions that count; empty where the samples were not kept."""
    if any(has_summary(batch) for batch in batches):
        return {}
    return {
        rank: np.concatenate(
            [b.ends[rank].series["duration_ns"][_kept(b)] for b in batches if rank in b.ends]
        )
        for rank in sorted(batches[0].ends)
    }


def _by_rank(
    stays: Mapping[int, npt.NDArray[np.int64]],
    slow: Sequence[npt.NDArray[np.bool_]],
    least_ns: float,
) -> dict[int, int]:
    """Each rank against its own usual stay: what ranks always wait for each other, as the root of a
    gather for its leaves, is no timeout."""
    return {
        rank: int(((wait_bands(own, least_ns).waits != 0) & np.concatenate(slow)).sum())
        for rank, own in stays.items()
    }
