"""Throughput and elapsed times of one batch, as Hpcbench defines them.

Source: B. Huang, Network Performance Studies in High Performance Computing Environments (2004),
section 3.5: the origin's clock stops when the target's notice has come back, half a round trip
late; the target's clock starts half a round trip after the origin's. Both are corrected by half of
the round trip that the pre-synchronisation measured.

Over UDP no notice ends the origin's clock: it stops when the datagrams have left. So the target's
time is taken as it is. It begins when SYNC2 arrives, half a round trip after the origin's, and ends
when the last datagram does, half a round trip after that left: two windows of one length.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netsonde.figures.global_time import leads
from netsonde.records.data import Batch, EndData


def origin_elapsed_ns(end: EndData, datagrams: bool = False) -> float:
    """Nanoseconds the origin was busy sending.

    With a drained send queue (UDP, no notice) the clock stops at the drain; otherwise at the
    target's notice, less half a round trip and less the time for which the target held it back.
    Where the kernel could not say that a queue of datagrams was empty, the notice stands in, less
    the whole round trip: the last datagram's way there and the notice's way back.
    """
    counters = end.counters
    if "drained_ns" in counters:
        return float(counters["drained_ns"] - counters["start_ns"])
    ways = 2 if datagrams else 1
    late_ns = ways * counters["sync_round_trip_ns"] / 2 + counters.get("notice_held_ns", 0)
    return counters["end_ns"] - counters["start_ns"] - late_ns


def target_elapsed_ns(end: EndData) -> float:
    """Nanoseconds by the target's clock: over a stream transport from the origin's start to the
    last arrival, over datagrams from when the first could have arrived to the last arrival."""
    counters = end.counters
    late_ns = 0 if _of_datagrams(end) else counters["sync_round_trip_ns"] / 2
    return counters["end_ns"] - counters["start_ns"] + late_ns


def _of_datagrams(target: EndData) -> bool:
    """Only a receiver of datagrams counts what was lost."""
    return "lost" in target.counters


def stream_rates_bit_per_s(batch: Batch) -> tuple[float, float]:
    """Payload rates of a one-way stream: (sent, by the origin; received, by the target).

    Of several flows: all bytes over the time from the first start to the last end, on one clock.
    """
    origins, targets = _ends(batch, 0), _ends(batch, 1)
    lead = {rank: found.ns for rank, found in leads(batch).items()}
    starts = {end.rank: end.counters["start_ns"] - lead[end.rank] for end in origins}
    ends = {end.rank: end.counters["end_ns"] - lead[end.rank] for end in targets}
    sent_from = min(starts.values())
    datagrams = any(map(_of_datagrams, targets))
    sent_to = max(starts[end.rank] + origin_elapsed_ns(end, datagrams) for end in origins)
    received_from = min(ends[end.rank] - target_elapsed_ns(end) for end in targets)
    received_to = max(ends.values())
    return (
        _rate(sum(end.counters.get("bytes_sent", 0) for end in origins), sent_to - sent_from),
        _rate(
            sum(end.counters.get("bytes_received", 0) for end in targets),
            received_to - received_from,
        ),
    )


def flow_rates_bit_per_s(batch: Batch) -> list[float]:
    """What each flow's target received, over that flow's own time."""
    return [
        _rate(end.counters.get("bytes_received", 0), target_elapsed_ns(end))
        for end in _ends(batch, 1)
    ]


def arrivals_ns(batch: Batch) -> npt.NDArray[np.int64]:
    """When each message arrived, of all flows, since the first of their targets began; sorted."""
    targets = [end for end in _ends(batch, 1) if "received_ns" in end.series]
    if not targets:
        return np.empty(0, np.int64)
    begun = min(end.counters["start_ns"] for end in targets)
    return np.sort(
        np.concatenate(
            [end.series["received_ns"] + end.counters["start_ns"] - begun for end in targets]
        )
    )


def _ends(batch: Batch, parity: int) -> list[EndData]:
    """Origins (0) or targets (1) of all flows that took part; MPI has one flow, ranks 0 and 1."""
    found = [batch.ends[rank] for rank in sorted(batch.ends) if rank % 2 == parity]
    return [end for end in found if "start_ns" in end.counters]


def duplex_rates_bit_per_s(batch: Batch) -> tuple[float, float]:
    """Payload rates received while both ends send: (at the target, at the origin)."""
    origin, target = batch.ends[0], batch.ends[1]
    return (
        _rate(target.counters.get("bytes_received", 0), receiving_ns(target)),
        _rate(origin.counters.get("bytes_received", 0), receiving_ns(origin)),
    )


def receiving_ns(end: EndData) -> float:
    """From the end's start to its last arrival, as far as that is known."""
    if "last_arrival_ns" in end.counters:
        return float(end.counters["last_arrival_ns"] - end.counters["start_ns"])
    arrivals = end.series.get("received_ns")
    if arrivals is not None and len(arrivals):
        return float(arrivals[-1])
    return float(end.counters["end_ns"] - end.counters["start_ns"])


def _rate(payload_bytes: int, elapsed_ns: float) -> float:
    return payload_bytes * 8e9 / elapsed_ns if elapsed_ns > 0 else 0.0
