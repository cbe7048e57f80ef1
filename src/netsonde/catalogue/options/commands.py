"""What commands that measure are asked for beside options of sockets and of MPI: keys of a study,
by the table that has them, and what stands in no study."""

from __future__ import annotations

from netsonde.catalogue.option import (
    WRITTEN,
    Choice,
    Count,
    Flag,
    Group,
    Option,
    Switch,
    Takers,
    by_key,
    in_group,
)
from netsonde.catalogue.options.endpoints import ENDPOINTS
from netsonde.catalogue.options.frames import FRAMES
from netsonde.catalogue.options.mpi import MOST_LAUNCHES, MPI, MPI_BLOCK, SWITCHES
from netsonde.catalogue.options.sockets import CONNECTION, ENDS
from netsonde.catalogue.options.tasks import TASKS
from netsonde.catalogue.transport import names_with

REFINE_POINTS = 24
"""Sizes that a sweep may add, where only a wish to refine was given."""
_TCP = names_with("has_connection")
_UDP = names_with("counts_datagrams")
_PACED = names_with("counts_datagrams", "has_endpoints", "has_frames")
_BOTH = names_with("is_pair")
_ALONE = names_with("has_sockets")
_FLOWS = names_with("has_sockets", "has_endpoints", "has_frames")
_OTHERS = names_with("is_echoed", "has_ranks")
_SWEEPS = names_with("is_pair", "has_ranks")
_SOCKETS = names_with("is_echoed", "is_pair")

