"""Options of transports whose messages are frames on the link: keys of ``[measure.options]``."""

from __future__ import annotations

from netsonde.catalogue.option import Choice, Count, Duration, Flag, Group, Option, Size, Switch
from netsonde.catalogue.transport import names_with

_OF = names_with("has_frames")
HEADER_BYTES = 8
"""What stands in a frame behind Ethernet's header, before what is carried."""
USUAL_FRAGMENT_BYTES = 1492
"""What a frame of an MTU of 1500 carries behind that."""
USUAL_WINDOW_PACKETS, USUAL_TIMEOUT_NS = 32, 10_000_000
"""Of Go-Back-N, where nothing is asked for (docs/methods/link.md)."""
MOST_WINDOW_PACKETS = 4096
LEAST_TIMEOUT_NS, MOST_TIMEOUT_NS = 10_000, 10_000_000_000
_LEAST_FRAGMENT, _MOST_FRAGMENT = 46 - HEADER_BYTES, 9000 - HEADER_BYTES

FRAMES = (
    Option(
        "driver",
        Choice(("packet", "ring", "xdp")),
        "How frames get to the interface and from it: packet (a system call each), ring (those "
        "that come lie in memory that the kernel shares; usual) or xdp (AF_XDP, past the kernel's "
        "protocols and queues).",
        wire=("driver",),
        of=_OF,
        flag=Flag(
            "--driver",
            "HOW",
            "How frames get to the interface and from it: `packet`, a system call each, `ring`, "
            "those that come lie in shared memory (usual), or `xdp`, AF_XDP; several with commas "
            "are measured one after the other.",
            group=Group.SENT,
        ),
        label="",
        listed=True,
    ),
    Option(
        "fragment",
        Size(_LEAST_FRAGMENT, _MOST_FRAGMENT),
        "What a frame carries of a message; else as much as a usual one does, "
        f"{USUAL_FRAGMENT_BYTES}.",
        wire=("fragment_bytes",),
        of=_OF,
        flag=Flag(
            "--fragment",
            "SIZE",
            "Let a frame carry so much of a message (1492), at most the MTU less 8.",
            group=Group.SENT,
        ),
        label="fragments of",
        listed=True,
    ),
    Option(
        "reliable",
        Switch(),
        "Whether messages come once and in order, by Go-Back-N; else what is lost is lost.",
        wire=("reliable",),
        of=_OF,
        flag=Flag(
            "--reliable/--raw",
            help="Messages come once and in order, by Go-Back-N, or what is lost is lost (usual).",
            group=Group.SENT,
        ),
        label="reliable",
    ),
    Option(
        "acknowledge",
        Choice(("immediate", "delayed", "piggyback")),
        "With reliable: each packet is acknowledged at once (immediate), every second one or after "
        "a quarter of resend_after (delayed), or so unless a packet goes back, which then says it "
        "(piggyback).",
        wire=("acknowledge",),
        of=_OF,
        flag=Flag(
            "--ack",
            "HOW",
            "With `--reliable`: acknowledge each packet at once (`immediate`), every second one "
            "(`delayed`), or by what goes back (`piggyback`).",
            group=Group.SENT,
        ),
        label="acknowledged",
        listed=True,
    ),
    Option(
        "window_packets",
        Count(1, MOST_WINDOW_PACKETS),
        "With reliable: so many packets may be unacknowledged; else 32.",
        wire=("window_packets",),
        of=_OF,
        flag=Flag(
            "--window",
            "PACKETS",
            "With `--reliable`: so many packets may be unacknowledged (32); several with commas "
            "are measured one after the other.",
            group=Group.SENT,
        ),
        label="window",
        listed=True,
    ),
    Option(
        "resend_after",
        Duration(LEAST_TIMEOUT_NS, MOST_TIMEOUT_NS),
        "With reliable: after so long without an acknowledgement a packet is sent again; else "
        "10ms.",
        wire=("timeout_ns",),
        of=_OF,
        flag=Flag(
            "--timeout",
            "TIME",
            "With `--reliable`: send a packet again after so long without an acknowledgement "
            "(`10ms`); several with commas are measured one after the other.",
            group=Group.SENT,
        ),
        label="time-out",
        listed=True,
    ),
    Option(
        "simple_go_back_n",
        Switch(),
        "With reliable: no negative acknowledgements; only time-outs make packets be sent again.",
        wire=("simple_go_back_n",),
        of=_OF,
        flag=Flag(
            "--simple-go-back-n",
            help="With `--reliable`: without negative acknowledgements, by time-outs alone.",
            group=Group.SENT,
        ),
        label="simple Go-Back-N",
    ),
)
"""In the order of ``--help`` and of the reference page."""
RELIABLE = "reliable"
_OF_ALL_FRAMES = ("driver", "fragment", RELIABLE)
GO_BACK_N = tuple(row for row in FRAMES if row.key not in _OF_ALL_FRAMES)
"""Those that only reliable messages have; whoever gives one asks for these."""
