"""Where a curve of response time against load bends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

KNEE_FACTOR = 2.0
"""How many times the least load's response time is too much. For a queue of one server with random
arrivals and services (M/M/1), whose response time is 1 / (1 - load) of the unloaded one, 2 is half
of the capacity."""


def knee_load(
    loads: Sequence[float], responses: Sequence[float], factor: float = KNEE_FACTOR
) -> float | None:
    """The load from which on responses stay above factor times that of the least load.

    loads: increasing, any unit; responses: of the same length, > 0. Interpolated linearly between
    the last point below and the first above; None where the last point is not above. Raises
    ValueError where the lengths differ or loads do not increase.
    """
    if len(loads) != len(responses):
        raise ValueError(f"{len(loads)} loads and {len(responses)} responses")
    if any(b <= a for a, b in pairwise(loads)):
        raise ValueError("loads must increase")
    if len(loads) < 2:
        return None
    limit = factor * responses[0]
    below = max(i for i, response in enumerate(responses) if response <= limit)
    if below + 1 == len(loads):
        return None
    rise = responses[below + 1] - responses[below]
    share = (limit - responses[below]) / rise
    return loads[below] + share * (loads[below + 1] - loads[below])
