"""Figures that come of several points of MPI: ratios of them, growth, what comes again."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ROWS = (
    figure("naive_mean_ns", "mpi-analysis#naive-mean"),
    figure("contention_times", "mpi-analysis#contention"),
    figure("duplex_times", "mpi-analysis#duplex"),
    figure("ranks_per_host_times", "launches#ranks-on-a-host"),
    figure("growth_error_ratio", "rank-growth#choice"),
    figure("growth_{part}_ns", "rank-growth#laws", part=("intercept", "slope")),
    figure("outlier_ratio", "recurrence#outliers"),
    figure("outliers_again_ratio", "recurrence#what-comes-again"),
    figure("uplink_least_ns", "partners#uplinks"),
    figure("uplink_ratio", "partners#uplinks"),
    figure("joint_ratio", "threads#together"),
    figure(
        "{which}_thread_round_trip_median_ns", "threads#each-thread", which=("quickest", "slowest")
    ),
    figure("thread_{what}_times", "threads#ratios", what=("contention", "multiple")),
)
METHODS = {
    "threads#quantiles": (
        "Round trips of all threads of two ranks, of the time in which every thread was at it. "
        "Quantiles as of round trips."
    ),
    "threads#extremes": "The least and the largest of those; no interval.",
    "threads#mean": "Arithmetic mean of those after the warm-up.",
    "threads#together": (
        "Round trips that began after the last thread had begun and ended before the first had "
        "ended, over all; Wilson's score interval."
    ),
    "threads#each-thread": "The least and the largest of the threads' own medians.",
    "threads#message-rate": (
        "Each thread's messages, two for a round trip, over the time of its round trips, added up; "
        "the median over batches."
    ),
    "threads#ratios": (
        "Median round trip over that of one thread: of several threads under MPI_THREAD_MULTIPLE, "
        "and of one under MPI_THREAD_MULTIPLE over one under MPI_THREAD_FUNNELED. Bounds are of "
        "the intervals' outer ends, so wider than 95 %."
    ),
    "launches#ranks-on-a-host": (
        "Time with several ranks on each host over that with the fewest, the number of ranks being "
        "the same; of rates the other way round. In one launch the bounds are of the intervals' "
        "outer ends, so wider than 95 %; over launches as all figures."
    ),
    "rank-growth#laws": (
        "Median time against the number of ranks p: a + b f(p) with f the logarithm, its whole "
        "steps, p or p^2, by least squares of relative errors; a is left out where it may be 0. "
        "Intervals are Student's t."
    ),
    "rank-growth#choice": (
        "The error with which the law, fitted without a number of ranks, foretells its time; root "
        "of the mean square over all. A law is decided where every other one's is larger by an F "
        "test."
    ),
    "mpi-analysis#naive-mean": (
        "Mean over all ranks and repetitions: what tools give that do not ask who was slowest."
    ),
    "mpi-analysis#contention": (
        "Median round trip of all pairs at once over that of ranks 0 and 1 alone; bounds of both "
        "intervals together, wider than 95 %."
    ),
    "mpi-analysis#duplex": (
        "Twice the median of sendrecv over that of send, which goes there and back: 1 where both "
        "ways go at once, 2 where they take turns; bounds as for contention."
    ),
    "recurrence#outliers": (
        "Repetitions beyond the outer fence of their launch, three times the middle half's width "
        "above its upper end, and a tenth above the median; Wilson's score interval."
    ),
    "recurrence#what-comes-again": (
        "Outliers at a place, of a rank or of a value that half of the launches share, of which "
        "fewer than 0.05 are to be expected by chance."
    ),
    "partners#uplinks": (
        "Bytes that must cross the uplink in one direction over its rate; no schedule is faster."
    ),
}
"""What each place of docs/methods says, in short."""
