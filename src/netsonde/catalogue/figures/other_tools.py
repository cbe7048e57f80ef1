"""Figures that other tools give, or would have given, by their names."""

from __future__ import annotations

from netsonde.catalogue.figure import ORDERS, figure

IPERF3, NETPERF = "other-tools#iperf3", "other-tools#netperf"
SOCKPERF, NETPIPE = "other-tools#sockperf", "other-tools#netpipe"
OSU, IMB = "other-tools#osu-micro-benchmarks", "other-tools#intel-mpi-benchmarks"
PMB, SKAMPI = "other-tools#pallas-mpi-benchmarks", "other-tools#skampi"
MPPTEST, MPBENCH = "other-tools#mpptest", "other-tools#mpbench"
REPROMPI, MPIBENCH = "other-tools#reprompi", "other-tools#mpibench"

ROWS = (
    figure("jitter_back_ns", IPERF3, better="less"),
    figure(
        "iperf3_{which}_bit_per_s",
        IPERF3,
        which=("sender", "sender_back", "receiver", "slowest_second", "fastest_second"),
    ),
    figure("iperf3_{which}_ns", IPERF3, which=("jitter", "jitter_mean", "jitter_mean_back")),
    figure("iperf3_{which}_ratio", IPERF3, which=("lost", "lost_back", "cpu_client", "cpu_server")),
    figure("iperf3_smoothed_round_trip_{which}_ns", IPERF3, which=("mean", "min", "max")),
    figure("iperf3_congestion_window_max_bytes", IPERF3),
    figure(
        "netperf_{which}_bit_per_s",
        NETPERF,
        which=(
            "throughput",
            "sender",
            "receiver",
            "local_send",
            "local_receive",
            "remote_send",
            "remote_receive",
        ),
    ),
    figure("netperf_transactions_per_s", NETPERF),
    figure("netperf_round_trip_mean_ns", NETPERF),
    figure(
        "netperf_call_{which}_ns", NETPERF, which=("median", "p90", "p99", "min", "max", "mean")
    ),
    figure("netperf_deviation_ns", NETPERF),
    figure("netperf_cpu_{end}_ratio", NETPERF, end=("local", "remote")),
    figure(
        "sockperf_{what}_{which}_ns",
        SOCKPERF,
        what=("rtt", "latency"),
        which=(*ORDERS, "p25", "p75", "p9999", "p99999", "min", "max", "mean", "deviation"),
    ),
    figure("sockperf_sender_bit_per_s", SOCKPERF),
    figure("sockperf_sender_messages_per_s", SOCKPERF),
    figure("netpipe_one_way_{which}_ns", NETPIPE, which=("mean", "best")),
    figure(
        "netpipe_{which}_bit_per_s",
        NETPIPE,
        which=("mean", "best", "slowest_trial", "fastest_trial"),
    ),
    figure("osu_{what}_{column}_ns", OSU, what=("completion", "one_way", "access")),
    figure("osu_overlap_ratio", OSU),
    figure("osu_bandwidth_bit_per_s", OSU),
    figure("osu_messages_per_s", OSU),
    figure(
        "imb_{what}_{which}_ns",
        IMB,
        what=("one_way", "rank"),
        which=("mean", "min", "max", "overlapped", "pure", "computation"),
    ),
    figure("imb_overlap_ratio", IMB),
    figure("imb_messages_per_s", IMB),
    figure("imb_bandwidth_bit_per_s", IMB),
    figure("pmb_{what}_ns", PMB, what=("one_way_mean", "rank_mean", "rank_min", "rank_max")),
    figure("pmb_bandwidth_bit_per_s", PMB),
    figure(
        "skampi_{what}_{which}_ns",
        SKAMPI,
        what=("completion", "round_trip"),
        which=("trimmed_mean", "error"),
    ),
    figure("skampi_bandwidth_bit_per_s", SKAMPI),
    figure("mpptest_{what}_best_ns", MPPTEST, what=("completion", "one_way")),
    figure("mpptest_bandwidth_bit_per_s", MPPTEST),
    figure("mpbench_{what}_mean_ns", MPBENCH, what=("completion", "one_way")),
    figure("mpbench_bandwidth_bit_per_s", MPBENCH),
    figure("reprompi_{which}_ns", REPROMPI, which=("mean", "median", "min", "max")),
    figure("mpibench_mean_ns", MPIBENCH),
)
METHODS = {
    "other-tools#iperf3": (
        "As iperf3 counts: its sender up to its last write, its receiver over its own time; loss "
        "by gaps in the numbers; shares of one CPU. Imported throughput is its receiver's."
    ),
    "other-tools#netperf": (
        "As netperf counts: payload until the other end has closed the connection, transactions a "
        "second as one over the mean, calls and warm-up included."
    ),
    "other-tools#sockperf": (
        "As sockperf counts: round trips, halved unless --full-rtt was given, without the first "
        "400 ms and the last 50 ms; a percentile is one of the samples."
    ),
    "other-tools#netpipe": (
        "As NetPIPE counts: half a round trip, the mean of a trial, of which the best is given."
    ),
    "other-tools#osu-micro-benchmarks": (
        "As OSU's benchmarks count: means of a loop, one way for two ranks, over ranks for "
        "collectives; windows of messages for bandwidth."
    ),
    "other-tools#intel-mpi-benchmarks": (
        "As Intel's benchmarks count: means of a loop, one way for PingPong, of the fastest, the "
        "slowest and all ranks for others."
    ),
    "other-tools#pallas-mpi-benchmarks": (
        "As the Pallas benchmarks count: the loop's mean, in which repetitions overlap, of the "
        "fastest, the slowest and all ranks; one way for two."
    ),
    "other-tools#skampi": (
        "As SKaMPI counts: calls of the slowest rank until their standard error is 3 % of the "
        "mean; the mean without the lowest and the highest quarter."
    ),
    "other-tools#mpptest": "As mpptest counts: the least of 30 means of a loop, at rank 0.",
    "other-tools#mpbench": "As MPBench counts: the mean from the root's begin until all are done.",
    "other-tools#reprompi": (
        "As ReproMPI counts: mean, median, least and largest of the slowest rank, no warm-up."
    ),
    "other-tools#mpibench": (
        "As MPIBench counts: the mean of all messages one way, or of the slowest rank's calls."
    ),
}
"""What each place of docs/methods says, in short."""
