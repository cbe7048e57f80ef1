"""O_s and g_s from series of n sends each, with a pause between them in which all drains.

While the ring has room a send costs O_s; once it is full, a send waits for one to leave, and costs
g_s. Source: A. T. C. Tam, Performance Studies of High-Speed Communication on Commodity Cluster, PhD
thesis, The University of Hong Kong, 2001, appendix A.4, algorithm 7. Times in ns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples

FIRST_COUNTS = 3
"""So many of the shortest series say what a send costs that finds room."""
ALIKE = 0.02
"""Two costs closer than this are one."""
LEVEL = 0.05
"""The last two steps of a series that has its equilibrium differ by no more than this."""
RISEN = 0.25
"""A cost so much above that of the shortest series is one of a send that waited."""


@dataclass(frozen=True, slots=True)
class SendCosts:
    """``overhead_ns`` is O_s. ``gap_ns`` is g_s, None where sends never waited (g_s <= O_s: only
    O_s can be told) or where no equilibrium was reached, and ``why`` says which. ``ring`` is the
    longest series that found room. ``mean_ns`` is the source's own g_s, the cost of a send of the
    longest series, which holds those that found room as well."""

    overhead_ns: float
    gap_ns: float | None
    mean_ns: float
    ring: int
    why: str = ""


def read_series(
    counts: npt.ArrayLike, total_ns: npt.ArrayLike, left_ns: npt.ArrayLike | None = None
) -> SendCosts:
    """Costs from series of ``counts`` sends, shape (n,), which took ``total_ns``, shape (n,), until
    the last call returned, and ``left_ns`` until all had left the host, where that is known.

    g_s is then of the latter: a sender that waits for room is woken for many messages at once, so
    that its calls return in lumps. Of several series of one length the median counts. g_s is the
    slope between the last three lengths, so that what found room does not weigh; the two steps must
    agree within 5 %. Raises ``ValueError`` for fewer than four lengths.
    """
    lengths, totals = _medians(as_samples(counts), as_samples(total_ns))
    if len(lengths) < FIRST_COUNTS + 1:
        raise ValueError(f"{len(lengths)} lengths of series; expected {FIRST_COUNTS + 1} or more")
    leaving = totals if left_ns is None else _medians(as_samples(counts), as_samples(left_ns))[1]
    costs = totals / lengths
    base = float(np.median(costs[:FIRST_COUNTS]))
    waited = np.flatnonzero(costs > (1.0 + RISEN) * base)
    risen = next((int(i) for i in waited if np.all(costs[i:] > (1.0 + RISEN) * base)), None)
    if risen is None or risen == 0:
        overhead = float(np.median(costs))
        why = "sends never waited for the card: g_s is no more than O_s"
        return SendCosts(overhead, None, float(costs[-1]), int(lengths[-1]), why)
    overhead = float(np.median(costs[:risen]))
    ring = int(lengths[risen - 1])
    steps = np.diff(leaving[-3:]) / np.diff(lengths[-3:])
    gap = float((leaving[-1] - leaving[-3]) / (lengths[-1] - lengths[-3]))
    if len(lengths) - risen < 2 or abs(float(np.diff(steps)[0])) > LEVEL * gap:
        why = "no equilibrium was reached: longer series are needed"
        return SendCosts(overhead, None, float(costs[-1]), ring, why)
    if gap <= (1.0 + ALIKE) * overhead:
        why = "g_s is no more than O_s"
        return SendCosts(overhead, None, float(costs[-1]), ring, why)
    return SendCosts(overhead, gap, float(costs[-1]), ring)


def is_level(
    counts: npt.ArrayLike, total_ns: npt.ArrayLike, left_ns: npt.ArrayLike | None = None
) -> bool:
    """Whether longer series would say nothing new: g_s is known."""
    lengths, _ = _medians(as_samples(counts), as_samples(total_ns))
    if len(lengths) <= FIRST_COUNTS:
        return False
    return read_series(counts, total_ns, left_ns).gap_ns is not None


def _medians(
    counts: npt.NDArray[np.float64], totals: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    lengths = np.unique(counts)
    return lengths, np.array([float(np.median(totals[counts == n])) for n in lengths])
