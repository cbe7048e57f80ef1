"""From raw samples to figures. Every summary of a run is made here and nowhere else.

Which figure is obtained how is said in docs/methods; ``Figure.method`` points there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from netsonde.figures.data import Figure
from netsonde.figures.global_time import uncertainty_ns
from netsonde.figures.load import PILOTS, capacity_per_s
from netsonde.figures.one_way import one_way_delays
from netsonde.figures.packet_figures import packet_figures
from netsonde.figures.patterns import (
    beside_bit_per_s,
    is_alone,
    received_bytes,
    round_times_ns,
    start_spreads_ns,
    timeouts,
)
from netsonde.figures.processor import processor_s_per_gbyte
from netsonde.figures.repetitions import repetition_times_ns
from netsonde.figures.stages import PARTS, has_stages, stages_of
from netsonde.figures.sweeps import sweep_figures, sweeps_of
from netsonde.figures.throughput import (
    duplex_rates_bit_per_s,
    flow_rates_bit_per_s,
    stream_rates_bit_per_s,
)
from netsonde.peers.methods import METHODS
from netsonde.peers.told import told
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.stats.datagrams import (
    delay_variation_ns,
    gaps_ns,
    interarrival_jitter_ns,
    loss_runs,
    reordering_extents,
    transit_ns,
)
from netsonde.stats.fairness import jain_fairness
from netsonde.stats.independence import effective_sample_size_at
from netsonde.stats.quantiles import quantile, quantile_interval
from netsonde.stats.warmup import find_steady_part

QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True)
class _Maker:
    """Makes figures of one point."""

    point: Point

    def figure(
        self,
        name: str,
        value: float,
        samples: int,
        method: str,
        low: float | None = None,
        high: float | None = None,
        effective: float | None = None,
    ) -> Figure:
        point = self.point
        return Figure(
            point.id,
            point.transport,
            point.test,
            point.operation,
            point.message_bytes,
            name,
            value,
            low,
            high,
            samples,
            effective,
            method,
        )

    def quantile(
        self, name: str, samples: npt.NDArray[np.generic], q: float, method: str
    ) -> Figure:
        effective = effective_sample_size_at(samples, q)
        interval = quantile_interval(samples, q, n_eff=effective)
        return self.figure(
            name,
            quantile(samples, q),
            len(samples),
            method,
            interval.low if interval else None,
            interval.high if interval else None,
            effective,
        )

    def ratio(self, name: str, part: int, whole: int, method: str) -> Figure:
        low, high = wilson_interval(part, whole)
        return self.figure(name, part / whole if whole else 0.0, whole, method, low, high)

    def times(self, prefix: str, samples: npt.NDArray[np.generic], method: str) -> list[Figure]:
        """Quantiles with intervals, mean, least and largest of times; the warm-up is left out of
        the quantiles and the mean, never of the extremes."""
        steady = samples[find_steady_part(samples).begin :]
        figures = [
            self.quantile(f"{prefix}_{name}_ns", steady, q, f"{method}#quantiles")
            for name, q in QUANTILES.items()
        ]
        extremes = f"{method}#extremes"
        figures += [
            self.figure(f"{prefix}_min_ns", float(samples.min()), len(samples), extremes),
            self.figure(f"{prefix}_max_ns", float(samples.max()), len(samples), extremes),
            self.figure(f"{prefix}_mean_ns", float(steady.mean()), len(steady), f"{method}#mean"),
        ]
        return figures


def figures_of(run: Run) -> list[Figure]:
    """All figures of all measured points of a run, in the order of the points, and those of its
    sweeps."""
    figures: list[Figure] = []
    for point in run.points:
        own = figures_of_point(point)
        figures += [*own, *(packet_figures(run, point, own) if own else ())]
    sweeps = sweeps_of(run.points, figures)
    return [*figures, *(figure for sweep in sweeps for figure in sweep_figures(sweep))]


def figures_of_point(point: Point) -> list[Figure]:
    """The figures of one point; none where nothing was measured. Those of another tool, which it
    was measured like or which measured it, come last."""
    maker = _Maker(point)
    figures = _MAKERS[point.test](maker) if point.batches else []
    return [*figures, *_of_other_tools(maker)]


def _of_other_tools(maker: _Maker) -> list[Figure]:
    point = maker.point
    method = METHODS.get(str(point.parameters.get("like")), "")
    figures = [maker.figure(t.name, t.value, t.samples, method) for t in told(point)]
    if point.imported is None:
        return figures
    method = METHODS.get(point.imported.tool, "")
    return figures + [
        maker.figure(f.name, f.value, f.samples, method) for f in point.imported.figures
    ]


def _latency(maker: _Maker) -> list[Figure]:
    samples = maker.point.series("round_trip_ns")
    figures = maker.times("round_trip", samples, "latency") if len(samples) else []
    if maker.point.transport == "udp":
        figures.append(
            maker.ratio(
                "unanswered_ratio",
                maker.point.counter("unanswered"),
                maker.point.counter("messages_sent"),
                "latency#unanswered",
            )
        )
    return [*figures, *_stages(maker)]


def _stages(maker: _Maker) -> list[Figure]:
    """Where the time of round trips went, where the kernel's times were taken."""
    if not has_stages(maker.point):
        return []
    stages = stages_of(maker.point)
    whole = stages.whole_ns
    figures = [
        maker.ratio("stamped_ratio", len(whole), stages.answered, "kernel-times#missing"),
    ]
    if not len(whole):
        return figures
    for name in PARTS:
        figures += _quantiles(maker, name, stages.parts[name], "kernel-times#parts")
    for end in ("origin", "target"):
        figures += _quantiles(maker, f"{end}_host", stages.host_ns(end), "kernel-times#hosts")
    for word, chosen in (("typical", stages.typical()), ("slow", stages.slow())):
        figures += [
            maker.figure(
                f"{word}_{name}_ns",
                float(stages.parts[name][chosen].mean()),
                int(chosen.sum()),
                "kernel-times#typical-and-slow",
            )
            for name in PARTS
        ]
    return figures


