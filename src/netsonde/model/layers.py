"""What a layer of software leaves of what the one beneath carries, at one size (Farrell and Ong,
*Factors involved in the performance of computations on Beowulf clusters*, 2001)."""

from __future__ import annotations


def drop_ratio(beneath: float, above: float) -> float:
    """The share of the rate beneath that is not there above; negative where there is more. Both are
    of one size: a peak beside the rate of one size says nothing of the layer."""
    return 1.0 - above / beneath


def gain_ratio(before: float, after: float) -> float:
    """By which share of the first the second is more."""
    return after / before - 1.0


def is_as_printed(printed_percent: float, ratio: float) -> bool:
    """Whether a per cent that is printed without decimals is that of a share."""
    return abs(100.0 * ratio - printed_percent) <= 0.5 + 1e-9
