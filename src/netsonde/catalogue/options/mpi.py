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
    in_group,
)
from netsonde.catalogue.transport import names_with
from netsonde.catalogue.within import MEMORY, WITHINS
from netsonde.reductions import DATATYPES, REDUCTIONS

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


_JOB = in_group(
    Group.HOSTS,
    Option(
        "mpi",
        WRITTEN,
        "The MPIs: names or paths of mpiexec.",
        flag=Flag(
            "--mpi",
            "NAME|PATH,...",
            "The MPI, or several to be put side by side: mpich, openmpi, impi, or the path "
            "of an mpiexec, an mpicc or an installation; @srun behind one lets Slurm's "
            "srun start its ranks, and +NAME=VALUE sets a variable of its library. `--mpi "
            "list` shows what is found here.",
            default="mpich",
        ),
    ),
    Option(
        "ranks",
        WRITTEN,
        "How many ranks a job has; each of several numbers has a launch of its own.",
        flag=Flag(
            "-n",
            "N,M",
            "Number of ranks; several, as 2,4,8 or 2..16 (times two), are measured in a "
            "launch each, for how times grow with them.",
            usual="2; with --hosts one on each, or --ppn",
        ),
    ),
    Option(
        "hosts",
        WRITTEN,
        "Where the ranks are.",
        flag=Flag("--hosts", "A,B", "Hosts, as `node1,node2` or `lab:h1,h2`; else this one."),
    ),
    Option(
        "pin",
        WRITTEN,
        "How each rank is bound to a CPU: all, not_zero, or a list of them.",
        default="none",
        flag=Flag(
            "--pin",
            "HOW",
            "Bind each rank to a CPU: all; not-zero, which leaves out CPU 0; "
            "or CPUs in the order of a host's ranks, such as 0,2 or 4-7 or 0-6:2.",
        ),
    ),
    Option(
        "oversubscribe",
        Switch(),
        "Whether a host may have more ranks than CPUs.",
        default=False,
        aliases=("share",),
        flag=Flag(
            "--oversubscribe",
            help="With --pin: also where a host has fewer CPUs than ranks.",
            former="--share",
        ),
    ),
    Option(
        "ppn",
        WRITTEN,
        "How many ranks are one after the other on each host; a point for each number.",
        flag=Flag(
            "--ppn",
            "N,M",
            "With --hosts: so many ranks one after the other on each host; several numbers "
            "are measured beside each other.",
            usual="1",
        ),
    ),
    Option(
        "within",
        Choice(tuple(WITHINS)),
        "How ranks of one node reach each other: memory, where the MPI chooses; or loopback.",
        default=MEMORY.name,
        flag=Flag(
            "--within",
            "HOW",
            "How ranks of one node reach each other: memory, where the MPI chooses; or loopback, "
            "which keeps it on TCP.",
        ),
    ),
    Option(
        "launches",
        Count(1, MOST_LAUNCHES),
        "How often each MPI is started; 6 where there are several.",
        flag=Flag(
            "--launches",
            "N",
            "Starts of the MPI program, each measuring everything: only they tell how far "
            "another start would differ. 6 are the fewest with an interval.",
            usual="1; 6 for several MPIs",
            shows="least",
        ),
    ),
)
MPI = by_key(_of_ranks(*_JOB))
"""Keys of ``[mpi]``."""

