"""How evenly several share one thing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def jain_fairness(rates: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How even the rates in each row are: (sum x)^2 / (n sum x^2).

    1 where all are equal (or 0), 1 / n where one has everything.

    Source: R. Jain, D. Chiu, W. Hawe, A Quantitative Measure of Fairness, DEC-TR-301, 1984.
    """
    squares = (rates**2).sum(axis=1) * rates.shape[1]
    whole = rates.sum(axis=1) ** 2
    even = np.ones_like(whole, dtype=np.float64)
    return np.asarray(np.divide(whole, squares, out=even, where=squares > 0))
