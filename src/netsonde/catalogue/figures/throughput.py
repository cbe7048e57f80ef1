"""Figures of streams: rates, flows beside each other, losses, and CPU time."""

from __future__ import annotations

from netsonde.catalogue.figure import FigureKind

ROWS = (
    FigureKind(
        "throughput_bit_per_s",
        "bit_per_s",
        "throughput",
        (
            *(
                "throughput#stream",
                "throughput#duplex",
                "throughput#pingpong",
                "patterns#throughput",
            ),
            *("patterns#rounds", "message-rates#figures", "simulations#throughput"),
        ),
        "more",
    ),
    FigureKind(
        "throughput_origin_bit_per_s",
        "bit_per_s",
        "throughput origin",
        ("throughput#stream",),
        "more",
    ),
    FigureKind(
        "throughput_{way}_bit_per_s",
        "bit_per_s",
        "throughput {way}",
        ("throughput#duplex",),
        "more",
        {"way": ("back", "sum")},
    ),
    FigureKind(
        "sent_datagrams_per_s",
        "count",
        "sent datagrams/s",
        ("throughput#stream", "datagrams#generated-traffic"),
    ),
    FigureKind(
        "{which}_flow_bit_per_s",
        "bit_per_s",
        "{which} flow",
        ("throughput#flows",),
        "more",
        {"which": ("slowest", "fastest")},
    ),
    FigureKind("fairness_ratio", "ratio", "fairness", ("throughput#flows",), "more"),
    FigureKind(
        "{what}_ratio",
        "ratio",
        "{what}",
        ("throughput#loss",),
        "less",
        {
            "what": (
                "lost",
                "reordered",
                "duplicate",
                "lost_back",
                "reordered_back",
                "duplicate_back",
            )
        },
    ),
    FigureKind(
        "retransmitted_segments",
        "count",
        "retransmitted segments",
        ("throughput#retransmits",),
        "less",
    ),
    FigureKind(
        "cpu_s_per_gbyte", "count", "cpu s per gbyte", ("throughput#processor-time",), "less"
    ),
    FigureKind(
        "{who}_cpu_s_per_gbyte",
        "count",
        "{who} cpu s per gbyte",
        ("throughput#processor-time-of-hosts",),
        "less",
        {"who": ("host", "interrupt")},
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
