"""Two sets of runs compared by the ratio of their medians."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import as_samples, check_share

_LEAST_RUNS = 5
_VALUES_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """median(a) / median(b) and its interval; no unit. ``n`` is the number of runs of the lesser.

    ``low`` and ``high`` are None where there are fewer than 5 runs of either.
    """

    ratio: float
    low: float | None
    high: float | None
    confidence: float
    n: int


def ratio_interval(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    paired: bool = True,
    confidence: float = 0.95,
    *,
    seed: int = 1,
    resamples: int = 4000,
) -> RatioInterval:
    """The ratio of the medians of runs a and b, shapes (n,) and (m,), with a bootstrap interval.

    One value per run (its median, its throughput), not per message: messages of one run share its
    circumstances. ``paired`` runs were made side by side and are resampled together, so n = m.
    ``resamples`` of 4000 puts about 100 of them outside each end at 0.95. ``seed`` makes the result
    repeatable.

    Source: percentile bootstrap, Efron and Tibshirani, An Introduction to the Bootstrap 1993,
    section 13.3; ratio over runs after Kalibera and Jones, Rigorous Benchmarking in Reasonable
    Time, ISMM 2013, section 9. Raises ``ValueError`` for no runs, runs that are not all positive,
    or paired runs of different number.
    """
    first, second = as_samples(a, least=1), as_samples(b, least=1)
    check_share("confidence", confidence)
    if first.min() <= 0.0 or second.min() <= 0.0:
        raise ValueError("a run has a value of 0 or less; a ratio needs positive values")
    if paired and first.size != second.size:
        raise ValueError(
            f"{first.size} and {second.size} runs cannot be paired; give equal numbers"
        )
    n = min(first.size, second.size)
    ratio = float(np.median(first) / np.median(second))
    if n < _LEAST_RUNS:
        return RatioInterval(ratio, None, None, confidence, n)
    generator = np.random.default_rng(seed)
    ratios = np.empty(resamples)
    step = max(1, _VALUES_AT_ONCE // max(first.size, second.size))
    for begin in range(0, resamples, step):
        count = min(step, resamples - begin)
        chosen = generator.integers(0, first.size, (count, first.size))
        other = chosen if paired else generator.integers(0, second.size, (count, second.size))
        medians = np.median(first[chosen], axis=1), np.median(second[other], axis=1)
        ratios[begin : begin + count] = medians[0] / medians[1]
    tail = 0.5 * (1.0 - confidence)
    low, high = np.quantile(ratios, [tail, 1.0 - tail])
    return RatioInterval(ratio, float(low), float(high), confidence, n)
