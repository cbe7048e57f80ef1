"""One series in one object, and the rule that says when enough was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, check_share
from netsonde.stats.independence import effective_at_value, lag1_autocorrelation
from netsonde.stats.modes import Mode, find_modes
from netsonde.stats.quantiles import (
    Interval,
    quantile,
    quantile_interval,
    samples_needed,
)
from netsonde.stats.warmup import SteadyPart, find_steady_part


@dataclass(frozen=True, slots=True)
class QuantileEstimate:
    """The sample quantile of order ``q``; its interval, None where n_eff is too small for one."""

    q: float
    value: float
    interval: Interval | None
    n_eff: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What a series holds; values in the unit of the samples.

    ``n_total`` samples were given; the ``n`` after the warm-up are described. ``n_eff`` is that of
    the median. ``std`` has n - 1 below. ``outliers`` is a reason to look, never to drop.
    """

    n_total: int
    n: int
    n_eff: float
    lag1: float
    minimum: float
    maximum: float
    quantiles: tuple[QuantileEstimate, ...]
    mean: float
    std: float
    outliers: int
    warm_up: SteadyPart
    modes: tuple[Mode, ...]

    def quantile(self, q: float) -> QuantileEstimate:
        """The estimate of order q. Raises ``KeyError`` where it was not asked for."""
        for estimate in self.quantiles:
            if math.isclose(estimate.q, q, rel_tol=1e-12):
                return estimate
        raise KeyError(f"quantile {q} was not computed; ask summarise for it")

    @property
    def median(self) -> QuantileEstimate:
        """The estimate of order 0.5, which is always there."""
        return self.quantile(0.5)


def summarise(
    samples: npt.ArrayLike,
    *,
    orders: Sequence[float] = (0.5, 0.9, 0.99, 0.999),
    confidence: float = 0.95,
    drop_warm_up: bool = True,
    outlier_score: float = 3.5,
) -> Summary:
    """The summary of a series in the order of measurement, shape (n,), any unit.

    ``orders`` are the quantiles besides the median. ``drop_warm_up`` leaves out what
    :func:`netsonde.stats.warmup.find_steady_part` finds at the start; nothing else is left out.
    ``outlier_score`` is the modified Z-score that counts as an outlier (3.5: Iglewicz and Hoaglin,
    How to Detect and Handle Outliers, 1993, section 3.3). Sources of the rest: the functions used.
    Raises ``ValueError`` for no samples.
    """
    given = as_samples(samples, least=1)
    check_share("confidence", confidence)
    warm_up = find_steady_part(given)
    array = given[warm_up.begin :] if drop_warm_up else given
    ordered = np.sort(array)
    estimates = tuple(
        _estimate(array, ordered, q, confidence) for q in sorted({0.5, *map(float, orders)})
    )
    n_eff = next(e.n_eff for e in estimates if e.q == 0.5)
    typed = ordered.astype(np.asarray(samples).dtype)
    return Summary(
        n_total=given.size,
        n=array.size,
        n_eff=n_eff,
        lag1=lag1_autocorrelation(array) if array.size > 1 else 0.0,
        minimum=float(ordered[0]),
        maximum=float(ordered[-1]),
        quantiles=estimates,
        mean=float(array.mean()),
        std=float(array.std(ddof=1)) if array.size > 1 else 0.0,
        outliers=count_outliers(ordered, outlier_score),
        warm_up=warm_up,
        modes=find_modes(typed, n_eff=n_eff, presorted=True),
    )


def count_outliers(samples: npt.ArrayLike, score: float = 3.5) -> int:
    """How many samples, shape (n,), have a modified Z-score 0.6745 |x - median| / MAD > ``score``.

    Where more than half of the samples are equal the MAD is 0 and 1.2533 times the mean absolute
    deviation takes its place. Only to warn: latencies have many outliers that are real. Source:
    Iglewicz and Hoaglin 1993, equation 3.10. Raises ``ValueError`` for no samples.
    """
    array = as_samples(samples, least=1)
    distance = np.abs(array - np.median(array))
    spread = float(np.median(distance)) / 0.6745
    if spread == 0.0:
        spread = 1.2533 * float(distance.mean())
    return int(np.count_nonzero(distance > score * spread)) if spread > 0.0 else 0


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
    resolution: float | None = None,
    largest_growth: float = 10.0,
) -> Need:
    """Whether the interval of a quantile is as narrow as asked; if not, how many samples to add.

    Samples have shape (n,), in the order of measurement, any unit. The interval is taken at the
    effective sample size of the quantile of that ``order``, the median unless given.
    ``half_width_relative`` is half its width over the quantile (infinite where there is no interval
    yet). ``resolution`` is the tick of the clock: an interval of one tick cannot be narrowed and is
    enough; 1 for integers, 0 for others, unless given. The width falls as 1/sqrt(n);
    ``largest_growth`` bounds how many times n is asked for at once, because the first estimate of
    n_eff is coarse.

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
    estimate = _estimate(array, ordered, order, confidence)
    if estimate.interval is None:
        wanted = math.ceil(least * n / math.floor(estimate.n_eff))
        return Need(False, math.inf, max(1, min(wanted, math.ceil(largest_growth * n)) - n))
    if resolution is None:
        resolution = 1.0 if np.issubdtype(np.asarray(samples).dtype, np.integer) else 0.0
    half_width = estimate.interval.half_width
    relative = half_width / abs(estimate.value) if estimate.value != 0.0 else math.inf
    relative = 0.0 if half_width == 0.0 else relative
    if relative <= relative_half_width or 2.0 * half_width <= resolution:
        return Need(True, relative, 0)
    growth = min((relative / relative_half_width) ** 2, largest_growth)
    return Need(False, relative, max(1, math.ceil(n * (growth - 1.0))))


def _estimate(
    array: FloatArray, ordered: FloatArray, q: float, confidence: float
) -> QuantileEstimate:
    value = quantile(ordered, q, presorted=True)
    n_eff = effective_at_value(array, value)
    interval = quantile_interval(ordered, q, confidence, n_eff=n_eff, presorted=True)
    return QuantileEstimate(q, value, interval, n_eff)
