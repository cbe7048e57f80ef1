"""Bounds that follow from settings: windows, buffers, segments, ticks and CPUs.

F16-F22 are the formulas of B. Huang, Network Performance Studies in High Performance Computing
Environments, 2004, sections 3.4, 4.1, 4.4.2 and 5.2. Rates are in bit/s, decimal.
"""

import math

from netsonde.model.goodput import check_positive


def window_limited_bit_per_s(window_bytes: float, round_trip_ns: float) -> float:
    """The payload rate that TCP cannot exceed: one window in each round trip, 8e9 * window / RTT.

    ``window_bytes`` is the smaller of the window that the receiver advertises and the congestion
    window; of a receive buffer the kernel advertises only a part (F16 takes half). Source: RFC 9293
    section 3.8.6, RFC 7323 section 1.1. Raises ``ValueError`` for values <= 0.
    """
    check_positive("window", window_bytes, "bytes")
    check_positive("round trip", round_trip_ns, "ns")
    return 8e9 * window_bytes / round_trip_ns


def loss_limited_bit_per_s(segment_bytes: int, round_trip_ns: float, lost_ratio: float) -> float:
    """The payload rate that TCP Reno keeps where a share of its segments is lost at random:
    MSS / RTT * sqrt(3 / (2 p)), one loss halving a window that grows by a segment a round trip.

    Source: M. Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm,
    1997, for an acknowledgement of each segment, as Linux counts. Raises ``ValueError`` for
    values <= 0.
    """
    check_positive("segment", segment_bytes, "bytes")
    check_positive("round trip", round_trip_ns, "ns")
    check_positive("share lost", lost_ratio, "of 1")
    return 8e9 * segment_bytes / round_trip_ns * math.sqrt(1.5 / lost_ratio)


def bandwidth_delay_bytes(rate_bit_per_s: float, round_trip_ns: float) -> float:
    """What is under way on a path that is full, in bytes: rate * RTT / 8 (F17).

    Source: RFC 7323 section 1.1. Raises ``ValueError`` for values <= 0.
    """
    check_positive("rate", rate_bit_per_s, "bit/s")
    check_positive("round trip", round_trip_ns, "ns")
    return rate_bit_per_s * round_trip_ns / 8e9


def recommended_buffer_bytes(rate_bit_per_s: float, round_trip_ns: float) -> int:
    """A socket buffer that does not limit TCP: twice the bandwidth-delay product, rounded up (F17).

    Twice, because only about half of a buffer becomes window, and what was lost must be held while
    it is retransmitted. Raises ``ValueError`` for values <= 0.
    """
    return math.ceil(2 * bandwidth_delay_bytes(rate_bit_per_s, round_trip_ns))
