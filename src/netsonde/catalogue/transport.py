"""Transports: what carries messages, and what the rest of netsonde has to know of each.

A transport's engine files, its row here and its page are all that it has; whoever treats one
differently asks for the trait that is the reason, never for its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from netsonde.catalogue.library import Library, Linked

Dash = Literal["solid", "dash", "dot", "dashdot"]
DATAGRAM_LIMIT_BYTES = 65507
"""What a UDP datagram takes; an ICMP echo as well, whose header is as long."""
TCP_IP_BYTES = 40
"""Headers of TCP and IPv4 in a segment."""


class Ends(Enum):
    """How the ends of a measurement find each other."""

    PAIR = "two workers, joined by a control connection"
    ALONE = "one worker; the other host's kernel answers"
    TASKS = "two workers, tasks of a virtual machine that is started for them"
    RANKS = "the ranks of one MPI job"
    OTHERWISE = "no worker of this transport measures: a program, a round of a tournament, a model"


class Framing(Enum):
    """How messages become packets, for the arithmetic of packets and goodput."""

    DATAGRAMS = "a datagram each, in fragments where it is larger than the MTU"
    SEGMENTS = "full segments of a stream of bytes"


@dataclass(frozen=True)
class Need:
    """What a host must have, and what proves that it has it."""

    what: str
    probe: str


@dataclass(frozen=True)
class Transport:
    """One row.

    ``tests`` are the names of those it carries, and ``worker`` the program that has it, which is
    made for a ``library`` of the host where it needs one. ``families`` are those of its addresses.
    ``has_endpoints``: a library's endpoints carry the messages, in memory that they are told of,
    and what sockets they have is the library's affair. ``has_frames``: they are frames on the link
    itself, without IP, which may be lost unless the point is a reliable one. ``has_datagrams``:
    each message is one that can be lost, with a largest size. ``has_connection``: the kernel's
    TCP, which repairs losses, cuts its stream where it likes, and tells of both.
    ``has_protocol``: the simulator plays one, which acknowledges and repeats, with a window that is
    given where it is a ``fixed_window``.
    ``header_bytes`` are those within a frame's payload, where nobody says more exactly.
    ``message`` is one of its messages in words, for what is refused. ``round_count`` and
    ``aggressor_bytes`` are what incast and victim take: messages of a sender in a round, and size
    of the others' messages. ``layer`` orders transports from the thinnest to the thickest, and
    ``over`` are those that one can stand on, where it is not all that are thinner; ``colour``,
    ``symbol`` and ``dash`` are how it is drawn. ``summary`` is what ``--help`` says of its command,
    ``more`` and ``examples`` what that command's own help adds. ``quick_sizes`` are those of the
    curve that it adds to a quickstart where this machine has what it needs
    (:mod:`netsonde.launch.library`). ``usual_size`` is what a command measures where no sizes are
    given, ``block_size`` in tests of one message at a time that is to be large, ``sweep_sizes`` in
    a sweep.
    """

    name: str
    title: str
    tests: tuple[str, ...] = ()
    worker: str = ""
    library: Library | None = None
    families: tuple[str, ...] = ("ipv4", "ipv6")
    ends: Ends = Ends.OTHERWISE
    framing: Framing | None = None
    needs: tuple[Need, ...] = ()
    has_endpoints: bool = False
    has_frames: bool = False
    has_datagrams: bool = False
    has_connection: bool = False
    has_protocol: bool = False
    fixed_window: bool = False
    least_bytes: int = 0
    most_bytes: int | None = None
    header_bytes: int = TCP_IP_BYTES
    message: str = "a message"
    round_count: int = 1
    aggressor_bytes: int = 131_072
    layer: int = 0
    over: tuple[str, ...] = ()
    colour: str = "grey"
    symbol: str = "circle"
    dash: Dash = "solid"
    summary: str = ""
    more: str = ""
    examples: tuple[str, ...] = ()
    quick_sizes: str = ""
    usual_size: str = "128k"
    block_size: str = "64k"
    sweep_sizes: str = "1..1M"

    @property
    def help(self) -> str:
        """What its command's ``--help`` begins with."""
        shown = ",\n".join(f"`netsonde {example}`" for example in self.examples)
        word = "Examples" if len(self.examples) > 1 else "Example"
        return "\n\n".join(filter(None, (self.summary, self.more, shown and f"{word}: {shown}")))

    @property
    def has_ranks(self) -> bool:
        """Whether it connects the ranks of a job, of which there may be many."""
        return self.ends is Ends.RANKS

    @property
    def is_echoed(self) -> bool:
        """Whether the other host's kernel answers, and no worker is there."""
        return self.ends is Ends.ALONE

    @property
    def counts_datagrams(self) -> bool:
        """Whether each message is a datagram, and a worker at the other end counts them."""
        return self.has_datagrams and self.is_pair

    @property
    def is_pair(self) -> bool:
        """Whether both ends are workers, which synchronise over a way of their own."""
        return self.ends in (Ends.PAIR, Ends.TASKS)

    @property
    def is_traced(self) -> bool:
        """Whether the kernel's tracing can watch both ends."""
        return self.has_sockets or self.has_endpoints

    @property
    def has_tasks(self) -> bool:
        """Whether they are tasks, whose messages are packed and may go by daemons."""
        return self.ends is Ends.TASKS

    @property
    def has_sockets(self) -> bool:
        """Whether they are, and what is measured are sockets of the kernel's protocols."""
        return self.ends is Ends.PAIR and not (self.has_endpoints or self.has_frames)


