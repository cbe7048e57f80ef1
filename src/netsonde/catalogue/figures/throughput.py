"""Figures of streams: rates, flows beside each other, losses, and CPU time."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ROWS = (
    figure(
        "throughput_bit_per_s",
        "throughput#stream",
        "throughput#duplex",
        "throughput#pingpong",
        "patterns#throughput",
        "patterns#rounds",
        "message-rates#figures",
        "simulations#throughput",
        better="more",
    ),
    figure("throughput_origin_bit_per_s", "throughput#stream", better="more"),
    figure("throughput_{way}_bit_per_s", "throughput#duplex", better="more", way=("back", "sum")),
    figure("sent_datagrams_per_s", "throughput#stream", "datagrams#generated-traffic"),
    figure(
        "{which}_flow_bit_per_s", "throughput#flows", better="more", which=("slowest", "fastest")
    ),
    figure("fairness_ratio", "throughput#flows", better="more"),
    figure(
        "{what}_ratio",
        "throughput#loss",
        better="less",
        what=(
            "lost",
            "reordered",
            "duplicate",
            "lost_back",
            "reordered_back",
            "duplicate_back",
        ),
    ),
    figure("retransmitted_segments", "throughput#retransmits", better="less"),
    figure("cpu_s_per_gbyte", "throughput#processor-time", better="less"),
    figure(
        "{who}_cpu_s_per_gbyte",
        "throughput#processor-time-of-hosts",
        better="less",
        who=("host", "interrupt"),
    ),
)
METHODS = {
    "throughput#stream": (
        "Payload received over the time from the origin's start to the last arrival, corrected by "
        "half of the synchronisation's round trip; the median over batches, with the interval of "
        "their order statistics. The origin's own rate is kept beside it."
    ),
    "throughput#duplex": (
        "Both ends send at once; what each received over its own time. The sum is taken batch by "
        "batch."
    ),
    "throughput#pingpong": "Twice the message's bits over the median round trip.",
    "throughput#loss": (
        "Datagrams that were sent and never seen, seen twice, or seen after a later one, over "
        "those sent; Wilson's score interval. Losses in bursts make the true interval wider."
    ),
    "throughput#flows": (
        "Each flow's payload over its own time; the median over batches. Fairness is Jain's index: "
        "1 for equal flows, one over their number where one has everything."
    ),
    "throughput#retransmits": (
        "Segments that the sender's kernel retransmitted on the test's own connection."
    ),
    "throughput#processor-time": (
        "User and system time of both ends' workers, from getrusage, for each 10^9 bytes that "
        "arrived; the median over batches. What interrupts take is not in it."
    ),
    "throughput#processor-time-of-hosts": (
        "Time that the hosts' CPUs worked, whoever for, and for interrupts, by the kernel's "
        "ticks, for each 10^9 bytes that arrived. Bounds are what the ticks can hide."
    ),
}
"""What each place of docs/methods says, in short."""
