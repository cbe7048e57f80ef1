"""Shares of independent events."""

from __future__ import annotations

import numpy as np


def wilson_interval(part: int, whole: int, z: float = 1.959964) -> tuple[float, float]:
    """The score interval of a share of independent events; z of 95 % by default.

    Source: E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference,
    JASA 22 (1927). Losses in bursts make the true interval wider.
    """
    if whole == 0:
        return 0.0, 1.0
    share = part / whole
    centre = share + z * z / (2 * whole)
    reach = z * np.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    scale = 1 + z * z / whole
    low, high = float((centre - reach) / scale), float((centre + reach) / scale)
    # None and all are ends of the interval; rounding is not to leave them out.
    return 0.0 if part == 0 else max(0.0, low), 1.0 if part == whole else min(1.0, high)
