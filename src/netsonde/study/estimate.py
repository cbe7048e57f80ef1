"""What a study will take at most, time and traffic, before anything is sent.

The rules are stated in docs/methods/estimates.md. Both are upper estimates: a point whose interval
is narrow before its time is up ends sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.point import AllPairs, EveryPair, Streams, Threads
from netsonde.catalogue.test import Test
from netsonde.patterns import flows_of
from netsonde.study.all_pairs import LOOPBACK_HOSTS, round_estimate
from netsonde.study.plan import (
    BATCH_NS,
    SCOUT_NS,
    SETTLE_NS,
    STREAM_BATCH_LEAST_NS,
    STREAM_BATCHES,
    PlannedPoint,
    job_of,
    longest_ns,
)
from netsonde.study.spec import StudySpec

HEADERS_BYTES = 66
"""Of a message: Ethernet 14, IPv4 20, TCP 20 with time stamps 12."""
FULL_SEGMENT_BYTES = 1448
FRAME_BYTES = 40
"""Of a frame between the ends' control connections."""
QUICKEST_NS = 10_000
"""A round trip or a repetition is taken to last at least so long, whatever the rate."""
SLOWEST_NS = 200_000
"""And a counted one as long as this, with the time of its bytes at the path's rate."""
NETWORK_BIT_PER_S = 10 * 10**9
LOOPBACK_BIT_PER_S = 50 * 10**9
"""What a path is taken to carry where nothing is known of it."""
START_NS = {"lab": 100_000_000, "loopback": 100_000_000, "hosts": 1_500_000_000}
"""Of one point's workers and connections; over ssh it takes that long."""
JOB_NS = 2_000_000_000
MPI_POINT_NS = 50_000_000
BRING_UP_NS = 3_000_000_000
"""Of netsonde and the path."""
SEND_BUFFER_BYTES = 1 << 20
"""What a kernel lets a send buffer grow to within a batch, about."""
STREAM_LEAST_NS = 6 * (STREAM_BATCH_LEAST_NS + SETTLE_NS)
VICTIM_NS = 12 * 150_000_000
OPEN_LOOP_NS = 4 * 1_000_000_000


@dataclass(frozen=True)
class Estimate:
    """At most so long and so many bytes on the wire; ``is_bounded`` is False where nobody knows
    what is sent, as of a user's program."""

    time_ns: int
    traffic_bytes: int
    is_bounded: bool = True

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.time_ns + other.time_ns,
            self.traffic_bytes + other.traffic_bytes,
            self.is_bounded and other.is_bounded,
        )


NOTHING = Estimate(0, 0)


def _is_emulated(spec: StudySpec) -> bool:
    return spec.path.kind in ("lab", "auto")


def path_rate_bit_per_s(spec: StudySpec) -> int:
    """What the path is taken to carry: what the budget says, else a lab's rate, else a guess."""
    if spec.budget.rate is not None:
        return spec.budget.rate
    if spec.path.rate is not None:
        return spec.path.rate
    if _is_emulated(spec) and spec.lab.scenario is None and spec.lab.rate:
        return spec.lab.rate
    return LOOPBACK_BIT_PER_S if spec.path.kind in ("loopback", "auto") else NETWORK_BIT_PER_S


def estimate_of(spec: StudySpec, point: PlannedPoint) -> Estimate:
    """Of one point, with the start of its workers."""
    kind = spec.path.kind if spec.path.kind in START_NS else "lab"
    start_ns = START_NS[kind] if not point.carrier.has_ranks else MPI_POINT_NS
    if point.kind.is_program:
        return Estimate(longest_ns(point) + start_ns, 0, is_bounded=False)
    rate = path_rate_bit_per_s(spec)
    if isinstance(point.spec, AllPairs):
        return Estimate(*round_estimate(point.spec, rate))
    if isinstance(point.spec, EveryPair):
        from netsonde.study.every_pair import every_pair_estimate

        each_ns = SLOWEST_NS + _bytes_ns(2 * _on_wire(point), rate)
        lasting_ns, trips = every_pair_estimate(point.spec, each_ns)
        return Estimate(lasting_ns + start_ns, round(2 * _on_wire(point) * trips))
    time_ns = _measuring_ns(point, rate)
    return Estimate(time_ns + start_ns, round(_traffic_bytes(spec, point, rate, time_ns)))


