"""One number for a matrix of pairs: a mean without outliers, by a rule that is written down.

The rule: only pairs of two different places count, the diagonal is apart; a value is left out that
is further from the median than five median absolute deviations, scaled so that they are standard
deviations where values are normal, and further than a tenth of the median. Of fewer than four
values none is left out. Source: F. R. Hampel, The influence curve and its role in robust
estimation, Journal of the American Statistical Association 69, 1974.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import check_share
from netsonde.stats.quantiles import Interval
from netsonde.stats.student import two_sided_reach

DEVIATIONS = 5.0
SCALE = 1.4826
"""From a median absolute deviation to a standard deviation."""
LEAST_SHARE = 0.1
LEAST_VALUES = 4
PARTS = 10
"""That a series of repetitions is cut into."""
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reduced:
    """``mean`` is without what was left out, ``plain`` and ``median`` are of all values; NaN where
    there are none. ``left_out``: whether a value was, in the matrix's shape. ``diagonal``: the mean
    of what stands there."""

    mean: float
    plain: float
    median: float
    least: float
    most: float
    diagonal: float
    left_out: npt.NDArray[np.bool_]
    kept: Values

    @property
    def count_left_out(self) -> int:
        return int(self.left_out.sum())


def reduce_matrix(values: Values) -> Reduced:
    """Of a square matrix, NaN where nothing was measured. Raises ValueError for another shape."""
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"a matrix of shape {values.shape} is of no pairs of the same places")
    known = np.isfinite(values) & ~np.eye(len(values), dtype=np.bool_)
    own = values[known]
    if not len(own):
        nothing = float("nan")
        return Reduced(
            *(nothing, nothing, nothing, nothing, nothing, _mean(np.diag(values))),
            np.zeros(values.shape, np.bool_),
            own,
        )
    median = float(np.median(own))
    spread = SCALE * float(np.median(np.abs(own - median)))
    beyond = max(DEVIATIONS * spread, LEAST_SHARE * abs(median))
    left_out = known & (np.abs(values - median) > beyond)
    if len(own) < LEAST_VALUES:
        left_out[:] = False
    kept = values[known & ~left_out]
    return Reduced(
        *(float(kept.mean()), float(own.mean()), median, float(own.min()), float(own.max())),
        _mean(np.diag(values)),
        left_out,
        kept,
    )


def mean_of_pairs_interval(
    repetitions: Sequence[npt.NDArray[np.generic]], confidence: float = 0.95
) -> Interval | None:
    """Two-sided interval of the mean of the means of several series, each in its order; None where
    one has fewer than ten samples.

    Each series is cut into ten consecutive parts; the means over all series of the first parts, of
    the second ones and so on are ten values that hardly depend on each other: Student's t with nine
    degrees of freedom. It says how well this measurement knows its number, not how far another one
    would differ. Source: B. Schmeiser, Batch Size Effects in the Analysis of Simulation Output,
    Operations Research 1982. Raises ValueError for a confidence outside of (0, 1).
    """
    check_share("confidence", confidence)
    if not repetitions or min(len(own) for own in repetitions) < PARTS:
        return None
    parts = np.array(
        [[float(part.mean()) for part in np.array_split(own, PARTS)] for own in repetitions]
    ).mean(axis=0)
    middle = float(np.mean([own.mean() for own in repetitions]))
    reach = two_sided_reach(confidence, PARTS - 1) * float(parts.std(ddof=1)) / math.sqrt(PARTS)
    return Interval(middle - reach, middle + reach, confidence) if reach > 0.0 else None


def _mean(values: Values) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
