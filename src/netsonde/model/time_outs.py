"""Repetitions that waited for TCP's retransmission timer, told from how long they took.

A sender that hears nothing waits for its timer, at least 200 ms in Linux, while everybody else is
done. So repetitions with such a wait stand apart from the others by one, two, ... times the least
timeout. That is a reading of times and no proof: an operation may have two speeds for other
reasons. Hence :func:`judge_waits` compares with what the kernels counted, and refuses to decide
where the two contradict each other.

Sources: N. A. W. Abdul Hamid, Communication Performance Measurement and Analysis on Commodity
Clusters, 2008, sections 5.4.1 and 5.6 (bands of 200 ms above the shortest time; a mean without
timeouts); RFC 6298 (the timer, doubled where a segment is lost again); RFC 8985, section 7 (the
tail loss probe, which for a single segment in flight waits as long).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

LEAST_TIME_OUT_NS = 200_000_000
"""Linux's TCP_RTO_MIN, where nobody has set another one."""
MORE = 3
"""Stands for three waits and more: three in a row, or a segment that was lost again (200 + 400)."""
LEAST_BULK = 5
"""Repetitions without a wait, to know how long they take."""
BROADEST = 0.5
"""Usual repetitions that differ by more than this share of the least timeout hide a wait."""
EDGE = 0.25
"""A band reaches so much further, as a share of the least timeout: timers tick, and what else the
operation does may go on meanwhile (below) or have to wait as well (above)."""
GROWTH = 0.05
"""And so much for each wait: the timer is the least timeout and the round trip."""
LEAST_IN_BANDS = 0.8
"""The share of slow repetitions that must stand in bands. Those cover half of the line at most, so
that of ten slow repetitions with any other cause eight do in one of twenty cases."""
LEAST_COUNTED = 0.8
"""The share of repetitions with a wait whose batch must have a counted timeout."""

Waits = npt.NDArray[np.int64]
BELOW_LEAST_NS = 1_000_000
"""Linux's timers are no shorter; what stands out by less waited for none."""
LEAST_ALIKE = 3
"""Waits that are as long as each other, to take them for a timer."""
STANDS_OUT = 4.0
"""So many times the spread of the usual ones above their median."""
Verdict = Literal[
    "none", "found", "broad", "between", "contradicted", "uncounted", "hidden", "below"
]


@dataclass(frozen=True)
class Bands:
    """How many least timeouts each repetition waited, shape (repetitions,): 0, 1, 2, ``MORE``;
    -1 where it stands between two bands.

    ``usual_ns`` is the median without a wait, ``reach_ns`` how far above the shortest nine in
    ten of the usual ones lie. ``is_broad``: usual times differ too much to tell.
    """

    waits: Waits
    usual_ns: float
    reach_ns: float
    is_broad: bool

    @property
    def in_bands(self) -> float:
        """Share of the slow repetitions that stand in a band; 1 where none is slow."""
        slow = self.waits != 0
        return float((self.waits[slow] > 0).mean()) if slow.any() else 1.0


@dataclass(frozen=True)
class Judgement:
    """``verdict``: ``none`` has a wait; ``found``; the usual times are too ``broad``; slow ones
    stand ``between`` the bands; the counters ``contradicted`` the times; they were ``uncounted``;
    ``hidden``: even the shortest may hold one, as many were counted; ``below``: timeouts were
    counted, and what stands out does so by less than the least one that is known."""

    verdict: Verdict
    bands: Bands

    @property
    def is_decided(self) -> bool:
        return self.verdict in ("none", "found")

    def shares(self) -> tuple[float, float, float, float]:
        """Of repetitions with no, one, two and more waits; their sum is 1. A repetition between two
        bands is taken for the lower one."""
        counted = [int((self.bands.waits == n).sum()) for n in (0, 1, 2, MORE)]
        counted[1] += int((self.bands.waits < 0).sum())
        whole = len(self.bands.waits)
        return tuple(count / whole for count in counted)  # type: ignore[return-value]


