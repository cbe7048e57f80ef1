"""Figures of many hosts at once."""

from __future__ import annotations

from netsonde.catalogue.figure import figure, times

ROWS = (
    *times("round", "patterns"),
    figure("timed_out_rounds_ratio", "patterns#timeouts", better="less"),
    figure("offered_bit_per_s", "patterns#offered"),
    figure("{hosts}_load_ratio", "patterns#host-load", hosts=("shared_host", "other_hosts")),
    figure(
        "response_{when}_{order}_ns",
        "patterns#victim",
        better="less",
        when=("alone", "beside"),
        order=("median", "p99"),
    ),
    figure("slowdown_p99_times", "patterns#victim", better="less"),
    figure("beside_bit_per_s", "patterns#victim", better="more"),
    figure(
        "start_spread_{order}_ns",
        "patterns#common-start",
        "collectives#start",
        order=("median", "p99", "max"),
    ),
)
METHODS = {
    "patterns#throughput": (
        "What all targets received over the time from the first start to the last arrival, on one "
        "clock; the median over batches."
    ),
    "patterns#rounds": (
        "What all targets received in all rounds over the rounds' times together, as a program "
        "that waits for the slowest sees it. No interval."
    ),
    "patterns#quantiles": (
        "Time of a round: from the first origin's start to the last message at the target."
    ),
    "patterns#extremes": "The shortest and the longest round; no interval.",
    "patterns#mean": "Arithmetic mean of the rounds after the warm-up.",
    "patterns#timeouts": (
        "Rounds in which a sender's kernel counted a retransmission timeout (TcpExt TCPTimeouts) "
        "over all rounds; Wilson's score interval."
    ),
    "patterns#common-start": (
        "From the first origin's start to the last origin's, on one clock; over the batches, of "
        "incast over the rounds."
    ),
    "patterns#gather": (
        "Packets that came, each once, times the time of one on the receiver's line, over the time "
        "from the first origin's start to the last arrival; the median over batches."
    ),
    "patterns#offered": (
        "Payload that all origins handed to their kernels, from the first start to the last "
        "origin's end; the median over batches. What it is above the throughput was lost."
    ),
    "patterns#host-load": (
        "Share of the time of all CPUs of a host that was not idle, between the snapshots "
        "around a batch; the median over batches. Other programs are in it."
    ),
    "patterns#victim": (
        "Response times, from the intended time of each message, of one flow with 1,000 messages a "
        "second: alone, and while the others stream; batch by batch in turn."
    ),
}
"""What each place of docs/methods says, in short."""
