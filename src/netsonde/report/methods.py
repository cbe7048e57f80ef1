"""Where each figure's method is explained, and its short form for the report itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from netsonde.figures import Figure
from netsonde.report.plot import Plot

_SHORT = {
    "latency#quantiles": (
        "Round trip: from before the send to after the receive of the answer, at the origin, one "
        "sample a message. Quantiles are of the steady part (the warm-up is found by a "
        "change-point test). Intervals are order statistics, which assume no distribution, for as "
        "many independent samples as the autocorrelated ones are worth."
    ),
    "latency#extremes": (
        "The least and the largest of all samples, the warm-up included; no interval can be given "
        "for them."
    ),
    "latency#mean": (
        "Arithmetic mean of the steady part. A few late answers move it; the median is the better "
        "figure."
    ),
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
    "latency#unanswered": (
        "UDP messages without an answer within the patience of 200 ms, over those sent; Wilson's "
        "score interval."
    ),
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
        "Segments that the sender's kernel sent again on the test's own connection."
    ),
    "throughput#processor-time": (
        "User and system time of both ends' workers, from getrusage, for each 10^9 bytes that "
        "arrived; the median over batches. What interrupts take is not in it."
    ),
    "throughput#processor-time-of-hosts": (
        "Time that the hosts' processors worked, whoever for, and for interrupts, by the kernel's "
        "ticks, for each 10^9 bytes that arrived. Bounds are what the ticks can hide."
    ),
    "packets#frames": (
        "Bytes over frames that an interface counted, the control connection's taken off; expected "
        "is the sum of the headers and the payload, without check sequence."
    ),
    "packets#packets-interrupts-acknowledgements": (
        "Frames both ways over interrupts that name the device, and of each direction where a card "
        "has interrupts apart; data segments over bare "
        "acknowledgements of the test's connection; payload of a frame over the rate."
    ),
    "packets#wire-rate": (
        "Payload rate times what its frames take of a line, preamble and gap included. TCP's "
        "overhead is all headers and acknowledgements over payload."
    ),
    "packets#fragments": (
        "Frames that one datagram makes; at least and at most as many datagrams as the fragments "
        "that were lost before the receiver can have taken with them."
    ),
    "packets#loss-location": (
        "Differences of the four counters on a datagram's way, in frames: handed over, sent by the "
        "card, received by the other card, received. From least to most, for certain."
    ),
    "packets#delivered-share-and-shared-ports": (
        "Payload that the process received over bytes that its card received."
    ),
    "packets#limits-of-tcp-and-of-hosts": (
        "Shares of the time in which TCP had something to send, and the least round trip, are the "
        "kernel's own; a buffer of twice rate times round trip does not limit."
    ),
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
    "patterns#time-outs": (
        "Rounds in which a sender's kernel counted a retransmission time-out (TcpExt TCPTimeouts) "
        "over all rounds; Wilson's score interval."
    ),
    "patterns#common-start": (
        "From the first origin's start to the last origin's, on one clock; over the batches, of "
        "incast over the rounds."
    ),
    "patterns#offered": (
        "Payload that all origins handed to their kernels, from the first start to the last "
        "origin's end; the median over batches. What it is above the throughput was lost."
    ),
    "patterns#host-load": (
        "Share of the time of all processors of a host that was not idle, between the snapshots "
        "around a batch; the median over batches. Other programs are in it."
    ),
    "patterns#victim": (
        "Response times, from the intended time of each message, of one flow with 1,000 messages a "
        "second: alone, and while the others stream; batch by batch in turn."
    ),
    "load#quantiles": (
        "Response time: from the time a message was meant to leave to the arrival of its answer, "
        "so that what it waited for others is in it. Quantiles as of round trips."
    ),
    "load#extremes": "The least and the largest of all response times; no interval.",
    "load#mean": "Arithmetic mean of the steady part of the response times.",
    "load#capacity": (
        "Answers a second when messages are sent as fast as they go; the median of three batches."
    ),
    "load#offered": "One over the interval between intended times; the median over batches.",
    "load#unanswered": "Datagrams without an answer over those sent; Wilson's score interval.",
    "load#send-lag": "How late after the intended time the sender began a message.",
    "kernel-times#parts": (
        "Each part begins and ends at a stamp or a call on one host. The network's is the time "
        "from the origin's driver to the arrival of the answer, less what the target's host took; "
        "both ways together."
    ),
    "kernel-times#hosts": "The sum of a host's parts, round trip by round trip.",
    "kernel-times#typical-and-slow": (
        "Means over the round trips between the 45 % and the 55 % quantile, and over the slowest "
        "hundredth. They add up to the mean round trip of these."
    ),
    "kernel-times#missing": (
        "Round trips of which both hosts have every stamp, over those answered. The others have "
        "no parts."
    ),
    "depth#scheduler": (
        "From the time a thread of the worker could run until it ran, by the scheduler's "
        "tracepoints. Quantiles of a histogram whose buckets are a quarter of a power of two "
        "wide at most; the largest is exact. For each message: the sum over the messages sent."
    ),
    "depth#queue": (
        "From the time a packet of the test's own socket was given to its device's queueing "
        "discipline until the driver was called; histogram as above."
    ),
    "depth#driver": "How long the driver's call for a packet took; histogram as above.",
    "depth#receive": (
        "From the time the host's stack took a packet until the worker began to read it (UDP: had "
        "read it); histogram as above."
    ),
    "depth#softirqs": (
        "Time in NET_RX and NET_TX softirqs of the whole host, over the messages that were sent."
    ),
    "depth#retransmits": (
        "Segments of the worker's connections that were sent again, by the state the connection "
        "was in: a time-out, a fast retransmission, a probe of the tail, another."
    ),
    "other-tools#iperf3": (
        "As iperf3 counts: its sender up to its last write, its receiver over its own time; loss "
        "by gaps in the numbers; shares of one processor. Imported throughput is its receiver's."
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
    "sweeps#latency": "Half of the median round trip of the smallest message, with its interval.",
    "sweeps#start-up": (
        "t0 of the line t0 + m / B through the one-way times of the smallest sizes; Student's "
        "interval."
    ),
    "sweeps#peak": (
        "The highest throughput that was measured, its size, and the size at which half of it is "
        "first kept."
    ),
    "sweeps#asymptotic-bandwidth": (
        "r_inf: one over the slope of the line through the largest sizes' one-way times; the "
        "inverted interval of the slope, for the breaks that were found."
    ),
    "sweeps#half-performance-size": (
        "n_1/2 = t0 r_inf of that line: a fit, not a size that was measured; Fieller's interval."
    ),
    "sweeps#saturation": (
        "The size from which on throughput stays at 90 % of r_inf or more; bounds of curve and "
        "r_inf together, wider than 95 %."
    ),
    "collectives#quantiles": (
        "Completion of a collective: the slowest rank's time from entering to leaving it, "
        "repetition by repetition, each after a barrier."
    ),
    "collectives#extremes": "The least and the largest of all repetitions.",
    "collectives#binding": (
        "How often the scheduler moved ranks to another processor during the batches, all ranks "
        "together, as the kernel counts."
    ),
    "all-pairs#measures": (
        "Medians over the pairs of a round, of ratios the share of all: a pair's round trip and "
        "one-way delay are means without the slowest 5 %, its throughput is of a TCP stream, its "
        "losses are of paced datagrams. clock_uncertainty_ns: of the worst pair's clocks."
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
    "rank-clocks#exchanges": "The fastest exchange between two ranks that compared their clocks.",
    "rank-clocks#uncertainty": (
        "Half the distance between the bounds of a rank's lead over rank 0, at most."
    ),
    "rank-clocks#drift": "The rate at which a rank's clock left rank 0's, the largest.",
    "rank-clocks#residual": (
        "Distance of comparisons from the line through the first and the last one."
    ),
    "rank-clocks#error": "The same line where the truth is known: all ranks read one clock.",
    "mpi-time-outs#mean-without-by-rank": (
        "Of every rank's own times without a time-out of its own: the mean, and the mean of the "
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
    "mpi-time-outs#counts": (
        "Timers that ran out (TCPTimeouts) and probes for a lost tail (TCPLossProbes), by all "
        "hosts' kernels, around the batches."
    ),
    "mpi-time-outs#shares": (
        "Repetitions that took longer than the others by none, one, two or more of the least "
        "time-out; given only where the kernels counted as many. Wilson's score interval."
    ),
    "mpi-time-outs#mean-without": (
        "Mean completion of the repetitions without a time-out; no interval."
    ),
    "programs#elapsed-time": (
        "From the start of a run of the user's own program to its end, on its host's way to this "
        "machine and back; the median over runs, with the interval of their order statistics."
    ),
    "programs#its-own-figures": (
        "What the program wrote: the last number that the study's expression found in a run's "
        "output; the median over runs, with the interval of their order statistics."
    ),
}


@dataclass(frozen=True)
class Method:
    """``anchor`` is the id within the report, ``page`` the place under docs/methods."""

    anchor: str
    page: str
    names: tuple[str, ...]
    short: str


def method_anchor(method: str) -> str:
    """The id in the report of a method such as ``latency#quantiles``."""
    return "method-" + re.sub(r"[^a-z0-9]+", "-", method.lower()).strip("-")


