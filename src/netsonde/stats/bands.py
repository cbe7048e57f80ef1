"""How samples spread over bands: multiples of the least one, and standard deviations from the mean.

Both together, because either alone hides something: multiples of the least depend on one sample,
and of a heavy tail the standard deviation is the tail's. Source: N. A. W. Abdul Hamid,
Communication Performance Measurement and Analysis on Commodity Clusters, 2008, tables 5.1 to 5.4.
"""

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples

MULTIPLES = 6
DEVIATIONS = 4


def shares_by_multiple(samples: npt.ArrayLike, most: int = MULTIPLES) -> tuple[float, ...]:
    """Shares of positive samples, shape (n,), below 2, in 2 to 3, ..., and from ``most`` times the
    least one on: ``most`` shares, whose sum is 1. The lower edge belongs to a band.

    Raises ``ValueError`` for no samples, one that is not positive, or most < 2.
    """
    array = as_samples(samples, least=1)
    if array.min() <= 0.0 or most < 2:
        raise ValueError("multiples need positive samples and bands up to 2 times or more")
    band = np.minimum(np.floor(array / array.min()), most).astype(np.intp)
    counts = np.bincount(np.maximum(band, 1), minlength=most + 1)[1:]
    return tuple(float(count) / array.size for count in counts)


def shares_by_deviation(samples: npt.ArrayLike, most: int = DEVIATIONS) -> tuple[float, ...]:
    """Shares of samples, shape (n,), below the mean and 1 standard deviation, 1 to 2 above it, ...,
    and above ``most``: ``most`` + 1 shares, whose sum is 1. Of equal samples all are in the first.

    The standard deviation has n below. Raises ``ValueError`` for no samples or most < 1.
    """
    array = as_samples(samples, least=1)
    if most < 1:
        raise ValueError("deviations need bands up to 1 or more")
    spread = float(array.std())
    away = (array - array.mean()) / spread if spread > 0.0 else np.zeros(array.size)
    band = np.clip(np.floor(away), 0, most).astype(np.intp)
    counts = np.bincount(band, minlength=most + 1)
    return tuple(float(count) / array.size for count in counts)