def wait_bands(times_ns: npt.ArrayLike, least_ns: float = LEAST_TIME_OUT_NS) -> Bands:
    """The bands of times, shape (repetitions,), one of an operation's completion each.

    What took less than the shortest and one least timeout had no wait; it must have been ready
    within ``BROADEST`` of a least timeout. n waits: from the shortest and n least timeouts, less
    what may overlap, to the same above the slowest tenth of the usual ones. Raises ``ValueError``
    for no times or a least timeout that is not positive.
    """
    times = np.asarray(times_ns, np.float64)
    if not times.size or not least_ns > 0:
        raise ValueError("needs at least one time and a least timeout above 0")
    shortest = float(times.min())
    usual = times[times < shortest + (1 - EDGE) * least_ns]
    reach = float(np.quantile(usual, 0.9)) - shortest
    is_broad = reach > BROADEST * least_ns or len(usual) < min(LEAST_BULK, times.size)
    waits = np.where(times < shortest + (1 - EDGE) * least_ns, 0, -1)
    beyond = (times - shortest) / least_ns
    below = min(shortest / least_ns, EDGE)
    above = EDGE + reach / least_ns
    nearest = np.maximum(np.rint(beyond - (above - below) / 2), 1)
    fits = (beyond >= nearest - below) & (beyond <= nearest * (1 + GROWTH) + above)
    waits = np.where((waits < 0) & fits, np.minimum(nearest, MORE), waits).astype(np.int64)
    return Bands(waits, float(np.median(usual)), reach, is_broad)


def judge_waits(
    times_ns: Sequence[npt.ArrayLike],
    counted: Sequence[int | None],
    least_ns: float = LEAST_TIME_OUT_NS,
    ran_out: Sequence[int | None] = (),
) -> Judgement:
    """Times by batch, and what the kernels of all hosts counted in each batch: timers that ran out
    (TCPTimeouts) and probes for a lost tail (TCPLossProbes). None where nobody counted.

    A count without a wait contradicts nothing: it may be of the barrier before a repetition, of
    another program, or of a segment that nobody waited for. A wait without a count does.
    ``ran_out`` are the timers alone: where some ran out and repetitions stand out by less than the
    least timeout, the kernels know better than ``least_ns`` what a timeout is.
    """
    bands = wait_bands(np.concatenate([np.asarray(t, np.float64) for t in times_ns]), least_ns)
    slow = bands.waits != 0
    shortest = min(float(np.min(t)) for t in times_ns if len(np.asarray(t)))
    if shortest >= least_ns and sum(count or 0 for count in counted) >= len(bands.waits):
        return Judgement("hidden", bands)
    if not slow.any() and not bands.is_broad:
        is_below = any(
            count and stands_out(times).any()
            for times, count in zip(times_ns, ran_out or [0] * len(times_ns), strict=True)
        )
        return Judgement("below" if is_below else "none", bands)
    if bands.is_broad:
        return Judgement("broad", bands)
    if any(count is None for count in counted):
        return Judgement("uncounted", bands)
    by_repetition = np.repeat(
        [count or 0 for count in counted], [len(np.asarray(t)) for t in times_ns]
    )
    if (by_repetition[slow] > 0).mean() < LEAST_COUNTED or sum(
        min(int(s.sum()), count or 0)
        for s, count in zip(_split(slow, times_ns), counted, strict=True)
    ) < LEAST_COUNTED * int(slow.sum()):
        return Judgement("contradicted", bands)
    if bands.in_bands < LEAST_IN_BANDS:
        return Judgement("between", bands)
    if ran_out and sum(count or 0 for count in ran_out) > int(np.abs(bands.waits).sum()):
        # More ran out than the bands explain: shorter waits that are all alike are timers too.
        every = np.concatenate([np.asarray(t, np.float64) for t in times_ns])
        excess = every[stands_out(every) & ~slow] - bands.usual_ns
        if len(excess) >= LEAST_ALIKE and _are_alike(excess):
            return Judgement("below", bands)
    return Judgement("found", bands)


def _are_alike(values: npt.NDArray[np.float64]) -> bool:
    middle = float(np.median(values))
    return bool((np.abs(values - middle) <= EDGE * middle).mean() > LEAST_IN_BANDS)


def stands_out(times_ns: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which times, shape (repetitions,), lie so far above the usual ones that a timer of any length
    may be in them."""
    times = np.asarray(times_ns, np.float64)
    usual, upper = (float(np.quantile(times, q)) for q in (0.5, 0.75))
    beyond = max(STANDS_OUT * (upper - usual), BELOW_LEAST_NS)
    return np.asarray(times > usual + beyond, np.bool_)


def _split(
    values: npt.NDArray[np.bool_], times_ns: Sequence[npt.ArrayLike]
) -> list[npt.NDArray[np.bool_]]:
    ends = np.cumsum([len(np.asarray(t)) for t in times_ns])
    return np.split(values, ends[:-1])
