"""The periods of an input-buffered switch's loss cycles, found in how long a queue was over time.

A cycle has three (A. T. C. Tam, Performance Studies of High-Speed Communication on Commodity
Cluster, PhD thesis, The University of Hong Kong, 2001, section 4.3.2). t_a: a Nack has come, the
window that is sent again finds a full queue, and B_L packets pass that are of no use. t_b: the one
of them that fitted has arrived, the next is missing, and another window is sent again into a queue
that has drained: about (W-1)/P + 1 useless ones pass. t_c: what has filled the queue passes,
G = [B_L - (W-1)/P] / (1 - 1/P) useful packets of it, until the next gap is seen.

In the queue t_a ends when it reaches its bottom. The first packet that arrives then is useful, the
next brings the Nack, and the window that is sent again refills the queue from the bottom on, a
packet in each slot: t_b lasts until all of that has been sent. As a window refills whatever leaves
meanwhile, t_a began a window's time before the queue was full for the last time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

LOW = 0.5
"""A bottom is at most such a share of the buffer; what is above is no cycle's."""


@dataclass(frozen=True, slots=True)
class LossCycle:
    """``begin_ns`` is when t_a begins; packets that left the queue in each period."""

    begin_ns: float
    a_packets: int
    b_packets: int
    c_packets: int


def loss_cycles(
    time_ns: npt.ArrayLike,
    packets: npt.ArrayLike,
    buffer_packets: int,
    window: int,
    slot_ns: float,
) -> list[LossCycle]:
    """Of the length of one input's queue, each change of it, both of shape (n,). Cycles that the
    series does not hold whole are left out. Raises ``ValueError`` for series of two lengths."""
    times, lengths = np.asarray(time_ns, np.float64), np.asarray(packets, np.int64)
    if times.shape != lengths.shape or times.ndim != 1:
        raise ValueError("times and lengths of a queue are not as many")
    left = np.concatenate([[0], np.cumsum(np.diff(lengths) < 0)]) if len(lengths) else lengths
    resent_ns = window * slot_ns

    def left_until(instant_ns: float) -> int:
        """How many had left at an instant."""
        return int(left[max(int(np.searchsorted(times, instant_ns, "right")) - 1, 0)])

    marks = [
        (times[full] - resent_ns, times[low], times[again] + resent_ns)
        for full, low, again in _turns(lengths, buffer_packets)
    ]
    cycles = []
    for (a_ns, b_ns, c_ns), (next_ns, _, _) in pairwise(marks):
        parts = [left_until(instant_ns) for instant_ns in (a_ns, b_ns, c_ns, max(c_ns, next_ns))]
        cycles.append(LossCycle(float(a_ns), *(end - begin for begin, end in pairwise(parts))))
    return cycles


def _turns(lengths: npt.NDArray[np.int64], buffer_packets: int) -> list[tuple[int, int, int]]:
    """Each time that the queue drains and fills again: the last place where it was full, and the
    first and the last one of its bottom."""
    full = np.flatnonzero(lengths >= buffer_packets)
    found = []
    for before, after in pairwise(full):
        between = lengths[before:after]
        least = int(between.min(initial=buffer_packets))
        if least <= LOW * buffer_packets:
            lowest = before + np.flatnonzero(between == least)
            found.append((int(before), int(lowest[0]), int(lowest[-1])))
    return found


def mean_cycle(cycles: Sequence[LossCycle]) -> tuple[float, float, float] | None:
    """Packets of t_a, t_b and t_c on average; None of no cycles."""
    if not cycles:
        return None
    counts = np.array([(one.a_packets, one.b_packets, one.c_packets) for one in cycles])
    a, b, c = counts.mean(axis=0)
    return float(a), float(b), float(c)