_SENT = in_group(
    Group.SENT,
    Option(
        "sizes",
        WRITTEN,
        "Sizes of messages: '64', '1..1M' (times two), '1..1M:4', or a list.",
        flag=Flag(
            "--sizes",
            "SIZES",
            "Message sizes: `64`, `1,1k,64k`, `1..1M`, `1..1M:4`, `1..1M:1.5` (also one and a "
            "half times each power of two).",
        ),
    ),
    Option(
        "perturb",
        WRITTEN,
        "So many bytes beside each size are measured as well.",
        of=_SWEEPS,
        flag=Flag(
            "--perturb",
            "SIZE",
            "With sweep: so many bytes beside each size as well (3); 0 for none.",
        ),
    ),
    Option(
        "refine",
        Switch(),
        "How many sizes are added, at most, where the curve breaks.",
        of=_SWEEPS,
        flag=Flag(
            "--refine",
            help=f"With sweep (of MPI, also operations): up to {REFINE_POINTS} more sizes "
            "where the curve breaks.",
        ),
    ),
    Option(
        "call",
        WRITTEN,
        "Bytes of one system call; else the whole message.",
        wire=("call_bytes",),
        of=_TCP,
        flag=Flag("--call", "SIZE", "Bytes of one send or receive call."),
    ),
    Option(
        "count",
        Count(1, 1 << 24),
        "How many repetitions are measured, in place of relative_precision and cap.",
        flag=Flag("--count", "N", "So many messages instead of a stopping rule.", shows="least"),
    ),
    Option(
        "loads",
        WRITTEN,
        "Offered loads, shares of what the path answers, for test = 'open_loop': '0,25,50,75,90%'.",
        of=_ALONE,
        flag=Flag(
            "--load",
            "SHARES",
            "With latency: open loop, messages at fixed times; `0,25,50,75,90%` of what the "
            "path answers at most.",
        ),
    ),
    Option(
        "streams",
        Count(1, 64),
        "How many connections are measured at the same time.",
        default=1,
        of=_FLOWS,
        flag=Flag("--streams", "N", "With stream: so many flows at once."),
    ),
    Option(
        "rate",
        WRITTEN,
        "Rate of paced datagrams, such as '900M'.",
        wire=("rate_bit_per_s",),
        of=_PACED,
        flag=Flag("--rate", "RATE", "Send the stream at this payload rate."),
    ),
    Option(
        "port",
        Count(1, 65535),
        "Port of generate's target.",
        of=_UDP,
        flag=Flag("--port", "PORT", "Where to, with generate (9, discard)."),
    ),
)
_ALL_PAIRS = in_group(
    Group.SENT,
    Option(
        "pairs",
        Choice(("isolated", "together")),
        "Of test = 'all-pairs': no host in two pairs at a time, or all pairs at once; else both.",
        of=_SWEEPS,
        flags=(
            Flag(
                "--isolated",
                help="With all-pairs: only rounds in which no host is in two pairs.",
                value="isolated",
            ),
            Flag(
                "--together",
                help="With all-pairs: only all pairs at once; else both, and their ratio.",
                value="together",
            ),
        ),
        takers=Takers(
            "{pairs:=} goes with all-pairs, not with {test:value}",
            tests=lambda test: test.is_all_pairs,
            operations=False,
        ),
    ),
    Option(
        "among",
        WRITTEN,
        "Of tests all-pairs and pairs: how many hosts take part, such as [2, 4, 8]; else all.",
        of=_SWEEPS,
        flag=Flag(
            "--among",
            "N,M",
            "With all-pairs and pairs: only the first so many hosts; `2,4,8` measures with each.",
        ),
        takers=Takers(
            "{among:=} goes with all-pairs, not with {test:value}",
            tests=lambda test: test.is_all_pairs,
            operations=False,
        ),
    ),
)
_LIKE = in_group(
    Group.LIKE,
    Option(
        "like",
        WRITTEN,
        "The tool whose way of measuring is taken.",
        of=names_with("has_sockets", "has_ranks"),
        flags=(
            Flag(
                "--like",
                "TOOL",
                "Measure as iperf3, netperf, netpipe or sockperf does, and say what it would say.",
                of=_ALONE,
            ),
            Flag(
                "--like",
                "TOOL,...",
                "Measure as another tool does, and say what it would say: osu, imb, pmb, skampi, "
                "mpptest, mpbench, reprompi or mpibench. Several, or all: each beside netsonde's "
                "own way, and whether they agree.",
                of=names_with("has_ranks"),
            ),
        ),
    ),
    Option(
        "omit",
        WRITTEN,
        "A first part that iperf3's figures leave out.",
        of=_ALONE,
        flag=Flag("--omit", "DURATION", "With --like iperf3: leave out a first part, as its -O."),
    ),
)
_CONDITIONS = in_group(
    Group.CONDITIONS,
    Option(
        "mtu",
        WRITTEN,
        "MTU of the lab's links; of several one after the other.",
        of=_BOTH,
        flag=Flag(
            "--mtu",
            "SIZE",
            "Of a lab's links, while this runs (HOST `lab:h1,h2`); `1500,9000` measures with each.",
        ),
    ),
    Option(
        "background_load",
        WRITTEN,
        "Other work that the hosts are given, such as 'target=80%'.",
        flag=Flag(
            "--background-load",
            "END=SHARE",
            "Other work for hosts meanwhile, as `target=80%`, `both=100%:nice`, "
            "`origin=50%@0-3`; `none,target=100%` measures with each.",
            former="--busy",
        ),
        label="background load",
        aliases=("busy",),
        stored="busy",
    ),
)
_CHECKED = (
    Option(
        "check_data",
        Switch(),
        "Whether what arrives is what was sent.",
        default=False,
        wire=("check_data",),
        flag=Flag("--check-data", help="Verify the content of every message.", group=Group.SENT),
    ),
)
BLOCK = by_key((*_SENT, *_ALL_PAIRS, *_LIKE, *_CONDITIONS, *_CHECKED, *MPI_BLOCK))
"""Keys of ``[[measure]]``."""