def _pingpong(maker: _Maker) -> list[Figure]:
    """A message crosses twice in a round trip, so the rate is twice its bits over it."""
    figures = _latency(maker)
    bits = 2 * 8e9 * maker.point.message_bytes
    for median in [f for f in figures if f.name == "round_trip_median_ns"]:
        figures.append(
            maker.figure(
                "throughput_bit_per_s",
                bits / median.value,
                median.samples,
                "throughput#pingpong",
                bits / median.high if median.high else None,
                bits / median.low if median.low else None,
                median.effective_samples,
            )
        )
    return figures


def _stream(maker: _Maker) -> list[Figure]:
    point = maker.point
    rates = np.array([stream_rates_bit_per_s(batch) for batch in point.batches])
    figures = [
        maker.quantile("throughput_bit_per_s", rates[:, 1], 0.5, "throughput#stream"),
        maker.quantile("throughput_origin_bit_per_s", rates[:, 0], 0.5, "throughput#stream"),
    ]
    if point.transport == "udp" and point.message_bytes:
        per_s = rates[:, 0] / (8 * point.message_bytes)
        figures.append(maker.quantile("sent_datagrams_per_s", per_s, 0.5, "throughput#stream"))
    return [
        *figures,
        *_flows(maker),
        *_losses(maker),
        *_times_of_datagrams(maker),
        *_one_way(maker),
        *_retransmits(maker),
        *_processor(maker),
    ]


def _one_way(maker: _Maker) -> list[Figure]:
    """Delays by one clock; what the clocks are uncertain by widens every interval."""
    if "streams" in maker.point.parameters or maker.point.transport == "mpi":
        return []
    found = one_way_delays(maker.point.batches)
    if found is None:
        return []
    delays, wider_ns = found.delay_ns, found.uncertainty_ns
    quantiles = _quantiles(maker, "one_way_delay", delays, "one-way#delay")
    least = maker.figure("one_way_delay_min_ns", float(delays.min()), len(delays), "one-way#delay")
    return [
        replace(least, low=least.value - wider_ns, high=least.value + wider_ns),
        *(
            replace(f, low=f.low - wider_ns, high=f.high + wider_ns)
            if f.low is not None and f.high is not None
            else f
            for f in quantiles
        ),
        maker.figure("clock_uncertainty_ns", wider_ns, len(maker.point.batches), "one-way#clock"),
    ]


