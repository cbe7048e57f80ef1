"""Figures of MPI operations and of the ranks' clocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from netsonde.figures.clock_quality import clock_quality
from netsonde.figures.data import Figure
from netsonde.figures.maker import MAKERS, QUANTILES, Maker
from netsonde.figures.message_rates import message_rates_per_s, sender_rates_per_s
from netsonde.figures.overlap import overlap_ratios, overlap_times_ns
from netsonde.figures.slowest_rank import slowest_rank
from netsonde.figures.timers import timer_figures
from netsonde.ranks.clocks import common_start
from netsonde.ranks.repetitions import has_summary, has_windows, is_late, repetition_times_ns
from netsonde.ranks.summaries import durations_of, raw_durations_ns
from netsonde.stats.quantiles import least_samples, quantile
from netsonde.stats.warmup import find_steady_part

COMPLETION = {**QUANTILES, "p95": 0.95}
"""Quantiles of an operation's time: p95 among them, as MPIBench's users have it."""


@MAKERS.of("collective")
def collective_figures(maker: Maker) -> list[Figure]:
    """Completion is the slowest rank's time, repetition by repetition; ranks' own times beside."""
    point = maker.point
    completion = np.concatenate([repetition_times_ns(batch) for batch in point.batches])
    if not len(completion):
        return _common_start(maker)
    figures = maker.times("completion", completion, "collectives", COMPLETION)
    figures.append(_rank_duration(maker))
    figures += _slowest_rank(maker)
    return [
        *figures,
        *_message_rates(maker),
        *_overlap(maker),
        *_common_start(maker),
        *_migrations(maker),
        *timer_figures(maker),
    ]


def _rank_duration(maker: Maker) -> Figure:
    """The median of all ranks' times; where some are only counted in a histogram, from to is the
    bucket that it lies in."""
    batches, name = maker.point.batches, "rank_duration_median_ns"
    if not any(has_summary(batch) for batch in batches):
        every = np.concatenate([raw_durations_ns(batch) for batch in batches])
        return maker.figure(name, quantile(every, 0.5), len(every))
    histogram = durations_of(batches)
    value = histogram.quantile(0.5)
    error = histogram.largest_relative_error * value
    return maker.figure(name, value, histogram.total, value - error, value + error)


def _slowest_rank(maker: Maker) -> list[Figure]:
    """Of summarised batches the median of the rank's medians, without an interval."""
    name = "slowest_rank_median_ns"
    found = slowest_rank(maker.point.batches)
    if found is None:
        return []
    if found.is_summarised:
        return [maker.figure(name, float(np.median(found.times_ns)), len(found.times_ns))]
    return [maker.quantile(name, found.times_ns, 0.5)]


def _migrations(maker: Maker) -> list[Figure]:
    """How often the scheduler put a rank on another CPU; none where kernels do not say it."""
    moved = [
        count
        for batch in maker.point.batches
        for end in batch.ends.values()
        if (count := end.difference("process.migrations")) is not None
    ]
    if not moved:
        return []
    return [maker.figure("rank_migrations", float(sum(moved)), len(moved))]


def _message_rates(maker: Maker) -> list[Figure]:
    """All pairs together, and the slowest and fastest rank that sends, each by its median."""
    point = maker.point
    found = [rates for b in point.batches if (rates := message_rates_per_s(b)) is not None]
    if not found:
        return []
    method = "message-rates#figures"
    together = np.concatenate(found)
    figures = [maker.quantile("message_rate_per_s", together, 0.5, method=method)]
    if point.message_bytes:
        bits = 8 * point.message_bytes
        figures.append(maker.quantile("throughput_bit_per_s", bits * together, 0.5, method=method))
    by_sender = [sender_rates_per_s(batch) for batch in point.batches]
    if not all(by_sender):
        return figures
    names = [f"{word}_sender_message_rate_per_s" for word in ("slowest", "fastest")]
    medians = [
        maker.quantile(names[0], np.concatenate([b[rank] for b in by_sender]), 0.5)
        for rank in by_sender[0]
    ]
    ends = [choose(medians, key=lambda figure: figure.value) for choose in (min, max)]
    return figures + [replace(end, name=name) for end, name in zip(ends, names, strict=True)]


def _overlap(maker: Maker) -> list[Figure]:
    found = [t for b in maker.point.batches if (t := overlap_times_ns(b)) is not None]
    if not found:
        return []
    pure, compute, together = (np.concatenate(times) for times in zip(*found, strict=True))
    steady = find_steady_part(pure).begin
    ratios = overlap_ratios(pure, compute, together)[steady:]
    return [
        maker.quantile("overlap_ratio", ratios, 0.5),
        maker.quantile("compute_median_ns", compute[steady:], 0.5),
        maker.quantile("together_median_ns", together[steady:], 0.5),
    ]


def _common_start(maker: Maker) -> list[Figure]:
    """How well ranks began together, where their clocks are known; windows that were missed."""
    batches = maker.point.batches
    common = [c for c in (common_start(batch) for batch in batches) if c is not None]
    figures = []
    if common:
        spread = np.concatenate([c.spread_ns for c in common])
        figures += maker.quantiles("start_spread", spread, method="collectives#start")
        worst = max(c.uncertainty_ns for c in common)
        figures.append(
            maker.figure(
                "clock_uncertainty_ns", worst, len(common), method="rank-clocks#uncertainty"
            )
        )
    late = [is_late(batch) for batch in batches if has_windows(batch)]
    if late:
        missed = np.concatenate(late)
        figures.append(maker.ratio("late_ratio", int(missed.sum()), len(missed)))
    return figures


@MAKERS.of("clock")
def clock_figures(maker: Maker) -> list[Figure]:
    """How well the ranks' clocks are known."""
    found = [q for q in (clock_quality(batch) for batch in maker.point.batches) if q is not None]
    if not found:
        return []
    figures = [
        maker.figure(
            "clock_uncertainty_ns",
            max(q.uncertainty_ns for q in found),
            len(found),
            method="rank-clocks#uncertainty",
        ),
        maker.figure("clock_drift_ppb", max((q.drift_ppb for q in found), key=abs), len(found)),
    ]
    round_trips = [q.round_trip_ns for q in found if q.round_trip_ns is not None]
    if round_trips:
        figures.append(maker.figure("clock_round_trip_ns", min(round_trips), len(round_trips)))
    for name in ("residual", "error"):
        values = np.abs(np.concatenate([getattr(q, f"{name}_ns") for q in found]))
        if len(values):
            figures += [
                maker.figure(f"clock_{name}_{word}_ns", quantile(values, q), len(values))
                for word, q in (("median", 0.5), ("p99", 0.99), ("max", 1.0))
                if word == "max" or len(values) >= least_samples(q)
            ]
    return figures
