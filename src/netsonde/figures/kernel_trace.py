"""How long the workers and their packets waited inside the hosts, as eBPF programs counted it.

The names are those of docs/reference/records.md; what they mean is in docs/methods/kernel-trace.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.records.data import EndData, Point
from netsonde.stats.histogram import LogLinearHistogram
from netsonde.stats.quantiles import least_samples

ENDS = {0: "origin", 1: "target"}
WAITS = ("scheduler", "queue", "driver", "receive")
"""What has a distribution: the worker for its CPU, and a packet's layers from top to wire and
from wire to program."""
CAUSES = ("time_out", "fast", "probe", "other")
NETWORK_SOFTIRQS = ("NET_RX", "NET_TX")
PRECISION_BITS = 2
"""Of the histograms: a bucket is a quarter of its power of two at most, as
engine/kernel_trace/layout.h has it."""


@dataclass
class Wait:
    """So many waits, in ns; ``buckets`` are how many lie at each place of the histogram."""

    count: int = 0
    sum_ns: int = 0
    max_ns: int = 0
    buckets: dict[int, int] = field(default_factory=dict)

    def longer(self, least_ns: int) -> tuple[int, float]:
        """(how many waits are at least so long, what they add up to in ns), as well as the buckets
        tell."""
        long = [bucket for bucket in self.histogram.buckets() if bucket.low >= least_ns]
        return (
            sum(bucket.count for bucket in long),
            sum(0.5 * (bucket.low + bucket.high - 1) * bucket.count for bucket in long),
        )

    @property
    def histogram(self) -> LogLinearHistogram:
        filled = {place: count for place, count in sorted(self.buckets.items()) if count > 0}
        return LogLinearHistogram.from_buckets(
            list(filled), list(filled.values()), precision_bits=PRECISION_BITS
        )


@dataclass
class EndTrace:
    """What was counted at one end over all batches of a point."""

    waits: dict[str, Wait]
    softirqs: dict[str, Wait]
    retransmits: dict[str, int]
    queue_begun: int
    queue_cut: int
    receive_unknown: int
    dropped: int
    missed: int
    calls: int = 0


def kernel_trace_of(point: Point, rank: int) -> EndTrace | None:
    """None where that end was not watched."""
    found = [b.ends[rank] for b in point.batches if rank in b.ends and _is_watched(b.ends[rank])]
    if not found:
        return None
    total = EndTrace({name: Wait() for name in WAITS}, {}, dict.fromkeys(CAUSES, 0), 0, 0, 0, 0, 0)
    for end in found:
        _add(total, end)
    return total


def is_traced(point: Point) -> bool:
    """Whether at least one end of a point was watched."""
    return any(kernel_trace_of(point, rank) is not None for rank in ENDS)


def kernel_trace_figures(maker: Maker) -> list[Figure]:
    """Per end the waits of each layer, what they are for each message, and softirqs; of both ends
    together why segments were retransmitted."""
    deep = {end: kernel_trace_of(maker.point, rank) for rank, end in ENDS.items()}
    messages = maker.point.counter("messages_sent")
    figures: list[Figure] = []
    for end, trace in deep.items():
        if trace is None:
            continue
        for name, wait in trace.waits.items():
            figures += _wait_figures(maker, f"{end}_{name}", wait)
        if messages:
            figures += _for_each_message(maker, end, trace, messages)
    figures += _retransmits(maker, [trace for trace in deep.values() if trace is not None])
    return figures


def _wait_figures(maker: Maker, name: str, wait: Wait) -> Iterator[Figure]:
    if not wait.count or not wait.buckets:
        return
    histogram = wait.histogram
    for word, q in (("median", 0.5), ("p99", 0.99)):
        if wait.count < least_samples(q):
            continue
        # No sample is larger than the largest, whatever the middle of its bucket is.
        value = min(histogram.quantile(q), float(wait.max_ns))
        yield maker.figure(f"{name}_wait_{word}_ns", value, wait.count)
    yield maker.figure(f"{name}_wait_max_ns", float(wait.max_ns), wait.count)


def _for_each_message(maker: Maker, end: str, trace: EndTrace, messages: int) -> Iterator[Figure]:
    scheduler = trace.waits["scheduler"]
    yield maker.figure(
        f"{end}_scheduler_wait_per_message_ns", scheduler.sum_ns / messages, scheduler.count
    )
    network = [trace.softirqs[kind] for kind in NETWORK_SOFTIRQS if kind in trace.softirqs]
    yield maker.figure(
        f"{end}_softirq_per_message_ns",
        sum(kind.sum_ns for kind in network) / messages,
        sum(kind.count for kind in network),
    )
    if trace.calls:
        yield maker.figure(f"{end}_system_calls_per_message", trace.calls / messages, trace.calls)


def _retransmits(maker: Maker, deep: list[EndTrace]) -> Iterator[Figure]:
    if not maker.point.carrier.has_connection or not deep:
        return
    for cause in CAUSES:
        count = sum(trace.retransmits[cause] for trace in deep)
        yield maker.figure(f"retransmits_{cause}", float(count), len(maker.point.batches))


def _is_watched(end: EndData) -> bool:
    return end.after is not None and "depth.missed" in end.after.values


def _add(total: EndTrace, end: EndData) -> None:
    grown = _grown(end)
    for name, wait in total.waits.items():
        _add_wait(wait, f"depth.{name}.", grown, end)
    for name in grown:
        if name.startswith("depth.softirq.") and name.endswith(".count"):
            kind = name.split(".")[2]
            wait = total.softirqs.setdefault(kind, Wait())
            _add_wait(wait, f"depth.softirq.{kind}.", grown, end)
    for cause in CAUSES:
        total.retransmits[cause] += grown.get(f"depth.retransmits.{cause}", 0)
    total.queue_begun += grown.get("depth.queue.begun", 0)
    total.queue_cut += grown.get("depth.queue.cut", 0)
    total.receive_unknown += grown.get("depth.receive.unknown", 0)
    total.dropped += grown.get("depth.dropped", 0)
    total.missed += grown.get("depth.missed", 0)
    total.calls += grown.get("depth.calls", 0)


def _grown(end: EndData) -> dict[str, int]:
    """A bucket that was empty before the batch has no value there."""
    if end.after is None:
        return {}
    before = end.before.values if end.before is not None else {}
    return {
        name: value - before.get(name, 0)
        for name, value in end.after.values.items()
        if name.startswith("depth.")
    }


def _add_wait(wait: Wait, prefix: str, grown: dict[str, int], end: EndData) -> None:
    wait.count += grown.get(f"{prefix}count", 0)
    wait.sum_ns += grown.get(f"{prefix}sum_ns", 0)
    # The largest begins again with each batch; it is no difference.
    largest = end.after.values.get(f"{prefix}max_ns", 0) if end.after is not None else 0
    wait.max_ns = max(wait.max_ns, largest)
    for name, count in grown.items():
        if name.startswith(f"{prefix}bucket."):
            place = int(name.rsplit(".", 1)[1])
            wait.buckets[place] = wait.buckets.get(place, 0) + count
