"""O_r from the gaps that arrivals tear into a program that does nothing but read its clock.

Source: A. T. C. Tam, Performance Studies of High-Speed Communication on Commodity Cluster, PhD
thesis, The University of Hong Kong, 2001, appendix A.2, algorithm 6: of each message the longest
time that one segment of known work took counts, if it is longer than twice the segment alone and
shorter than half a round trip; all others are noise. Times in ns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples

SEGMENTS = 2.0
ROUND_TRIPS = 0.5
LEAST_ACCEPTED = 0.1
"""Where fewer of the gaps are accepted, they say nothing: what arrives takes another CPU's time."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """``accepted_ns``: shape (n,), what each accepted arrival took, the segment taken off;
    ``short`` and ``long`` count what was rejected on either side."""

    accepted_ns: npt.NDArray[np.float64]
    short: int
    long: int

    @property
    def rejected_ratio(self) -> float:
        """Of all."""
        whole = len(self.accepted_ns) + self.short + self.long
        return (self.short + self.long) / whole if whole else 1.0

    @property
    def is_known(self) -> bool:
        """Whether enough were accepted."""
        return 1.0 - self.rejected_ratio >= LEAST_ACCEPTED


def accept(longest_ns: npt.ArrayLike, segment_ns: npt.ArrayLike, round_trip_ns: float) -> Arrivals:
    """Of the longest gaps of messages, shape (n,), those that an arrival made; ``segment_ns`` is
    what a segment takes without one, shape (n,) or one for all."""
    longest = as_samples(longest_ns)
    segment = np.broadcast_to(np.asarray(segment_ns, np.float64), longest.shape)
    short = longest <= SEGMENTS * segment
    long = ~short & (longest >= ROUND_TRIPS * round_trip_ns)
    kept = ~(short | long)
    return Arrivals(longest[kept] - segment[kept], int(short.sum()), int(long.sum()))
