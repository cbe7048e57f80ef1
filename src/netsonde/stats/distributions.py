"""Which distribution describes times: log-normal, the same from a shift on, gamma, Weibull.

The parameters are estimated from the samples themselves, so no table of critical values holds: how
well a distribution fits is judged by a parametric bootstrap of the Anderson-Darling statistic,
which weighs the tails. Sources: Stephens, EDF Statistics for Goodness of Fit and Some Comparisons,
JASA 1974 (statistic); Stute, Gonzalez Manteiga and Presedo Quindimil, Bootstrap Based
Goodness-of-Fit Tests, Metrika 1993 (bootstrap).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from netsonde.stats.arrays import FloatArray, as_samples
from netsonde.stats.independence import effective_sample_size

MOST_SAMPLES = 500
"""More are thinned: the test would find fault with every model of real times."""
LEAST_SAMPLES = 50
RESAMPLES = 99
_SHIFT_ORDER = 0.05
_STEPS = 12


@dataclass(frozen=True, slots=True)
class DistributionFit:
    """``name``; ``parameters`` by name, in the unit of the samples where they have one;
    ``statistic`` A^2; ``p_value``: how often samples of this very distribution fit as badly, from
    ``RESAMPLES`` tries, so 0.01 at least; ``n`` samples were used."""

    name: str
    parameters: dict[str, float]
    statistic: float
    p_value: float
    n: int


@dataclass(frozen=True)
class _Family:
    """``estimate``: rows of samples, shape (m, n), to columns of parameters, each (m, 1);
    ``frozen``: those to a distribution of scipy."""

    name: str
    parameters: tuple[str, ...]
    estimate: Callable[[FloatArray], tuple[FloatArray, ...]]
    frozen: Callable[..., Any]


def fit_distributions(samples: npt.ArrayLike, *, seed: int = 1) -> tuple[DistributionFit, ...]:
    """All families, the best (least A^2) first, for positive samples, shape (n,); empty for fewer
    than ``LEAST_SAMPLES`` or equal ones.

    Samples that depend on each other are thinned to as many as they are worth, and to
    ``MOST_SAMPLES``, at equal distances. ``seed`` makes the bootstrap repeatable. Raises
    ``ValueError`` for samples that are not positive.
    """
    array = as_samples(samples, least=1)
    if array.min() <= 0.0:
        raise ValueError("a sample is 0 or less; these distributions need positive ones")
    count = min(array.size, MOST_SAMPLES, int(effective_sample_size(array)))
    if count < LEAST_SAMPLES or np.ptp(array) == 0.0:
        return ()
    chosen = array[np.linspace(0, array.size - 1, count).round().astype(np.intp)]
    if np.ptp(chosen) == 0.0:
        return ()
    generator = np.random.default_rng(seed)
    found = [_fit(family, chosen, generator) for family in _FAMILIES]
    return tuple(sorted(found, key=lambda fit: fit.statistic))


def _fit(family: _Family, samples: FloatArray, generator: np.random.Generator) -> DistributionFit:
    parameters = family.estimate(samples[None, :])
    statistic = float(_anderson_darling(family, samples[None, :], parameters)[0])
    own = family.frozen(*(p.item() for p in parameters))
    made = np.asarray(own.rvs(size=(RESAMPLES, samples.size), random_state=generator), np.float64)
    made = np.maximum(made, np.finfo(np.float64).tiny)
    others = _anderson_darling(family, made, family.estimate(made))
    worse = 1 + int((others >= statistic).sum())
    values = (p.item() for p in parameters)
    return DistributionFit(
        family.name,
        dict(zip(family.parameters, values, strict=True)),
        statistic,
        worse / (RESAMPLES + 1),
        samples.size,
    )


def _anderson_darling(
    family: _Family, rows: FloatArray, parameters: tuple[FloatArray, ...]
) -> FloatArray:
    """A^2 of each row, shape (m,)."""
    ordered = np.sort(rows, axis=1)
    n = ordered.shape[1]
    own = family.frozen(*parameters)
    least = 1e-300  # a sample outside of the support is as bad as can be, not infinitely so
    below = np.log(np.maximum(own.cdf(ordered), least))
    above = np.log(np.maximum(own.sf(ordered), least))[:, ::-1]
    weights = 2.0 * np.arange(1, n + 1) - 1.0
    return np.asarray(-n - ((below + above) @ weights) / n, np.float64)


def _log_normal(rows: FloatArray) -> tuple[FloatArray, ...]:
    logs = np.log(rows)
    return logs.mean(axis=1, keepdims=True), _spread(logs)


def _shifted_log_normal(rows: FloatArray) -> tuple[FloatArray, ...]:
    """The shift that makes the logs symmetric about the median, between two quantiles (Aitchison
    and Brown, The Lognormal Distribution 1957, section 6.24); no shift where they lean left."""
    orders = [_SHIFT_ORDER, 0.5, 1 - _SHIFT_ORDER]
    low, middle, high = np.quantile(rows, orders, axis=1, keepdims=True)
    lean = low + high - 2 * middle
    scale = np.maximum(high - low, np.finfo(np.float64).tiny)
    leans_right = lean > 1e-3 * scale
    shift = np.where(leans_right, (low * high - middle**2) / np.where(leans_right, lean, 1.0), 0.0)
    least = rows.min(axis=1, keepdims=True)
    # A shift above the least sample would leave it without a probability.
    shift = np.minimum(shift, least - 1e-3 * scale)
    logs = np.log(rows - shift)
    return logs.mean(axis=1, keepdims=True), _spread(logs), shift


def _gamma(rows: FloatArray) -> tuple[FloatArray, ...]:
    """Maximum likelihood by Newton's steps from Minka's start (Estimating a Gamma Distribution,
    2002)."""
    mean = rows.mean(axis=1, keepdims=True)
    gap = np.maximum(np.log(mean) - np.log(rows).mean(axis=1, keepdims=True), 1e-12)
    shape = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(_STEPS):
        miss = np.log(shape) - scipy.special.digamma(shape) - gap
        shape = np.maximum(shape - miss / (1 / shape - scipy.special.polygamma(1, shape)), 1e-6)
    return shape, mean / shape


def _weibull(rows: FloatArray) -> tuple[FloatArray, ...]:
    """Maximum likelihood by Newton's steps in the logs, from the moments of the logs."""
    largest = rows.max(axis=1, keepdims=True)
    logs = np.log(rows / largest)
    middle = logs.mean(axis=1, keepdims=True)
    shape = np.pi / (np.sqrt(6.0) * _spread(logs))
    for _ in range(_STEPS):
        powers = np.exp(shape * logs)
        total = powers.sum(axis=1, keepdims=True)
        first = (powers * logs).sum(axis=1, keepdims=True) / total
        second = (powers * logs**2).sum(axis=1, keepdims=True) / total
        miss = 1 / shape + middle - first
        slope = -1 / shape**2 - (second - first**2)
        shape = np.clip(shape - miss / slope, shape / 2, 2 * shape)
    scale = largest * np.exp(np.log(np.exp(shape * logs).mean(axis=1, keepdims=True)) / shape)
    return shape, scale


def _spread(logs: FloatArray) -> FloatArray:
    spread: FloatArray = np.maximum(logs.std(axis=1, keepdims=True), 1e-12)
    return spread


_FAMILIES = (
    _Family(
        "log-normal",
        ("log_mean", "log_deviation"),
        _log_normal,
        lambda m, s: scipy.stats.lognorm(s, scale=np.exp(m)),
    ),
    _Family(
        "shifted log-normal",
        ("log_mean", "log_deviation", "shift"),
        _shifted_log_normal,
        lambda m, s, shift: scipy.stats.lognorm(s, loc=shift, scale=np.exp(m)),
    ),
    _Family("gamma", ("shape", "scale"), _gamma, lambda k, t: scipy.stats.gamma(k, scale=t)),
    _Family(
        "Weibull", ("shape", "scale"), _weibull, lambda k, t: scipy.stats.weibull_min(k, scale=t)
    ),
)
