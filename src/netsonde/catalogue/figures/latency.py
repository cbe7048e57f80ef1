"""Figures of round trips, and of sweeps over their sizes."""

from __future__ import annotations

from netsonde.catalogue.figure import FigureKind, times

ROWS = (
    *times("round_trip", "round trip", "less", "latency", "threads"),
    FigureKind(
        "unanswered_ratio", "ratio", "unanswered", ("latency#unanswered", "load#unanswered"), "less"
    ),
    FigureKind("half_round_trip_ns", "ns", "half round trip", ("sweeps#latency",), "less"),
    FigureKind("start_up_ns", "ns", "start up", ("sweeps#start-up",), "less"),
    FigureKind("peak_bit_per_s", "bit_per_s", "peak", ("sweeps#peak",), "more"),
    FigureKind("peak_size_bytes", "bytes", "peak size", ("sweeps#peak",)),
    FigureKind("half_peak_size_bytes", "bytes", "half peak size", ("sweeps#peak",)),
    FigureKind(
        "asymptotic_bit_per_s", "bit_per_s", "asymptotic", ("sweeps#asymptotic-bandwidth",), "more"
    ),
    FigureKind(
        "half_performance_bytes", "bytes", "half performance", ("sweeps#half-performance-size",)
    ),
    FigureKind("saturation_bytes", "bytes", "saturation", ("sweeps#saturation",)),
)
METHODS = {
    "latency#quantiles": (
        "Round trip: from before the send to after the receive of the answer, at the origin, one "
        "sample a message. Quantiles are of the steady part (the warm-up is found by a "
        "change-point test). Intervals are order statistics, which assume no distribution, for as "
        "many independent samples as the autocorrelated ones are worth."
    ),
    "latency#extremes": (
        "The least and the largest of all samples, the warm-up included; no interval can be given "
        "for them."
    ),
    "latency#mean": (
        "Arithmetic mean of the steady part. A few late answers move it; the median is the better "
        "figure."
    ),
    "latency#unanswered": (
        "UDP messages without an answer within the patience of 200 ms, over those sent; Wilson's "
        "score interval."
    ),
    "sweeps#latency": "Half of the median round trip of the smallest message, with its interval.",
    "sweeps#start-up": (
        "t0 of the line t0 + m / B through the one-way times of the smallest sizes; Student's "
        "interval."
    ),
    "sweeps#peak": (
        "The highest throughput that was measured, its size, and the size at which half of it is "
        "first kept."
    ),
    "sweeps#asymptotic-bandwidth": (
        "r_inf: one over the slope of the line through the largest sizes' one-way times; the "
        "inverted interval of the slope, for the breaks that were found."
    ),
    "sweeps#half-performance-size": (
        "n_1/2 = t0 r_inf of that line: a fit, not a size that was measured; Fieller's interval."
    ),
    "sweeps#saturation": (
        "The size from which on throughput stays at 90 % of r_inf or more; bounds of curve and "
        "r_inf together, wider than 95 %."
    ),
}
"""What each place of docs/methods says, in short."""
