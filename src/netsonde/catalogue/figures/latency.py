"""Figures of round trips, and of sweeps over their sizes."""

from __future__ import annotations

from netsonde.catalogue.figure import figure, times

ROWS = (
    *times("round_trip", "latency", "threads"),
    figure("unanswered_ratio", "latency#unanswered", "load#unanswered", better="less"),
    figure("half_round_trip_ns", "sweeps#latency", better="less"),
    figure("start_up_ns", "sweeps#start-up", better="less"),
    figure("peak_bit_per_s", "sweeps#peak", better="more"),
    figure("peak_size_bytes", "sweeps#peak"),
    figure("half_peak_size_bytes", "sweeps#peak"),
    figure("asymptotic_bit_per_s", "sweeps#asymptotic-bandwidth", better="more"),
    figure("half_performance_bytes", "sweeps#half-performance-size"),
    figure("saturation_bytes", "sweeps#saturation"),
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
