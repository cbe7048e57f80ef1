"""Throughput and elapsed times of one batch, as Hpcbench defines them.

Source: B. Huang, Network Performance Studies in High Performance Computing Environments (2004),
section 3.5: the origin's clock stops when the target's notice has come back, half a round trip
late; the target's clock starts half a round trip after the origin's. Both are corrected by half of
the round trip that the pre-synchronisation measured.
"""

from __future__ import annotations

from netsonde.records.data import Batch, EndData


def origin_elapsed_ns(end: EndData) -> float:
    """Nanoseconds the origin was busy sending.

    With a drained send queue (UDP, no notice) the clock stops at the drain; otherwise at the
    target's notice, less half a round trip and less the time for which the target held it back.
    """
    counters = end.counters
    if "drained_ns" in counters:
        return float(counters["drained_ns"] - counters["start_ns"])
    late_ns = counters["sync_round_trip_ns"] / 2 + counters.get("notice_held_ns", 0)
    return counters["end_ns"] - counters["start_ns"] - late_ns


def target_elapsed_ns(end: EndData) -> float:
    """Nanoseconds from the origin's start to the last arrival, by the target's clock."""
    counters = end.counters
    return counters["end_ns"] - counters["start_ns"] + counters["sync_round_trip_ns"] / 2


def stream_rates_bit_per_s(batch: Batch) -> tuple[float, float]:
    """Payload rates of a one-way stream: (sent, by the origin; received, by the target)."""
    origin, target = batch.ends[0], batch.ends[1]
    return (
        _rate(origin.counters.get("bytes_sent", 0), origin_elapsed_ns(origin)),
        _rate(target.counters.get("bytes_received", 0), target_elapsed_ns(target)),
    )


def duplex_rates_bit_per_s(batch: Batch) -> tuple[float, float]:
    """Payload rates received while both ends send: (at the target, at the origin)."""
    origin, target = batch.ends[0], batch.ends[1]
    return (
        _rate(target.counters.get("bytes_received", 0), _receiving_ns(target)),
        _rate(origin.counters.get("bytes_received", 0), _receiving_ns(origin)),
    )


def _receiving_ns(end: EndData) -> float:
    """From the end's start to its last arrival; the last arrival where it was recorded."""
    arrivals = end.series.get("received_ns")
    if arrivals is not None and len(arrivals):
        return float(arrivals[-1])
    return float(end.counters["end_ns"] - end.counters["start_ns"])


def _rate(payload_bytes: int, elapsed_ns: float) -> float:
    return payload_bytes * 8e9 / elapsed_ns if elapsed_ns > 0 else 0.0
