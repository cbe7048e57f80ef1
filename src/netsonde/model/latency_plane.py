"""L(m, p) of Eq. (2.3), by regression on 1, m, p and m p.

Source: A. T. C. Tam, Performance Studies of High-Speed Communication on Commodity Cluster, PhD
thesis, The University of Hong Kong, 2001, appendix A.5: pairs on either side of the bisection, more
and more of them. One switch has room for all of them; where switches are joined by links that they
share, L grows with p. Times in ns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.model.platform import Cost, FitQuality, Origin
from netsonde.stats.arrays import as_samples
from netsonde.stats.quantiles import Interval
from netsonde.stats.student import two_sided_reach

GROWN = 0.1
"""A latency that grows by less of itself from two processes to all does not show a shared link:
hosts that share a machine do as much."""
_NAMES = ("start_ns", "per_byte_ns", "per_rank_ns", "per_rank_byte_ns")


@dataclass(frozen=True, slots=True)
class Plane:
    """``cost`` is the law. ``growth_ns`` is how much longer a full packet takes among all processes
    than between two, with its interval; ``is_shared`` whether links are shared on its way: the
    growth is certain, and more than a tenth."""

    cost: Cost
    growth_ns: float
    growth_interval: Interval
    is_shared: bool


def fit_plane(
    size_bytes: npt.ArrayLike,
    ranks: npt.ArrayLike,
    time_ns: npt.ArrayLike,
    origin: Origin,
    *,
    confidence: float = 0.95,
) -> Plane:
    """Ordinary least squares over points of shape (n,), Student's t.

    Raises ``ValueError`` for fewer than two sizes, two numbers of processes, or five points.
    """
    sizes, many, times = as_samples(size_bytes), as_samples(ranks), as_samples(time_ns)
    if len(times) < 5 or len(np.unique(sizes)) < 2 or len(np.unique(many)) < 2:
        raise ValueError(
            "L(m,p) needs two sizes, two numbers of processes and five points or more; "
            f"there are {len(times)} points"
        )
    design = np.column_stack([np.ones_like(sizes), sizes, many, sizes * many])
    found, _, rank, _ = np.linalg.lstsq(design, times, rcond=None)
    if rank < design.shape[1]:
        raise ValueError("sizes and numbers of processes do not vary apart from each other")
    residuals = times - design @ found
    freedom = len(times) - design.shape[1]
    variance = float(residuals @ residuals) / freedom
    covariance = variance * np.linalg.inv(design.T @ design)
    reach = two_sided_reach(confidence, freedom)
    spread = float(((times - times.mean()) ** 2).sum())
    explained = 1.0 - float(residuals @ residuals) / spread if spread > 0.0 else 0.0

    def interval(value: float, of: npt.NDArray[np.float64]) -> Interval:
        half = reach * float(np.sqrt(max(0.0, of @ covariance @ of)))
        return Interval(value - half, value + half, confidence)

    each = {
        name: interval(float(found[i]), np.eye(len(_NAMES))[i]) for i, name in enumerate(_NAMES)
    }
    fit = FitQuality(len(times), float(np.sqrt(variance)), max(0.0, explained), each)
    start, per_byte, per_rank, per_rank_byte = (float(value) for value in found)
    cost = Cost(
        start,
        per_byte,
        per_rank,
        per_rank_byte,
        origin=origin,
        sizes=(int(sizes.min()), int(sizes.max())),
        ranks=(int(many.min()), int(many.max())),
        fit=fit,
    )
    full, least, most = float(sizes.max()), float(many.min()), float(many.max())
    along = np.array([0.0, 0.0, most - least, full * (most - least)])
    growth = float(along @ found)
    certain = interval(growth, along)
    shared = certain.low > 0.0 and growth > GROWN * cost.at(full, int(least))
    return Plane(cost, growth, certain, shared)