STOPPING = by_key(
    in_group(
        Group.END,
        Option(
            "cap",
            WRITTEN,
            "The most time that is spent on a point.",
            flags=(
                Flag(
                    "--time",
                    "DURATION",
                    "Time cap of each point (2s, 800ms for latency where no more is asked; with "
                    "--like, how long that tool measures).",
                    of=_BOTH,
                ),
                Flag("--time", "DURATION", "Time cap of each point.", of=_OTHERS, default="2s"),
            ),
        ),
        Option(
            "relative_precision",
            WRITTEN,
            "A point ends when its median is known to this share of it.",
            flags=(
                Flag(
                    "--relative-precision",
                    "PERCENT",
                    "Measure until the median is known to this share (1%); `1%,p99:5%` for other "
                    "quantiles, too.",
                    of=_BOTH,
                    former="--interval",
                ),
                Flag(
                    "--relative-precision",
                    "PERCENT",
                    "Measure until the median is known to this share; `1%,p99:5%` for other "
                    "quantiles, too.",
                    of=_OTHERS,
                    default="1%",
                    former="--interval",
                ),
            ),
            aliases=("interval",),
            stored="interval",
        ),
        Option(
            "relative_precisions",
            WRITTEN,
            "The same for other quantiles: `{p99 = 0.05}`; p90, p99 and p999 can be asked for.",
            aliases=("intervals",),
            stored="intervals",
        ),
    )
)
"""Keys of a study that say when a point ends."""
ORDER = by_key(
    (
        Option(
            "seed",
            Count(0),
            "Seed of everything random; drawn and kept in the run where it is not given.",
            flag=Flag("--seed", "N", "Seed of the order of points.", group=Group.END),
        ),
        Option(
            "launches",
            Count(1, MOST_LAUNCHES),
            "How often everything is measured, in blocks, each in an order of its own.",
            default=1,
            flag=Flag(
                "--launches",
                "N",
                "Measure everything so often, each time with new connections: only launches tell "
                "how far another run would differ. 6 are the fewest with an interval.",
                of=_SOCKETS,
                group=Group.END,
                shows="least",
            ),
        ),
        Option(
            "wait_for_others",
            WRITTEN,
            "How long another measurement that has one of the hosts is awaited before each point; "
            "then the point is measured beside it, and both say so.",
            flag=Flag(
                "--wait-for-others",
                "DURATION",
                "Await another measurement on one of the hosts for so long before each point "
                "(1m); then measure beside it, and say so.",
                group=Group.CONDITIONS,
            ),
        ),
    )
)
"""Keys of a study that say in which order, how often, and beside whom."""

_ORIGIN = (
    Option(
        "origin",
        WRITTEN,
        "The host that begins: local, lab:h1, or a name for ssh.",
        default="local",
        of=_SOCKETS,
        flag=Flag("--from", "HOST", "The end that starts the test.", group=Group.HOSTS),
    ),
)
_WAY = in_group(
    Group.HOSTS,
    Option(
        "family",
        Choice(("ipv4", "ipv6")),
        "The version of IP: ipv4 or ipv6.",
        default="ipv4",
        of=_SOCKETS,
        flag=Flag("--ipv6", help="Use IPv6.", value="ipv6", letter="-6"),
    ),
    Option(
        "rate",
        WRITTEN,
        "What the path carries, such as '25G', where it is not a lab's.",
        of=_BOTH,
        flag=Flag(
            "--link-rate",
            "RATE",
            "What the path carries, as 10G, where no interface says it: for the share of the "
            "link, TCP's limits and the buffer to take.",
        ),
    ),
    Option(
        "forget",
        Switch(),
        "Whether both hosts forget earlier TCP connections before each point; needs root.",
        of=_TCP,
        flag=Flag(
            "--forget",
            help="Empty what both kernels remember of earlier connections before each point; "
            "needs root on both hosts.",
            group=Group.CONDITIONS,
        ),
    ),
)
PATH = by_key((*_ORIGIN, *_WAY))
"""Keys of ``[path]``."""

