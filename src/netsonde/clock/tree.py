"""Every rank's clock on that of rank 0, from comparisons along a tree.

Each rank compared its clock with its parent's, or reads its parent's. What it is ahead of rank 0's
is the sum along the way, each part taken at the instant that the clocks on the way then showed.

Source: the tree is that of S. Hunold, A. Carpen-Amarie, Hierarchical Clock Synchronization in MPI,
IEEE Cluster 2018; that stamps are corrected afterwards from comparisons before and after, that of
N. A. W. Abdul Hamid 2008, section 2.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from netsonde.clock.offset import OffsetBounds, OffsetInterval, offset_at

Method = Literal["bounds", "ends", "offset", "fit"]
"""``bounds``: the middle of all straight lines within all bounds. ``ends``: the line through the
middles of the first and the last comparison. ``offset``: the middle of the first one, no drift.
``fit``: the line of least squares through the middles of all (T. Jones, G. A. Koenig, Clock
synchronization in high-end computing environments, Concurrency and Computation 25, 2013)."""


@dataclass(frozen=True)
class Link:
    """A rank's parent and the bounds of its lead over it; None where both read one clock."""

    parent: int
    bounds: OffsetBounds | None = None


@dataclass(frozen=True)
class Lead:
    """What a clock is ahead of rank 0's: first_ns at begin_ns of its own, last_ns at end_ns, and a
    straight line between; wrong by uncertainty_ns at most, by whatever method the line was laid,
    as far as rates were constant."""

    begin_ns: int
    end_ns: int
    first_ns: float
    last_ns: float
    uncertainty_ns: float

    @property
    def drift(self) -> float:
        """ns of lead per ns of its own clock."""
        return (self.last_ns - self.first_ns) / max(1, self.end_ns - self.begin_ns)

    def at(self, own_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The lead at instants of its own clock, ns; same shape."""
        since = (own_ns - np.int64(self.begin_ns)).astype(np.float64)
        return self.first_ns + self.drift * since


def leads_of(
    links: Mapping[int, Link],
    spans: Mapping[int, tuple[int, int]],
    method: Method = "bounds",
) -> dict[int, Lead]:
    """By rank, for rank 0 and all of links. ``spans``: begin and end, by each rank's own clock, of
    what is to be corrected. Raises ValueError where a way does not lead to rank 0."""
    found = {0: Lead(*spans[0], 0.0, 0.0, 0.0)}
    for rank in links:
        way = [rank]
        while way[-1] not in found:
            parent = links[way[-1]].parent if way[-1] in links else None
            if parent is None or parent in way:
                raise ValueError(f"the clock of rank {rank} was not compared up to rank 0's")
            way.append(parent)
        for child in reversed(way[:-1]):
            found[child] = _follow(links[child], spans[child], found[links[child].parent], method)
    return found


def _follow(link: Link, span: tuple[int, int], parent: Lead, method: Method) -> Lead:
    if link.bounds is None:
        ends = [OffsetInterval(0.0, 0.0)] * 2
    else:
        ends = [_over_parent(link.bounds, at_ns, method) for at_ns in span]
    first, last = (_over_root(end, at_ns, parent) for at_ns, end in zip(span, ends, strict=True))
    own = max(end.uncertainty_ns for end in ends)
    if link.bounds is not None and not all(end.straight for end in ends):
        begin, end = ends
        lead = Lead(span[0], span[1], begin.middle_ns, end.middle_ns, 0.0)
        own = max(own, _farthest(link.bounds, lead))
    return Lead(span[0], span[1], first, last, own + parent.uncertainty_ns)


def _farthest(bounds: OffsetBounds, lead: Lead) -> float:
    """What a lead can be wrong by at the instants of the comparisons, ns: no line fits them all, so
    each tells of its own instant only."""
    here = lead.at(bounds.at_ns)
    low, high = (ends.astype(np.float64) for ends in (bounds.low_ns, bounds.high_ns))
    return float(np.maximum(high - here, here - low).max())


def _over_root(own: OffsetInterval, at_ns: int, parent: Lead) -> float:
    parents_ns = np.array([at_ns - round(own.middle_ns)], np.int64)
    return own.middle_ns + float(parent.at(parents_ns)[0])


def _over_parent(bounds: OffsetBounds, at_ns: int, method: Method) -> OffsetInterval:
    possible = offset_at(bounds, at_ns)
    if method == "bounds":
        return possible
    lead = line_of(bounds, method).at(at_ns)
    # What a method calls its own error knows neither of a way that waited nor of a drift that it
    # does not follow. The farther end of what is possible does, whatever line it is taken from.
    half = max(possible.high_ns - lead, lead - possible.low_ns)
    return OffsetInterval(lead - half, lead + half, possible.straight)


@dataclass(frozen=True)
class LeadLine:
    """reference_ns + lead_ns at at_ns, and drift ns more for each ns after it."""

    at_ns: int
    reference_ns: int
    lead_ns: float
    drift: float

    def at(self, own_ns: int) -> float:
        since = float(np.int64(own_ns) - np.int64(self.at_ns))
        return self.reference_ns + self.lead_ns + self.drift * since

    def distances(self, bounds: OffsetBounds) -> npt.NDArray[np.float64]:
        """Of the middle of each comparison from the line, ns; shape (comparisons,)."""
        since = (bounds.at_ns - np.int64(self.at_ns)).astype(np.float64)
        middles = middles_over(bounds, self.reference_ns)
        distances: npt.NDArray[np.float64] = middles - self.lead_ns - self.drift * since
        return distances


def middles_over(bounds: OffsetBounds, reference_ns: int) -> npt.NDArray[np.float64]:
    """The middles of the bounds less a reference: small numbers, which a double holds exactly."""
    low = (bounds.low_ns - np.int64(reference_ns)).astype(np.float64)
    high = (bounds.high_ns - np.int64(reference_ns)).astype(np.float64)
    middles: npt.NDArray[np.float64] = (low + high) / 2
    return middles


def line_of(bounds: OffsetBounds, method: Method) -> LeadLine:
    """The line by ``ends``, ``offset`` or ``fit``."""
    reference = int(bounds.low_ns[0])
    middles = middles_over(bounds, reference)
    first, last = int(np.argmin(bounds.at_ns)), int(np.argmax(bounds.at_ns))
    since = (bounds.at_ns - bounds.at_ns[first]).astype(np.float64)
    drift = 0.0
    lead = float(middles[first])
    if method == "ends" and since[last] > 0:
        drift = float(middles[last] - middles[first]) / float(since[last])
    if method == "fit":
        # An exchange that waited is as far wrong as it is wide.
        widths = np.maximum(bounds.high_ns - bounds.low_ns, 1).astype(np.float64)
        weights = (widths.min() / widths) ** 2
        weights /= weights.sum()
        centred = since - float(weights @ since)
        spread = float(weights @ centred**2)
        drift = float((weights * centred) @ middles) / spread if spread > 0 else 0.0
        lead = float(weights @ middles) - drift * float(weights @ since)
    return LeadLine(int(bounds.at_ns[first]), reference, lead, drift)