def _flows(maker: _Maker) -> list[Figure]:
    """Of several flows at once: the slowest, the fastest, and how even they were."""
    rates = np.array([flow_rates_bit_per_s(batch) for batch in maker.point.batches])
    if rates.shape[1] < 2:
        return []
    each = {"slowest_flow": rates.min(axis=1), "fastest_flow": rates.max(axis=1)}
    return [
        *(
            maker.quantile(f"{name}_bit_per_s", values, 0.5, "throughput#flows")
            for name, values in each.items()
        ),
        maker.quantile("fairness_ratio", jain_fairness(rates), 0.5, "throughput#flows"),
    ]


def _pattern(maker: _Maker) -> list[Figure]:
    """Streams of many hosts at once."""
    rates = np.array([stream_rates_bit_per_s(batch)[1] for batch in maker.point.batches])
    return [
        maker.quantile("throughput_bit_per_s", rates, 0.5, "patterns#throughput"),
        *_flows(maker),
        *_start_spread(maker),
        *_losses(maker),
        *_retransmits(maker),
    ]


def _incast(maker: _Maker) -> list[Figure]:
    """Rounds: all origins send one block at one instant; a round ends with the last arrival."""
    batches = maker.point.batches
    times = round_times_ns(batches)
    moved = np.array([received_bytes(batch) for batch in batches])
    counted = [found for batch in batches if (found := timeouts(batch)) is not None]
    timed_out = sum(found > 0 for found in counted)
    return [
        maker.figure(
            "throughput_bit_per_s",
            8e9 * float(moved.sum() / times.sum()),
            len(times),
            "patterns#rounds",
        ),
        *maker.times("round", times, "patterns"),
        *(
            [maker.ratio("timed_out_rounds_ratio", timed_out, len(counted), "patterns#time-outs")]
            if counted and maker.point.transport == "tcp"
            else []
        ),
        *_start_spread(maker),
        *_losses(maker),
        *_retransmits(maker),
    ]


def _victim(maker: _Maker) -> list[Figure]:
    """One flow's response times, alone and beside the streams of all others."""
    batches = maker.point.batches
    method = "patterns#victim"
    figures: list[Figure] = []
    tails: dict[str, float] = {}
    for name, chosen in (
        ("alone", [b for b in batches if is_alone(b)]),
        ("beside", [b for b in batches if not is_alone(b)]),
    ):
        parts = [b.ends[0].series["response_ns"] for b in chosen]
        responses = np.concatenate(parts) if parts else np.empty(0, np.int64)
        if not len(responses):
            continue
        figures += _quantiles(maker, f"response_{name}", responses, method)
        tails[name] = figures[-1].value
    if len(tails) == 2 and tails["alone"] > 0:
        ratio = tails["beside"] / tails["alone"]
        figures.append(maker.figure("slowdown_p99_times", ratio, len(batches), method))
    rates = np.array([beside_bit_per_s(b) for b in batches if not is_alone(b)])
    if len(rates):
        figures.append(maker.quantile("beside_bit_per_s", rates, 0.5, method))
    return [*figures, *_start_spread(maker)]


def _start_spread(maker: _Maker) -> list[Figure]:
    spreads = start_spreads_ns(maker.point.batches)
    method = "patterns#common-start"
    uncertain_ns = max(uncertainty_ns(batch) for batch in maker.point.batches)
    return [
        maker.quantile("start_spread_median_ns", spreads, 0.5, method),
        maker.figure("start_spread_max_ns", float(spreads.max()), len(spreads), method),
        maker.figure("clock_uncertainty_ns", uncertain_ns, len(spreads), "one-way#clock"),
    ]


