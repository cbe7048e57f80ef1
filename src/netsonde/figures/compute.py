"""From raw samples to figures. Every summary of a run is made here and nowhere else.

Which figure is obtained how is said in docs/methods; ``Figure.method`` points there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import Program
from netsonde.catalogue.test import TESTS
from netsonde.figures.data import Figure
from netsonde.figures.flow_figures import (
    flow_figures,
    loss_figures,
    retransmit_figures,
    unauthentic_figures,
)
from netsonde.figures.frames import frame_figures
from netsonde.figures.kernel_trace import kernel_trace_figures
from netsonde.figures.load import PILOTS, capacity_per_s
from netsonde.figures.maker import MAKERS, Maker
from netsonde.figures.packet_figures import packet_figures
from netsonde.figures.processor import host_time_figures, processor_s_per_gbyte
from netsonde.figures.stages import PARTS, has_stages, stages_of
from netsonde.figures.throughput import (
    duplex_rates_bit_per_s,
    stream_rates_bit_per_s,
)
from netsonde.figures.timers import timer_figures
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.stats.datagrams import (
    delay_variation_ns,
    gaps_ns,
    interarrival_jitter_ns,
    loss_runs,
    reordering_extents,
    transit_ns,
)

SAMPLES_FOR_THREADS = 200_000
THREADS = 4
"""More points at once would take more memory for what little they save."""
STAMP_NS = 1.0
"""What times are kept in: no delay is known better, whoever's clocks it is between."""


def figures_of(run: Run) -> list[Figure]:
    """All figures of all measured points of a run, in the order of the points, and those of its
    sweeps."""
    figures: list[Figure] = []
    for point, own in zip(run.points, _of_each(run.points), strict=True):
        sent = own if not (point.kind.is_program or point.kind.is_round) else []
        figures += [*own, *(packet_figures(run, point, own) if sent else ())]
        figures += [*_of_line(run, point), *host_time_figures(run, point)]
        figures += _of_operation(run, point)
    figures += _of_ranks(run, figures)
    return [*figures, *_of_sweeps(run, figures)]


# Who waits for an answer waits for what is imported before: figures that few runs have are
# imported where a run can have them.


def _of_line(run: Run, point: Point) -> list[Figure]:
    if not point.kind.is_whole:
        return []
    from netsonde.figures.gathers import line_use_figures

    return line_use_figures(run, point)


def _of_operation(run: Run, point: Point) -> list[Figure]:
    if not point.kind.is_operation:
        return []
    from netsonde.figures.mpi_relations import naive_mean
    from netsonde.figures.time_outs import time_out_figures

    return [*naive_mean(point), *time_out_figures(run, point)]


def _of_ranks(run: Run, figures: list[Figure]) -> list[Figure]:
    """What several points of ranks tell together, and operations by what lies between hosts."""
    own = [point for point in run.points if point.carrier.has_ranks]
    if len(own) < 2 and not any(point.kind.is_operation for point in own):
        return []
    from netsonde.figures.mpi_relations import relation_figures
    from netsonde.figures.rank_growth import growth_figures
    from netsonde.figures.ranks_per_host import ranks_per_host_figures
    from netsonde.figures.recurrence import recurrence_figures
    from netsonde.figures.threads import thread_relations
    from netsonde.figures.uplinks import uplink_figures

    made = [*relation_figures(run, figures), *thread_relations(run, figures)]
    made += ranks_per_host_figures(run, [*figures, *made])
    made += [*recurrence_figures(run), *uplink_figures(run, [*figures, *made])]
    return [*made, *growth_figures(run, [*figures, *made])]


def _of_sweeps(run: Run, figures: Sequence[Figure]) -> list[Figure]:
    if len({point.message_bytes for point in run.points if point.kind.is_round_trip}) < 2:
        return []
    from netsonde.figures.sweeps import sweep_figures, sweeps_of

    return [figure for sweep in sweeps_of(run.points, figures) for figure in sweep_figures(sweep)]


def _of_each(points: Sequence[Point]) -> Iterator[list[Figure]]:
    """The figures of each point. Long series are sorted and transformed by numpy, which lets other
    threads run meanwhile; for short ones threads would only wait for each other."""
    most = max((samples_of(point) for point in points), default=0)
    if most < SAMPLES_FOR_THREADS:
        yield from map(figures_of_point, points)
        return
    with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
        yield from pool.map(figures_of_point, points)


def samples_of(point: Point) -> int:
    """How many values of all series a point holds."""
    ends = (end for batch in point.batches for end in batch.ends.values())
    return sum(len(values) for end in ends for values in end.series.values())


def figures_of_point(point: Point) -> list[Figure]:
    """The figures of one point; none where nothing was measured, or of a test that only another
    version knows. Those of another tool, which it was measured like or which measured it, come
    last."""
    maker = Maker(point)
    makes = MAKERS.get(point.test) if point.batches else None
    figures = makes(maker) if makes else []
    figures += [*unauthentic_figures(maker), *frame_figures(maker)]
    return [*figures, *kernel_trace_figures(maker), *_of_other_tools(maker)]


