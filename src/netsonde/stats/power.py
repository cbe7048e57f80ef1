"""How many launches it takes to see a shift, given the noise of launches that were made.

The answer is found by playing the comparison itself on launches drawn like those of a pilot, so the
plan and the verdict cannot disagree on what a test can do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, check_share
from netsonde.stats.pairs import are_pairs_within, fewest_pairs, paired_p_rows
from netsonde.stats.shift import fewest_values, is_within_rows, shift_p_rows
from netsonde.stats.tails import chi_square_reach

ROUNDS = 2000
"""Comparisons that are played for one power: its standard error is 1.1 % at the worst."""
MOST_LAUNCHES = 1000
NOISE_CONFIDENCE = 0.8
_DRAWN_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class Plan:
    """``launches`` a side find the shift with at least ``power``; None beyond ``MOST_LAUNCHES``.

    ``noise`` is the standard deviation of launches, in the unit of the values. A pilot of few
    launches tells it badly: it is below ``noise_high`` with 80 % confidence, and
    ``launches_safe`` would be needed then.
    """

    noise: float
    noise_high: float
    launches: int | None
    power: float
    launches_safe: int | None


def plan_launches(
    pilot: npt.ArrayLike,
    shift: float,
    power: float = 0.9,
    *,
    paired: bool = False,
    significance: float = 0.05,
    margin: float = 0.0,
    seed: int = 1,
    rounds: int = ROUNDS,
) -> Plan:
    """The launches that each side needs to tell a shift, given a pilot's values of shape (n,).

    ``paired``: for launches that are measured in turns and judged in pairs. The pilot's values are
    then differences of its neighbours in time, and the noise is that of a difference. Nothing
    changed between neighbours: they scatter around 0, and either sign is as likely.
    ``significance`` is that of one figure, two-sided: with m figures, the whole divided by m.
    ``margin``: a shift that is proven to lie within it counts as equal and not as found. Values,
    shift and margin have one unit; of ratios, give logarithms. Raises ``ValueError`` for a pilot of
    fewer than 3 values or without any noise, and for a shift of 0.
    """
    values = as_samples(pilot, least=3)
    check_share("power", power)
    freedom = values.size if paired else values.size - 1
    noise = float(np.sqrt(np.mean(values**2)) if paired else values.std(ddof=1))
    if shift == 0.0 or noise <= 0.0:
        raise ValueError("a plan needs a shift that is not 0 and a pilot whose values differ")
    widening = math.sqrt(freedom / chi_square_reach(freedom, NOISE_CONFIDENCE))
    fewest = fewest_pairs(significance) if paired else fewest_values(significance)
    found: list[tuple[int | None, float]] = []
    for factor in (1.0, widening):

        def reached(launches: int, factor: float = factor) -> float:
            return power_of(
                *(values, shift, launches, factor),
                paired=paired, significance=significance, margin=margin, seed=seed, rounds=rounds,
            )  # fmt: skip

        found.append(_least(reached, power, fewest))
    (launches, reached_power), (safe, _) = found
    return Plan(noise, noise * widening, launches, reached_power, safe)


def power_of(
    pilot: npt.ArrayLike,
    shift: float,
    launches: int,
    noise_factor: float = 1.0,
    *,
    paired: bool = False,
    significance: float = 0.05,
    margin: float = 0.0,
    seed: int = 1,
    rounds: int = ROUNDS,
) -> float:
    """The share of comparisons with so many ``launches`` a side that find the shift.

    Launches, or the differences of pairs, are drawn from the pilot's values by :func:`drawn_like`,
    and multiplied in their spread by ``noise_factor``.
    """
    values = as_samples(pilot, least=3)
    generator = np.random.default_rng([seed, launches])
    shape = (max(400, min(rounds, _DRAWN_AT_ONCE // launches)), launches)
    if paired:
        signed = np.concatenate([values, -values])
        drawn = noise_factor * drawn_like(signed, shape, generator, float(signed.std())) + shift
        p, within = paired_p_rows(drawn), are_pairs_within(drawn, margin)
    else:
        first = noise_factor * drawn_like(values, shape, generator)
        second = noise_factor * drawn_like(values, shape, generator) + shift
        p, within = shift_p_rows(first, second), is_within_rows(first, second, margin)
    found = p <= significance * (1.0 + 1e-9)
    return float((found & ~within if margin > 0.0 else found).mean())


def drawn_like(
    values: FloatArray,
    shape: tuple[int, ...],
    generator: np.random.Generator,
    noise: float | None = None,
) -> FloatArray:
    """Draws around 0 with the standard deviation of ``values``, or the one that is given, and, as
    far as they show it, their shape: the smoothed bootstrap with its variance kept.

    Six values give almost a normal distribution, hundreds their own, tails included. Source:
    Silverman and Young, The Bootstrap: To Smooth or Not to Smooth?, Biometrika 1987; the width of
    the kernel is Silverman's, Density Estimation, 1986, equation 3.31.
    """
    noise = float(values.std(ddof=1)) if noise is None else noise
    low, high = np.quantile(values, [0.25, 0.75])
    narrow = min(noise, (high - low) / 1.349) or noise
    width = 0.9 * narrow * values.size**-0.2
    centred = (values - values.mean()) * (noise / float(values.std()))
    drawn = generator.choice(centred, shape) + width * generator.standard_normal(shape)
    return np.asarray(drawn / math.sqrt(1.0 + (width / noise) ** 2))


def _least(reached: Callable[[int], float], power: float, fewest: int) -> tuple[int | None, float]:
    """The least number that reaches a power, by doubling and halving; and what it reaches."""
    low, high = fewest - 1, fewest
    while (got := reached(high)) < power:
        if high >= MOST_LAUNCHES:
            return None, got
        low, high = high, min(2 * high, MOST_LAUNCHES)
    while high - low > 1:
        middle = (low + high) // 2
        found = reached(middle)
        if found >= power:
            high, got = middle, found
        else:
            low = middle
    return high, got
