"""netsonde's side: the workers that users get, through the public interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.measured import Extent, Measured, Scalar
from bench.peers import Route
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.launch.pair import open_pair
from netsonde.launch.session import Session
from netsonde.peers.techniques import SOCKPERF_COOL_DOWN_NS, SOCKPERF_WARM_UP_NS
from netsonde.peers.told import best_trial_mean, without_ends
from netsonde.records.data import Batch, Series
from netsonde.records.decode import decode_batch

FIRST_BATCH_COUNT = 500
MOST_BATCH_COUNT = 500_000
SPINNING_GROWTH = 4
"""How much longer than the last a batch of ends that spin may be: where something else takes their
CPUs, a round trip is a thousand times longer from one moment to the next."""
NETPIPE_TRIALS = 3
"""Those of version 3, which is the one that is run here."""


def stream(
    route: Route,
    transport: str,
    message_bytes: int,
    options: Mapping[str, object],
    extent: Extent,
    rate_bit_per_s: int | None = None,
    record_messages: bool = True,
) -> Measured:
    """A one-way stream; the payload rate at the receiver.

    A message is one call of message_bytes, as iperf3's -l. Millions of messages a second are not
    recorded one by one: a batch would end when its samples are full.
    """
    fields: dict[str, object] = {
        "test": "stream",
        "message_bytes": message_bytes,
        "call_bytes": message_bytes,
        "duration_ns": extent.duration_s * 10**9,
        "record_messages": record_messages,
    }
    if rate_bit_per_s is not None:
        fields["rate_bit_per_s"] = rate_bit_per_s
    with open_session(route, transport, options) as session:
        batch = decode_batch(0, session.run(fields, extent.timeout_s))
        details = {**_obtained(session), **_ends(batch)}
    sent_rate, received_rate = stream_rates_bit_per_s(batch)
    sent = batch.ends[0].counters["bytes_sent"]
    received = batch.ends[1].counters["bytes_received"]
    details |= {
        "sent_bit_per_s": sent_rate,
        "sent_bytes": sent,
        "received_bytes": received,
        "lost_ratio": 1.0 - received / sent if transport == "udp" else None,
        "retransmits": batch.ends[0].difference("connection.test.total_retrans"),
    }
    return Measured(received_rate, details)


def round_trips(
    route: Route, transport: str, message_bytes: int, options: Mapping[str, object], extent: Extent
) -> Measured:
    """The median round trip, with sockperf's warm-up and cool-down left out.

    Batches in one session until their round trips fill the time: how many fit is not known
    beforehand, and least of all on a busy machine.
    """
    batches: list[Batch] = []
    left_ns, count = extent.duration_s * 1e9, FIRST_BATCH_COUNT
    with open_session(route, transport, options) as session:
        while left_ns > 0:
            batches.append(_latency(session, message_bytes, count, extent))
            trips = answered(batches[-1])
            if not len(trips):
                raise ValueError(f"netsonde: none of {count} messages was answered")
            left_ns -= float(trips.sum())
            fitting = round(left_ns / float(trips.mean()))
            most = SPINNING_GROWTH * count if options.get("wait") == "spin" else MOST_BATCH_COUNT
            count = min(max(fitting, FIRST_BATCH_COUNT), most, MOST_BATCH_COUNT)
        details = {**_obtained(session), **_ends(*batches)}
    whole = np.concatenate([answered(batch) for batch in batches])
    samples = without_ends(whole, SOCKPERF_WARM_UP_NS, SOCKPERF_COOL_DOWN_NS)
    details |= {
        "batches": len(batches),
        "observations": len(samples),
        "minimum_ns": float(samples.min()),
        "p99_ns": float(np.quantile(samples, 0.99)),
        "p999_ns": float(np.quantile(samples, 0.999)),
        "unanswered": sum(b.ends[0].counters.get("unanswered", 0) for b in batches),
    }
    return Measured(float(np.median(samples)), details)


def best_of_three_ns(
    route: Route, test: str, message_bytes: int, options: Mapping[str, object], extent: Extent
) -> Measured:
    """NetPIPE's figure: the least of three means of ``repeats`` round trips each, halved."""
    fields = {
        "test": test,
        "message_bytes": message_bytes,
        "call_bytes": message_bytes,
        "count": NETPIPE_TRIALS * extent.repeats,
    }
    with open_session(route, "tcp", options) as session:
        batch = decode_batch(0, session.run(fields, extent.timeout_s))
        details = {**_obtained(session), **_ends(batch)}
    samples = answered(batch)
    details |= {"median_one_way_ns": float(np.median(samples)) / 2.0}
    return Measured(best_trial_mean(samples, NETPIPE_TRIALS) / 2.0, details)


