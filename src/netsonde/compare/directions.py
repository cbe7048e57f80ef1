"""Which figures are compared, and which way is better."""

from __future__ import annotations

from netsonde.catalogue.known_figures import find_figure
from netsonde.compare.data import Better
from netsonde.figures.programs import ELAPSED, direction, program_figure
from netsonde.figures.side_by_side import COMPARED
from netsonde.patterns import STREAM_PATTERNS
from netsonde.records.data import PROGRAM, Point

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


def is_main(point: Point, figure: str) -> bool:
    """Whether a figure is compared where nothing else is asked for."""
    if point.kind.is_round:
        return figure in [f"pairs_{name}" for name in OF_ALL_PAIRS]
    return figure == MAIN.get(point.test) or (
        point.kind.is_program and figure.startswith(program_figure(""))
    )


def better_way(point: Point, figure: str) -> Better | None:
    """Whether more or less of a figure is better; None where neither is, as of a gap. Of a
    program's own figure its study says it, of others their rows do."""
    if figure.startswith(program_figure("")):
        return "more" if direction(point, figure) > 0 else "less"
    known = find_figure(figure)
    return None if known is None or known.better == "neither" else known.better
