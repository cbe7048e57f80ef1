"""Operations against the uplinks that they must cross: is the network as fast as it can be?

What an operation must send over an uplink takes at least so long, whatever the library does
(:mod:`netsonde.model.hierarchy`). An operation that takes little longer is limited by that uplink.
"""

from __future__ import annotations

from dataclasses import dataclass

from netsonde.catalogue.point import Collective
from netsonde.figures.data import Figure
from netsonde.figures.levels import hierarchy_of
from netsonde.figures.maker import Maker
from netsonde.model.hierarchy import Hierarchy, crossing
from netsonde.records.data import Point, Run

MEDIAN = "completion_median_ns"


@dataclass(frozen=True)
class UplinkBound:
    """The uplink that takes longest for an operation, and how long at least."""

    point: Point
    uplink: str
    least_ns: float


def uplink_bound(hierarchy: Hierarchy, point: Point) -> UplinkBound | None:
    """None where nothing of the point must cross an uplink whose rate is known."""
    if not point.kind.is_operation or not point.batches or point.operation is None:
        return None
    ends = point.batches[0].ends
    ranks = sorted(ends)
    spec = point.spec.of(Collective)
    if len(ranks) < (spec.ranks or len(ranks)):
        return None  # of very many ranks, not every one reports
    partners = [ends[rank].counters.get("partner", -1) for rank in ranks]
    found = []
    for uplink in hierarchy.uplinks:
        hosts = hierarchy.hosts_below(uplink)
        if hosts is None or uplink.rate_bit_per_s is None:
            continue
        below = [ends[rank].host in hosts for rank in ranks]
        known = all(ends[rank].host in hierarchy.places for rank in ranks)
        to = [None if partner < 0 else partner for partner in partners]
        if not known or spec.rotate_root:
            continue
        must = crossing(point.operation, point.message_bytes, below, to, spec.root or 0)
        if must is not None:
            found.append(UplinkBound(point, uplink.name, must.least_ns(uplink.rate_bit_per_s)))
    worst = max(found, key=lambda bound: bound.least_ns, default=None)
    return worst if worst is not None and worst.least_ns > 0 else None


def uplink_bounds(run: Run) -> list[UplinkBound]:
    """Of every operation that must cross an uplink."""
    hierarchy = hierarchy_of(run)
    if hierarchy is None or not hierarchy.uplinks:
        return []
    found = (uplink_bound(hierarchy, point) for point in run.select())
    return [bound for bound in found if bound is not None]


def uplink_figures(run: Run, figures: list[Figure]) -> list[Figure]:
    """The least time that the uplink allows, and what share of the median it is."""
    medians = {f.point: f for f in figures if f.name == MEDIAN}
    made = []
    for bound in uplink_bounds(run):
        maker, median = Maker(bound.point), medians.get(bound.point.id)
        made.append(maker.figure("uplink_least_ns", bound.least_ns, 1))
        if median is not None and median.value:
            share = [
                None if end is None else bound.least_ns / end for end in (median.high, median.low)
            ]
            value = bound.least_ns / median.value
            made.append(maker.figure("uplink_ratio", value, median.samples, *share))
    return made