REQUIRE = by_key(
    in_group(
        Group.REQUIRED,
        Option(
            "at_least",
            WRITTEN,
            "The least value, in the figure's unit: '9.4G', '50us', '0.1%' or a plain number.",
            flag=Flag(
                "--at-least",
                "FIGURE=VALUE",
                "Exit code 1 where this figure is less for certain: "
                "throughput_bit_per_s=900M. Give it again for others.",
                repeated=True,
            ),
        ),
        Option(
            "at_most",
            WRITTEN,
            "The largest value, in the same way.",
            flag=Flag(
                "--at-most",
                "FIGURE=VALUE",
                "The same where it is more: round_trip_p99_ns=100us, lost_ratio=0.1%.",
                repeated=True,
            ),
        ),
    )
)
"""Keys of ``[[require]]``."""

_PEER = (
    Option(
        "code_file",
        WRITTEN,
        "",
        of=_FLOWS,
        in_study=False,
        flag=Flag(
            "--code-file",
            "FILE",
            "A file, readable for you alone, whose first line is the code that `netsonde serve` "
            "printed; else NETSONDE_PAIR of the environment, for hosts with a port.",
            group=Group.HOSTS,
        ),
    ),
    Option(
        "pairing_code",
        WRITTEN,
        "",
        of=_FLOWS,
        in_study=False,
        flag=Flag(
            "--pairing-code",
            "CODE",
            "The code itself, which every user of this host can then read with `ps`.",
            group=Group.HOSTS,
            former="--pair",
        ),
    ),
)
_SHOWN = (
    Option(
        "report",
        WRITTEN,
        "",
        of=_UDP,
        in_study=False,
        flag=Flag(
            "--report",
            "GROUPS",
            "With stream: the figures that are printed, in this order: rate, loss, reorder, "
            "jitter, gaps, one-way. The run directory has all of them.",
            group=Group.RECORDED,
        ),
    ),
)
COMMAND = by_key((*_PEER, *_SHOWN))
"""What a command alone has."""

COMMAND_ROWS = (
    *_SENT,
    *_ALL_PAIRS,
    *STOPPING.values(),
    *_LIKE,
    *TASKS,
    *CONNECTION,
    *ENDPOINTS,
    *FRAMES,
    *_CONDITIONS,
    *ENDS,
    *_ORIGIN,
    *_PEER,
    *_WAY,
    *_CHECKED,
    *_SHOWN,
    *REQUIRE.values(),
    *ORDER.values(),
)
"""All of them but MPI's, in the order of ``--help``."""
MPI_ROWS = (
    *(MPI[key] for key in ("ranks", "hosts", "within", "mpi", "launches", "ppn")),
    SWITCHES,
    *(BLOCK[key] for key in ("sizes", "root", "pattern", "rank_pair", "uneven", "echo")),
    BLOCK["outstanding"],
    *(BLOCK[key] for key in ("size_of", "window", "threads", "algorithm", "reduction")),
    *(BLOCK[key] for key in ("datatype", "overlap", "polls")),
    *(BLOCK[key] for key in ("cache", "cache_bytes", "align", "background_load")),
    *(BLOCK[key] for key in ("check_data", "perturb", "refine", "start", "like", "compare_clocks")),
    *(BLOCK[key] for key in ("clock_method", "keep", "pairs", "among")),
    *(MPI[key] for key in ("pin", "oversubscribe")),
    *(BLOCK[key] for key in ("both_timers", "timer_overhead", "count")),
    *STOPPING.values(),
    *REQUIRE.values(),
    *(ORDER[key] for key in ("seed", "wait_for_others")),
)
"""Those of ``netsonde mpi``, in the order of ``--help``."""
MPIBENCH_JOB = tuple(MPI[key] for key in ("hosts", "ppn", "within", "pin", "oversubscribe"))
MPIBENCH_BLOCK = (
    *(BLOCK[key] for key in ("sizes", "reduction", "datatype", "start", "cache")),
    *(BLOCK[key] for key in ("cache_bytes", "align")),
    *(BLOCK[key] for key in ("compare_clocks", "clock_method")),
)
"""Those of ``netsonde mpibench`` that are as those of ``netsonde mpi``."""
