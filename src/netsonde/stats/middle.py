"""The middle of a sample, as benchmarks of the time cut it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples

TAIL = 0.1


def middle_part(
    samples: npt.ArrayLike, tail: float = TAIL, *, in_order: bool = False
) -> FloatArray:
    """Samples without the least and the greatest tenth, shape (n,), unit unchanged; ``in_order``:
    without the first and the last tenth as they came.

    Source: A. T. C. Tam, Performance Studies of High-Speed Communication on Commodity Cluster, PhD
    thesis, The University of Hong Kong, 2001, section 3.2, which does not say which of the two it
    is. Raises ``ValueError`` for a tail outside 0..0.5.
    """
    if not 0.0 <= tail < 0.5:
        raise ValueError(f"a tail of {tail}; expected 0 or more and less than 0.5")
    values = as_samples(samples)
    cut = int(len(values) * tail)
    ordered = values if in_order else np.sort(values)
    return np.asarray(ordered[cut : len(values) - cut])