def estimate(spec: StudySpec, points: Sequence[PlannedPoint]) -> Estimate:
    """Of all of them one after the other, or at once as the study allows, with the start of
    everything."""
    found = [estimate_of(spec, point) for point in points]
    total = sum(found, NOTHING)
    at_once = min(spec.path.concurrent, max(1, len(spec.path.between_hosts) // 2))
    jobs = len({job_of(p) for p in points if p.carrier.has_ranks})
    time_ns = total.time_ns // at_once + BRING_UP_NS + jobs * JOB_NS
    return Estimate(time_ns, total.traffic_bytes, total.is_bounded)


def _measuring_ns(point: PlannedPoint, rate_bit_per_s: int) -> int:
    asked, kind = point.spec, point.kind
    omit_ns = asked.omit_ns if isinstance(asked, Streams) else None
    cap_ns = longest_ns(point) + (omit_ns or 0)
    is_counted = not (kind.compares_clocks or kind.has_rounds or kind.is_unanswered)
    if asked.count is not None and is_counted:
        return asked.count * (SLOWEST_NS + _bytes_ns(2 * _on_wire(point), rate_bit_per_s))
    # The last batch may begin right before the time is up.
    measuring_ns = max(cap_ns + min(cap_ns // 8, SCOUT_NS), _least_ns(kind))
    return measuring_ns + _bytes_ns(_drained_bytes(point), rate_bit_per_s)


def _least_ns(kind: Test) -> int:
    """What a test takes however short its time is."""
    if kind.is_stream:
        return STREAM_LEAST_NS
    if kind.has_victim:
        return VICTIM_NS
    return OPEN_LOOP_NS if kind.is_open_loop else 0


def _drained_bytes(point: PlannedPoint) -> int:
    """What TCP has taken from a stream when a batch's time is up, and still sends, over all of
    them: its send buffer, which the kernel makes twice what was asked for."""
    if not point.carrier.has_connection or not point.kind.is_stream:
        return 0
    asked, flows = point.spec.chosen.buffer, point.spec.streams or 1
    return STREAM_BATCHES * flows * (2 * asked if asked is not None else SEND_BUFFER_BYTES)


def _traffic_bytes(
    spec: StudySpec, point: PlannedPoint, rate_bit_per_s: int, time_ns: int
) -> float:
    asked, kind = point.spec, point.kind
    full = rate_bit_per_s / 8e9 * time_ns
    if asked.rate_bit_per_s is not None:
        full = min(full, asked.rate_bit_per_s / 8e9 * time_ns * _overhead(point))
    if kind.is_pattern:
        hosts = max(len(spec.path.hosts), LOOPBACK_HOSTS)
        return full * (len(flows_of(point.test, hosts)) if kind.by_sets else 1)
    if kind.is_one_way_stream or kind.is_unanswered:
        return full + _settling_bytes(point, rate_bit_per_s, time_ns)
    if kind.sends_back:
        return 2 * full
    ways = 2.0
    if point.carrier.has_ranks:
        ranks = asked.ranks or 2
        ways = 2 * max(1, ranks - 1) * (ranks if "alltoall" in (asked.operation or "") else 1)
    each_bytes = ways * _on_wire(point)
    quickest_ns = QUICKEST_NS + _bytes_ns(2 * _on_wire(point), rate_bit_per_s)
    times = asked.count if asked.count is not None else time_ns / quickest_ns
    threads = asked.threads if isinstance(asked, Threads) else 1
    sent_bytes = each_bytes * threads * times
    if _is_emulated(spec) and asked.count is None:
        # An emulated link lets short messages pass at once, but no more than fills it.
        at_once_bytes = each_bytes * threads * time_ns / QUICKEST_NS
        sent_bytes = max(sent_bytes, min(at_once_bytes, ways * full))
    return sent_bytes + _settling_bytes(point, rate_bit_per_s, time_ns)


def _settling_bytes(point: PlannedPoint, rate_bit_per_s: int, time_ns: int) -> float:
    """Of the frames that the ends exchange before each batch."""
    kind = point.kind
    if not point.carrier.is_pair or not (kind.is_round_trip or kind.is_one_way_stream):
        return 0.0
    stream_ns = max(longest_ns(point) // STREAM_BATCHES, STREAM_BATCH_LEAST_NS)
    batch_ns = BATCH_NS if kind.is_round_trip else stream_ns
    exchange_bytes = 2 * (HEADERS_BYTES + FRAME_BYTES)
    settling_ns = time_ns * SETTLE_NS / (SETTLE_NS + batch_ns)
    # A link lets short frames pass at once, but no more than fills it both ways.
    return settling_ns * min(exchange_bytes / QUICKEST_NS, 2 * rate_bit_per_s / 8e9)


def _on_wire(point: PlannedPoint) -> float:
    return point.spec.message_bytes * _overhead(point) + HEADERS_BYTES


def _overhead(point: PlannedPoint) -> float:
    """What segments add to a message; small datagrams are mostly headers."""
    size = point.spec.message_bytes
    payload = min(max(size, 1), FULL_SEGMENT_BYTES) if not point.carrier.has_connection else 1448
    return 1 + HEADERS_BYTES / payload


def on_wire_bytes(point: PlannedPoint, payload_bytes: int, messages: int) -> float:
    """So much payload in so many messages of a point, with headers."""
    return payload_bytes * _overhead(point) + (messages * HEADERS_BYTES if _is_small(point) else 0)


def _is_small(point: PlannedPoint) -> bool:
    return point.carrier.has_connection and point.spec.message_bytes < FULL_SEGMENT_BYTES


def _bytes_ns(bytes_: float, rate_bit_per_s: int) -> int:
    return round(bytes_ * 8e9 / rate_bit_per_s)


def as_document(spec: StudySpec, points: Sequence[PlannedPoint]) -> dict[str, Any]:
    """The plan as one JSON document."""
    total = estimate(spec, points)
    return {
        "name": spec.name,
        "points": [
            {
                **point.as_json(),
                "time_most_ns": one.time_ns,
                "traffic_most_bytes": one.traffic_bytes,
            }
            for point in points
            for one in (estimate_of(spec, point),)
        ],
        "time_most_ns": total.time_ns,
        "traffic_most_bytes": total.traffic_bytes,
        "traffic_is_bounded": total.is_bounded,
        "path_rate_bit_per_s": path_rate_bit_per_s(spec),
        "requirements": [requirement.as_json() for requirement in spec.requirements],
    }
