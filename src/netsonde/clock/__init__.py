"""Global time: how far the clock of one host is ahead of another's, and how certain that is."""

from netsonde.clock.offset import OffsetBounds, OffsetInterval, offset_at

__all__ = ["OffsetBounds", "OffsetInterval", "offset_at"]
