"""Figures of an MPI operation: times, messages a second, overlap, timers, timeouts."""

from __future__ import annotations

from netsonde.catalogue.figure import ORDERS, FigureKind, times

ROWS = (
    *times(
        "completion",
        "completion",
        "less",
        "collectives",
        orders=(*ORDERS, "p95"),
        also="simulations#completion",
    ),
    FigureKind(
        "rank_duration_median_ns",
        "ns",
        "rank duration median",
        ("collectives#rank-duration",),
        "less",
    ),
    FigureKind("late_ratio", "ratio", "late", ("collectives#windows",)),
    FigureKind("rank_migrations", "count", "rank migrations", ("collectives#binding",)),
    FigureKind(
        "message_rate_per_s",
        "count",
        "message rate/s",
        ("message-rates#figures", "threads#message-rate"),
        "more",
    ),
    FigureKind(
        "{which}_sender_message_rate_per_s",
        "count",
        "{which} sender message rate/s",
        ("message-rates#figures",),
        parts={"which": ("slowest", "fastest")},
    ),
    FigureKind("overlap_ratio", "ratio", "overlap", ("overlap#ratio",), "more"),
    FigureKind(
        "{what}_median_ns",
        "ns",
        "{what} median",
        ("overlap#times",),
        parts={"what": ("compute", "together")},
    ),
    FigureKind("timer_overhead_ns", "ns", "timer overhead", ("timers#cost",)),
    FigureKind("timers_mean_difference_ns", "ns", "timers mean difference", ("timers#difference",)),
    FigureKind("timers_peak_difference_ns", "ns", "timers peak difference", ("timers#peaks",)),
    FigureKind("timers_shared_ratio", "ratio", "timers shared", ("timers#histograms",)),
    FigureKind("time_outs", "count", "timeouts", ("mpi-timeouts#counts", "simulations#protocol")),
    FigureKind("tail_probes", "count", "tail probes", ("mpi-timeouts#counts",)),
    FigureKind(
        "{many}_ratio",
        "ratio",
        "{many}",
        ("mpi-timeouts#shares",),
        parts={"many": ("no_time_out", "one_time_out", "two_time_outs", "more_time_outs")},
    ),
    FigureKind(
        "without_time_outs_mean_ns", "ns", "without timeouts mean", ("mpi-timeouts#mean-without",)
    ),
    FigureKind(
        "without_time_outs_{of}_mean_ns",
        "ns",
        "without timeouts {of} mean",
        ("mpi-timeouts#mean-without-by-rank",),
        parts={"of": ("rank", "slowest_tenth")},
    ),
)
METHODS = {
    "collectives#quantiles": (
        "Completion of a collective: the slowest rank's time from entering to leaving it, "
        "repetition by repetition, each after a barrier."
    ),
    "collectives#extremes": "The least and the largest of all repetitions.",
    "collectives#binding": (
        "How often the scheduler moved ranks to another processor during the batches, all ranks "
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
