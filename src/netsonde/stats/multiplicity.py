"""Many claims at once.

Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
Statistics 1979. It bounds the chance of any wrong claim, whatever the dependence between tests;
Benjamini and Hochberg's procedure bounds the share of wrong claims among all, which is too weak
where one claim stops a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netsonde.stats.arrays import check_share


@dataclass(frozen=True, slots=True)
class Tested:
    """One p-value among several: ``adjusted`` after Holm, and the ``level`` at which it was
    compared: it is rejected where p is at most that."""

    adjusted: float
    level: float
    rejected: bool


def holm(p_values: Sequence[float], significance: float = 0.05) -> list[Tested]:
    """Holm's procedure on p-values, in their order.

    The smallest of m is compared with significance / m, the next with significance / (m - 1), and
    so on until the first that is larger; that one's level holds for all that follow. Raises
    ``ValueError`` for a p-value outside 0..1.
    """
    check_share("significance", significance)
    if any(not 0.0 <= p <= 1.0 for p in p_values):
        raise ValueError("a p-value lies outside 0..1")
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found: list[Tested | None] = [None] * len(p_values)
    adjusted, stopped = 0.0, None
    for place, index in enumerate(order):
        left = len(p_values) - place
        adjusted = max(adjusted, min(1.0, left * p_values[index]))
        level = significance / left if stopped is None else stopped
        rejected = stopped is None and p_values[index] <= level * (1.0 + 1e-9)
        if not rejected and stopped is None:
            stopped = level
        found[index] = Tested(adjusted, level, rejected)
    return [tested for tested in found if tested is not None]
