"""Global time: how far the clock of one host is ahead of another's, and how certain that is."""

from netsonde.clock.offset import OffsetBounds, OffsetInterval, offset_at
from netsonde.clock.tree import Lead, LeadLine, Link, Method, leads_of, line_of

__all__ = [
    "Lead",
    "LeadLine",
    "Link",
    "Method",
    "OffsetBounds",
    "OffsetInterval",
    "leads_of",
    "line_of",
    "offset_at",
]
