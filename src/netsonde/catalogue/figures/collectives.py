"""Figures of an MPI operation: times, messages a second, overlap, timers, timeouts."""

from __future__ import annotations

from netsonde.catalogue.figure import ORDERS, figure, times

ROWS = (
    *times(
        "completion",
        "collectives",
        orders=(*ORDERS, "p95"),
        also="simulations#completion",
    ),
    figure("rank_duration_median_ns", "collectives#rank-duration", better="less"),
    figure("slowest_rank_median_ns", "collectives#slowest-rank", better="less"),
    figure("late_ratio", "collectives#windows"),
    figure("rank_migrations", "collectives#binding"),
    figure("message_rate_per_s", "message-rates#figures", "threads#message-rate", better="more"),
    figure(
        "{which}_sender_message_rate_per_s", "message-rates#figures", which=("slowest", "fastest")
    ),
    figure("overlap_ratio", "overlap#ratio", better="more"),
    figure("{what}_median_ns", "overlap#times", what=("compute", "together")),
    figure("timer_overhead_ns", "timers#cost"),
    figure("timers_mean_difference_ns", "timers#difference"),
    figure("timers_peak_difference_ns", "timers#peaks"),
    figure("timers_shared_ratio", "timers#histograms"),
    figure("time_outs", "mpi-timeouts#counts", "simulations#protocol", "link#go-back-n"),
    figure("tail_probes", "mpi-timeouts#counts"),
    figure(
        "{many}_ratio",
        "mpi-timeouts#shares",
        many=("no_time_out", "one_time_out", "two_time_outs", "more_time_outs"),
    ),
    figure("without_time_outs_mean_ns", "mpi-timeouts#mean-without"),
    figure(
        "without_time_outs_{of}_mean_ns",
        "mpi-timeouts#mean-without-by-rank",
        of=("rank", "slowest_tenth"),
    ),
)
METHODS = {
    "collectives#quantiles": (
        "Completion of a collective: the slowest rank's time from entering to leaving it, "
        "repetition by repetition, each after a barrier."
    ),
    "collectives#extremes": "The least and the largest of all repetitions.",
    "collectives#binding": (
        "How often the scheduler moved ranks to another CPU during the batches, all ranks "
        "together, as the kernel counts."
    ),
    "collectives#mean": "Arithmetic mean of the steady part.",
    "collectives#start": (
        "From the first rank that entered to the last, by repetition, on the clock of rank 0."
    ),
    "collectives#windows": (
        "Share of repetitions for which a rank was late for its window; they are left out."
    ),
    "message-rates#figures": (
        "Messages of all ranks over the slowest rank's time, or of one rank over its own: the "
        "median over repetitions, each a window of messages."
    ),
    "overlap#ratio": (
        "(P + C - T) / min(P, C) of the slowest rank's times for the operation, a computation as "
        "long, and both at once: the median over repetitions."
    ),
    "overlap#times": "The slowest rank's time in the computation, and in both at once: medians.",
    "mpi-timeouts#mean-without-by-rank": (
        "Of every rank's own times without a timeout of its own: the mean, and the mean of the "
        "slowest tenth, which stands for the slowest process."
    ),
    "timers#cost": (
        "Median over 25 parts of 100 readings of the timer in a row, of every rank and batch, of "
        "what one takes; the interval is that of the order statistics."
    ),
    "timers#difference": (
        "Mean over the calls of the time by MPI_Wtime less that by the clock, which was read "
        "around the same call."
    ),
    "timers#peaks": (
        "Of the calls at a peak of the clock's times, the median of MPI_Wtime's less the clock's; "
        "the peak that has moved most."
    ),
    "timers#histograms": "Share of both timers' histograms that lies in common.",
    "collectives#rank-duration": (
        "Median over all ranks and repetitions of a rank's own time inside the operation."
    ),
    "collectives#slowest-rank": (
        "Median of one rank's own times inside the operation, of the rank where it is largest."
    ),
    "mpi-timeouts#counts": (
        "Timers that ran out (TCPTimeouts) and probes for a lost tail (TCPLossProbes), by all "
        "hosts' kernels, around the batches."
    ),
    "mpi-timeouts#shares": (
        "Repetitions that took longer than the others by none, one, two or more of the least "
        "timeout; given only where the kernels counted as many. Wilson's score interval."
    ),
    "mpi-timeouts#mean-without": (
        "Mean completion of the repetitions without a timeout; no interval."
    ),
}
"""What each place of docs/methods says, in short."""