def methods_of(figures: Iterable[Figure]) -> list[Method]:
    """The methods that the figures were obtained by, each once, in order."""
    names: dict[str, dict[str, None]] = {}
    for figure in figures:
        names.setdefault(figure.method, {})[figure.name] = None
    return [
        Method(
            method_anchor(method),
            _page(method),
            tuple(sorted(found)),
            _SHORT.get(method.replace(".md", ""), ""),
        )
        for method, found in sorted(names.items())
    ]


PLOTS: dict[str, tuple[str, ...]] = {
    "latency-distribution": ("latency#quantiles", "latency#extremes"),
    "latency-size": ("latency#quantiles", "sweeps#start-up"),
    "latency-order": ("latency#quantiles",),
    "layers": ("latency#quantiles",),
    "threads": ("threads#",),
    "where-the-time-goes": ("kernel-times#",),
    "response-load": ("load#",),
    "modes": ("latency#quantiles", "collectives#quantiles"),
    "pairs-": ("all-pairs#",),
    "pairs": ("latency#quantiles", "throughput#"),
    "levels": ("latency#quantiles",),
    "scaling": ("throughput#", "patterns#throughput"),
    "throughput-size": ("throughput#", "sweeps#peak", "sweeps#asymptotic-bandwidth"),
    "throughput-time": ("throughput#stream", "throughput#retransmits"),
    "processors": ("throughput#processor-time",),
    "by-option": ("throughput#", "latency#quantiles"),
    "matrix": ("throughput#", "latency#quantiles"),
    "by-flow": ("throughput#flows", "patterns#"),
    "sweep": ("sweeps#",),
    "collectives": ("collectives#", "rank-clocks#"),
    "ranks-per-host": ("launches#ranks-on-a-host",),
    "model-measured": ("collectives#quantiles", "latency#quantiles"),
    "ways-of-operations": ("collectives#quantiles", "latency#quantiles", "throughput#"),
    "recurrence": ("recurrence#",),
    "clocks": ("rank-clocks#",),
    "timers": ("timers#",),
    "imported": ("other-tools#",),
    "techniques": ("other-tools#",),
}
"""What the methods begin with that a plot's figures are obtained by, by what its id begins with."""


def methods_of_plot(plot: Plot, figures: Iterable[Figure]) -> list[Method]:
    """The methods behind a plot, of the figures that the run has."""
    key = max((k for k in PLOTS if plot.id.startswith(k)), key=len, default="")
    wanted = PLOTS.get(key, ())
    return methods_of(f for f in figures if wanted and f.method.startswith(wanted))


def _page(method: str) -> str:
    page, _, anchor = method.partition("#")
    page = page if page.endswith(".md") else f"{page}.md"
    return f"docs/methods/{page}" + (f"#{anchor}" if anchor else "")