_PLAIN = ("latency", "pingpong", "stream", "duplex")
_STREAMS_OF_MANY = ("converge", "outcast", "pairs", "ring", "alltoall")
_MANY = ("incast", *_STREAMS_OF_MANY, "victim", "bisection", "all-pairs")
_COSTS = ("send-series", "overheads")

_ROWS = (
    Transport(
        "link",
        "Link",
        tests=(
            *(*_PLAIN, "incast", "gather", *_STREAMS_OF_MANY),
            *("bisection", "bursts", "all-pairs", *_COSTS),
        ),
        worker="sonde-worker",
        ends=Ends.PAIR,
        framing=Framing.DATAGRAMS,
        has_frames=True,
        needs=(Need("the right to send frames", "CAP_NET_RAW"),),
        most_bytes=1 << 20,
        header_bytes=8,
        message="a message on the link",
        aggressor_bytes=1492,
        layer=1,
        colour="grey",
        symbol="cross",
        summary="Measure messages beneath IP, as Ethernet frames of their own, between this host "
        "and another on the same link.",
        more="Both ends need CAP_NET_RAW. Frames cross no router.",
        examples=(
            "link node7 latency --wait spin",
            "link node7 latency --driver packet,ring,xdp",
            "link lab:h1,h2 stream --rate 100M",
            "link lab:h[1-8] gather --window 12 --timeout 300ms",
        ),
        usual_size="1492",
        block_size="1492",
        sweep_sizes="1..64k",
    ),
    Transport(
        "icmp",
        "ICMP",
        tests=("latency",),
        worker="sonde-worker",
        ends=Ends.ALONE,
        needs=(Need("the right to send echoes", "net.ipv4.ping_group_range"),),
        has_datagrams=True,
        most_bytes=DATAGRAM_LIMIT_BYTES,
        message="an ICMP echo",
        layer=2,
        colour="pink",
        symbol="triangle-up",
        dash="dashdot",
        summary="Measure round trips of ICMP echoes, as ping does: the other host's kernel "
        "answers.",
        more="One echo at a time. Needs `net.ipv4.ping_group_range` to include the user's group, "
        "or root.",
        examples=(
            "icmp node7 latency",
            "icmp node7 latency --sizes 64,1k --time 10s",
            "icmp lab:h1,h2 latency --at-most round_trip_p99_ns=1ms",
        ),
    ),
    Transport(
        "udp",
        "UDP",
        tests=(*_PLAIN, "open_loop", "generate", *_MANY, "bursts", *_COSTS),
        worker="sonde-worker",
        ends=Ends.PAIR,
        framing=Framing.DATAGRAMS,
        has_datagrams=True,
        most_bytes=DATAGRAM_LIMIT_BYTES,
        header_bytes=28,
        message="a UDP datagram",
        round_count=32,
        aggressor_bytes=1472,
        layer=3,
        colour="orange",
        symbol="diamond",
        dash="dash",
        summary="Measure UDP between this host and another, with loss, reordering and duplicates.",
        more="`generate` sends paced traffic to a host on which nothing of netsonde runs.",
        examples=(
            "udp node7 latency",
            "udp node7 stream --rate 400M",
            "udp node7 generate --rate 10M --time 30s",
        ),
        usual_size="1472",
        block_size="1472",
        sweep_sizes="1..32k,65507",
    ),
    Transport(
        "tcp",
        "TCP",
        tests=(*_PLAIN, "open_loop", *_MANY, *_COSTS),
        worker="sonde-worker",
        ends=Ends.PAIR,
        framing=Framing.SEGMENTS,
        has_connection=True,
        has_protocol=True,
        least_bytes=1,
        message="a message over TCP",
        layer=4,
        colour="blue",
        summary="Measure TCP between this host and another.",
        examples=(
            "tcp node7 latency",
            "tcp node7 stream --streams 4 --time 10s",
            "tcp node7 latency,stream --sizes 1..64k --html",
            "tcp node[1-8] node9 incast",
        ),
    ),
    Transport(
        "fabric",
        "Fabric",
        tests=(*_PLAIN, "bounds", "protection", "all-pairs"),
        worker="sonde-fabric",
        library=Library(
            "libfabric",
            packages="libfabric's development files (Debian: libfabric-dev)",
            variable="NETSONDE_LIBFABRIC",
            names_file=True,
            roots=("/opt/cray/libfabric/*", "/opt/amazon/efa"),
            header="rdma/fi_endpoint.h",
            file="libfabric.so.1",
            # The parts of sonde-worker without a transport of their own, those over libfabric, and
            # kernel tracing that says that it has no programs: they need Clang and libbpf.
            sources=(
                *("host_benchmarks/*.cpp", "transport/socket/*.cpp", "transport/libfabric/*.cpp"),
                *(f"kernel_trace/{name}.cpp" for name in ("events", "totals", "not_compiled")),
                *(f"worker/{name}.cpp" for name in ("worker", "worker_program", "meeting")),
                *(f"worker/{name}.cpp" for name in ("offers", "claims", "generator")),
                *("worker/asked_kernel_trace.cpp", "worker/host_benchmark_verbs.cpp"),
                *(f"worker/fabric_{name}.cpp" for name in ("end", "session", "bounds", "*_runs")),
                "worker/sonde_fabric.cpp",
            ),
            about_s=100,
        ),
        ends=Ends.PAIR,
        has_endpoints=True,
        needs=(Need("libfabric", "libfabric.so.1"),),
        message="a message over libfabric",
        layer=5,
        colour="violet",
        symbol="cross",
        dash="dashdot",
        summary="Measure libfabric, by which programs use InfiniBand, Slingshot, Omni-Path, EFA "
        "and RoCE, between this host and another.",
        more="The library is the one that each host has: `fi_info` lists its providers.",
        examples=(
            "fabric node7 latency",
            "fabric node7 latency --provider tcp --wait spin",
            "fabric node7 stream --operation write",
        ),
        quick_sizes="64,1k,4k,16k,64k,256k,1M",
        usual_size="64k",
    ),
    Transport(
        "mpi",
        "MPI",
        tests=(*_PLAIN, "collective", "clock", "threads", "all-pairs", *_COSTS),
        worker="sonde-mpi",
        ends=Ends.RANKS,
        framing=Framing.SEGMENTS,
        needs=(Need("an MPI", "mpiexec"),),
        layer=6,
        colour="green",
        symbol="square",
        dash="dot",
        summary="Measure MPI operations, with the time of every rank in every repetition.",
        usual_size="64k",
    ),
    Transport(
        "pvm",
        "PVM",
        tests=("latency", "pingpong", "stream", *_STREAMS_OF_MANY, "all-pairs"),
        worker="sonde-pvm",
        library=Library(
            "PVM",
            packages="PVM and its development files (Debian: pvm, pvm-dev)",
            variable="PVM_ROOT",
            roots=("/usr/lib/pvm3", "/usr/share/pvm3", "/usr/local/lib/pvm3", "/opt/pvm3"),
            header="pvm3.h",
            file="pvmd",
            sources=("transport/pvm/*.cpp", "worker/sonde_pvm.cpp", "worker/pvm_*.cpp"),
            # Static where it can be: hosts have but the daemon. XDR was the C library's own until
            # glibc 2.32.
            linked=(Linked(("libpvm3.a",), "-lpvm3"), Linked(("libtirpc.a", "libtirpc.so.3"))),
        ),
        families=("ipv4",),
        ends=Ends.TASKS,
        framing=Framing.SEGMENTS,
        needs=(
            Need("PVM 3.4", "pvmd"),
            Need("its development files where netsonde is", "pvm3.h"),
        ),
        most_bytes=2**31 - 1,
        message="a message of PVM, whose bytes it counts in an int",
        layer=6,
        over=("icmp", "udp", "tcp"),
        colour="grey",
        symbol="triangle-down",
        dash="dashdot",
        summary="Measure PVM between this host and another, in a virtual machine of its own.",
        more="The virtual machine is started for the measurement and ended with it.",
        examples=(
            "pvm node7 latency",
            "pvm node7 latency --route normal,direct --encoding default,raw,in-place",
            "pvm lab:h1,h2 sweep --route direct",
        ),
        quick_sizes="64,1k,4k,16k,64k",
        usual_size="40k",
        block_size="40k",
        sweep_sizes="0,40,400,4k,40k,400k,4M",
    ),
    # What stands in a transport's place where no worker of netsonde carries the messages.
    Transport("program", "PROGRAM", tests=("program",)),
    Transport("all_pairs", "Tournament", tests=("all_pairs",)),
    Transport(
        "go-back-n",
        "Go-Back-N",
        tests=("simulation",),
        has_protocol=True,
        fixed_window=True,
        header_bytes=8,
    ),
    Transport("datagram", "Datagrams", tests=("simulation",), header_bytes=8),
)

