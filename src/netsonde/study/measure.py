"""One point: batches until the interval of the median is narrow enough, or the time is up.

The stopping rule follows Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems
(SC15), rule 5: repeat until the interval of the reported statistic is within the asked share of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from netsonde.catalogue.test import test_row
from netsonde.catalogue.transport import transport_row
from netsonde.errors import HostError
from netsonde.figures.load import PILOTS, capacity_per_s
from netsonde.figures.patterns import round_lead_needed_ns, round_times_ns, rounds_span_ns
from netsonde.figures.threads import joint_times_ns, thread_period_ns
from netsonde.figures.throughput import duplex_rates_bit_per_s, stream_rates_bit_per_s
from netsonde.launch.session import Session
from netsonde.ranks.repetitions import has_windows, lateness_ns, repetition_times_ns
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch
from netsonde.stats.summary import needs_more
from netsonde.stats.warmup import find_steady_part
from netsonde.study.enough import further_needed, least_ns
from netsonde.study.plan import BATCH_NS, DATAGRAMS, SETTLE_NS, SOCKETS
from netsonde.units import format_time

FIRST_COUNT = 16
"""Messages of the first batch, from which the length of the next is estimated."""
FIRST_BYTES = 1 << 20
"""Fewer of them where they are large: over a slow path so many would outlast the point."""
SLOWEST_BIT_PER_S = 10**6
"""What is slower counts as hung, where nothing is known of the path yet."""
SLOWEST_MOST_NS = 3_600_000_000_000
"""However much is sent: a worker takes no limit of more than a day."""
BATCH_COUNT_LIMIT = 200_000
STREAM_BATCHES = 8
"""Batches a time cap is divided into: six are the fewest with a 95 % interval of the median."""
STREAM_BATCHES_LEAST = 6
STREAM_BATCH_LEAST_NS = 50_000_000
STREAM_BATCH_MOST_NS = 5_000_000_000
PILOT_COUNT = 20_000
"""Messages that are sent as fast as they go, to find what the path answers at most."""
PILOT_NS = 1_000_000_000
SATURATING_BIT_PER_S = 10**12
LEAST_LOAD = 0.01
"""What stands for no load: at most one message in a hundred finds another before it."""
LEAST_PACED = 16
RECORDED_MOST = 4_000_000
"""Datagrams of a batch whose times a worker keeps; a longer one is sent without."""
PATIENCE_NS = 10_000_000_000
"""How much longer than expected a batch may last before it counts as hung."""
LOOP_PATIENCE_NS = 60_000_000_000
"""How long a loop of another tool's length is expected to last at most."""
UDP_PATIENCE_NS = 200_000_000
"""How long the worker waits for the answer to a datagram or an echo."""
UDP_PATIENCE_MOST_NS = 60_000_000_000
"""What unanswered datagrams may add to a batch before it counts as hung."""

PASSED_ON = (
    *("operation", "root", "rotate_root", "uneven", "pattern", "distance"),
    *("partners", "pair", "window", "reduction", "cache", "cache_bytes", "align_bytes"),
    *("overlap", "polls", "threads", "communicators", "both_timers"),
    *("call_bytes", "rate_bit_per_s", "outstanding", "check_data"),
    *("start", "windows", "clocks", "clock", "keep_samples"),
)
"""Parameters of a point that are fields of a request as they are."""
ROUND_COUNT = {"tcp": 1, "udp": 32}
"""Messages of each sender in a round of incast."""
ROUNDS_LEAST = 100
ROUNDS_MOST = 1000
FIRST_ROUNDS_NS = 100_000_000
"""Length of the first batch of rounds, which finds how long before its start one must be said."""
ROUNDS_NS = 1_000_000_000
"""Length of the others: long against the clocks' readings and the snapshots around each."""
ROUNDS_LEAST_NS = 1_000_000
FIRST_ROUND_LEAD_NS = 5_000_000
ROUND_LEAD_LEAST_NS = 500_000
ROUND_LEAD_MOST_NS = 200_000_000
VICTIM_PER_S = 1000
"""Messages of the victim: far below what a path answers, so that it does not disturb itself."""
VICTIM_BATCH_NS = 500_000_000
VICTIM_LEAST_BYTES = 8
VICTIM_MARGIN_NS = 50_000_000
"""For so long the others go on after the victim's last message was due."""
AGGRESSOR_BYTES = {"tcp": 131_072, "udp": 1472}
VICTIM_BATCHES = 12
"""Alone and beside the others in turn: six of each have an interval of their median."""

