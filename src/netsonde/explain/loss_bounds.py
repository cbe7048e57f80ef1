"""What a share of lost segments leaves of a stream's rate, and whether a stream has that."""

from __future__ import annotations

import numpy as np

from netsonde.explain.data import Seen
from netsonde.explain.evidence import allowed_bit_per_s
from netsonde.model.limits import loss_limited_bit_per_s
from netsonde.records.data import Point

SEGMENTS_FEW = 4
"""So few are notable only where the rate is about what Mathis' bound leaves of them."""
NEAR_BOUND = (0.4, 2.0)
"""Of the bound: a stream in it may be held by losses. Some were lost together and halve the window
once, and timeouts cost more than the bound knows."""
BELOW_LINK = 0.8
"""Of what the link allows: a stream above it lacks nothing that losses could have taken."""


def few_slow_it(seen: Seen, point: Point, again_sent: float, segments: int) -> bool:
    """Whether a stream that sent few segments again is about as slow as their share makes it."""
    segment = point.opened.get(0, {}).get("max_segment_bytes")
    round_trips = point.series("tcp_info_round_trip_ns")
    if again_sent < SEGMENTS_FEW or point.flows > 1 or not segment or not len(round_trips):
        return False
    rate, allowed = seen.value("throughput_bit_per_s", point.id), allowed_bit_per_s(seen, point)
    bound = loss_limited_bit_per_s(
        int(segment), float(np.median(round_trips)), again_sent / segments
    )
    is_near = NEAR_BOUND[0] * bound <= rate <= NEAR_BOUND[1] * bound
    return is_near and rate <= BELOW_LINK * allowed