TRANSPORTS = {row.name: row for row in _ROWS}
"""Those first that workers have, the thinnest layer first."""


def transport_row(name: str) -> Transport:
    """A transport's row; of a name that only another version knows, one without any trait."""
    return TRANSPORTS.get(name) or Transport(name, name.upper())


def first_with(trait: str) -> Transport:
    """The thinnest transport with a trait."""
    return next(row for row in _ROWS if getattr(row, trait))


def names_with(*traits: str) -> tuple[str, ...]:
    """Names of the transports that have one of some traits."""
    return tuple(row.name for row in _ROWS if any(getattr(row, trait) for trait in traits))


def only_ranks(names: Iterable[str]) -> bool:
    """Whether one transport is asked for, which is one of ranks."""
    return [transport_row(name).has_ranks for name in names] == [True]


def some_ranks(names: Iterable[str]) -> bool:
    """Whether one of the transports is one of ranks."""
    return any(transport_row(name).has_ranks for name in names)


def measured_transports() -> tuple[str, ...]:
    """Names of the transports that a block of a study can ask for."""
    return tuple(row.name for row in _ROWS if row.ends is not Ends.OTHERWISE)


def in_quickstart() -> tuple[Transport, ...]:
    """The rows that add a curve to a quickstart where this machine has what they need."""
    return tuple(row for row in _ROWS if row.quick_sizes)


def commands() -> tuple[Transport, ...]:
    """The rows that have a command of their own, in the order of ``--help``."""
    order = [Ends.PAIR, Ends.ALONE, Ends.RANKS, Ends.TASKS]
    rows = [row for row in _ROWS if row.ends in order]
    return tuple(sorted(rows, key=lambda row: (order.index(row.ends), -row.layer)))


def in_layers(names: Iterable[str]) -> list[str]:
    """Names of transports, the thinnest layer first, those of no layer behind them by name."""
    return sorted(names, key=lambda name: (transport_row(name).layer or len(TRANSPORTS), name))
