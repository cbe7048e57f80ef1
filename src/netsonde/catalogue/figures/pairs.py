"""Figures of a round of all pairs: how many pairs met, and each measure over them."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

MEASURES = ("all-pairs#measures",)

ROWS = (
    figure("pairs_measured", *MEASURES, label="pairs"),
    figure("pairs_round_trip_ns", *MEASURES, better="less", label="round trip"),
    figure("pairs_round_trip_min_ns", *MEASURES, better="less", label="least round trip"),
    figure("pairs_one_way_ns", *MEASURES, better="less", label="one way"),
    figure("pairs_one_way_min_ns", *MEASURES, better="less", label="least one way"),
    figure("pairs_throughput_bit_per_s", *MEASURES, better="more", label="throughput"),
    figure("pairs_lost_ratio", *MEASURES, better="less", label="lost"),
    figure("pairs_retransmitted_ratio", *MEASURES, better="less", label="retransmitted"),
)
METHODS = {
    "all-pairs#measures": (
        "Medians over the pairs of a round, of ratios the share of all: a pair's round trip and "
        "one-way delay are means without the slowest 5 %, its throughput is of a TCP stream, its "
        "losses are of paced datagrams. clock_uncertainty_ns: of the worst pair's clocks."
    ),
}
"""What each place of docs/methods says, in short."""
