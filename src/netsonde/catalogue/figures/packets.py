"""Figures of frames, interrupts and acknowledgements, and of where packets were lost."""

from __future__ import annotations

from netsonde.catalogue.figure import FigureKind

FRAMES = "packets#frames"
INTERRUPTS = "packets#packets-interrupts-acknowledgements"
LINE = "packets#wire-rate"
LIMITS = "packets#limits-of-tcp-and-of-hosts"

ROWS = (
    FigureKind(
        "{which}_frame_mean_bytes",
        "bytes",
        "{which} frame mean",
        (FRAMES,),
        parts={"which": ("sent", "received", "expected", "ack")},
    ),
    FigureKind("frames_per_datagram", "count", "frames per datagram", ("packets#fragments",)),
    FigureKind(
        "datagrams_lost_with_fragments",
        "count",
        "datagrams lost with fragments",
        ("packets#fragments",),
    ),
    FigureKind(
        "{end}_frames_per_interrupt",
        "count",
        "{end} frames per interrupt",
        (INTERRUPTS,),
        parts={"end": ("origin", "target")},
    ),
    FigureKind(
        "{end}_{way}_frames_per_interrupt",
        "count",
        "{end} {way} frames per interrupt",
        (INTERRUPTS,),
        parts={"end": ("origin", "target"), "way": ("sent", "received")},
    ),
    FigureKind("data_frames_per_ack", "count", "data frames per ack", (INTERRUPTS,)),
    FigureKind("frame_interval_ns", "ns", "frame interval", (INTERRUPTS,)),
    FigureKind("target_interrupts_per_s", "count", "target interrupts/s", (INTERRUPTS,)),
    FigureKind("tcp_overhead_ratio", "ratio", "tcp overhead", (LINE,)),
    FigureKind("wire_bit_per_s", "bit_per_s", "wire", (LINE,)),
    FigureKind(
        "lost_{place}_frames",
        "count",
        "lost {place} frames",
        ("packets#loss-location",),
        parts={"place": ("sender", "network", "receiver")},
    ),
    FigureKind(
        "delivered_ratio",
        "ratio",
        "delivered",
        ("packets#delivered-share-and-shared-ports",),
        "more",
    ),
    FigureKind(
        "{window}_limited_ratio",
        "ratio",
        "{window} limited",
        (LIMITS,),
        parts={"window": ("receive_window", "send_buffer")},
    ),
    FigureKind("path_round_trip_min_ns", "ns", "path round trip min", (LIMITS,)),
    FigureKind("bandwidth_delay_bytes", "bytes", "bandwidth delay", (LIMITS,)),
    FigureKind("recommended_buffer_bytes", "bytes", "recommended buffer", (LIMITS,)),
)
METHODS = {
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
}
"""What each place of docs/methods says, in short."""
