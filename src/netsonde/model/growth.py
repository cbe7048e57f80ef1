"""How a time grows with the number of ranks: the laws that may explain it, and which one does.

t(p) = a + b f(p), or b f(p) alone, where f is the logarithm to base 2 (a tree), that logarithm in
whole steps (a binomial tree has so many levels), p (one after the other) or p^2 (everybody with
everybody over one thing); or a constant. Errors of times are relative to the times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples
from netsonde.stats.quantiles import Interval
from netsonde.stats.student import two_sided_reach
from netsonde.stats.tails import f_reach

Law = Literal["constant", "logarithm", "steps", "linear", "square"]
Verdict = Literal["decided", "open", "constant", "falling", "none"]

LEAST_NUMBERS = 4
"""Of ranks: a line and two degrees of freedom."""
ERROR_FLOOR = 0.005
"""The least believed relative error: no measurement repeats better, and without it data without
noise would be decided by its last digits."""
MOST_UNSEEN = 0.5
"""Growth from the fewest to the most ranks that times may hide and still count as constant; those
that may hide more scatter too much."""
MISFIT = 0.25
"""Laws that foretell the others no better than by this explain nothing."""
CONFIDENCE = 0.95
GROWTH_CONFIDENCE = 0.975
"""Of the slope that must not be 0 where growth is claimed: the law with the least error of several
was chosen before, which finds growth in what has none more often than 5 %."""
_REWEIGHTINGS = 5
_LARGEST_ERROR = 10.0
"""As a logarithm: what is foretold as 0 or less is no better than that."""

Shape = Callable[[FloatArray], FloatArray]
_SHAPES: Mapping[str, tuple[Law, Shape]] = {
    "log2 p": ("logarithm", np.log2),
    "ceil(log2 p)": ("steps", lambda p: np.ceil(np.log2(p) - 1e-9)),
    "p": ("linear", lambda p: p),
    "(p - 1)": ("linear", lambda p: p - 1.0),
    "p^2": ("square", lambda p: p * p),
}
_WITHOUT_INTERCEPT_ONLY = ("(p - 1)",)
"""With one, it is the line over p."""


@dataclass(frozen=True, slots=True)
class LawFit:
    """One law through the points. ``formula`` is f(p), empty for a constant; the units of
    ``intercept`` and ``slope`` are that of the times, and their intervals Student's t. ``slope`` is
    None for a constant, ``intercept`` for a law through the origin. ``error`` is relative: the root
    of the mean squared error with which the law, fitted without a number of ranks, foretells it.
    ``free`` is how many points there are above parameters."""

    law: Law
    formula: str
    intercept: float | None
    slope: float | None
    intercept_interval: Interval | None
    slope_interval: Interval | None
    error: float
    free: int

    def at(self, ranks: npt.ArrayLike) -> FloatArray:
        """The law's times, shape (m,)."""
        p = np.asarray(ranks, np.float64)
        grown = np.zeros_like(p)
        if self.slope is not None:
            grown = self.slope * _SHAPES[self.formula][1](p)
        return np.asarray((self.intercept or 0.0) + grown, np.float64)


@dataclass(frozen=True, slots=True)
class Growth:
    """``best`` is the law with the least error. ``verdict``: ``decided``; ``open`` where the laws
    of ``equal``, the best among them, explain the times equally well; ``constant`` where no growth
    is seen; ``falling`` where they fall; ``none`` where no law foretells them, or where they
    scatter so much that a growth could not be seen.
    ``same`` is the formula that has the same values at these numbers of ranks as the best one's."""

    verdict: Verdict
    best: LawFit
    equal: tuple[LawFit, ...]
    same: str | None
    all: tuple[LawFit, ...]