CLOCK_COMPARISONS = 21
CLOCK_LEAST_NS = 1_000_000

FASTEST_BIT_PER_S = 10**11
"""What a stream without a rate is expected to reach at most: whether its messages can be kept."""

EndedBy = Literal["interval", "time", "count", "duration"]
KeepBatch = Callable[[int, list[dict[str, Any]]], None]


@dataclass(frozen=True)
class Ending:
    """Why a point ended, and after how many batches. ``duration``: it lasts as long as it was asked
    to, as the clocks' comparison does, and the tool that it is measured like."""

    ended_by: EndedBy
    batches: list[Batch]


class _Series:
    """Runs batches, keeps their records, and knows how long it has been at it."""

    def __init__(
        self, session: Session, fields: Mapping[str, Any], cap_ns: int, keep: KeepBatch
    ) -> None:
        self._session = session
        self._fields = dict(fields)
        self._keep = keep
        self._end = time.monotonic() + cap_ns / 1e9
        self.batches: list[Batch] = []

    def run(self, expected_ns: float, **fields: Any) -> Batch:
        timeout_ns = int(expected_ns * 4) + PATIENCE_NS
        request = {
            **self._fields,
            **fields,
            "seed": len(self.batches) + 1,
            "timeout_ns": timeout_ns,
        }
        records = self._session.run(request, timeout_ns / 1e9 + 5)
        self._keep(len(self.batches), records)
        batch = decode_batch(len(self.batches), records)
        self.batches.append(batch)
        return batch

    @property
    def left_ns(self) -> float:
        return (self._end - time.monotonic()) * 1e9


def measure_point(
    session: Session, transport: str, test: str, parameters: Mapping[str, Any], keep: KeepBatch
) -> Ending:
    """Measures one point over an open session; every batch's records are given to ``keep`` first.

    Raises HostError where an end fails; what was kept stays kept.
    """
    kind = test_row(test)
    fields = {"test": kind.engine, "message_bytes": parameters["message_bytes"]}
    for name in PASSED_ON:
        if name in parameters:
            fields[name] = parameters[name]
    if "timer_overhead" in parameters:
        fields["timer_cost"] = True
    series = _Series(session, fields, parameters["cap_ns"], keep)
    if kind.is_open_loop:
        return _open_loop(series, parameters)
    if kind.is_unanswered:
        return _generate(series, parameters)
    if kind.has_rounds:
        return _rounds(series, transport, parameters)
    if kind.compares_clocks:
        return _clock(series, parameters)
    if kind.has_victim:
        return _victim(series, transport, parameters)
    if kind.is_one_way_stream and "like" in parameters and not transport_row(transport).has_ranks:
        return _whole_stream(series, parameters)
    if "warm_up" in parameters:
        return _one_loop(series, parameters)
    if kind.is_stream or kind.is_pattern:
        return _stream(series, transport, kind.both_ways, parameters)
    if kind.has_threads:
        return _threads(series, parameters)
    return _repetitions(series, transport, parameters)


def over_slowest_ns(count: int, parameters: Mapping[str, Any]) -> float:
    """How long so many messages may take to the other end and back."""
    bits = 16 * count * int(parameters["message_bytes"])
    return min(1e9 * bits / SLOWEST_BIT_PER_S, SLOWEST_MOST_NS)