def mean_one_way_ns(
    route: Route, transport: str, message_bytes: int, options: Mapping[str, object], extent: Extent
) -> Measured:
    """The mean of ``repeats`` round trips, halved."""
    with open_session(route, transport, options) as session:
        batch = _latency(session, message_bytes, extent.repeats, extent)
        details = {**_obtained(session), **_ends(batch)}
    samples = answered(batch)
    details |= {"median_one_way_ns": float(np.median(samples)) / 2.0}
    return Measured(float(np.mean(samples)) / 2.0, details)


def repeats_for(
    route: Route,
    test: str,
    message_bytes: int,
    options: Mapping[str, object],
    duration_s: int,
    transport: str = "tcp",
) -> int:
    """How many round trips a trial has so that all three take half of duration_s, by a pilot.

    NetPIPE gets the same number. Half, because the least of the three settles sooner than a median.
    """
    fields = {
        "test": test,
        "message_bytes": message_bytes,
        "call_bytes": message_bytes,
        "count": 200,
    }
    with open_session(route, transport, options) as session:
        batch = decode_batch(0, session.run(fields, Extent(duration_s).timeout_s))
    trial_ns = 0.5e9 * duration_s / NETPIPE_TRIALS
    return max(10, round(trial_ns / float(np.median(answered(batch)))))


def facts(route: Route) -> dict[str, dict[str, Any]]:
    """What the hosts are, by host name."""
    with open_session(route, "tcp", {}) as session:
        return session.facts()


def open_session(route: Route, transport: str, options: Mapping[str, object]) -> Session:
    """A session with both ends where the route says; they wait in blocking calls unless told
    otherwise."""
    return open_pair(
        route.origin,
        route.target,
        transport,
        options={"wait": "block", **options, "cpu": route.origin_cpu},
        target_options={"wait": "block", **options, "cpu": route.target_cpu},
    )


def answered(batch: Batch) -> Series:
    """Round trips of the messages that were answered; the others have a value of their own."""
    samples = batch.ends[0].series["round_trip_ns"]
    return samples[samples > 0]


def _latency(session: Session, message_bytes: int, count: int, extent: Extent) -> Batch:
    fields = {"test": "latency", "message_bytes": message_bytes, "count": count}
    return decode_batch(0, session.run(fields, extent.timeout_s))


def _obtained(session: Session) -> dict[str, Scalar]:
    names = ("send_buffer_bytes", "receive_buffer_bytes", "congestion_control", "no_delay")
    return {name: session.opened[0][name] for name in names if name in session.opened[0]}


def _ends(*batches: Batch) -> dict[str, Scalar]:
    """Calls, CPU time and waits of each end, over the batches, between their snapshots."""
    details: dict[str, Scalar] = {}
    for rank, side in ((0, "origin"), (1, "target")):
        ends = [batch.ends[rank] for batch in batches]
        for name in ("calls_sent", "calls_received"):
            details[f"{side}_{name}"] = sum(end.counters.get(name, 0) for end in ends)
        details[f"{side}_cpu"] = ends[-1].counters.get("cpu")
        for name in ("user_ns", "system_ns", "voluntary_switches", "involuntary_switches"):
            details[f"{side}_{name}"] = sum(end.difference(f"process.{name}") or 0 for end in ends)
    return details