def _open_loop(maker: _Maker) -> list[Figure]:
    """Responses from the intended times; the first batches found the capacity and are no others."""
    every = maker.point.batches
    batches = [batch.ends[0] for batch in every[PILOTS:]]
    capacity = capacity_per_s(every)
    found = min(len(every), PILOTS)
    figures = [maker.figure("capacity_messages_per_s", capacity, found, "load#capacity")]
    if not batches:
        return figures
    responses = np.concatenate([end.series["response_ns"] for end in batches])
    offered = [1e12 / end.counters["interval_ps"] for end in batches]
    lags = [
        end.series["sent_ns"] - _intended_ns(end) for end in batches if len(end.series["sent_ns"])
    ]
    sent = sum(end.counters["messages_sent"] for end in batches)
    unanswered = sum(end.counters["unanswered"] for end in batches)
    figures += [
        maker.figure(
            "offered_messages_per_s", float(np.median(offered)), len(offered), "load#offered"
        ),
        maker.ratio("unanswered_ratio", unanswered, sent, "load#unanswered"),
        *_quantiles(maker, "send_lag", np.concatenate(lags), "load#send-lag"),
    ]
    return figures + (maker.times("response", responses, "load") if len(responses) else [])


def _intended_ns(end: EndData) -> npt.NDArray[np.int64]:
    count = len(end.series["sent_ns"])
    return np.asarray(np.arange(count) * end.counters["interval_ps"] / 1e3, np.int64)


def _generate(maker: _Maker) -> list[Figure]:
    """What left; whether it came, only somebody at the other end could say."""
    point = maker.point
    rates = [
        8e9 * end.counters["bytes_sent"] / (end.counters["last_send_ns"] - end.counters["start_ns"])
        for end in (batch.ends[0] for batch in point.batches)
        if end.counters["last_send_ns"] > end.counters["start_ns"]
    ]
    method = "datagrams#generated-traffic"
    figures = [maker.figure("refused", float(point.counter("refusals")), len(rates), method)]
    if rates:
        rate = float(np.median(rates))
        per_s = rate / (8 * point.message_bytes)
        figures[:0] = [
            maker.figure("sent_bit_per_s", rate, len(rates), method),
            maker.figure("sent_datagrams_per_s", per_s, len(rates), method),
        ]
    times = [b.ends[0].series["sent_ns"] for b in point.batches if "sent_ns" in b.ends[0].series]
    return figures + (_gaps(maker, "send_gap", times) if times else [])


def _duplex(maker: _Maker) -> list[Figure]:
    rates = np.array([duplex_rates_bit_per_s(batch) for batch in maker.point.batches])
    figures = [
        maker.quantile("throughput_bit_per_s", rates[:, 0], 0.5, "throughput#duplex"),
        maker.quantile("throughput_back_bit_per_s", rates[:, 1], 0.5, "throughput#duplex"),
        maker.quantile("throughput_sum_bit_per_s", rates.sum(axis=1), 0.5, "throughput#duplex"),
    ]
    return figures + _losses(maker) + _retransmits(maker) + _processor(maker)


def _losses(maker: _Maker) -> list[Figure]:
    """Shares of what either end sent; what the target sent has ``back`` in its names."""
    point = maker.point
    if point.transport != "udp":
        return []
    ways = ((0, 1, ""), (1, 0, "back_")) if point.test == "duplex" else ((0, 1, ""),)
    return [
        maker.ratio(
            f"{name}_{way}ratio",
            point.counter(counter, receiver),
            point.counter("messages_sent", sender),
            "throughput#loss",
        )
        for sender, receiver, way in ways
        for name, counter in (
            ("lost", "lost"),
            ("reordered", "reordered"),
            ("duplicate", "duplicates"),
        )
    ]


def _times_of_datagrams(maker: _Maker) -> list[Figure]:
    """Gaps, variation of delay, order and runs of loss, where every datagram has its times."""
    point = maker.point
    batches = [b for b in point.batches if "sent_ns" in b.ends[0].series]
    arrived = [b for b in batches if len(b.ends[1].series.get("sequence", ())) > 1]
    if point.transport != "udp" or not arrived or "streams" in point.parameters:
        return []
    transits = [
        transit_ns(b.ends[0].series["sent_ns"], *(b.ends[1].series[n] for n in _ARRIVAL))
        for b in arrived
    ]
    extents = np.concatenate([reordering_extents(b.ends[1].series["sequence"]) for b in arrived])
    runs = np.concatenate([_loss_runs(b) for b in batches])
    variation = np.concatenate([delay_variation_ns(transit) for transit in transits])
    jitter = np.array([interarrival_jitter_ns(transit) for transit in transits])
    longest = {"reordering_extent_max": extents, "loss_run_max": runs}
    return [
        maker.quantile("jitter_ns", jitter, 0.5, "datagrams#jitter"),
        *_quantiles(maker, "delay_variation", variation, "datagrams#delay-variation"),
        *_gaps(maker, "send_gap", [b.ends[0].series["sent_ns"] for b in batches]),
        *_gaps(maker, "arrival_gap", [b.ends[1].series["received_ns"] for b in arrived]),
        *(
            maker.figure(name, float(found.max(initial=0)), len(found), _IN_ORDER)
            for name, found in longest.items()
        ),
    ]


