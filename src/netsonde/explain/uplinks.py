"""Operations that the link between two switches limits."""

from __future__ import annotations

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import point_in_words
from netsonde.figures.uplinks import uplink_bounds
from netsonde.units import format_time

LIMITED = 0.7
"""A share of the median time that the uplink alone needs, from which on it is the limit."""
MOST_FINDINGS = 3


def uplinks_limit(seen: Seen) -> list[Finding]:
    """Those that the uplink takes the largest share of, the worst first."""
    found = []
    for bound in uplink_bounds(seen.run):
        share = seen.figure("uplink_ratio", bound.point.id)
        median = seen.figure("completion_median_ns", bound.point.id)
        if share is not None and median is not None and share.value >= LIMITED:
            found.append((share.value, bound, median))
    found.sort(key=lambda item: -item[0])
    return [
        Finding(
            "note",
            f"{point_in_words(bound.point)} is limited by the uplink {bound.uplink}.",
            f"What must cross it takes {format_time(bound.least_ns)} at its rate, {share:.0%} of "
            f"the median {format_time(median.value)}.",
            "Place ranks so that partners share a switch, or give the uplink a higher rate.",
            (bound.point.id,),
        )
        for share, bound, median in found[:MOST_FINDINGS]
    ]