_WHO = in_group(
    Group.OPERATIONS,
    Option(
        "operations",
        WRITTEN,
        "Operations of MPI, for test = 'collective', such as ['bcast'].",
        wire=("operation",),
    ),
    Option(
        "root",
        WRITTEN,
        "The root's rank, or 'rotate'.",
        wire=("root", "rotate_root"),
        flag=Flag(
            "--root",
            "RANK|rotate",
            "Root of an operation that has one; `rotate`: another rank in every repetition.",
        ),
    ),
    Option(
        "pattern",
        WRITTEN,
        "Who is whose partner, such as 'ring:2'.",
        wire=("pattern", "distance"),
        flag=Flag(
            "--pattern",
            "PATTERN|FILE",
            "Partners in operations between two ranks: half (p and p + n/2), pairs, ring, "
            "ring:DISTANCE, head-to-head (half, both send at once), all-to-one; or a file with "
            "two ranks on each line.",
            usual="half",
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
        flag=Flag(
            "--rank-pair",
            "A,B|WHICH",
            "The ranks of latency, stream and others between two. `each`: rank 0 with every "
            "other one, one after the other; `all`: every two; `slowest`: rank 0 with the "
            "slowest, which is sought first.",
            group=Group.HOSTS,
            former="--pair",
            usual="0,1",
        ),
        takers=Takers(
            "{rank_pair} goes with tests between two ranks, such as latency; operations take "
            "{pattern}",
            tests=lambda test: not (test.compares_clocks or test.is_all_pairs),
            operations=False,
        ),
    ),
    Option(
        "uneven",
        Switch(),
        "Ranks have parts of different sizes.",
        default=False,
        wire=("uneven",),
        flag=Flag("--uneven", help="Parts of different sizes, in gatherv and others like it."),
    ),
)
_HOW = in_group(
    Group.OPERATIONS,
    Option(
        "window",
        Count(1, 4096),
        "How many messages are under way at once, of message rates.",
        wire=("window",),
        flag=Flag(
            "--window",
            "N",
            "Messages of each pair at once, in message rates.",
            usual="64",
            shows="none",
        ),
        takers=Takers(
            "{window} goes with message_rate and message_rate_both",
            operations=lambda operation: operation.windowed,
            lacks="it is no message rate",
        ),
    ),
    Option(
        "algorithm",
        WRITTEN,
        "By what the operation is done: native, the library's own way; one of our schedules; or "
        "library:NAME, an algorithm of the library that it is told to take.",
        wire=("schedule", "frames", "library_algorithm"),
        flag=Flag(
            "--algorithm",
            "NAME,...",
            "Do the operation by one of our schedules over messages, as pairwise or "
            "group-shuffle:4, beside native, the library's own way; `all` of them. With :over=link "
            "behind it the messages are frames of the link, not MPI's. "
            "library:NAME is the library's algorithm of that name, library:all each that it lists.",
            usual="native",
        ),
        takers=Takers(
            "{algorithm} goes with blocking collectives, such as allreduce",
            operations=lambda operation: operation.is_collective_call,
            lacks="it is no blocking collective",
        ),
    ),
    Option(
        "reduction",
        Choice(tuple(REDUCTIONS)),
        "How words are joined.",
        wire=("reduction",),
        flag=Flag(
            "--reduction",
            "NAME",
            "How reduce and others join words: sum, min, max, or, float-sum; or by an operation "
            "of our own: own-sum, ordered (does not commute), null (does nothing).",
            usual="sum",
        ),
        takers=Takers(
            "{reduction} goes with operations that join words, such as allreduce",
            operations=lambda operation: operation.reduces,
            lacks="it joins no words",
        ),
    ),
    Option(
        "datatype",
        Choice(tuple(DATATYPES)),
        "Of what words are made that are joined.",
        wire=("datatype",),
        flag=Flag(
            "--datatype",
            "NAME",
            "What sum, min, max and or join: char, byte, int, float, double or uint64.",
            usual="uint64",
        ),
        takers=Takers(
            "{datatype} goes with operations that join words, such as allreduce",
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
        flag=Flag(
            "--cache",
            "HOW",
            "Data before a repetition: warm, or in memory by `flush` (a walk through a buffer "
            "larger than the last-level cache) or `rotate` (other buffers every time); or "
            "`fresh`: each rank writes what it gives anew.",
        ),
        takers=Takers(f"{{cache}} {_ANY_OPERATION}"),
    ),
    Option(
        "cache_bytes",
        Size(4096, 16 << 30),
        "Size of the buffer that makes caches cold.",
        wire=("cache_bytes",),
        flag=Flag(
            "--cache-bytes",
            "SIZE",
            "Size of that buffer, or of all buffers together.",
            usual="twice the last-level cache",
        ),
        takers=Takers(f"{{cache_bytes}} {_ANY_OPERATION}"),
    ),
    Option(
        "align",
        Choice(tuple(1 << power for power in range(12))),
        "Buffers begin so many bytes behind a page.",
        wire=("align_bytes",),
        flag=Flag(
            "--align",
            "BYTES",
            "Buffers begin so many bytes behind a page: 1, 2, 4 to 2048.",
            usual="at a page",
        ),
        takers=Takers(f"{{align}} {_ANY_OPERATION}"),
    ),
    Option(
        "overlap",
        Switch(),
        "Whether ranks compute beside the operation.",
        default=False,
        wire=("overlap",),
        flag=Flag(
            "--overlap", help="Compute while an operation such as ibcast is under way; its overlap."
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
        "How often MPI is called meanwhile.",
        wire=("polls",),
        flag=Flag(
            "--polls", "N", "With --overlap: calls of MPI_Test while computing.", shows="none"
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
        flag=Flag("--size-of", "WHAT", "Sizes are those of each rank's part, or of all in total."),
        takers=Takers(
            "{size_of} goes with operations whose size is that of one rank's part, such as gather",
            operations=lambda operation: operation.is_per_rank,
            lacks="its size is not that of one rank's part",
        ),
    ),
    Option(
        "threads",
        WRITTEN,
        "How many threads each of two ranks has, for test = 'threads'.",
        wire=("threads", "communicators"),
        flag=Flag(
            "--threads",
            "N,M",
            "Threads of each of the two ranks in the test threads; every number is measured "
            "beside one thread.",
            usual="2,4",
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
        "Whether MPI_Wtime is read beside the clock, around the same calls.",
        default=False,
        wire=("both_timers",),
        flag=Flag(
            "--compare-timers",
            help="Read MPI_Wtime beside the clock, around the same calls; the test clock then "
            "measures messages of 128 bytes and 256 KiB so.",
            group=Group.RECORDED,
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
        flag=Flag(
            "--without-timer-overhead",
            help="Take what a reading of the timer takes off the times of operations and round "
            "trips.",
            value="off",
            group=Group.RECORDED,
        ),
        takers=Takers(
            "{timer_overhead:=} goes with operations, latency and pingpong",
            tests=lambda test: test.is_round_trip,
        ),
    ),
    Option(
        "echo",
        Choice(("same", "other")),
        "What the target of round trips sends back: the memory into which the message came, or "
        "other memory.",
        default="same",
        wire=("echo",),
        flag=Flag(
            "--echo",
            "WHICH",
            "What the other rank sends back: the buffer that it received, or another one, which "
            "its caches need not hold.",
            group=Group.SENT,
        ),
        takers=Takers(
            "{echo} goes with latency, pingpong and threads, not with {test:value}",
            tests=lambda test: test.is_round_trip or test.has_threads,
            operations=False,
        ),
    ),
    Option(
        "outstanding",
        Count(1, 1024),
        "How many messages of an MPI stream are on their way at once.",
        wire=("outstanding",),
        flag=Flag(
            "--outstanding",
            "N",
            "Messages of a stream on their way at once (MPI_Isend, MPI_Irecv); else calls block.",
            group=Group.SENT,
        ),
        takers=Takers(
            "{outstanding} goes with stream, not with {test:value}",
            tests=lambda test: test.is_one_way_stream,
            operations=False,
        ),
    ),
)
_BEGIN = in_group(
    Group.RECORDED,
    Option(
        "start",
        Choice(("barrier", "window", "none")),
        "How ranks begin together.",
        default="barrier",
        wire=("start",),
        flag=Flag(
            "--start",
            "HOW",
            "How ranks begin an operation: barrier, window or none. window:late=2us,count=8 "
            "sets bounds of windows: late (1us), late-most (100us), count (32), growth (16), "
            "slack (100us).",
            group=Group.OPERATIONS,
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
        "Whether clocks are compared also where ranks read the same one.",
        default="known",
        wire=("clocks",),
        aliases=("clocks",),
        stored="clocks",
        flag=Flag(
            "--compare-clocks",
            "HOW",
            "Compare clocks of different hosts (known), or of all ranks (apart).",
            former="--clocks",
            usual="known; of the test clock on one host apart",
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
        flag=Flag(
            "--clock-method",
            "METHOD",
            "How ranks are put on one clock: tree, offset, wtime or jones-koenig; the test "
            "clock measures all of them unless one is named. wtime also times latency, "
            "pingpong, stream and duplex.",
            former="--clock",
            usual="tree",
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
        "How many repetitions a batch keeps one by one.",
        wire=("keep_samples",),
        flag=Flag(
            "--keep",
            "SAMPLES",
            "Repetitions of all ranks together that a batch keeps one by one; a batch of more "
            "is summarised by the ranks.",
            usual="4194304",
            shows="least",
        ),
        takers=Takers(f"{{keep:=}} goes with {_NOT_WITH}"),
    ),
    Option("passes", Count(1, 100), "How often one launch measures each point of MPI.", default=1),
)
MPI_BLOCK = _of_ranks(*_WHO, *_HOW, *_BEGIN)
"""Keys of ``[[measure]]`` that only MPI has."""
AS_THEY_ARE = [row for row in MPI_BLOCK if len(row.wire) == 1 and row.kind is not WRITTEN]
"""Those whose value is a field of a point and of a request as it is."""

WINDOWS = by_key(
    _of_ranks(
        Option("late", WRITTEN, "A rank that enters so much after the begin was late; 1us."),
        Option(
            "late_most",
            WRITTEN,
            "The bound that late is widened to where fewer than half were in time; 100us.",
        ),
        Option("count", Count(1, 4096), "How many windows are agreed on together, at most; 32."),
        Option(
            "growth",
            Count(1, 65536),
            "How many times what they were windows and slack grow to; 16.",
        ),
        Option("slack", WRITTEN, "The least time from the agreement to the first window; 100us."),
    )
)
"""Keys of ``[measure.windows]``."""

(SWITCHES,) = _of_ranks(
    Option(
        "switches",
        WRITTEN,
        "",
        in_study=False,
        flag=Flag(
            "--switches",
            "FILE",
            "With --hosts: the switches between them, as tables [[switch]] and [[uplink]] of a "
            "TOML file.",
            group=Group.HOSTS,
        ),
    )
)
"""What a command alone has."""
