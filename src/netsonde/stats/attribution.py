"""Which factor of an experiment explains how much of what was found.

Of a full factorial design with as many values in every cell the total sum of squares is the sum of
the parts: of each factor alone (its levels' means around the mean of all), of factors together
(what the cells' means have beyond that), and of chance (values around their cell's mean). Source:
D. C. Montgomery, Design and Analysis of Experiments, 8th edition, 2013, sections 5.3 and 5.4; the
shares are called eta squared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Levels = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Attributed:
    """Shares of the variance, which add up to 1: of each factor, in the order of their weight;
    ``together`` of factors that act only in company, ``chance`` of repetitions of one cell."""

    factors: tuple[tuple[str, float], ...]
    together: float
    chance: float


def attributed(names: Sequence[str], cells: Mapping[Levels, Sequence[float]]) -> Attributed | None:
    """``cells``: the levels of all factors -> the values found there. None where all values are
    alike, so that there is nothing to explain.

    Raises ``ValueError`` for less than two factors that vary, for a combination that is missing,
    and for cells of different numbers of values.
    """
    counts = {len(values) for values in cells.values()}
    if len(counts) != 1 or counts == {0}:
        raise ValueError("every combination needs as many values as the others")
    levels = [sorted({key[i] for key in cells}, key=repr) for i in range(len(names))]
    shape = tuple(map(len, levels))
    if sum(n > 1 for n in shape) < 2:
        raise ValueError("fewer than two factors vary")
    if len(cells) != np.prod(shape):
        raise ValueError(f"{len(cells)} of {np.prod(shape)} combinations were tried")
    found = np.empty((*shape, counts.pop()))
    for key, values in cells.items():
        found[tuple(levels[i].index(level) for i, level in enumerate(key))] = values
    return _shares(names, found)


def _shares(names: Sequence[str], found: np.ndarray) -> Attributed | None:
    """Of an array with an axis for each factor, and a last one for repetitions."""
    mean = found.mean()
    total = float(((found - mean) ** 2).sum())
    if total <= np.finfo(float).eps * float((found**2).sum()):
        return None
    each = found.mean(axis=-1)
    alone = []
    for axis, name in enumerate(names):
        others = tuple(i for i in range(each.ndim) if i != axis)
        between = (
            float(((each.mean(axis=others) - mean) ** 2).sum()) * found.size / each.shape[axis]
        )
        alone.append((name, between / total))
    cells = float(((each - mean) ** 2).sum()) * found.shape[-1] / total
    together = max(0.0, cells - sum(share for _, share in alone))
    ranked = tuple(sorted(alone, key=lambda item: -item[1]))
    return Attributed(ranked, together, max(0.0, 1.0 - cells))