def _of_other_tools(maker: Maker) -> list[Figure]:
    point = maker.point
    if point.spec.like is None and point.imported is None:
        return []
    from netsonde.peers.said import METHODS
    from netsonde.peers.told import told

    method = METHODS.get(point.spec.like or "", "")
    figures = [maker.figure(t.name, t.value, t.samples, method=method) for t in told(point)]
    if point.imported is None:
        return figures
    method = METHODS.get(point.imported.tool, "")
    return figures + [
        maker.figure(f.name, f.value, f.samples, method=method) for f in point.imported.figures
    ]


@MAKERS.of("latency")
def _latency(maker: Maker) -> list[Figure]:
    samples = maker.point.series("round_trip_ns")
    figures = maker.times("round_trip", samples, "latency") if len(samples) else []
    if maker.point.has_datagrams:
        figures.append(
            maker.ratio(
                "unanswered_ratio",
                maker.point.counter("unanswered"),
                maker.point.counter("messages_sent"),
                method="latency#unanswered",
            )
        )
    return [*figures, *_stages(maker), *timer_figures(maker)]


def _stages(maker: Maker) -> list[Figure]:
    """Where the time of round trips went, where the kernel's times were taken."""
    if not has_stages(maker.point):
        return []
    stages = stages_of(maker.point)
    whole = stages.whole_ns
    figures = [
        maker.ratio("stamped_ratio", len(whole), stages.answered),
    ]
    if not len(whole):
        return figures
    for name in PARTS:
        figures += maker.quantiles(name, stages.parts[name])
    for end in ("origin", "target"):
        figures += maker.quantiles(f"{end}_host", stages.host_ns(end))
    for word, chosen in (("typical", stages.typical()), ("slow", stages.slow())):
        figures += [
            maker.figure(
                f"{word}_{name}_ns", float(stages.parts[name][chosen].mean()), int(chosen.sum())
            )
            for name in PARTS
        ]
    return figures


@MAKERS.of("pingpong")
def _pingpong(maker: Maker) -> list[Figure]:
    """A message crosses twice in a round trip, so the rate is twice its bits over it."""
    figures = _latency(maker)
    bits = 2 * 8e9 * maker.point.message_bytes
    for median in [f for f in figures if f.name == "round_trip_median_ns"]:
        figures.append(
            maker.figure(
                "throughput_bit_per_s",
                bits / median.value,
                median.samples,
                bits / median.high if median.high else None,
                bits / median.low if median.low else None,
                median.effective_samples,
                method="throughput#pingpong",
            )
        )
    return figures


@MAKERS.of("stream")
def _stream(maker: Maker) -> list[Figure]:
    point = maker.point
    rates = np.array([stream_rates_bit_per_s(batch) for batch in point.batches])
    figures = [
        maker.quantile("throughput_bit_per_s", rates[:, 1], 0.5, method="throughput#stream"),
        maker.quantile("throughput_origin_bit_per_s", rates[:, 0], 0.5),
    ]
    if point.counts_datagrams and point.message_bytes:
        per_s = rates[:, 0] / (8 * point.message_bytes)
        figures.append(
            maker.quantile("sent_datagrams_per_s", per_s, 0.5, method="throughput#stream")
        )
    return [
        *figures,
        *flow_figures(maker),
        *loss_figures(maker),
        *_times_of_datagrams(maker),
        *_one_way(maker),
        *retransmit_figures(maker),
        *_processor(maker),
    ]


def _one_way(maker: Maker) -> list[Figure]:
    """Delays by one clock; what the clocks are uncertain by widens every interval."""
    if maker.point.spec.streams is not None or maker.point.carrier.has_ranks:
        return []
    from netsonde.figures.one_way import one_way_delays

    found = one_way_delays(maker.point.batches)
    if found is None:
        return []
    delays, wider_ns = found.delay_ns, found.uncertainty_ns
    quantiles = maker.quantiles("one_way_delay", delays)
    least = maker.figure("one_way_delay_min_ns", float(delays.min()), len(delays))
    reach_ns = max(wider_ns, STAMP_NS)
    return [
        replace(least, low=least.value - reach_ns, high=least.value + reach_ns),
        *(
            replace(f, low=f.low - wider_ns, high=f.high + wider_ns)
            if f.low is not None and f.high is not None
            else f
            for f in quantiles
        ),
        maker.figure(
            "clock_uncertainty_ns", wider_ns, len(maker.point.batches), method="one-way#clock"
        ),
    ]


@MAKERS.of("open_loop")
def _open_loop(maker: Maker) -> list[Figure]:
    """Responses from the intended times; the first batches found the capacity and are no others."""
    every = maker.point.batches
    batches = [batch.ends[0] for batch in every[PILOTS:]]
    capacity = capacity_per_s(every)
    found = min(len(every), PILOTS)
    figures = [maker.figure("capacity_messages_per_s", capacity, found)]
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
        maker.figure("offered_messages_per_s", float(np.median(offered)), len(offered)),
        maker.ratio("unanswered_ratio", unanswered, sent, method="load#unanswered"),
        *maker.quantiles("send_lag", np.concatenate(lags)),
    ]
    return figures + (maker.times("response", responses, "load") if len(responses) else [])