def _repetitions(series: _Series, transport: str, parameters: Mapping[str, Any]) -> Ending:
    wanted = parameters.get("count")
    first = max(1, min(FIRST_COUNT, FIRST_BYTES // max(1, parameters["message_bytes"])))
    count = min(first, wanted or first)
    times: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    messages = 0
    period_ns = lasted_ns = 0.0
    settled = {"settle_ns": SETTLE_NS} if transport in SOCKETS else {}
    while True:
        patience_ns = min(count * UDP_PATIENCE_NS, UDP_PATIENCE_MOST_NS)
        expected_ns = count * period_ns + (patience_ns if transport in DATAGRAMS else 0)
        # The first batch only says how long a message takes.
        if not series.batches:
            expected_ns += over_slowest_ns(count, parameters)
        batch = series.run(expected_ns, count=count, **(settled if series.batches else {}))
        times.append(repetition_times_ns(batch))
        messages += count
        period_ns = _period_ns(batch, times[-1])
        lasted_ns += count * period_ns
        samples = np.concatenate(times)
        time_left_ns = series.left_ns  # once: whoever ends below has passed this
        is_last = messages == wanted or time_left_ns <= 0
        if not len(samples) and ("start" not in parameters or is_last):
            raise HostError(_nothing_in_words(messages, transport, series.batches))
        if messages == wanted:
            return Ending("count", series.batches)
        if "like" in parameters:
            if time_left_ns <= 0:
                return Ending("duration", series.batches)
            count = max(1, int(time_left_ns / max(1.0, period_ns)))
            count = min(count, BATCH_COUNT_LIMIT)
            continue
        if wanted is not None:
            further, left_ns = wanted - messages, float(BATCH_NS)
        else:
            steady = samples[find_steady_part(samples).begin :] if len(samples) else samples
            need = further_needed(steady, parameters)
            missing_ns = least_ns(parameters) - lasted_ns
            enough = need.enough and missing_ns <= 0
            further, left_ns = need.suggested_further_samples, time_left_ns
            if enough or left_ns <= 0:
                return Ending("interval" if enough else "time", series.batches)
            further = max(further, FIRST_COUNT, math.ceil(missing_ns / max(1.0, period_ns)))
        by_time = max(1, int(min(BATCH_NS, left_ns) / max(1.0, period_ns)))
        count = min(further, by_time, BATCH_COUNT_LIMIT)


def _threads(series: _Series, parameters: Mapping[str, Any]) -> Ending:
    """As repetitions, by the round trips that were made while all threads were at it. ``count`` is
    each thread's."""
    wanted = parameters.get("count")
    most = BATCH_COUNT_LIMIT // int(parameters["threads"])
    count = min(FIRST_COUNT, wanted or FIRST_COUNT)
    times: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    made, period_ns, lasted_ns = 0, over_slowest_ns(1, parameters), 0.0
    while True:
        batch = series.run(count * period_ns, count=count)
        times.append(joint_times_ns(batch))
        made += count
        period_ns = thread_period_ns(batch)
        lasted_ns += count * period_ns
        if made == wanted:
            return Ending("count", series.batches)
        samples, left_ns = np.concatenate(times), float(BATCH_NS)
        if wanted is None:
            if len(samples) >= FIRST_COUNT:
                steady = samples[find_steady_part(samples).begin :]
                known = further_needed(steady, parameters).enough
                if known and lasted_ns >= least_ns(parameters):
                    return Ending("interval", series.batches)
            if series.left_ns <= 0:
                return Ending("time", series.batches)
            left_ns = min(left_ns, series.left_ns)
        by_time = max(1, int(left_ns / max(1.0, period_ns)))
        count = min(by_time, most, wanted - made if wanted is not None else most)


def _one_loop(series: _Series, parameters: Mapping[str, Any]) -> Ending:
    """All repetitions in one batch, those of the warm-up among them, as tools of MPI make them."""
    count = parameters["count"]
    batch = series.run(LOOP_PATIENCE_NS + over_slowest_ns(count, parameters), count=count)
    if has_windows(batch) and not len(repetition_times_ns(batch)):
        raise HostError(_nothing_in_words(count, "mpi", series.batches))
    return Ending("count", series.batches)


def _period_ns(batch: Batch, times: np.ndarray[Any, np.dtype[np.int64]]) -> float:
    """How long a repetition takes, about: in windows, at least as long as they are; and with what
    is done between an operation's repetitions, such as making caches cold."""
    typical = float(np.median(times)) if len(times) else 0.0
    counters = batch.ends[0].counters
    repetitions = len(batch.ends[0].series.get("duration_ns", ()))
    span_ns = counters.get("end_ns", 0) - counters.get("start_ns", 0) if repetitions else 0
    return max(typical, float(counters.get("window_ns", 0)), span_ns / max(1, repetitions))


def _nothing_in_words(messages: int, transport: str, batches: Sequence[Batch]) -> str:
    if transport_row(transport).has_ranks:
        late = np.concatenate([lateness_ns(batch) for batch in batches if has_windows(batch)])
        return (
            f"in none of {messages} repetitions all ranks were in time for their window: the last "
            f"came {format_time(float(np.median(late)))} late, by the median; give each rank a "
            "processor of its own, set wider bounds (--start window:late=...,growth=...), or "
            "measure with --start barrier"
        )
    return f"none of {messages} messages was answered; is a firewall in between?"


def _clock(series: _Series, parameters: Mapping[str, Any]) -> Ending:
    """One batch: comparisons at equal distances, as long as was asked for; a tenth of that is for
    the comparisons themselves."""
    count = parameters.get("count", CLOCK_COMPARISONS)
    interval_ns = max(CLOCK_LEAST_NS, parameters["cap_ns"] * 9 // 10 // (count - 1))
    series.run(count * interval_ns, count=count, interval_ns=interval_ns)
    return Ending("duration", series.batches)


def _open_loop(series: _Series, parameters: Mapping[str, Any]) -> Ending:
    """The first batches find what the path answers at most; the others offer a share of it."""
    for _ in range(PILOTS):
        series.run(PILOT_NS, count=PILOT_COUNT, rate_bit_per_s=SATURATING_BIT_PER_S)
    capacity = capacity_per_s(series.batches)
    if not capacity:
        raise HostError(f"none of {PILOT_COUNT} messages was answered; is a firewall in between?")
    load = max(parameters["load_ratio"], LEAST_LOAD)
    rate_per_s = load * capacity
    rate = max(1000, round(rate_per_s * 8 * parameters["message_bytes"]))
    batch_ns = min(max(parameters["cap_ns"] / STREAM_BATCHES, BATCH_NS), STREAM_BATCH_MOST_NS)
    count = min(max(round(rate_per_s * batch_ns / 1e9), LEAST_PACED), RECORDED_MOST)
    while True:
        series.run(4 * batch_ns, count=count, rate_bit_per_s=rate)
        batches = series.batches[PILOTS:]
        samples = np.concatenate([b.ends[0].series["response_ns"] for b in batches])
        if len(batches) >= STREAM_BATCHES_LEAST:
            if further_needed(samples, parameters).enough:
                return Ending("interval", series.batches)
            if series.left_ns < batch_ns:
                return Ending("time", series.batches)


def _rounds(series: _Series, transport: str, parameters: Mapping[str, Any]) -> Ending:
    """Rounds of incast until their median is known, and for as long as slow ones may be seen."""
    count = parameters.get("count", ROUND_COUNT[transport])
    times = np.empty(0)
    lead_ns = FIRST_ROUND_LEAD_NS
    wanted_ns = FIRST_ROUNDS_NS
    around_ns = lasted_ns = 0.0  # what a batch takes beside its rounds, and all rounds together
    while True:
        left_ns = series.left_ns
        batch = series.run(
            ROUNDS_NS + PILOT_NS,
            count=count,
            rounds=ROUNDS_MOST - len(times),
            rounds_ns=max(int(min(wanted_ns, left_ns - around_ns)), ROUNDS_LEAST_NS),
            round_lead_ns=lead_ns,
        )
        lasted_ns += rounds_span_ns(batch)
        around_ns = left_ns - series.left_ns - rounds_span_ns(batch)
        times = np.concatenate([times, round_times_ns([batch])])
        known = len(times) >= ROUNDS_LEAST and further_needed(times, parameters).enough
        if known and lasted_ns >= least_ns(parameters):
            return Ending("interval", series.batches)
        over = series.left_ns - around_ns <= float(np.median(times))
        if (over and len(times) >= STREAM_BATCHES_LEAST) or len(times) >= ROUNDS_MOST:
            return Ending("time", series.batches)
        needed_ns = round_lead_needed_ns(batch, lead_ns)
        lead_ns = int(min(max(1.5 * needed_ns, ROUND_LEAD_LEAST_NS), ROUND_LEAD_MOST_NS))
        wanted_ns = ROUNDS_NS


def _victim(series: _Series, transport: str, parameters: Mapping[str, Any]) -> Ending:
    """The victim's messages at fixed times, in turn alone and beside the streams of the others."""
    size = max(parameters["message_bytes"], VICTIM_LEAST_BYTES)
    batch_ns = min(max(parameters["cap_ns"] // VICTIM_BATCHES, BATCH_NS), VICTIM_BATCH_NS)
    alone = {
        "message_bytes": size,
        "count": max(LEAST_PACED, VICTIM_PER_S * batch_ns // 10**9),
        "rate_bit_per_s": VICTIM_PER_S * 8 * size,
    }
    streams = {
        "test": "stream",
        "message_bytes": AGGRESSOR_BYTES[transport],
        "duration_ns": batch_ns + VICTIM_MARGIN_NS,
        **{name: parameters[name] for name in ("rate_bit_per_s",) if name in parameters},
    }
    for number in range(VICTIM_BATCHES):
        series.run(2 * batch_ns, **alone, background=streams if number % 2 else None)
    return Ending("time", series.batches)


def _generate(series: _Series, parameters: Mapping[str, Any]) -> Ending:
    """One batch of the whole length: traffic that is to be there, not figures to be narrowed."""
    if "count" in parameters:
        series.run(parameters["cap_ns"], count=parameters["count"])
        return Ending("count", series.batches)
    bits = 8 * parameters["message_bytes"]
    messages = parameters["rate_bit_per_s"] * parameters["cap_ns"] / 1e9 / bits
    fields = {} if messages <= RECORDED_MOST else {"record_messages": False}
    series.run(parameters["cap_ns"], duration_ns=parameters["cap_ns"], **fields)
    return Ending("time", series.batches)


def _whole_stream(series: _Series, parameters: Mapping[str, Any]) -> Ending:
    """One batch of the whole length, as other tools measure a stream."""
    omit_ns = parameters.get("omit_ns", 0)
    duration_ns = parameters["cap_ns"] + omit_ns
    rate = parameters.get("rate_bit_per_s", FASTEST_BIT_PER_S)
    messages = rate * duration_ns / 1e9 / (8 * parameters["message_bytes"])
    kept = messages <= RECORDED_MOST or omit_ns > 0
    fields = {} if kept else {"record_messages": False}
    series.run(duration_ns, duration_ns=duration_ns, **fields)
    return Ending("duration", series.batches)


def _stream(
    series: _Series, transport: str, both_ways: bool, parameters: Mapping[str, Any]
) -> Ending:
    wanted = parameters.get("count")
    if wanted is not None:
        series.run(parameters["cap_ns"] + over_slowest_ns(wanted, parameters), count=wanted)
        return Ending("count", series.batches)
    duration_ns = int(
        min(max(parameters["cap_ns"] / STREAM_BATCHES, STREAM_BATCH_LEAST_NS), STREAM_BATCH_MOST_NS)
    )
    settled = {"settle_ns": SETTLE_NS} if transport in SOCKETS else {}
    rates: list[float] = []
    while True:
        batch = series.run(duration_ns, duration_ns=duration_ns, **settled)
        rates.append(
            duplex_rates_bit_per_s(batch)[0] if both_ways else stream_rates_bit_per_s(batch)[1]
        )
        if len(rates) >= STREAM_BATCHES_LEAST:
            if needs_more(np.array(rates), parameters["interval"]).enough:
                return Ending("interval", series.batches)
            if series.left_ns < duration_ns:
                return Ending("time", series.batches)
