"""Options of MPI: keys of ``[mpi]``, of ``[[measure]]`` and of ``[measure.windows]``."""

from __future__ import annotations

from dataclasses import replace

from netsonde.catalogue.option import (
    WRITTEN,
    Choice,
    Count,
    Flag,
    Group,
    Option,
    Size,
    Switch,
    Takers,
    by_key,
)
from netsonde.catalogue.transport import names_with
from netsonde.reductions import REDUCTIONS

MOST_RANKS = 4096
MOST_LAUNCHES = 1000
MOST_KEPT = 1 << 26
"""Samples of a batch, of all ranks."""
_ANY_OPERATION = "goes with operations, such as bcast"
_NOT_WITH = "operations such as bcast, not with {test:value}"
_BEGUN = "goes with operations that can be begun and waited for, such as ibcast"
_CANNOT_BE_BEGUN = "it cannot be begun and waited for, as ibcast and isend_irecv can"


def _of_ranks(*rows: Option) -> tuple[Option, ...]:
    """The rows, as those of the transports between ranks."""
    return tuple(replace(row, of=names_with("has_ranks")) for row in rows)


MPI = by_key(
    _of_ranks(
        Option(
            "mpi",
            WRITTEN,
            "Which MPIs: names or paths of mpiexec.",
            flags=(
                Flag(
                    "--mpi",
                    "NAME|PATH,...",
                    "The MPI, or several to be put side by side: mpich, openmpi, impi, or the path "
                    "of an mpiexec, an mpicc or an installation; @srun behind one lets Slurm's "
                    "srun start its ranks, and +NAME=VALUE sets a variable of its library. `--mpi "
                    "list` shows what is found here.",
                    group=Group.HOSTS,
                    default="mpich",
                ),
            ),
        ),
        Option(
            "ranks",
            WRITTEN,
            "How many; of several numbers each in a launch of its own.",
            flags=(
                Flag(
                    "-n",
                    "N,M",
                    "Number of ranks; several, as 2,4,8 or 2..16 (times two), are measured in a "
                    "launch each, for how times grow with them.",
                    group=Group.HOSTS,
                    usual="2; with --hosts one on each, or --ppn",
                ),
            ),
        ),
        Option(
            "hosts",
            WRITTEN,
            "Where the ranks are.",
            flags=(
                Flag(
                    "--hosts",
                    "A,B",
                    "Hosts, as `node1,node2` or `lab:h1,h2`; else this one.",
                    group=Group.HOSTS,
                ),
            ),
        ),
        Option(
            "pin",
            WRITTEN,
            "Binds each rank to a processor: all, not_zero, or a list of them.",
            default="none",
            flags=(
                Flag(
                    "--pin",
                    "HOW",
                    "Bind each rank to a processor: all; not-zero, which leaves out processor 0; "
                    "or processors in the order of a host's ranks, such as 0,2 or 4-7.",
                    group=Group.HOSTS,
                ),
            ),
        ),
        Option(
            "oversubscribe",
            Switch(),
            "Allows more ranks on a host than it has processors.",
            default=False,
            aliases=("share",),
            flags=(
                Flag(
                    "--oversubscribe",
                    help="With --pin: also where a host has fewer processors than ranks.",
                    group=Group.HOSTS,
                    former="--share",
                ),
            ),
        ),
        Option(
            "ppn",
            WRITTEN,
            "So many ranks one after the other on each host; a point for each number.",
            flags=(
                Flag(
                    "--ppn",
                    "N,M",
                    "With --hosts: so many ranks one after the other on each host; several numbers "
                    "are measured beside each other.",
                    group=Group.HOSTS,
                    usual="1",
                ),
            ),
        ),
        Option(
            "launches",
            Count(1, MOST_LAUNCHES),
            "So often each MPI is started; 6 where there are several.",
            flags=(
                Flag(
                    "--launches",
                    "N",
                    "Starts of the MPI program, each measuring everything: only they tell how far "
                    "another start would differ. 6 are the fewest with an interval.",
                    group=Group.HOSTS,
                    usual="1; 6 for several MPIs",
                    shows="least",
                ),
            ),
        ),
    )
)
"""Keys of ``[mpi]``."""

