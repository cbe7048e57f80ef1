"""Figures of datagrams one by one: gaps, delays, order, runs of loss."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ROWS = (
    figure("jitter_ns", "datagrams#jitter", better="less"),
    figure(
        "delay_variation_{order}_ns",
        "datagrams#delay-variation",
        better="less",
        order=("median", "p99"),
    ),
    figure(
        "{gap}_gap_{order}_ns", "datagrams#gaps", gap=("send", "arrival"), order=("median", "p99")
    ),
    figure("reordering_extent_max", "datagrams#order-and-runs-of-loss"),
    figure("loss_run_max", "datagrams#order-and-runs-of-loss"),
    figure("unauthentic_messages", "authenticated#what-is-counted", better="less"),
    figure("sent_bit_per_s", "datagrams#generated-traffic", better="more"),
    figure("refused", "datagrams#generated-traffic"),
    figure(
        "one_way_delay_{order}_ns", "one-way#delay", better="less", order=("min", "median", "p99")
    ),
)
METHODS = {
    "datagrams#jitter": (
        "RFC 3550's interarrival jitter at the end of a batch; the median over batches. It "
        "remembers some dozen datagrams."
    ),
    "datagrams#delay-variation": (
        "How much longer than the fastest datagram of its batch each one took (RFC 5481); the two "
        "clocks' offset cancels."
    ),
    "datagrams#gaps": (
        "Times between the returns of send calls, and between arrivals, of datagrams that followed "
        "each other."
    ),
    "datagrams#order-and-runs-of-loss": (
        "The greatest distance, in arrivals, back to the earliest datagram that had overtaken one "
        "(RFC 4737), and the most in a row that never came (RFC 3357). No interval."
    ),
    "authenticated#what-is-counted": (
        "Datagrams whose tag the other end did not write, at both ends, over all batches: they are "
        "not counted as received. No interval."
    ),
    "datagrams#generated-traffic": (
        "Payload handed to the kernel over the time to the last send call, and refusals that came "
        "back meanwhile. What arrived, nobody says."
    ),
    "one-way#delay": (
        "From the send call's return (of a paced stream: its begin) by the origin's clock to the "
        "arrival by the target's, less the offset between the clocks. The interval is that of the "
        "order statistics, wider by what the clocks are uncertain by."
    ),
    "one-way#clock": (
        "Half the width of what the offset between the clocks can be, from every comparison of "
        "them; 0 where all ends read one clock."
    ),
}
"""What each place of docs/methods says, in short."""
