"""Means as other benchmarks take them: trimmed, and the least of several.

Sources: the trimmed mean is that of SKaMPI (R. Reussner, P. Sanders, J. Träff, *SKaMPI: a
comprehensive benchmark for public benchmarking of MPI*, Scientific Programming 10, 2002), which
leaves out a quarter at either end; the least mean is that of mpptest (W. Gropp, E. Lusk,
*Reproducible Measurements of MPI Performance Characteristics*, PVM/MPI 1999).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from netsonde.stats.arrays import as_samples

QUARTER = 0.25


def trimmed_mean(samples: npt.ArrayLike, share: float = QUARTER) -> float:
    """Mean without the smallest and the largest ``share`` of the samples, their unit.

    Of n samples, share * n rounded down are left out at each end. Raises ``ValueError`` for no
    samples, or a share outside of 0..0.5 (excluded).
    """
    array = as_samples(samples, least=1)
    if not 0.0 <= share < 0.5:
        raise ValueError(f"the share to leave out is {share}; expected 0 to less than 0.5")
    return float(scipy.stats.trim_mean(array, share))


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
    """Standard deviation (n - 1) over the square root of n, the unit of the samples; 0 for one.

    It holds for independent samples. Raises ``ValueError`` for none.
    """
    array = as_samples(samples, least=1)
    return float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else 0.0