def growth(ranks: npt.ArrayLike, times: npt.ArrayLike) -> Growth:
    """The law of times at different numbers of ranks, shapes (n,) and (n,), n >= 4, p >= 2.

    Every law is fitted by least squares of relative errors, with an intercept and without. It is
    left out where an F test against the fit with one says that it may be 0. Laws are compared by
    leaving out one number of ranks after the other and foretelling it by a fit to the rest. A law
    explains the times as well as the best one unless its mean squared error is larger by the 95 %
    quantile of F with the degrees of freedom of both: for n = 4 by 19 times, for n = 8 by 4.3.

    Sources: Carroll and Ruppert, Transformation and Weighting in Regression 1988, section 2.1
    (iterated weights); Draper and Smith, Applied Regression Analysis, 3rd edition 1998, section 6.1
    (extra sum of squares); Stone, Cross-Validatory Choice and Assessment of Statistical
    Predictions, JRSS B 1974. Raises ``ValueError`` for too few or equal numbers, p < 2, times <= 0.
    """
    p, y = _points(ranks, times)
    constant = _fit("constant", "", p, y, intercept=True)
    laws, full, same = list[LawFit](), dict[Law, LawFit](), dict[Law, str]()
    seen: list[tuple[Law, FloatArray]] = []
    for formula, (law, shape) in _SHAPES.items():
        if formula in _WITHOUT_INTERCEPT_ONLY:
            continue
        values = shape(p)
        known = next((other for other, found in seen if np.allclose(found, values)), None)
        if known is not None:
            same[known] = formula
            continue
        seen.append((law, values))
        full[law] = _fit(law, formula, p, y, intercept=True)
        laws.append(_simplest(full[law], p, y))
    laws.sort(key=lambda fit: fit.error)
    best = laws[0]
    equal = tuple(fit for fit in laws if _explains_as_well(fit, best))
    verdict = _verdict(constant, full[best.law], best, equal, p, y)
    if verdict == "constant":
        return Growth(verdict, constant, (constant,), None, (constant, full[best.law]))
    return Growth(verdict, best, equal, same.get(best.law), (constant, *laws))


def most_change(found: Growth, ranks: npt.ArrayLike) -> float:
    """Of times that are constant: how much they may grow from the fewest to the most ranks, as a
    share, by the upper end of the interval of the best growing law's slope."""
    grown = [fit for fit in found.all if fit.slope_interval is not None]
    return _unseen(min(grown, key=lambda each: each.error), np.asarray(ranks, np.float64))


def _unseen(fit: LawFit, p: FloatArray) -> float:
    assert fit.slope_interval is not None
    grown = fit.slope_interval.high * float(np.ptp(_SHAPES[fit.formula][1](p)))
    level = float(np.mean(fit.at(p)))
    return max(0.0, grown / level) if level > 0 else math.inf


