"""What a message costs its hosts, pairs across a bisection, and bursts: from batches to what the
model's parameters are fitted to, and to figures.

Method: docs/methods/model-measure.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.figures.data import Figure
from netsonde.figures.maker import MAKERS, Maker
from netsonde.model.arrivals import Arrivals, accept
from netsonde.model.buffers import BurstLoss, fit_buffer
from netsonde.model.sends import SendCosts, read_series
from netsonde.records.data import Batch, EndData, Point

Times = npt.NDArray[np.float64]
DROPPED_BY_SOCKET = ("snmp.Udp.RcvbufErrors", "snmp6.Udp6RcvbufErrors")
"""What a receiver's socket had no room for, which is no loss of the network's."""


@dataclass(frozen=True)
class Burst:
    """One burst: messages sent in all, and received, from ``sources`` to ``sinks``; ``late_ns`` how
    far the last source began behind the first; ``spilled`` what sockets had no room for."""

    sources: int
    sinks: int
    sent: int
    received: int
    late_ns: float
    spilled: int

    def as_loss(self, run: str) -> BurstLoss:
        """For the fit."""
        return BurstLoss(self.sources, self.sinks, self.sent, self.received / self.sent, run)


@dataclass(frozen=True)
class PairTrips:
    """Round trips of so many pairs at once: the median of each, shape (pairs,)."""

    pairs: int
    medians_ns: Times


def send_series(point: Point) -> tuple[list[int], list[float]]:
    """Of each series its number of sends, and the time until the last of them had returned, ns."""
    counts, totals = list[int](), list[float]()
    for batch in point.batches:
        sent = batch.ends[0].series.get("sent_ns") if 0 in batch.ends else None
        if sent is not None and len(sent):
            counts.append(len(sent))
            totals.append(float(sent[-1]))
    return counts, totals


def left_ns(batches: Sequence[Batch]) -> list[float] | None:
    """Until all of each series had left the host, ns; None where that is not known of all."""
    found = [
        float(end.counters["drained_ns"] - end.counters["start_ns"])
        for batch in batches
        if 0 in batch.ends and "drained_ns" in (end := batch.ends[0]).counters
    ]
    return found if len(found) == len(batches) else None


def send_costs(point: Point) -> SendCosts | None:
    """None where the series are too few."""
    counts, totals = send_series(point)
    left = left_ns(point.batches)
    try:
        return read_series(counts, totals, left if left and len(left) == len(counts) else None)
    except ValueError:
        return None


@dataclass(frozen=True)
class Overheads:
    """Of a point: send and receive calls, shape (n,), ns; what arrivals took; the round trip."""

    send_ns: Times
    receive_ns: Times
    arrivals: Arrivals
    round_trip_ns: float


def overheads(point: Point) -> Overheads | None:
    """None where no exchange was answered."""
    trips = point.series("round_trip_ns")
    parts = [b.ends[0].series for b in point.batches if "longest_gap_ns" in b.ends[0].series]
    if not parts or not len(trips):
        return None
    send, receive, gap, readings = (
        np.concatenate([part[name] for part in parts]).astype(np.float64)
        for name in ("send_call_ns", "receive_call_ns", "longest_gap_ns", "readings")
    )
    if not len(send):
        return None
    trip_ns = float(np.median(trips))
    wait_ns = max(2.0 * trip_ns, 50_000.0)
    segment = (wait_ns - np.minimum(gap, wait_ns)) / np.maximum(readings - 1.0, 1.0)
    return Overheads(send, receive, accept(gap, segment, trip_ns), trip_ns)


def pair_trips(point: Point) -> Iterator[PairTrips]:
    """Of each number of pairs; the first batch, a pilot, is left out."""
    for batch in point.batches[1:]:
        medians = [
            float(np.median(trips))
            for rank, end in sorted(batch.ends.items())
            if rank % 2 == 0 and len(trips := end.series.get("round_trip_ns", np.empty(0)))
        ]
        if medians:
            yield PairTrips(len(medians), np.array(medians))


def bursts(point: Point) -> Iterator[Burst]:
    """All but the first batch, which found how fast a source sends."""
    for batch in point.batches[1:]:
        yield _burst(batch)


def _burst(batch: Batch) -> Burst:
    origins = [end for rank, end in batch.ends.items() if rank % 2 == 0]
    targets = [end for rank, end in batch.ends.items() if rank % 2]
    starts = [end.counters.get("start_late_ns", 0) for end in origins]
    sinks: dict[str, EndData] = {end.host: end for end in targets}
    return Burst(
        len(origins),
        len(sinks),
        sum(end.counters.get("messages_sent", 0) for end in origins),
        sum(end.counters.get("messages_received", 0) for end in targets),
        float(max(starts, default=0) - min(starts, default=0)),
        sum(end.difference(name) or 0 for end in sinks.values() for name in DROPPED_BY_SOCKET),
    )


@MAKERS.of("send-series")
def send_figures(maker: Maker) -> list[Figure]:
    """O_s while there is room, g_s once there is none."""
    counts, totals = send_series(maker.point)
    found = send_costs(maker.point)
    place = "model-measure#sends"
    if found is None:
        costs = np.array(totals) / np.array(counts)
        return [maker.quantile("send_cost_median_ns", costs, 0.5, method=place)]
    roomy = np.array([t / n for n, t in zip(counts, totals, strict=True) if n <= found.ring])
    figures = [maker.quantile("send_cost_median_ns", roomy, 0.5, method=place)]
    if found.gap_ns is not None:
        figures.append(maker.figure("send_equilibrium_ns", found.gap_ns, max(counts)))
        figures.append(maker.figure("send_ring_messages", found.ring, len(counts)))
    return figures


@MAKERS.of("overheads")
def overhead_figures(maker: Maker) -> list[Figure]:
    """The calls' medians; of arrivals only where enough were accepted."""
    found = overheads(maker.point)
    if found is None:
        return []
    place = "model-measure#overheads"
    accepted = found.arrivals.accepted_ns
    whole = len(accepted) + found.arrivals.short + found.arrivals.long
    figures = [
        maker.quantile("send_cost_median_ns", found.send_ns, 0.5, method=place),
        maker.quantile("receive_cost_median_ns", found.receive_ns, 0.5),
    ]
    if found.arrivals.is_known:
        figures.append(maker.quantile("arrival_cost_median_ns", accepted, 0.5))
    return [*figures, maker.ratio("arrivals_rejected_ratio", whole - len(accepted), whole)]


