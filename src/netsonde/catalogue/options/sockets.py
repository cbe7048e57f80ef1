"""The table ``[measure.options]``: options of the connection that is measured, at both ends where
nothing else is said; None leaves the system's default."""

from __future__ import annotations

from netsonde.catalogue.option import (
    Choice,
    Count,
    End,
    Flag,
    Group,
    Option,
    Rate,
    Size,
    Switch,
    Text,
    TrafficClass,
    by_key,
)
from netsonde.catalogue.options.endpoints import ENDPOINTS
from netsonde.catalogue.options.frames import FRAMES
from netsonde.catalogue.options.tasks import TASKS
from netsonde.catalogue.transport import names_with

_MOST_BUFFER = 1 << 30
_ECHOES = names_with("is_echoed", "has_sockets")
_BOTH = names_with("has_sockets")
_PAIRS = names_with("is_pair")
_ENDS = names_with("is_echoed", "is_pair")
_TRACED = names_with("is_traced")
_WAITING = names_with("is_echoed", "has_sockets", "has_endpoints", "has_frames")
_TCP = names_with("has_connection")
_UDP = names_with("counts_datagrams")
_MOST_CPU = 4095
_PROCESSOR = Count(0, _MOST_CPU)
_CPUS = Flag(
    "--cpus",
    "A,B",
    "CPUs for the two ends, such as `0,1`.",
    of=_PAIRS,
    shared=True,
    group=Group.HOSTS,
)

