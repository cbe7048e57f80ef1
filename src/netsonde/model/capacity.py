"""Where the sum of what pairs carry at once stops growing with their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MARGIN = 0.1
"""Sums that differ by less are one."""
FEWEST = 3
"""Numbers of pairs: a line through two says of no end."""


@dataclass(frozen=True)
class Ceiling:
    """``pairs`` is the fewest with which the sum is all that it ever is, ``rate`` that sum, and
    ``free`` what so many pairs would carry that have nothing in common."""

    pairs: int
    rate: float
    free: float


def ceiling(sums: Mapping[int, float], margin: float = MARGIN) -> Ceiling | None:
    """The end of the growth of ``sums``, by number of pairs at once; None where it grows to the
    last, or there are too few numbers.

    Pairs that share nothing carry the share of the fewest each. From ``pairs`` on, of two numbers
    or more, every sum is the largest within ``margin``, and all but the first are less than that by
    more than it. So a network that carries all that is asked has none; hosts that share a CPU can
    have one, which no rate tells from a switch's.
    """
    numbers = sorted(sums)
    if len(numbers) < FEWEST:
        return None
    most = max(sums.values())
    full = [n for n in numbers if all(sums[m] >= (1 - margin) * most for m in numbers if m >= n)]
    if len(full) < 2:
        return None
    each = sums[numbers[0]] / numbers[0]
    if sums[full[-1]] >= (1 - margin) * each * full[-1]:
        return None
    return Ceiling(full[0], sum(sums[n] for n in full) / len(full), each * full[-1])
