"""Figures that other tools give, or would have given, by their names."""

from __future__ import annotations

from netsonde.catalogue.figure import ORDERS, FigureKind

IPERF3, NETPERF = "other-tools#iperf3", "other-tools#netperf"
SOCKPERF, NETPIPE = "other-tools#sockperf", "other-tools#netpipe"
OSU, IMB = "other-tools#osu-micro-benchmarks", "other-tools#intel-mpi-benchmarks"
PMB, SKAMPI = "other-tools#pallas-mpi-benchmarks", "other-tools#skampi"
MPPTEST, MPBENCH = "other-tools#mpptest", "other-tools#mpbench"
REPROMPI, MPIBENCH = "other-tools#reprompi", "other-tools#mpibench"

ROWS = (
    FigureKind("jitter_back_ns", "ns", "jitter back", (IPERF3,), "less"),
    FigureKind(
        "iperf3_{which}_bit_per_s",
        "bit_per_s",
        "iperf3 {which}",
        (IPERF3,),
        parts={"which": ("sender", "sender_back", "receiver", "slowest_second", "fastest_second")},
    ),
    FigureKind(
        "iperf3_{which}_ns",
        "ns",
        "iperf3 {which}",
        (IPERF3,),
        parts={"which": ("jitter", "jitter_mean", "jitter_mean_back")},
    ),
    FigureKind(
        "iperf3_{which}_ratio",
        "ratio",
        "iperf3 {which}",
        (IPERF3,),
        parts={"which": ("lost", "lost_back", "cpu_client", "cpu_server")},
    ),
    FigureKind(
        "iperf3_smoothed_round_trip_{which}_ns",
        "ns",
        "iperf3 smoothed round trip {which}",
        (IPERF3,),
        parts={"which": ("mean", "min", "max")},
    ),
    FigureKind(
        "iperf3_congestion_window_max_bytes", "bytes", "iperf3 congestion window max", (IPERF3,)
    ),
    FigureKind(
        "netperf_{which}_bit_per_s",
        "bit_per_s",
        "netperf {which}",
        (NETPERF,),
        parts={
            "which": (
                "throughput",
                "sender",
                "receiver",
                "local_send",
                "local_receive",
                "remote_send",
                "remote_receive",
            )
        },
    ),
    FigureKind("netperf_transactions_per_s", "count", "netperf transactions/s", (NETPERF,)),
    FigureKind("netperf_round_trip_mean_ns", "ns", "netperf round trip mean", (NETPERF,)),
    FigureKind(
        "netperf_call_{which}_ns",
        "ns",
        "netperf call {which}",
        (NETPERF,),
        parts={"which": ("median", "p90", "p99", "min", "max", "mean")},
    ),
    FigureKind("netperf_deviation_ns", "ns", "netperf deviation", (NETPERF,)),
    FigureKind(
        "netperf_cpu_{end}_ratio",
        "ratio",
        "netperf cpu {end}",
        (NETPERF,),
        parts={"end": ("local", "remote")},
    ),
    FigureKind(
        "sockperf_{what}_{which}_ns",
        "ns",
        "sockperf {what} {which}",
        (SOCKPERF,),
        parts={
            "what": ("rtt", "latency"),
            "which": (*ORDERS, "p25", "p75", "p9999", "p99999", "min", "max", "mean", "deviation"),
        },
    ),
    FigureKind("sockperf_sender_bit_per_s", "bit_per_s", "sockperf sender", (SOCKPERF,)),
    FigureKind(
        "sockperf_sender_messages_per_s", "count", "sockperf sender messages/s", (SOCKPERF,)
    ),
    FigureKind(
        "netpipe_one_way_{which}_ns",
        "ns",
        "netpipe one way {which}",
        (NETPIPE,),
        parts={"which": ("mean", "best")},
    ),
    FigureKind(
        "netpipe_{which}_bit_per_s",
        "bit_per_s",
        "netpipe {which}",
        (NETPIPE,),
        parts={"which": ("mean", "best", "slowest_trial", "fastest_trial")},
    ),
    FigureKind(
        "osu_{what}_{column}_ns",
        "ns",
        "osu {what} {column}",
        (OSU,),
        parts={"what": ("completion", "one_way", "access")},
    ),
    FigureKind("osu_overlap_ratio", "ratio", "osu overlap", (OSU,)),
    FigureKind("osu_bandwidth_bit_per_s", "bit_per_s", "osu bandwidth", (OSU,)),
    FigureKind("osu_messages_per_s", "count", "osu messages/s", (OSU,)),
    FigureKind(
        "imb_{what}_{which}_ns",
        "ns",
        "imb {what} {which}",
        (IMB,),
        parts={
            "what": ("one_way", "rank"),
            "which": ("mean", "min", "max", "overlapped", "pure", "computation"),
        },
    ),
    FigureKind("imb_overlap_ratio", "ratio", "imb overlap", (IMB,)),
    FigureKind("imb_messages_per_s", "count", "imb messages/s", (IMB,)),
    FigureKind("imb_bandwidth_bit_per_s", "bit_per_s", "imb bandwidth", (IMB,)),
    FigureKind(
        "pmb_{what}_ns",
        "ns",
        "pmb {what}",
        (PMB,),
        parts={"what": ("one_way_mean", "rank_mean", "rank_min", "rank_max")},
    ),
    FigureKind("pmb_bandwidth_bit_per_s", "bit_per_s", "pmb bandwidth", (PMB,)),
    FigureKind(
        "skampi_{what}_{which}_ns",
        "ns",
        "skampi {what} {which}",
        (SKAMPI,),
        parts={"what": ("completion", "round_trip"), "which": ("trimmed_mean", "error")},
    ),
    FigureKind("skampi_bandwidth_bit_per_s", "bit_per_s", "skampi bandwidth", (SKAMPI,)),
    FigureKind(
        "mpptest_{what}_best_ns",
        "ns",
        "mpptest {what} best",
        (MPPTEST,),
        parts={"what": ("completion", "one_way")},
    ),
    FigureKind("mpptest_bandwidth_bit_per_s", "bit_per_s", "mpptest bandwidth", (MPPTEST,)),
    FigureKind(
        "mpbench_{what}_mean_ns",
        "ns",
        "mpbench {what} mean",
        (MPBENCH,),
        parts={"what": ("completion", "one_way")},
    ),
    FigureKind("mpbench_bandwidth_bit_per_s", "bit_per_s", "mpbench bandwidth", (MPBENCH,)),
    FigureKind(
        "reprompi_{which}_ns",
        "ns",
        "reprompi {which}",
        (REPROMPI,),
        parts={"which": ("mean", "median", "min", "max")},
    ),
    FigureKind("mpibench_mean_ns", "ns", "mpibench mean", (MPIBENCH,)),
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
