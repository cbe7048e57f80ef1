"""What another tool would have said of a point that netsonde measured: pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import Streams
from netsonde.peers.said import Told, tell, what_remains
from netsonde.peers.techniques import (
    NETPIPE_TRIALS,
    SOCKPERF_COOL_DOWN_NS,
    SOCKPERF_WARM_UP_NS,
)
from netsonde.records.data import Batch, EndData, Point, Series
from netsonde.stats.datagrams import interarrival_jitter_ns, transit_ns
from netsonde.stats.means import least_of_means

INTERVAL_NS = 1_000_000_000
MEBI = 1 << 20


def told(point: Point) -> list[Told]:
    """The figures of the tool that the point was measured like; none where it was not."""
    tool = point.spec.like
    if tool is None or not point.batches:
        return []
    if point.carrier.has_ranks:
        from netsonde.peers.mpi_told import mpi_told

        return mpi_told(point)
    maker = _MAKERS.get((tool, point.test))
    return list(maker(point)) if maker is not None else []


def remains(point: Point) -> str:
    """What differs still from how the tool itself would have measured; empty where nothing does."""
    return what_remains(point.spec.like or "", point.transport, point.test)


def without_ends(samples: Series, first_ns: int, last_ns: int) -> Series:
    """Round trips made one after the other, without those in the first and last part of the time.

    Raises ValueError where none would be left.
    """
    ends_ns = np.cumsum(samples)
    total_ns = int(ends_ns[-1]) if len(samples) else 0
    kept = samples[(ends_ns - samples >= first_ns) & (ends_ns <= total_ns - last_ns)]
    if not len(kept):
        raise ValueError("the run was too short to leave out its first and last part")
    return kept


def best_trial_mean(samples: Series, trials: int = NETPIPE_TRIALS) -> float:
    """The least of the means of consecutive, equally long parts of the samples."""
    return least_of_means(samples, trials)


def nearest_rank(ordered: Series, share: float) -> float:
    """The quantile as sockperf takes it: the sample of rank n q, rounded, of the ordered n."""
    rank = int(0.5 + share * len(ordered)) - 1
    return float(ordered[min(max(rank, 0), len(ordered) - 1)])


def interval_rates_bit_per_s(
    sent_ns: Series, message_bytes: int, interval_ns: int = INTERVAL_NS
) -> npt.NDArray[np.float64]:
    """What the application handed to the kernel in each whole interval from the start, bit/s."""
    whole = int(sent_ns[-1] // interval_ns) if len(sent_ns) else 0
    counts = np.bincount(sent_ns // interval_ns, minlength=whole)[:whole]
    return np.asarray(counts * (8e9 * message_bytes / interval_ns), np.float64)


def _iperf3(point: Point) -> Iterator[Told]:
    batch = point.batches[0]
    origins, targets = _ends(batch, 0), _ends(batch, 1)
    omit_ns = point.spec.of(Streams).omit_ns or 0
    sent = _sent_after(origins, point.message_bytes, omit_ns)
    if sent is not None:
        yield tell(
            "iperf3_sender_bit_per_s",
            sent,
            1,
            f"{_iperf3_rate(sent)} sender",
            gone="arrived" if point.carrier.has_connection else "left the kernel",
        )
    if not omit_ns:
        yield from _iperf3_received(targets)
    yield from _iperf3_intervals(point, origins, omit_ns)
    if point.carrier.counts_datagrams:
        yield from _iperf3_datagrams(batch)


def _iperf3_received(targets: list[EndData]) -> Iterator[Told]:
    begun = min(end.counters["start_ns"] for end in targets)
    elapsed = max(end.counters["end_ns"] for end in targets) - begun
    received = sum(end.counters.get("bytes_received", 0) for end in targets)
    if elapsed > 0:
        rate = received * 8e9 / elapsed
        yield tell("iperf3_receiver_bit_per_s", rate, 1, f"{_iperf3_rate(rate)} receiver")


def _sent_after(origins: list[EndData], message_bytes: int, omit_ns: int) -> float | None:
    """Bits a second handed to the kernel after omit_ns, over all flows; None where not recorded."""
    begun = min(end.counters["start_ns"] for end in origins) + omit_ns
    elapsed = max(end.counters["last_send_ns"] for end in origins) - begun
    if omit_ns == 0:
        sent = sum(end.counters["bytes_sent"] for end in origins)
    elif all("sent_ns" in end.series for end in origins):
        late = (e.series["sent_ns"] + e.counters["start_ns"] > begun for e in origins)
        sent = message_bytes * sum(int(np.count_nonzero(each)) for each in late)
    else:
        return None
    return sent * 8e9 / elapsed if elapsed > 0 else None


def _iperf3_intervals(point: Point, origins: list[EndData], omit_ns: int) -> Iterator[Told]:
    """The extremes of the lines that iperf3 prints each second, of one flow."""
    times = origins[0].series.get("sent_ns")
    if times is None or len(origins) > 1:
        return
    rates = interval_rates_bit_per_s(times, point.message_bytes)[omit_ns // INTERVAL_NS :]
    if len(rates) < 2:
        return
    for word, value in (("slowest", float(rates.min())), ("fastest", float(rates.max()))):
        name, words = f"iperf3_{word}_second_bit_per_s", f"{_iperf3_rate(value)} {word} second"
        yield tell(name, value, len(rates), words, differs="iperf3_interval")


def _iperf3_datagrams(batch: Batch) -> Iterator[Told]:
    """Jitter and loss of one flow, by the numbers of the datagrams that came."""
    origin, target = batch.ends[0], batch.ends[1]
    sequence = target.series.get("sequence")
    if sequence is None or not len(sequence) or "sent_ns" not in origin.series:
        return
    transit = transit_ns(origin.series["sent_ns"], target.series["received_ns"], sequence)
    jitter = interarrival_jitter_ns(transit)
    yield tell("iperf3_jitter_ns", jitter, 1, f"{jitter / 1e6:.3f} ms jitter")
    sent = origin.counters["messages_sent"]
    lost = max(0, int(sequence.max()) + 1 - len(sequence))
    words = f"{lost}/{sent} ({100 * lost / sent:.2g}%) lost"
    yield tell("iperf3_lost_ratio", lost / sent, sent, words)


def _iperf3_rate(bit_per_s: float) -> str:
    """Three digits and a unit of a power of 1000, as iperf3 prints them."""
    value, unit = bit_per_s, ""
    for larger in ("K", "M", "G"):
        if value < 1000.0:
            break
        value, unit = value / 1000.0, larger
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{decimals}f} {unit}bits/sec"


def _netperf_stream(point: Point) -> Iterator[Told]:
    batch = point.batches[0]
    origin, target = batch.ends[0].counters, batch.ends[1].counters
    if point.carrier.counts_datagrams:
        elapsed = origin["last_send_ns"] - origin["start_ns"]
        for end, word, beside in (
            (origin["bytes_sent"], "sender", "throughput_origin_bit_per_s"),
            (target["bytes_received"], "receiver", "throughput_bit_per_s"),
        ):
            rate = end * 8e9 / elapsed if elapsed > 0 else 0.0
            yield tell(
                f"netperf_{word}_bit_per_s",
                rate,
                1,
                f"{rate / 1e6:.2f} 10^6bits/sec {word}",
                differs="netperf_datagrams",
                beside=beside,
            )
        return
    elapsed = origin["end_ns"] - origin["start_ns"] - origin.get("notice_held_ns", 0)
    rate = target["bytes_received"] * 8e9 / elapsed if elapsed > 0 else 0.0
    yield tell("netperf_throughput_bit_per_s", rate, 1, f"{rate / 1e6:.2f} 10^6bits/sec")


def _netperf_rr(point: Point) -> Iterator[Told]:
    samples = _round_trips(point)
    if not len(samples):
        return
    mean, count = float(samples.mean()), len(samples)
    rate = 1e9 / mean
    yield tell("netperf_transactions_per_s", rate, count, f"{rate:.2f} Trans/s")
    yield tell("netperf_round_trip_mean_ns", mean, count, f"{mean / 1e3:.3f} usec/Tran")


def _netpipe(point: Point) -> Iterator[Told]:
    samples = _round_trips(point)
    if len(samples) < NETPIPE_TRIALS:
        return
    one_way = best_trial_mean(samples) / 2.0
    rate = point.message_bytes * 8e9 / one_way
    words = f"{one_way / 1e3:.2f} usec"
    yield tell("netpipe_one_way_best_ns", one_way, len(samples), words, trials=NETPIPE_TRIALS)
    words = f"{rate / MEBI:.2f} Mbps"
    yield tell("netpipe_best_bit_per_s", rate, len(samples), words, beside=point.kind.main)


def _sockperf(point: Point) -> Iterator[Told]:
    try:
        kept = without_ends(_round_trips(point), SOCKPERF_WARM_UP_NS, SOCKPERF_COOL_DOWN_NS)
    except ValueError:
        return
    mean = float(kept.mean()) / 2.0
    words = f"Latency is {mean / 1e3:.3f} usec"
    yield tell("sockperf_latency_mean_ns", mean, len(kept), words)
    ordered = np.sort(kept)
    for name, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
        value = nearest_rank(ordered, share) / 2.0
        yield tell(
            f"sockperf_latency_{name}_ns",
            value,
            len(kept),
            f"percentile {100 * share:.3f} = {value / 1e3:.3f}",
            differs="sockperf_percentile",
            beside=f"round_trip_{name}_ns",
        )


def _round_trips(point: Point) -> Series:
    samples = point.series("round_trip_ns")
    return samples[samples > 0]


def _ends(batch: Batch, parity: int) -> list[EndData]:
    """Origins (0) or targets (1) of all flows."""
    return [batch.ends[rank] for rank in sorted(batch.ends) if rank % 2 == parity]


_MAKERS: Mapping[tuple[str, str], Callable[[Point], Iterator[Told]]] = {
    ("iperf3", "stream"): _iperf3,
    ("netperf", "stream"): _netperf_stream,
    ("netperf", "latency"): _netperf_rr,
    ("netpipe", "latency"): _netpipe,
    ("netpipe", "pingpong"): _netpipe,
    ("sockperf", "latency"): _sockperf,
}
