"""Which figures are compared, and which way is better."""

from __future__ import annotations

from netsonde.compare.data import Better
from netsonde.figures.programs import ELAPSED, direction, program_figure
from netsonde.figures.side_by_side import COMPARED
from netsonde.patterns import STREAM_PATTERNS
from netsonde.records.data import ALL_PAIRS, PROGRAM, Point

MAIN = {
    **COMPARED,
    **dict.fromkeys(STREAM_PATTERNS, "throughput_bit_per_s"),
    "incast": "throughput_bit_per_s",
    "victim": "response_beside_p99_ns",
    "open_loop": "response_p99_ns",
    "generate": "sent_bit_per_s",
    "simulation": "completion_median_ns",
    PROGRAM: ELAPSED,
}
"""The figure that stands for a test; a program's own figures do so too."""
OF_ALL_PAIRS = ("round_trip_ns", "one_way_ns", "throughput_bit_per_s", "lost_ratio")
"""Medians over the pairs of a round, ``pairs_`` before their names, that stand for all pairs."""
_MORE = (
    *("throughput", "peak_bit_per_s", "asymptotic_bit_per_s", "slowest_flow", "fastest_flow"),
    *("sent_bit_per_s", "beside_bit_per_s", "message_rate", "capacity", "delivered_ratio"),
    *("fairness_ratio", "overlap_ratio"),
)
_LESS = (
    *("round_trip", "half_round_trip", "completion", "rank_duration", "response", "round_"),
    *("one_way_delay", "jitter", "delay_variation", "elapsed", "start_up", "slowdown"),
    *("lost_ratio", "lost_back", "unanswered", "reordered_ratio", "duplicate_ratio"),
    *("timed_out", "retransmitted"),
    *("cpu_s_per_gbyte", "interrupt_cpu_s_per_gbyte", "host_cpu_s_per_gbyte"),
)


def is_main(point: Point, figure: str) -> bool:
    """Whether a figure is compared where nothing else is asked for."""
    if point.test == ALL_PAIRS:
        return figure in [f"pairs_{name}" for name in OF_ALL_PAIRS]
    return figure == MAIN.get(point.test) or (
        point.test == PROGRAM and figure.startswith(program_figure(""))
    )


def better_way(point: Point, figure: str) -> Better | None:
    """Whether more or less of a figure is better; None where neither is, as of a gap."""
    if point.test == PROGRAM:
        return "more" if direction(point, figure) > 0 else "less"
    name = figure.removeprefix("pairs_") if point.test == ALL_PAIRS else figure
    if name.startswith(_LESS) or (point.test == ALL_PAIRS and name.startswith("one_way")):
        return "less"
    return "more" if name.startswith(_MORE) else None
