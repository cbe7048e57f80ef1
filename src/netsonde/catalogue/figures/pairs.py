"""Figures of a round of all pairs: how many pairs met, and each measure over them."""

from __future__ import annotations

from netsonde.catalogue.figure import Better, FigureKind, figure

MEASURES = ("all-pairs#measures",)

EACH = "all-pairs#each-with-each"
REDUCED = "all-pairs#one-number"


def _in_company(
    stem: str, method: str, label: str, better: Better = "neither"
) -> tuple[FigureKind, ...]:
    """A figure of all pairs alone, and of all at once."""
    ways = ("isolated", "together")
    return (figure(f"{{pairs}}_{stem}", method, better=better, label=label, pairs=ways),)


ROWS = (
    figure("pairs_measured", *MEASURES, label="pairs"),
    figure("pairs_round_trip_ns", *MEASURES, better="less", label="round trip"),
    figure("pairs_round_trip_min_ns", *MEASURES, better="less", label="least round trip"),
    figure("pairs_one_way_ns", *MEASURES, better="less", label="one way"),
    figure("pairs_one_way_min_ns", *MEASURES, better="less", label="least one way"),
    figure("pairs_throughput_bit_per_s", *MEASURES, better="more", label="throughput"),
    figure("pairs_lost_ratio", *MEASURES, better="less", label="lost"),
    figure("pairs_retransmitted_ratio", *MEASURES, better="less", label="retransmitted"),
    *_in_company("round_trip_ns", REDUCED, "{pairs}, all pairs", "less"),
    *_in_company("plain_round_trip_ns", REDUCED, "{pairs}, mean with outliers"),
    *_in_company("median_round_trip_ns", REDUCED, "{pairs}, median pair", "less"),
    *_in_company("least_round_trip_ns", REDUCED, "{pairs}, fastest pair", "less"),
    *_in_company("most_round_trip_ns", REDUCED, "{pairs}, slowest pair", "less"),
    *_in_company("left_out", REDUCED, "{pairs}, pairs left out"),
    *_in_company("self_round_trip_ns", REDUCED, "{pairs}, host with itself", "less"),
    *_in_company("rate_bit_per_s", EACH, "{pairs}, rate of a pair", "more"),
    *_in_company("unanswered_ratio", EACH, "{pairs}, unanswered", "less"),
    figure("together_times", EACH, better="less", label="together over alone"),
    figure("corrupt_messages", EACH, better="less", label="corrupt"),
)
METHODS = {
    EACH: (
        "Round trips of each host with each, on the clock of who asks: isolated, no host is in two "
        "pairs at a time; together, all pairs are at it at once. A rate is the payload over half "
        "of a round trip."
    ),
    REDUCED: (
        "The averages of all pairs of two hosts as one number: their mean without those that are "
        "further from the median than five scaled median absolute deviations and a tenth of it. "
        "What a host needs with itself is apart."
    ),
    "all-pairs#measures": (
        "Medians over the pairs of a round, of ratios the share of all: a pair's round trip and "
        "one-way delay are means without the slowest 5 %, its throughput is of a TCP stream, its "
        "losses are of paced datagrams. clock_uncertainty_ns: of the worst pair's clocks."
    ),
}
"""What each place of docs/methods says, in short."""
