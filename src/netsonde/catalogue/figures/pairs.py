"""Figures of a round of all pairs: how many pairs met, and each measure over them."""

from __future__ import annotations

from netsonde.catalogue.figure import FigureKind

MEASURES = ("all-pairs#measures",)

ROWS = (
    FigureKind("pairs_measured", "count", "pairs", MEASURES),
    FigureKind("pairs_round_trip_ns", "ns", "round trip", MEASURES, "less"),
    FigureKind("pairs_round_trip_min_ns", "ns", "least round trip", MEASURES, "less"),
    FigureKind("pairs_one_way_ns", "ns", "one way", MEASURES, "less"),
    FigureKind("pairs_one_way_min_ns", "ns", "least one way", MEASURES, "less"),
    FigureKind("pairs_throughput_bit_per_s", "bit_per_s", "throughput", MEASURES, "more"),
    FigureKind("pairs_lost_ratio", "ratio", "lost", MEASURES, "less"),
    FigureKind("pairs_retransmitted_ratio", "ratio", "retransmitted", MEASURES, "less"),
)
METHODS = {
    "all-pairs#measures": (
        "Medians over the pairs of a round, of ratios the share of all: a pair's round trip and "
        "one-way delay are means without the slowest 5 %, its throughput is of a TCP stream, its "
        "losses are of paced datagrams. clock_uncertainty_ns: of the worst pair's clocks."
    ),
}
"""What each place of docs/methods says, in short."""