def _points(ranks: npt.ArrayLike, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    p, y = as_samples(ranks, least=LEAST_NUMBERS), as_samples(times, least=LEAST_NUMBERS)
    if p.size != y.size:
        raise ValueError(f"{p.size} numbers of ranks and {y.size} times; each needs one")
    if np.unique(p).size < p.size:
        raise ValueError("a number of ranks is there twice; take the median of its times")
    if p.min() < 2.0 or y.min() <= 0.0:
        raise ValueError("a law needs 2 ranks or more, and times above 0")
    order = np.argsort(p)
    return p[order], y[order]


def _simplest(full: LawFit, p: FloatArray, y: FloatArray) -> LawFit:
    """The law without an intercept, where that may be 0: of two the one with the less error."""
    unexplained = _squares(full, p, y)
    variance = max(unexplained / full.free, ERROR_FLOOR**2)
    reach = f_reach(1, full.free, CONFIDENCE)
    simpler = [
        _fit(law, formula, p, y, intercept=False)
        for formula, (law, _) in _SHAPES.items()
        if law == full.law
    ]
    possible = [s for s in simpler if _squares(s, p, y) - unexplained <= reach * variance]
    return min(possible, key=lambda fit: fit.error) if possible else full


def _explains_as_well(fit: LawFit, best: LawFit) -> bool:
    largest = f_reach(fit.free, best.free, CONFIDENCE)
    return fit.error**2 <= largest * best.error**2


def _verdict(
    constant: LawFit,
    full: LawFit,
    best: LawFit,
    equal: Sequence[LawFit],
    p: FloatArray,
    y: FloatArray,
) -> Verdict:
    """``full`` is the best law with an intercept: whether its slope may be 0."""
    assert full.slope is not None
    if np.all(np.diff(y) < 0.0) and full.slope < 0.0 and constant.error > MISFIT:
        return "falling"  # by no law of these
    if abs(full.slope) <= _slope_reach(full, p, y):
        seen = constant.error <= MISFIT and _unseen(full, p) <= MOST_UNSEEN
        return "constant" if seen else "none"
    if full.slope < 0:
        return "falling"
    if best.error > MISFIT:
        return "none"
    return "decided" if len(equal) == 1 else "open"


def _slope_reach(full: LawFit, p: FloatArray, y: FloatArray) -> float:
    _, covariance = _solution(_design(full.formula, p, intercept=True), y)
    return two_sided_reach(GROWTH_CONFIDENCE, full.free) * math.sqrt(covariance[1, 1])


def _design(formula: str, p: FloatArray, *, intercept: bool) -> FloatArray:
    columns = [np.ones_like(p)] if intercept else []
    if formula:
        columns.append(_SHAPES[formula][1](p))
    return np.stack(columns, axis=1)


def _fit(law: Law, formula: str, p: FloatArray, y: FloatArray, *, intercept: bool) -> LawFit:
    design = _design(formula, p, intercept=intercept)
    values, covariance = _solution(design, y)
    free = y.size - design.shape[1]
    reach = two_sided_reach(CONFIDENCE, free) * np.sqrt(np.diag(covariance))
    found = [
        (float(value), Interval(float(value - wide), float(value + wide), CONFIDENCE))
        for value, wide in zip(values, reach, strict=True)
    ]
    level = found.pop(0) if intercept else None
    slope = found.pop(0) if formula else None
    return LawFit(
        law,
        formula,
        level[0] if level else None,
        slope[0] if slope else None,
        level[1] if level else None,
        slope[1] if slope else None,
        max(_foretold_error(design, y), ERROR_FLOOR),
        free,
    )


def _solution(design: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Parameters and their covariance, by weights 1 / (fitted y)^2."""
    weights = 1.0 / y
    values: FloatArray = np.zeros(design.shape[1])
    for _ in range(_REWEIGHTINGS):
        found = np.linalg.lstsq(design * weights[:, None], y * weights, rcond=None)[0]
        values = np.asarray(found, np.float64)
        fitted = design @ values
        # Where the law turns negative it says nothing of the error there: keep y.
        weights = 1.0 / np.where(fitted > 0.0, fitted, y)
    weighted = design * weights[:, None]
    free = y.size - design.shape[1]
    variance = float(((y - design @ values) * weights) @ ((y - design @ values) * weights))
    variance = max(variance / max(1, free), ERROR_FLOOR**2)
    return values, variance * np.linalg.pinv(weighted.T @ weighted)


def _squares(fit: LawFit, p: FloatArray, y: FloatArray) -> float:
    fitted = fit.at(p)
    errors = (y - fitted) / np.where(fitted > 0.0, fitted, y)
    return float(errors @ errors)


def _foretold_error(design: FloatArray, y: FloatArray) -> float:
    """The root of the mean squared logarithm of measured over foretold, each point foretold by a
    fit to the others."""
    errors = []
    for place in range(y.size):
        rest = np.arange(y.size) != place
        values, _ = _solution(design[rest], y[rest])
        foretold = float(design[place] @ values)
        errors.append(math.log(y[place] / foretold) if foretold > 0 else _LARGEST_ERROR)
    return math.sqrt(float(np.mean(np.square(np.clip(errors, -_LARGEST_ERROR, _LARGEST_ERROR)))))