def _intended_ns(end: EndData) -> npt.NDArray[np.int64]:
    count = len(end.series["sent_ns"])
    return np.asarray(np.arange(count) * end.counters["interval_ps"] / 1e3, np.int64)


@MAKERS.of("generate")
def _generate(maker: Maker) -> list[Figure]:
    """What left; whether it came, only somebody at the other end could say."""
    point = maker.point
    rates = [
        8e9 * end.counters["bytes_sent"] / (end.counters["last_send_ns"] - end.counters["start_ns"])
        for end in (batch.ends[0] for batch in point.batches)
        if end.counters["last_send_ns"] > end.counters["start_ns"]
    ]
    method = "datagrams#generated-traffic"
    figures = [maker.figure("refused", float(point.counter("refusals")), len(rates))]
    if rates:
        rate = float(np.median(rates))
        per_s = rate / (8 * point.message_bytes)
        figures[:0] = [
            maker.figure("sent_bit_per_s", rate, len(rates)),
            maker.figure("sent_datagrams_per_s", per_s, len(rates), method=method),
        ]
    times = [b.ends[0].series["sent_ns"] for b in point.batches if "sent_ns" in b.ends[0].series]
    return figures + (_gaps(maker, "send_gap", times) if times else [])


@MAKERS.of("duplex")
def _duplex(maker: Maker) -> list[Figure]:
    rates = np.array([duplex_rates_bit_per_s(batch) for batch in maker.point.batches])
    figures = [
        maker.quantile("throughput_bit_per_s", rates[:, 0], 0.5, method="throughput#duplex"),
        maker.quantile("throughput_back_bit_per_s", rates[:, 1], 0.5),
        maker.quantile("throughput_sum_bit_per_s", rates.sum(axis=1), 0.5),
    ]
    return figures + loss_figures(maker) + retransmit_figures(maker) + _processor(maker)


def _times_of_datagrams(maker: Maker) -> list[Figure]:
    """Gaps, variation of delay, order and runs of loss, where every datagram has its times."""
    point = maker.point
    batches = [b for b in point.batches if "sent_ns" in b.ends[0].series]
    arrived = [b for b in batches if len(b.ends[1].series.get("sequence", ())) > 1]
    if not point.counts_datagrams or not arrived or point.spec.streams is not None:
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
        maker.quantile("jitter_ns", jitter, 0.5),
        *maker.quantiles("delay_variation", variation),
        *_gaps(maker, "send_gap", [b.ends[0].series["sent_ns"] for b in batches]),
        *_gaps(maker, "arrival_gap", [b.ends[1].series["received_ns"] for b in arrived]),
        *(
            maker.figure(name, float(found.max(initial=0)), len(found))
            for name, found in longest.items()
        ),
    ]


def _loss_runs(batch: Batch) -> npt.NDArray[np.int64]:
    arrived = batch.ends[1].series.get("sequence", np.empty(0, np.int64))
    return loss_runs(arrived, len(batch.ends[0].series["sent_ns"]))


_ARRIVAL = ("received_ns", "sequence")


def _gaps(maker: Maker, prefix: str, times: list[npt.NDArray[np.int64]]) -> list[Figure]:
    gaps = np.concatenate([gaps_ns(t) for t in times])
    return maker.quantiles(prefix, gaps) if len(gaps) else []


def _processor(maker: Maker) -> list[Figure]:
    used = [processor_s_per_gbyte(batch) for batch in maker.point.batches]
    known = np.array([value for value in used if value is not None])
    if not len(known):
        return []
    return [maker.quantile("cpu_s_per_gbyte", known, 0.5)]


@MAKERS.of("program")
def _program(maker: Maker) -> list[Figure]:
    """Of a user's own program: how long its runs took, and what it said of them."""
    from netsonde.figures.programs import is_good, program_figure

    runs = [run for batch in maker.point.batches if is_good(run := batch.ends[0].done)]
    if not runs:
        return []
    elapsed = np.array([float(run["elapsed_ns"]) for run in runs])
    figures = [maker.quantile("elapsed_median_ns", elapsed, 0.5)]
    for name in maker.point.spec.of(Program).figures or ():
        values = np.array(
            [float(v) for run in runs if (v := run.get(f"figure.{name}")) is not None]
        )
        if len(values):
            figures.append(maker.quantile(program_figure(name), values, 0.5))
    return figures


if _LACKING := MAKERS.missing(TESTS):
    raise LookupError(f"nothing makes figures of the test {', '.join(_LACKING)}")


def find(figures: Sequence[Figure], name: str, point: str) -> Figure | None:
    """The figure of that name at a point, if there is one."""
    return next((f for f in figures if f.point == point and f.name == name), None)
