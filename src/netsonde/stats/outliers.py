"""MPIBench's rule for outliers: larger than a factor times the mean.

Source: N. A. W. Abdul Hamid 2008, sections 3.3.5 and 4.7, which leave open what the mean is of.
Here it is that of all samples, the outliers among them, taken once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples


def beyond_factor(samples: npt.ArrayLike, factor: float) -> npt.NDArray[np.bool_]:
    """Which samples, shape (n,), are larger than ``factor`` times their mean.

    With a factor of 1 or more the smallest sample is never one, so that something is always left.
    Raises ``ValueError`` for a smaller factor.
    """
    array = as_samples(samples)
    if not factor >= 1.0 or not np.isfinite(factor):
        raise ValueError(f"the factor is {factor}; expected 1 or more")
    if not array.size:
        return np.zeros(0, np.bool_)
    return np.asarray(array > factor * array.mean(), np.bool_)
