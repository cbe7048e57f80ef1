"""Where the steady part of a series begins.

The earlier part of a series is compared with the later part at every possible split by the
standardised rank sum; the best split is cut off if it is significant and matters, and what remains
is looked at again, because a decaying start is not a single step. Ranks make heavy tails harmless.

MSER-5 (White, Simulation 1997) is not used: it always cuts where the variance of the mean happens
to be least, has no error rate, and is governed by the outliers of a heavy tail.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, check_share, midranks, sorting_order
from netsonde.stats.independence import integrated_autocorrelation_time
from netsonde.stats.quantiles import quantiles

_SHORTEST_SERIES = 40
_LEAST_VALUE = 1.2
"""From there on the equation of the critical value can be used."""


@dataclass(frozen=True, slots=True)
class SteadyPart:
    """``begin``: index of the first steady sample; ``steady``: whether there is a steady part.

    Where there is none (the series still changes in its second half), ``begin`` is 0 and nothing
    should be dropped. ``tested`` is False where the series is too short to tell.
    """

    begin: int
    steady: bool
    tested: bool = True


def find_steady_part(
    samples: npt.ArrayLike,
    *,
    significance: float = 0.01,
    minimum_effect: float = 0.1,
    minimum_relative_shift: float = 0.01,
    shortest_run: int = 5,
    shortest_late_share: float = 0.05,
    most_cuts: int = 32,
    order: npt.NDArray[np.intp] | None = None,
) -> SteadyPart:
    """Index from which a series, shape (n,), is steady; never beyond n // 2.

    ``significance`` is the chance to cut a steady series. ``minimum_effect`` is |P(early < late) -
    1/2| and keeps a long series from being cut for a trifle (0.1 is between a small and a medium
    effect: Vargha and Delaney 2000). ``minimum_relative_shift`` is how far one of the quartiles
    must move, because a shift that is plain in the ranks may be of no interest in the figure (0.01
    is the width that is usually asked of the median). ``shortest_run`` samples are the least that
    can be called a start. A change close to the end must hold for ``shortest_late_share`` of the
    series, since one slow burst is not a new state. ``most_cuts`` bounds the work. ``order`` is the
    :func:`netsonde.stats.arrays.sorting_order` of the samples where the caller has it.

    Sources: Pettitt, A Non-Parametric Approach to the Change-Point Problem, Applied Statistics
    1979 (rank sums at every split); Csorgo and Horvath, Limit Theorems in Change-Point Analysis
    1997, equation 1.3.26 (the critical value of the standardised form). The variance is multiplied
    by the autocorrelation time of the last three quarters. Series worth fewer than
    40 independent samples are not tested.
    """
    array = as_samples(samples)
    check_share("significance", significance)
    n = array.size
    if n < _SHORTEST_SERIES or np.ptp(array) == 0.0:
        return SteadyPart(0, True, tested=n >= _SHORTEST_SERIES)
    order = sorting_order(samples) if order is None else order
    ranks = midranks(array, order)
    inflation = _autocorrelation_time(ranks)
    if n < _SHORTEST_SERIES * inflation:
        return SteadyPart(0, True, tested=False)
    edge = max(shortest_run, math.ceil(shortest_run * inflation))
    begin = 0
    for _ in range(most_cuts):
        own = order if begin == 0 else _order_from(order, begin)
        rest = ranks if begin == 0 else midranks(array[begin:], own)
        late = max(edge, math.ceil(shortest_late_share * rest.size))
        split = _best_split(rest, edge, rest.size - late, inflation, significance, minimum_effect)
        if split is None:
            return SteadyPart(begin, True)
        if not _matters(array[begin:][own], own < split, minimum_relative_shift):
            return SteadyPart(begin, True)
        if begin + split > n // 2:
            return SteadyPart(0, False)
        begin += split
    return SteadyPart(begin, True)


def is_significant(
    statistic: float, first_share: float, last_share: float, significance: float
) -> bool:
    """Whether the largest standardised split statistic, over splits at the shares
    first_share..last_share of a series, has a chance of ``significance`` at most. Source: Csorgo
    and Horvath 1997, equation 1.3.26 with one dimension (first given by Vostrikova 1981). Raises
    ``ValueError`` for shares or a significance that are not in 0 < first < last < 1."""
    if statistic < _LEAST_VALUE:
        return False
    return _chance(first_share, last_share, significance)(statistic) <= significance


def _chance(first_share: float, last_share: float, significance: float) -> Callable[[float], float]:
    """That the statistic exceeds a value, as the equation has it: once at or below the significance
    it falls."""
    check_share("significance", significance)
    if not 0.0 < first_share < last_share < 1.0:
        raise ValueError(f"shares are {first_share}, {last_share}; expected 0 < first < last < 1")
    span = math.log(last_share * (1 - first_share) / (first_share * (1 - last_share)))

    def chance(x: float) -> float:
        density = x * math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        return density * (span * (1.0 - 1.0 / x**2) + 4.0 / x**2)

    return chance


def _best_split(
    ranks: FloatArray, first: int, last: int, inflation: float, significance: float, effect: float
) -> int | None:
    """The most significant split in first..last whose effect is large enough; None if none is."""
    n = ranks.size
    if first >= last:
        return None
    variance = float(ranks.var()) * inflation
    if variance <= 0.0:
        return None
    # One pass per line over arrays that may hold a million values: few and simple operations.
    before = np.arange(first, last + 1, dtype=np.float64)
    excess = np.abs(np.cumsum(ranks)[first - 1 : last] - before * ranks.mean())
    product = before * (n - before)
    statistic = excess / np.sqrt(product)
    statistic[excess < effect * product] = 0.0
    best = int(np.argmax(statistic))
    standardised = float(statistic[best]) * math.sqrt(n / variance)
    if not is_significant(standardised, first / n, last / n, significance):
        return None
    return first + best


def _matters(
    ordered: FloatArray, is_early: npt.NDArray[np.bool_], minimum_relative_shift: float
) -> bool:
    """``ordered`` are the samples in rising order, and which of them come before the split."""
    early, late = (
        quantiles(ordered[part], [0.25, 0.5, 0.75], presorted=True)
        for part in (is_early, ~is_early)
    )
    return bool((np.abs(early - late) > minimum_relative_shift * np.abs(late)).any())


def _autocorrelation_time(ranks: FloatArray) -> float:
    """Of the last three quarters, the middle one: one change spoils one quarter only."""
    quarters = np.array_split(ranks, 4)[1:]
    times = [integrated_autocorrelation_time(part - part.mean()) for part in quarters]
    return max(1.0, sorted(times)[1])


def _order_from(order: npt.NDArray[np.intp], begin: int) -> npt.NDArray[np.intp]:
    """The sorting order of the samples from ``begin`` on, without sorting again."""
    return order[order >= begin] - begin