_WHO = (
    Option(
        "operations",
        WRITTEN,
        "Of MPI, for test = 'collective', such as ['bcast'].",
        wire=("operation",),
    ),
    Option(
        "root",
        WRITTEN,
        "The root's rank, or 'rotate'.",
        wire=("root", "rotate_root"),
        flags=(
            Flag(
                "--root",
                "RANK|rotate",
                "Root of an operation that has one; `rotate`: another rank in every repetition.",
                group=Group.OPERATIONS,
            ),
        ),
    ),
    Option(
        "pattern",
        WRITTEN,
        "Who is whose partner, such as 'ring:2'.",
        wire=("pattern", "distance"),
        flags=(
            Flag(
                "--pattern",
                "PATTERN|FILE",
                "Partners in operations between two ranks: half (p and p + n/2), pairs, ring, "
                "ring:DISTANCE, head-to-head (half, both send at once), all-to-one; or a file with "
                "two ranks on each line.",
                group=Group.OPERATIONS,
                usual="half",
            ),
        ),
    ),
    Option(
        "partners",
        WRITTEN,
        "Pairs of ranks in place of a pattern.",
        wire=("partners",),
        takers=Takers(
            "{partners} goes with operations between two ranks, such as send",
            operations=lambda operation: operation.is_between_two,
            lacks="it is not between two ranks",
        ),
    ),
    Option(
        "rank_pair",
        WRITTEN,
        "The two ranks of a test between two, or each, all, slowest.",
        wire=("pair",),
        aliases=("pair",),
        stored="pair",
        flags=(
            Flag(
                "--rank-pair",
                "A,B|WHICH",
                "The ranks of latency, stream and others between two. `each`: rank 0 with every "
                "other one, one after the other; `all`: every two; `slowest`: rank 0 with the "
                "slowest, which is sought first.",
                group=Group.HOSTS,
                former="--pair",
                usual="0,1",
            ),
        ),
        takers=Takers(
            "{rank_pair} goes with tests between two ranks, such as latency; operations take "
            "{pattern}",
            tests=lambda test: not test.compares_clocks,
            operations=False,
        ),
    ),
    Option(
        "uneven",
        Switch(),
        "Ranks have parts of different sizes.",
        default=False,
        wire=("uneven",),
        flags=(
            Flag(
                "--uneven",
                help="Parts of different sizes, in gatherv and others like it.",
                group=Group.OPERATIONS,
            ),
        ),
    ),
)
_HOW = (
    Option(
        "window",
        Count(1, 4096),
        "Messages at once, of message rates.",
        wire=("window",),
        flags=(
            Flag(
                "--window",
                "N",
                "Messages of each pair at once, in message rates.",
                group=Group.OPERATIONS,
                usual="64",
                shows="none",
            ),
        ),
        takers=Takers(
            "{window} goes with message_rate and message_rate_both",
            operations=lambda operation: operation.windowed,
            lacks="it is no message rate",
        ),
    ),
    Option(
        "reduction",
        Choice(tuple(REDUCTIONS)),
        "How words are joined.",
        wire=("reduction",),
        flags=(
            Flag(
                "--reduction",
                "NAME",
                "How reduce and others join words: sum, min, max, float-sum; or by an operation of "
                "our own: own-sum, ordered (does not commute), null (does nothing).",
                group=Group.OPERATIONS,
                usual="sum",
            ),
        ),
        takers=Takers(
            "{reduction} goes with operations that join words, such as allreduce",
            operations=lambda operation: operation.reduces,
            lacks="it joins no words",
        ),
    ),
    Option(
        "cache",
        Choice(("warm", "flush", "rotate", "fresh")),
        "Whether data is in the caches.",
        default="warm",
        wire=("cache",),
        flags=(
            Flag(
                "--cache",
                "HOW",
                "Data before a repetition: warm, or in memory by `flush` (a walk through a buffer "
                "larger than the last-level cache) or `rotate` (other buffers every time); or "
                "`fresh`: each rank writes what it gives anew.",
                group=Group.OPERATIONS,
            ),
        ),
        takers=Takers(f"{{cache}} {_ANY_OPERATION}"),
    ),
    Option(
        "cache_bytes",
        Size(4096, 16 << 30),
        "How large a buffer makes them cold.",
        wire=("cache_bytes",),
        flags=(
            Flag(
                "--cache-bytes",
                "SIZE",
                "Size of that buffer, or of all buffers together.",
                group=Group.OPERATIONS,
                usual="twice the last-level cache",
            ),
        ),
        takers=Takers(f"{{cache_bytes}} {_ANY_OPERATION}"),
    ),
    Option(
        "align",
        Choice(tuple(1 << power for power in range(12))),
        "Buffers begin so many bytes behind a page.",
        wire=("align_bytes",),
        flags=(
            Flag(
                "--align",
                "BYTES",
                "Buffers begin so many bytes behind a page: 1, 2, 4 to 2048.",
                group=Group.OPERATIONS,
                usual="at a page",
            ),
        ),
        takers=Takers(f"{{align}} {_ANY_OPERATION}"),
    ),
    Option(
        "overlap",
        Switch(),
        "Compute beside the operation.",
        default=False,
        wire=("overlap",),
        flags=(
            Flag(
                "--overlap",
                help="Compute while an operation such as ibcast is under way; its overlap.",
                group=Group.OPERATIONS,
            ),
        ),
        takers=Takers(
            f"{{overlap}} {_BEGUN}",
            operations=lambda operation: operation.begins,
            lacks=_CANNOT_BE_BEGUN,
        ),
    ),
    Option(
        "polls",
        Count(0, 100_000),
        "So often MPI is called meanwhile.",
        wire=("polls",),
        flags=(
            Flag(
                "--polls",
                "N",
                "With --overlap: calls of MPI_Test while computing.",
                group=Group.OPERATIONS,
                shows="none",
            ),
        ),
        takers=Takers(
            f"{{polls}} {_BEGUN}",
            operations=lambda operation: operation.begins,
            lacks=_CANNOT_BE_BEGUN,
        ),
    ),
    Option(
        "size_of",
        Choice(("each", "total")),
        "Sizes are each rank's, or those of all ranks together.",
        default="each",
        flags=(
            Flag(
                "--size-of",
                "WHAT",
                "Sizes are those of each rank's part, or of all in total.",
                group=Group.OPERATIONS,
            ),
        ),
        takers=Takers(
            "{size_of} goes with operations whose size is that of one rank's part, such as gather",
            operations=lambda operation: operation.is_per_rank,
            lacks="its size is not that of one rank's part",
        ),
    ),
    Option(
        "threads",
        WRITTEN,
        "Of each of two ranks, for test = 'threads'.",
        wire=("threads", "communicators"),
        flags=(
            Flag(
                "--threads",
                "N,M",
                "Threads of each of the two ranks in the test threads; every number is measured "
                "beside one thread.",
                group=Group.OPERATIONS,
                usual="2,4",
            ),
        ),
        takers=Takers(
            "{threads} goes with the test threads, not with {test:value}: netsonde mpi threads "
            "{threads:=}",
            tests=lambda test: test.has_threads,
            operations=False,
        ),
    ),
    Option(
        "both_timers",
        Switch(),
        "Read MPI_Wtime beside the clock, around the same calls.",
        default=False,
        wire=("both_timers",),
        flags=(
            Flag(
                "--compare-timers",
                help="Read MPI_Wtime beside the clock, around the same calls; the test clock then "
                "measures messages of 128 bytes and 256 KiB so.",
                group=Group.RECORDED,
            ),
        ),
        takers=Takers(
            "{both_timers} goes with clock and operations, such as bcast",
            tests=lambda test: test.compares_clocks,
        ),
    ),
    Option(
        "timer_overhead",
        Choice(("kept", "told", "off")),
        "What a reading of the timer takes: told, or taken off as well.",
        default="kept",
        flags=(
            Flag(
                "--without-timer-overhead",
                help="Take what a reading of the timer takes off the times of operations and round "
                "trips.",
                value="off",
                group=Group.RECORDED,
            ),
        ),
        takers=Takers(
            "{timer_overhead:=} goes with operations, latency and pingpong",
            tests=lambda test: test.is_round_trip,
        ),
    ),
    Option(
        "outstanding",
        Count(1, 1024),
        "Messages of an MPI stream on their way at once.",
        wire=("outstanding",),
        flags=(
            Flag(
                "--outstanding",
                "N",
                "Messages of a stream on their way at once (MPI_Isend, MPI_Irecv); else calls "
                "block.",
                group=Group.SENT,
            ),
        ),
        takers=Takers(
            "{outstanding} goes with stream, not with {test:value}",
            tests=lambda test: test.is_one_way_stream,
            operations=False,
        ),
    ),
)
_BEGIN = (
    Option(
        "start",
        Choice(("barrier", "window", "none")),
        "How ranks begin together.",
        default="barrier",
        wire=("start",),
        flags=(
            Flag(
                "--start",
                "HOW",
                "How ranks begin an operation: barrier, window or none. window:late=2us,count=8 "
                "sets bounds of windows: late (1us), late-most (100us), count (32), growth (16), "
                "slack (100us).",
                group=Group.OPERATIONS,
            ),
        ),
        takers=Takers(f"{{start:=}} goes with {_NOT_WITH}"),
    ),
    Option(
        "windows",
        WRITTEN,
        "Bounds within which windows adapt: late, late_most, count, growth, slack.",
        wire=("windows",),
    ),
    Option(
        "compare_clocks",
        Choice(("known", "apart")),
        "Compare clocks also where ranks read the same one.",
        default="known",
        wire=("clocks",),
        aliases=("clocks",),
        stored="clocks",
        flags=(
            Flag(
                "--compare-clocks",
                "HOW",
                "Compare clocks of different hosts (known), or of all ranks (apart).",
                group=Group.RECORDED,
                former="--clocks",
                usual="known; of the test clock on one host apart",
            ),
        ),
        takers=Takers(
            f"{{compare_clocks:=}} goes with clock and {_NOT_WITH}",
            tests=lambda test: test.compares_clocks,
        ),
    ),
    Option(
        "clock_method",
        Choice(("tree", "offset", "wtime", "jones_koenig")),
        "How clocks are compared.",
        default="tree",
        wire=("clock",),
        aliases=("clock",),
        stored="clock",
        flags=(
            Flag(
                "--clock-method",
                "METHOD",
                "How ranks are put on one clock: tree, offset, wtime or jones-koenig; the test "
                "clock measures all of them unless one is named. wtime also times latency, "
                "pingpong, stream and duplex.",
                group=Group.RECORDED,
                former="--clock",
                usual="tree",
            ),
        ),
        takers=Takers(
            f"{{clock_method:=}} goes with clock and {_NOT_WITH}",
            tests=lambda test: test.compares_clocks,
            of_words={"wtime": lambda test: test.wtime},
        ),
    ),
    Option(
        "keep",
        Count(0, MOST_KEPT),
        "Repetitions that a batch keeps one by one.",
        wire=("keep_samples",),
        flags=(
            Flag(
                "--keep",
                "SAMPLES",
                "Repetitions of all ranks together that a batch keeps one by one; a batch of more "
                "is summarised by the ranks.",
                group=Group.RECORDED,
                usual="4194304",
                shows="least",
            ),
        ),
        takers=Takers(f"{{keep:=}} goes with {_NOT_WITH}"),
    ),
    Option(
        "passes",
        Count(1, 100),
        "So often one launch measures each point of MPI.",
        default=1,
    ),
)
MPI_BLOCK = _of_ranks(*_WHO, *_HOW, *_BEGIN)
"""Keys of ``[[measure]]`` that only MPI has."""
AS_THEY_ARE = [row for row in MPI_BLOCK if len(row.wire) == 1 and row.kind is not WRITTEN]
"""Those whose value is a field of a point and of a request as it is."""

WINDOWS = by_key(
    _of_ranks(
        Option("late", WRITTEN, "Who enters so much after the begin was late; 1us."),
        Option(
            "late_most",
            WRITTEN,
            "What that is widened to where fewer than half were in time; 100us.",
        ),
        Option("count", Count(1, 4096), "Windows that are agreed on together, at most; 32."),
        Option(
            "growth",
            Count(1, 65536),
            "Windows and slack grow to so many times what they were; 16.",
        ),
        Option(
            "slack",
            WRITTEN,
            "From the agreement to the first window, at least; 100us.",
        ),
    )
)
"""Keys of ``[measure.windows]``."""

(SWITCHES,) = _of_ranks(
    Option(
        "switches",
        WRITTEN,
        "",
        in_study=False,
        flags=(
            Flag(
                "--switches",
                "FILE",
                "With --hosts: the switches between them, as tables [[switch]] and [[uplink]] of a "
                "TOML file.",
                group=Group.HOSTS,
            ),
        ),
    )
)
"""What a command alone has."""
