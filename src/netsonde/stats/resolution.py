"""How exactly a value can be known at all: by the grid that samples lie on, and by clocks.

Order statistics of samples that are all alike enclose their median without any width. That is no
certainty: a clock of 1 ms says 3 ms of whatever lasts a little less or more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples
from netsonde.stats.quantiles import Interval

CLOCK_ERROR = 1e-6
"""Of a time or a rate: clocks of hosts run wrong by some millionths."""


def grid_of(samples: npt.ArrayLike) -> float:
    """The largest step that all samples are whole multiples of, in their unit; 0 where they are no
    whole numbers, and where they are all alike and so show no step."""
    array = as_samples(samples)
    if not array.size or array.min() == array.max() or (array != np.rint(array)).any():
        return 0.0
    return float(np.gcd.reduce(array.astype(np.int64)))


def with_width(
    interval: Interval | None, samples: npt.ArrayLike, least: float = 0.0
) -> Interval | None:
    """An interval that has at least the width of what the samples resolve; None where that is not
    known either.

    One that has a width is returned as it is. Else it reaches to the next step of the samples' grid
    on either side: both stamps of a duration may be off by up to one. ``least`` is what times are
    kept in, 1 ns; times that are all alike show no step, and nobody knows the clock's. It is
    0 of what has no grid, as rates and ratios: these are known to a clock's error. Values that are
    never below 0 have no interval that is.
    """
    if interval is None or interval.low < interval.high:
        return interval
    array = as_samples(samples)
    grid = grid_of(array) if least else 0.0
    step = max(grid, least, CLOCK_ERROR * abs(interval.low))
    if step == 0.0 or (least and array.min() == array.max()):
        return None
    low = max(interval.low - step, 0.0) if array.min() >= 0.0 else interval.low - step
    return Interval(low, interval.high + step, interval.confidence)