@MAKERS.of("bisection")
def bisection_figures(maker: Maker) -> list[Figure]:
    """Of one pair, of all, and how many times as long these take."""
    found = list(pair_trips(maker.point))
    if not found:
        return []
    one, most = found[0], found[-1]
    return [
        maker.quantile("one_pair_round_trip_median_ns", one.medians_ns, 0.5),
        maker.quantile("bisection_round_trip_median_ns", most.medians_ns, 0.5),
        maker.figure(
            "bisection_slowdown_times",
            float(np.median(most.medians_ns) / np.median(one.medians_ns)),
            most.pairs,
        ),
    ]


@MAKERS.of("bursts")
def burst_figures(maker: Maker) -> list[Figure]:
    """Of the largest burst what was lost, of those that lost nothing the largest, and the room."""
    found = [one for one in bursts(maker.point) if one.sent]
    if not found:
        return []
    largest = max(found, key=lambda one: one.sent)
    whole = max((one.sent for one in found if one.received >= one.sent), default=0)
    room = fit_buffer([one.as_loss("") for one in found], [])
    figures = [
        maker.ratio("burst_lost_ratio", largest.sent - largest.received, largest.sent),
        maker.figure("burst_passed_messages", whole, len(found)),
    ]
    if room is not None:
        shapes = list(room.shapes.values())
        figures.append(
            maker.figure(
                "burst_room_messages",
                shapes[0].packets,
                len(found),
                shapes[0].interval.low,
                shapes[0].interval.high,
            )
        )
    return figures
