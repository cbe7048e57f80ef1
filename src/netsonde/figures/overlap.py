"""How much of an MPI operation is hidden behind a computation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netsonde.records.data import Batch

Times = npt.NDArray[np.float64]


def overlap_ratios(pure_ns: Times, compute_ns: Times, together_ns: Times) -> Times:
    """Of each repetition, shape (repetitions,): the time that was saved by doing both at once, as a
    share of the shorter of the two.

    1: the shorter one is hidden behind the other; 0: one comes after the other. It is not cut off
    there, since the three times are of different instants.
    """
    shorter = np.maximum(np.minimum(pure_ns, compute_ns), 1.0)
    ratios: Times = (pure_ns + compute_ns - together_ns) / shorter
    return ratios


def overlap_times_ns(batch: Batch) -> tuple[Times, Times, Times] | None:
    """Of each repetition, the slowest rank's time in the operation alone, in the computation alone
    and in both together; None where no computation took place."""
    ends = list(batch.ends.values())
    if any("together_ns" not in end.series for end in ends):
        return None
    pure, compute, together = (
        np.max(np.stack([end.series[name] for end in ends]), axis=0).astype(np.float64)
        for name in ("duration_ns", "compute_ns", "together_ns")
    )
    return pure, compute, together
