"""Means as other benchmarks take them: trimmed, and the least of several; how well one is known.

Sources: the trimmed mean is that of SKaMPI (R. Reussner, P. Sanders, J. Träff, *SKaMPI: a
comprehensive benchmark for public benchmarking of MPI*, Scientific Programming 10, 2002), which
leaves out a quarter at either end; the least mean is that of mpptest (W. Gropp, E. Lusk,
*Reproducible Measurements of MPI Performance Characteristics*, PVM/MPI 1999).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples, check_share
from netsonde.stats.quantiles import Interval
from netsonde.stats.student import two_sided_reach

QUARTER = 0.25
PARTS_OF_A_MEAN = 10
LEAST_FOR_A_MEAN = 500


def trimmed_mean(samples: npt.ArrayLike, share: float = QUARTER) -> float:
    """Mean without the smallest and the largest ``share`` of the samples, their unit.

    Of n samples, share * n rounded down are left out at each end. Raises ``ValueError`` for no
    samples, or a share outside of 0..0.5 (excluded).
    """
    array = as_samples(samples, least=1)
    if not 0.0 <= share < 0.5:
        raise ValueError(f"the share to leave out is {share}; expected 0 to less than 0.5")
    left = int(share * array.size)
    return float(np.sort(array)[left : array.size - left].mean())


def least_of_means(samples: npt.ArrayLike, parts: int) -> float:
    """The least of the means of consecutive parts of the samples, as equal in number as can be.

    A best case: it says what can be reached, never what is usual. Raises ``ValueError`` for no
    samples or no parts.
    """
    array = as_samples(samples, least=1)
    if parts < 1:
        raise ValueError(f"{parts} parts are asked for; at least 1 is needed")
    return min(float(part.mean()) for part in np.array_split(array, parts) if len(part))


def standard_error(samples: npt.ArrayLike) -> float:
    """Standard deviation (n - 1) over the square root of n, the unit of the samples; NaN for one,
    of which nobody knows how far another would lie.

    It holds for independent samples. Raises ``ValueError`` for none.
    """
    array = as_samples(samples, least=1)
    return float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else math.nan


def mean_interval(samples: npt.ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Two-sided interval of the mean of a series in its order, the unit of the samples; None for
    fewer than 500.

    From the means of 10 consecutive parts of equal length, which hardly depend on each other where
    the series' memory is short against a part: Student's t with 9 degrees of freedom, after Hall's
    transformation, which takes the skewness of the means out. Few long parts bear correlation
    better than many short ones, and fewer samples do not show how heavy the tail is
    (docs/methods/statistics.md has the coverage). Sources: B. Schmeiser, Batch Size Effects in the
    Analysis of Simulation Output, Operations Research 1982; P. Hall, On the Removal of Skewness by
    Transformation, Journal of the Royal Statistical Society B 1992. Raises ``ValueError`` for no
    samples or a confidence outside of (0, 1).
    """
    array = as_samples(samples, least=1)
    check_share("confidence", confidence)
    if array.size < LEAST_FOR_A_MEAN:
        return None
    length = array.size // PARTS_OF_A_MEAN
    parts = array[: length * PARTS_OF_A_MEAN].reshape(PARTS_OF_A_MEAN, length).mean(axis=1)
    mean, error = float(array.mean()), float(parts.std(ddof=1)) / math.sqrt(PARTS_OF_A_MEAN)
    if error <= 0.0:
        return Interval(mean, mean, confidence)
    skewness = float(((parts - parts.mean()) ** 3).mean() / parts.std(ddof=1) ** 3)
    reach = two_sided_reach(confidence, PARTS_OF_A_MEAN - 1)
    ends = [mean - error * _without_skewness(t, skewness) for t in (reach, -reach)]
    return Interval(min(ends), max(ends), confidence)


def _without_skewness(t: float, skewness: float) -> float:
    """Hall's transformation, back: the quantile of a studentised mean whose transform is t."""
    if abs(skewness) < 1e-6:
        return t
    root = math.sqrt(PARTS_OF_A_MEAN)
    inner = 1.0 + skewness * (t / root - skewness / (6.0 * PARTS_OF_A_MEAN))
    return 3.0 * root / skewness * (float(np.cbrt(inner)) - 1.0)