CONNECTION = (
    Option(
        "buffer",
        Size(1, _MOST_BUFFER),
        "Buffer of sending and of receiving, at both ends.",
        wire=("send_buffer_bytes", "receive_buffer_bytes"),
        of=_BOTH,
        flag=Flag("--buffer", "SIZE", "Socket buffers at both ends; `64k,1M` measures with each."),
        listed=True,
    ),
    Option(
        "receive_buffer",
        Size(1, _MOST_BUFFER),
        "Buffer of receiving, where it differs.",
        wire=("receive_buffer_bytes",),
        of=_BOTH,
        flag=Flag("--receive-buffer", "SIZE", "Receive buffers, where they are to differ."),
        label="receive buffer",
        listed=True,
    ),
    Option(
        "target_buffer",
        Size(1, _MOST_BUFFER),
        "Buffer of the target, where it differs.",
        wire=("send_buffer_bytes", "receive_buffer_bytes"),
        end=End.TARGET,
        of=_BOTH,
        flag=Flag("--target-buffer", "SIZE", "Socket buffers at HOST, where they are to differ."),
        label="buffer there",
        listed=True,
    ),
    Option(
        "no_delay",
        Switch(),
        "Whether Nagle's algorithm is off (TCP_NODELAY).",
        default=True,
        wire=("no_delay",),
        of=_TCP,
        flag=Flag(
            "--nodelay/--nagle", help="Switch Nagle's algorithm off (usual, but for --cork) or on."
        ),
    ),
    Option(
        "cork",
        Switch(),
        "Whether the calls of a message are gathered into full segments.",
        wire=("cork",),
        of=_TCP,
        flag=Flag("--cork", help="Gather the calls of a message into full segments."),
    ),
    Option(
        "congestion_control",
        Text("^[a-z0-9_]{1,15}$"),
        "Congestion control of TCP, such as cubic or bbr.",
        wire=("congestion_control",),
        of=_TCP,
        flag=Flag("--congestion", "NAME", "Congestion control, such as cubic."),
        label="",
        listed=True,
    ),
    Option(
        "max_segment",
        Size(88, 65535),
        "TCP's largest segment.",
        wire=("max_segment_bytes",),
        of=_TCP,
        flag=Flag("--mss", "SIZE", "Maximum segment size."),
        label="MSS",
        listed=True,
    ),
    Option(
        "not_sent_low",
        Size(1, _MOST_BUFFER),
        "Unsent bytes below which a socket takes more (TCP_NOTSENT_LOWAT).",
        wire=("not_sent_low_bytes",),
        of=_TCP,
        flag=Flag("--notsent-lowat", "SIZE", "Take more data only below so much unsent."),
    ),
    Option(
        "window_clamp",
        Size(1, _MOST_BUFFER),
        "The largest window that is offered (TCP_WINDOW_CLAMP).",
        wire=("window_clamp_bytes",),
        of=_TCP,
        flag=Flag("--window-clamp", "SIZE", "Offer no larger window to the sender."),
    ),
    Option(
        "multipath",
        Switch(),
        "Whether TCP is multipath TCP.",
        wire=("multipath",),
        of=_TCP,
        flag=Flag("--multipath", help="Multipath TCP, where both kernels have it."),
    ),
    Option(
        "pacing",
        Rate(1000, 10**12),
        "Rate of TCP's pacing, such as '900M'.",
        wire=("pacing_bit_per_s",),
        of=_TCP,
        flag=Flag("--rate", "RATE", "Let the kernel pace what either end sends.", group=Group.SENT),
    ),
    Option(
        "sending",
        Choice(("copy", "sendfile", "zerocopy", "uring")),
        "How messages are sent: copy, sendfile, zerocopy or uring.",
        wire=("sending",),
        of=_TCP,
        flags=(
            Flag(
                "--sendfile", help="Send from a file in memory, with sendfile().", value="sendfile"
            ),
            Flag("--zerocopy", help="Send without a copy, with MSG_ZEROCOPY.", value="zerocopy"),
            Flag(
                "--uring",
                help="Send and receive by io_uring, the calls of a message as one chain.",
                value="uring",
            ),
        ),
    ),
    Option(
        "file",
        Text("^.{1,4096}$"),
        "The file whose content is sent.",
        wire=("file",),
        of=_TCP,
        in_study=False,
        refused_stranger="this server sends no files of its own to others",
    ),
    Option(
        "datagrams_per_call",
        Count(1, 128),
        "How many datagrams of UDP one system call takes.",
        wire=("datagrams_per_call",),
        of=_UDP,
        flag=Flag(
            "--batch",
            "N",
            "So many datagrams in one system call (stream, duplex).",
            group=Group.SENT,
        ),
    ),
    Option(
        "segment_offload",
        Switch(),
        "Whether the kernel or the card cuts and joins datagrams.",
        wire=("segment_offload",),
        of=_UDP,
        flag=Flag(
            "--offload",
            help="With --batch: the kernel or the card cuts and joins datagrams.",
            group=Group.SENT,
        ),
    ),
    Option(
        "asks_before_sleep",
        Count(0, 1000),
        "How often the receiver of a UDP stream asks for the next datagram before it sleeps.",
        wire=("asks_before_sleep",),
        of=_UDP,
        flag=Flag(
            "--asks-before-sleep",
            "N",
            "How often the receiver of a stream asks for the next datagram before it sleeps; 0: "
            "it waits in each call.",
            group=Group.SENT,
            usual="8",
        ),
    ),
    Option(
        "traffic_class",
        TrafficClass(0, 255),
        "Quality of service: af41, ef, dscp46, 0xb8, or 1 to 6.",
        wire=("traffic_class",),
        of=_ECHOES,
        flag=Flag(
            "--qos",
            "CLASS",
            "Quality of service: `af41`, `ef`, `dscp46`, `0xb8`, or Hpcbench's 1 to 6.",
        ),
        label="qos",
        listed=True,
    ),
    Option(
        "busy_poll_us",
        Count(0, 10**6),
        "How long waiting calls poll the device, microseconds.",
        wire=("busy_poll_us",),
        of=_ECHOES,
        flag=Flag("--busy-poll", "US", "Let waiting calls poll the device for so long."),
    ),
)
"""Rows of what is set on sockets, in the order of ``--help`` and of the reference page."""
ENDS = (
    Option(
        "kernel_times",
        Switch(),
        "Whether the kernel says when messages pass its queue and driver.",
        wire=("kernel_times",),
        of=_BOTH,
        flag=Flag(
            "--kernel-times",
            help="With latency, sweep and pingpong: let the kernel say when messages pass "
            "its queue and driver, and divide each round trip into hosts and network.",
            group=Group.RECORDED,
        ),
    ),
    Option(
        "kernel_trace",
        Switch(),
        "Whether eBPF programs count inside both kernels.",
        wire=("depth",),
        of=_TRACED,
        flag=Flag(
            "--kernel-trace",
            help="Count inside the kernel with eBPF, where it may be: waits for a "
            "CPU, in the queue, the driver and the socket, and why TCP retransmits.",
            group=Group.RECORDED,
            former="--depth",
        ),
        aliases=("depth",),
        stored="depth",
        refused_stranger="this server loads no eBPF programs for others",
    ),
    Option(
        "authenticated",
        Switch(),
        "Whether both ends take only what the other one says, by a key of their own.",
        wire=("authenticated",),
        of=_BOTH,
        flag=Flag(
            "--authenticated",
            help="Let each end take only what the other one says: datagrams and control frames "
            "carry a tag (HMAC-SHA-256) by a key that nobody on the way has.",
        ),
    ),
    Option(
        "wait",
        Choice(("block", "spin", "ready", "hybrid")),
        "How ends wait: block, spin, ready (poll() and calls that do not block), or hybrid (of "
        "frames: spin for 50 us, then block).",
        default="block",
        wire=("wait",),
        of=_WAITING,
        flag=Flag(
            "--wait",
            "HOW",
            "How the ends wait for data: in the call (`block`), by asking again and again "
            "(`spin`), for the kernel's word that the socket is ready (`ready`), or, of frames, "
            "first by asking, then asleep (`hybrid`).",
        ),
    ),
    # Left to the scheduler, ends on one machine are sometimes on one CPU and sometimes on
    # two, and a round trip differs by five times.
    Option(
        "placement",
        Choice(("free", "apart")),
        "Where ends run: apart gives ends that share a machine a CPU each.",
        default="free",
        of=_ENDS,
    ),
    Option(
        "origin_cpu",
        _PROCESSOR,
        "The origin's CPU.",
        wire=("cpu",),
        end=End.ORIGIN,
        of=_ENDS,
        flags=(
            _CPUS,
            Flag(
                "--cpu",
                "A",
                "CPU of the asking end.",
                of=names_with("is_echoed"),
                group=Group.HOSTS,
            ),
        ),
    ),
    Option(
        "target_cpu",
        _PROCESSOR,
        "The target's CPU.",
        wire=("cpu",),
        end=End.TARGET,
        of=_PAIRS,
        flag=_CPUS,
    ),
    Option(
        "source_address",
        Text("^[0-9a-zA-Z.:%_-]{2,64}$"),
        "The origin's own address, of several, from which it connects.",
        wire=("source_address",),
        end=End.ORIGIN,
        of=_WAITING,
        flag=Flag(
            "--bind",
            "ADDRESS",
            "Connect from this address of the origin; several with commas are measured one after "
            "the other.",
            group=Group.HOSTS,
        ),
        label="from",
        listed=True,
        refused_stranger="this server connects from the address that its routes say",
    ),
    Option(
        "interface",
        Text("^[^ /,]{1,15}$"),
        "The origin's interface by which it sends, whatever its routes say.",
        wire=("interface",),
        end=End.ORIGIN,
        of=_ECHOES,
        flag=Flag(
            "--interface",
            "NAME",
            "Send by this interface of the origin, whatever its routes say, as eth1; several with "
            "commas are measured one after the other.",
            group=Group.HOSTS,
        ),
        label="by",
        listed=True,
        refused_stranger="this server sends by the interface that its routes say",
    ),
)
"""The same of how the two ends wait, where they run and what they record."""
SOCKETS = by_key((*CONNECTION, *ENDPOINTS, *FRAMES, *TASKS, *ENDS))
"""By key, in the order of the reference page."""
STUDY_OPTIONS = {key: row for key, row in SOCKETS.items() if row.in_study}


def options_of(transport: str) -> tuple[str, ...]:
    """Keys of a study that a transport has."""
    return tuple(key for key, row in STUDY_OPTIONS.items() if transport in row.of)
