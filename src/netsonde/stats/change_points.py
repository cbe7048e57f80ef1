"""Where the level of a short series changes, by ranks, with a p-value and an interval for each.

Whether there is one: the best split of a stretch is that with the largest standardised rank sum
(Pettitt, A Non-Parametric Approach to the Change-Point Problem, Applied Statistics 1979; the
standardised form: Csorgo and Horvath, Limit Theorems in Change-Point Analysis, 1997). Its p-value
is that of random permutations of the stretch, as in E-divisive (Matteson and James, Journal of the
American Statistical Association 2014). Stretches are split again and again (binary segmentation:
Vostrikova, Soviet Mathematics Doklady 1981), and at the end each change is tested once more between
its neighbours. Its place is that of least absolute deviations from both levels (Bai, Econometric
Theory 1995), with an interval by a bootstrap of the deviations (Huskova and Kirch, Journal of Time
Series Analysis 2008).

PELT and other least-squares methods are not used: one slow run of a heavy tail is a level of its
own to them, and their penalty is no error rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, check_share, midranks

LEAST_STRETCH = 3
"""A level is seen in so many values at least; one or two are outliers as likely."""
_FIRST_ROUNDS = 200
_BOOTSTRAP = 400
_MOST_STEPS = 10
_INTERVAL = 0.95


@dataclass(frozen=True, slots=True)
class Change:
    """``index`` is the first value of the new level; ``first`` and ``last`` bound it at 95 %."""

    index: int
    first: int
    last: int
    p: float


def change_points(
    values: npt.ArrayLike, significance: float = 0.01, *, rounds: int = 2000, seed: int = 1
) -> list[Change]:
    """The changes in a series of shape (n,), in its order; none in fewer than 6 values.

    ``significance`` is the chance to split a stretch in which nothing changes. ``rounds``
    permutations bound p from below by 1 / (rounds + 1). Values must be independent within a level:
    a slow drift is split into steps.
    """
    array = as_samples(values)
    check_share("significance", significance)
    generator = np.random.default_rng(seed)
    edges = [0, array.size]
    place = 0
    while place < len(edges) - 1:
        begin, end = edges[place], edges[place + 1]
        found = _split(array[begin:end], significance, rounds, generator)
        if found is None:
            place += 1
        else:
            edges.insert(place + 1, begin + found[0])
    return _confirmed(array, edges, significance, rounds, generator)


def _confirmed(
    array: FloatArray,
    edges: list[int],
    significance: float,
    rounds: int,
    generator: np.random.Generator,
) -> list[Change]:
    """Each change looked at between its neighbours: the place may move, and some go."""
    place = 1
    while place < len(edges) - 1:
        begin, end = edges[place - 1], edges[place + 1]
        found = _split(array[begin:end], significance, rounds, generator)
        if found is None:
            del edges[place]
            place = max(1, place - 1)
        else:
            edges[place] = begin + found[0]
            place += 1
    changes = []
    for begin, index, end in zip(edges, edges[1:], edges[2:], strict=False):
        stretch = array[begin:end]
        p = _p_of(stretch, rounds, generator)
        first, last = _interval(stretch, index - begin, generator)
        changes.append(Change(index, begin + first, begin + last, p))
    return changes


def _split(
    stretch: FloatArray, significance: float, rounds: int, generator: np.random.Generator
) -> tuple[int, float] | None:
    """The best split and its p-value, where that is small enough."""
    if stretch.size < 2 * LEAST_STRETCH or np.ptp(stretch) == 0.0:
        return None
    # Most stretches are quiet, which a few permutations show.
    if _p_of(stretch, _FIRST_ROUNDS, generator) > max(4.0 * significance, 0.05):
        return None
    p = _p_of(stretch, rounds, generator)
    if p > significance:
        return None
    best = int(_statistics(midranks(stretch)[None, :]).argmax()) + LEAST_STRETCH
    return _place(stretch, best), p


def _p_of(stretch: FloatArray, rounds: int, generator: np.random.Generator) -> float:
    ranks = midranks(stretch)
    largest = _statistics(ranks[None, :]).max()
    shuffled = generator.permuted(np.broadcast_to(ranks, (rounds, ranks.size)), axis=1)
    # Equal statistics may differ in their last bit.
    reached = _statistics(shuffled).max(axis=1) >= largest * (1.0 - 1e-12)
    return float((1 + reached.sum()) / (rounds + 1))


def _statistics(ranks: FloatArray) -> FloatArray:
    """Standardised rank sums of rows, shape (r, n), at every split that leaves two stretches."""
    n = ranks.shape[1]
    before = np.arange(LEAST_STRETCH, n - LEAST_STRETCH + 1)
    sums = np.cumsum(ranks, axis=1)[:, before - 1]
    excess = np.abs(sums - before * (n + 1) / 2.0)
    return np.asarray(excess / np.sqrt(before * (n - before)))


def _place(stretch: FloatArray, split: int) -> int:
    """The split by the values' distances to both levels; ranks alone prefer the middle."""
    for _ in range(_MOST_STEPS):
        levels = np.median(stretch[:split]), np.median(stretch[split:])
        nearest = int(_nearest(stretch[None, :], *levels)[0])
        if nearest == split:
            break
        split = nearest
    return split


def _nearest(rows: FloatArray, before: float, after: float) -> npt.NDArray[np.intp]:
    """The split of each row, shape (r, n), with the least sum of absolute deviations."""
    gained = np.cumsum(np.abs(rows - before) - np.abs(rows - after), axis=1)
    inner = gained[:, LEAST_STRETCH - 1 : rows.shape[1] - LEAST_STRETCH]
    return np.asarray(inner.argmin(axis=1) + LEAST_STRETCH)


def _interval(stretch: FloatArray, split: int, generator: np.random.Generator) -> tuple[int, int]:
    """Where the split would be in series of both levels with the deviations of all values."""
    levels = float(np.median(stretch[:split])), float(np.median(stretch[split:]))
    truth = np.where(np.arange(stretch.size) < split, *levels)
    drawn = truth + generator.choice(stretch - truth, (_BOOTSTRAP, stretch.size))
    tail = 0.5 * (1.0 - _INTERVAL)
    low, high = np.quantile(
        _nearest(drawn, *levels), [tail, 1.0 - tail], method="closest_observation"
    )
    return int(min(low, split)), int(max(high, split))
