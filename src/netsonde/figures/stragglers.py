"""Who held up whom: ranks that came late to a repetition, and what it cost the others.

A rank that the barrier releases later than the others is late in every repetition by about as
much. That is how barriers are, so each rank is compared with its own usual lateness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.ranks.clocks import Repetitions, common_repetitions
from netsonde.records.data import Batch

FAR_OFF = 5.0
"""Standard deviations beyond its usual lateness from which on a rank is a straggler. The deviation
is that of the middle half, so what a busy host does now and then does not widen it."""
LEAST_SHARE = 0.1
"""And such a share of the usual completion: less would be of no use to anybody."""
HIT = 0.5
"""A rank is held up where its stay grew by this share of the straggler's lateness."""
_NORMAL_MAD = 1.4826

Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Straggler:
    """A rank that entered a repetition of a batch ``late_ns`` later, beyond what is usual for it,
    than the middle rank (of two in the middle: the first).

    ``excess_ns``: by how much the slowest rank's time in the operation exceeded the median one.
    ``held_up``: ranks whose own stay grew by most of the lateness. ``is_slowest``: no
    other repetition of the point has a longer stay.
    """

    batch: int
    repetition: int
    rank: int
    late_ns: float
    excess_ns: float
    held_up: tuple[int, ...]
    is_slowest: bool


@dataclass(frozen=True)
class Lateness:
    """All repetitions of a point in order, shape (ranks, repetitions), ns: how much later than the
    middle rank each rank entered and left, and how long it stayed. ``batch`` and ``repetition``
    say which; ``uncertainty_ns`` is what two ranks' clocks may be apart."""

    ranks: tuple[int, ...]
    entered: Times
    left: Times
    stay: Times
    batch: npt.NDArray[np.int64]
    repetition: npt.NDArray[np.int64]
    uncertainty_ns: float


def lateness_of(batches: Sequence[Batch]) -> Lateness | None:
    """None where a batch's clocks are not known, or there is but one rank."""
    found = [common_repetitions(batch) for batch in batches]
    known = [repetitions for repetitions in found if repetitions is not None]
    if not known or len(known) < len(found) or len(batches[0].ends) < 2:
        return None
    counts = [r.enter_ns.shape[1] for r in known]
    return Lateness(
        tuple(sorted(batches[0].ends)),
        np.concatenate([_behind_the_middle(r.enter_ns) for r in known], axis=1),
        np.concatenate([_behind_the_middle(r.leave_ns) for r in known], axis=1),
        np.concatenate([_stay(r) for r in known], axis=1),
        np.repeat([b.index for b in batches], counts),
        np.concatenate([np.arange(count) for count in counts]),
        max(r.uncertainty_ns for r in known),
    )


def stragglers(late: Lateness) -> list[Straggler]:
    """The latest first. Source: T. Hoefler, T. Schneider and A. Lumsdaine, Characterizing the
    Influence of System Noise on Large-Scale Applications by Simulation, SC 2010 (a delayed rank
    delays those that wait for it); the threshold after Iglewicz and Hoaglin 1993, section 3.3."""
    usual = np.median(late.entered, axis=1, keepdims=True)
    beyond = late.entered - usual
    spread = _NORMAL_MAD * np.median(np.abs(beyond), axis=1, keepdims=True)
    slowest = late.stay.max(axis=0)
    median = float(np.median(slowest))
    limit = np.maximum(FAR_OFF * spread, max(LEAST_SHARE * median, late.uncertainty_ns))
    grown = late.stay - np.median(late.stay, axis=1, keepdims=True)
    longest = float(slowest.max())
    found = []
    for row, place in np.argwhere(beyond > limit).tolist():
        lateness = float(beyond[row, place])
        others = [i for i in range(len(late.ranks)) if i != row]
        found.append(
            Straggler(
                int(late.batch[place]),
                int(late.repetition[place]),
                late.ranks[row],
                lateness,
                float(slowest[place]) - median,
                tuple(late.ranks[i] for i in others if grown[i, place] >= HIT * lateness),
                float(slowest[place]) == longest,
            )
        )
    return sorted(found, key=lambda s: -s.late_ns)


def _behind_the_middle(times_ns: Times) -> Times:
    """Less that of the middle rank, which one of them cannot move; of two in the middle, the first:
    so of four ranks two may be late, and of two one."""
    middle = np.sort(times_ns, axis=0)[(len(times_ns) - 1) // 2]
    return np.asarray(times_ns - middle)


def _stay(repetitions: Repetitions) -> Times:
    stay: Times = repetitions.leave_ns - repetitions.enter_ns
    return stay
