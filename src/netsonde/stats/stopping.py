"""The rule that says when enough was measured."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples, check_share
from netsonde.stats.independence import effective_at_value
from netsonde.stats.quantiles import (
    quantile,
    quantile_interval,
    samples_needed,
)

LARGEST_GROWTH = 10.0


class Need(NamedTuple):
    """The answer of :func:`needs_more`."""

    enough: bool
    half_width_relative: float
    suggested_further_samples: int


def needs_more(
    samples: npt.ArrayLike,
    relative_half_width: float = 0.01,
    confidence: float = 0.95,
    *,
    order: float = 0.5,
) -> Need:
    """Whether the interval of a quantile is as narrow as asked; if not, how many samples to add.

    Samples have shape (n,), in the order of measurement, any unit. The interval is taken at the
    effective sample size of the quantile of that ``order``, the median unless given.
    ``half_width_relative`` is half its width over the quantile (infinite where there is no interval
    yet). An interval of one tick of the clock cannot be narrowed and is enough: 1 for integers, 0
    for others. The width falls as 1/sqrt(n); ``LARGEST_GROWTH`` bounds how many times n is asked
    for at once, because the first estimate of n_eff is coarse.

    Source: Hoefler and Belli 2015, section 4.2.2 (stop on the interval of the reported statistic).
    Stopping at the first look that succeeds lowers the confidence a little: look after batches, not
    after each sample. Raises ``ValueError`` for a width <= 0 or a confidence outside (0, 1).
    """
    array = as_samples(samples)
    check_share("confidence", confidence)
    if not relative_half_width > 0.0:
        raise ValueError(f"relative half-width is {relative_half_width}; expected more than 0")
    least, n = samples_needed(order, confidence), array.size
    if n == 0:
        return Need(False, math.inf, least)
    ordered = np.sort(array)
    value = quantile(ordered, order, presorted=True)
    n_eff = effective_at_value(array, value)
    interval = quantile_interval(ordered, order, confidence, n_eff=n_eff, presorted=True)
    if interval is None:
        wanted = math.ceil(least * n / math.floor(n_eff))
        return Need(False, math.inf, max(1, min(wanted, math.ceil(LARGEST_GROWTH * n)) - n))
    tick = 1.0 if np.issubdtype(np.asarray(samples).dtype, np.integer) else 0.0
    half_width = interval.half_width
    relative = half_width / abs(value) if value != 0.0 else math.inf
    relative = 0.0 if half_width == 0.0 else relative
    if relative <= relative_half_width or 2.0 * half_width <= tick:
        return Need(True, relative, 0)
    growth = min((relative / relative_half_width) ** 2, LARGEST_GROWTH)
    return Need(False, relative, max(1, math.ceil(n * (growth - 1.0))))
