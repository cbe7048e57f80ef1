"""Figures of frames, interrupts and acknowledgements, and of where packets were lost."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

FRAMES = "packets#frames"
INTERRUPTS = "packets#packets-interrupts-acknowledgements"
LINE = "packets#wire-rate"
LIMITS = "packets#limits-of-tcp-and-of-hosts"

ROWS = (
    figure("{which}_frame_mean_bytes", FRAMES, which=("sent", "received", "expected", "ack")),
    figure("frames_per_datagram", "packets#fragments"),
    figure("datagrams_lost_with_fragments", "packets#fragments"),
    figure("{end}_frames_per_interrupt", INTERRUPTS, end=("origin", "target")),
    figure(
        "{end}_{way}_frames_per_interrupt",
        INTERRUPTS,
        end=("origin", "target"),
        way=("sent", "received"),
    ),
    figure("data_frames_per_ack", INTERRUPTS),
    figure("frame_interval_ns", INTERRUPTS),
    figure("target_interrupts_per_s", INTERRUPTS),
    figure("tcp_overhead_ratio", LINE),
    figure("wire_bit_per_s", LINE),
    figure("lost_{place}_frames", "packets#loss-location", place=("sender", "network", "receiver")),
    figure("delivered_ratio", "packets#delivered-share-and-shared-ports", better="more"),
    figure("{window}_limited_ratio", LIMITS, window=("receive_window", "send_buffer")),
    figure("path_round_trip_min_ns", LIMITS),
    figure("bandwidth_delay_bytes", LIMITS),
    figure("recommended_buffer_bytes", LIMITS),
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
