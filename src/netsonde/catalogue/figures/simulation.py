"""Figures that only simulated runs have."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ROWS = (
    figure("host_throughput_bit_per_s", "simulations#throughput"),
    figure("line_use_ratio", "simulations#throughput", "patterns#gather", better="more"),
    figure("mean_line_use_ratio", "simulations#throughput"),
    figure(
        "lost_{where}_ratio", "simulations#losses", where=("overflow", "random", "receive_pool")
    ),
    figure("retransmitted_ratio", "simulations#protocol", "link#go-back-n", better="less"),
    figure("nacks_sent", "simulations#protocol", "link#go-back-n"),
    figure("fast_retransmits", "simulations#protocol"),
    figure(
        "{chance}_ratio",
        "simulations#chances",
        "link#chances",
        chance=("loss_chance", "severity", "last_time_out"),
    ),
    figure("delivery_{order}_ns", "simulations#packets", order=("median", "p99", "max")),
    figure("queue_{queue}_most_packets", "simulations#queues"),
    figure("loss_cycle_{part}_packets", "simulations#loss-cycles", part=("a", "b", "c")),
    figure("formula_{figure}", "simulations#formulas"),
)
METHODS = {
    "simulations#completion": (
        "From the begin until the last host has sent and received all that it should; of a "
        "schedule that is repeated, each repetition. The median, the least, the largest."
    ),
    "simulations#throughput": (
        "Data that all hosts received, each byte once, over the whole time; of lines, the time "
        "that full packets take of it, 1 where a receiver's line never rested."
    ),
    "simulations#losses": (
        "Packets that found no place in a switch, were lost on a line, or found no place in a "
        "host, over all that were made; Wilson's score interval, too narrow for bursts."
    ),
    "simulations#protocol": (
        "Packets retransmitted over all data packets sent; timeouts, Nacks and fast "
        "retransmissions of a run, on average."
    ),
    "simulations#chances": (
        "The chances c, 1-a and f of the three states of Go-Back-N, of each flow's events alone "
        "and then averaged (Tam 2001, Eqs. 4.11 to 4.13)."
    ),
    "simulations#packets": (
        "From the first time that the process handed a packet over until the other process had it."
    ),
    "simulations#queues": "The longest that a queue was that the scenario asked for.",
    "simulations#loss-cycles": (
        "Packets that pass in the periods t_a, t_b and t_c of an input-buffered switch's loss "
        "cycles, found in the length of one input's queue; the mean over all cycles."
    ),
    "simulations#formulas": "What a formula of the model says of the figure that is compared.",
}
"""What each place of docs/methods says, in short."""