def _loss_runs(batch: Batch) -> npt.NDArray[np.int64]:
    arrived = batch.ends[1].series.get("sequence", np.empty(0, np.int64))
    return loss_runs(arrived, len(batch.ends[0].series["sent_ns"]))


_ARRIVAL = ("received_ns", "sequence")
_IN_ORDER = "datagrams#order-and-runs-of-loss"


def _gaps(maker: _Maker, prefix: str, times: list[npt.NDArray[np.int64]]) -> list[Figure]:
    gaps = np.concatenate([gaps_ns(t) for t in times])
    return _quantiles(maker, prefix, gaps, "datagrams#gaps") if len(gaps) else []


def _quantiles(
    maker: _Maker, prefix: str, samples: npt.NDArray[np.int64], method: str
) -> list[Figure]:
    return [
        maker.quantile(f"{prefix}_{name}_ns", samples, QUANTILES[name], method)
        for name in ("median", "p99")
    ]


def _retransmits(maker: _Maker) -> list[Figure]:
    if maker.point.transport != "tcp":
        return []
    ends = [end for b in maker.point.batches for end in b.ends.values() if end.rank % 2 == 0]
    grown = [end.difference("connection.test.total_retrans") for end in ends]
    known = [value for value in grown if value is not None]
    if not known:
        return []
    return [
        maker.figure(
            "retransmitted_segments", float(sum(known)), len(known), "throughput#retransmits"
        )
    ]


def _processor(maker: _Maker) -> list[Figure]:
    used = [processor_s_per_gbyte(batch) for batch in maker.point.batches]
    known = np.array([value for value in used if value is not None])
    if not len(known):
        return []
    return [maker.quantile("cpu_s_per_gbyte", known, 0.5, "throughput#processor-time")]


def _collective(maker: _Maker) -> list[Figure]:
    """Completion is the slowest rank's time, repetition by repetition; ranks' own times beside."""
    point = maker.point
    completion = np.concatenate([repetition_times_ns(batch) for batch in point.batches])
    every_rank = np.concatenate(
        [point.series("duration_ns", rank) for rank in sorted(point.batches[0].ends)]
    )
    figures = maker.times("completion", completion, "collectives")
    figures.append(
        maker.figure(
            "rank_duration_median_ns",
            quantile(every_rank, 0.5),
            len(every_rank),
            "collectives#rank-duration",
        )
    )
    return figures


_MAKERS: dict[str, Callable[[_Maker], list[Figure]]] = {
    "latency": _latency,
    "pingpong": _pingpong,
    "stream": _stream,
    "duplex": _duplex,
    "open_loop": _open_loop,
    "generate": _generate,
    "incast": _incast,
    "outcast": _pattern,
    "pairs": _pattern,
    "ring": _pattern,
    "alltoall": _pattern,
    "victim": _victim,
    "collective": _collective,
}


def wilson_interval(part: int, whole: int, z: float = 1.959964) -> tuple[float, float]:
    """The score interval of a share of independent events; z of 95 % by default.

    Source: E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference,
    JASA 22 (1927). Losses in bursts make the true interval wider.
    """
    if whole == 0:
        return 0.0, 1.0
    share = part / whole
    centre = share + z * z / (2 * whole)
    reach = z * np.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    scale = 1 + z * z / whole
    return max(0.0, float((centre - reach) / scale)), min(1.0, float((centre + reach) / scale))


def find(figures: Sequence[Figure], name: str, point: str) -> Figure | None:
    """The figure of that name at a point, if there is one."""
    return next((f for f in figures if f.point == point and f.name == name), None)
