"""The start of a series is cut where it is no part of the rest, and only there."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import signal

from netsonde.stats.warmup import SteadyPart, find_steady_part, is_significant

Array = npt.NDArray[np.float64]


def steady_ar1(generator: np.random.Generator, n: int) -> Array:
    noise = generator.normal(size=n + 100)
    return np.asarray(100.0 + 10 * signal.lfilter([1.0], [1.0, -0.5], noise)[100:], np.float64)


# The share of false alarms that 500 runs may show: 1 % is asked for. Correlation is hard to see in
# a short series, and then it is up to 3 % (docs/methods/statistics.md).
MOST_ALARMS = {("ar1", 100): 0.05}
STEADY: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "lognormal": lambda g, n: g.lognormal(0.0, 1.0, n),
    "pareto": lambda g, n: 1.0 + g.pareto(1.1, n),
    "ties": lambda g, n: np.round(g.lognormal(3.7, 0.05, n)),
    "ar1": steady_ar1,
}


@pytest.mark.parametrize("shape", list(STEADY))
@pytest.mark.parametrize("n", [100, 1000])
def test_a_steady_series_is_cut_less_often_than_the_significance(shape: str, n: int) -> None:
    generator = np.random.default_rng(1)
    parts = [find_steady_part(STEADY[shape](generator, n)) for _ in range(500)]
    false = sum(part.begin > 0 or not part.steady for part in parts)
    assert false / 500 <= MOST_ALARMS.get((shape, n), 0.02)


def test_a_step_is_cut_where_it_is() -> None:
    generator = np.random.default_rng(2)
    step = np.where(np.arange(2000) < 200, 1.5, 1.0)
    begins = []
    for _ in range(100):
        part = find_steady_part(generator.lognormal(0.0, 0.3, 2000) * step)
        assert part.steady
        begins.append(part.begin)
    assert np.quantile(begins, [0.05, 0.95]) == pytest.approx([200, 200], abs=20)


@pytest.mark.parametrize(("height", "decay"), [(3.0, 40.0), (1.0, 100.0)])
def test_a_decaying_start_is_cut_where_it_is_lost_in_the_noise(height: float, decay: float) -> None:
    generator = np.random.default_rng(3)
    start = 1.0 + height * np.exp(-np.arange(2000) / decay)
    begins = []
    for _ in range(50):
        part = find_steady_part(start * generator.lognormal(0.0, 0.1, 2000))
        assert part.steady
        begins.append(part.begin)
    # What remains of the start there is well below the scatter of one sample (10 %); a single cut
    # would leave 9 %.
    assert height * np.exp(-np.median(begins) / decay) < 0.085
    assert np.quantile(begins, 0.95) < 10 * decay


def test_a_start_of_few_slow_messages_is_cut() -> None:
    samples = np.random.default_rng(4).lognormal(3.0, 0.1, 5000)
    samples[:15] *= 20.0
    assert find_steady_part(samples).begin == pytest.approx(15, abs=1)


def test_a_huge_series_is_not_cut_for_a_trifle() -> None:
    samples = np.random.default_rng(5).normal(1000.0, 20.0, 300_000)
    samples[:100_000] += 1.0  # plain to a test of significance, 0.1 % of the value
    assert find_steady_part(samples) == SteadyPart(0, True)
    narrow = np.random.default_rng(6).normal(1000.0, 0.1, 20_000)
    narrow[:5000] += 1.0  # ten standard deviations, and still 0.1 % of the value
    assert find_steady_part(narrow) == SteadyPart(0, True)
    assert find_steady_part(narrow, minimum_relative_shift=1e-4).begin == 5000


def test_a_shift_that_is_lost_in_the_scatter_is_a_trifle() -> None:
    wide = np.random.default_rng(9).normal(1000.0, 300.0, 300_000)
    wide[:100_000] += 20.0  # 2 % of the value, and P(early < late) is 0.48
    assert find_steady_part(wide) == SteadyPart(0, True)
    assert find_steady_part(wide, minimum_effect=0.01).begin == pytest.approx(100_000, rel=0.05)


def test_a_series_that_changes_late_has_no_steady_part() -> None:
    generator = np.random.default_rng(7)
    late = generator.lognormal(0.0, 0.2, 2000) * np.where(np.arange(2000) < 1400, 1.0, 1.5)
    drift = generator.lognormal(0.0, 0.2, 2000) * (1.0 + np.arange(2000) / 2000)
    assert find_steady_part(late) == SteadyPart(0, False)
    assert find_steady_part(drift) == SteadyPart(0, False)


def test_never_more_than_half_is_cut() -> None:
    generator = np.random.default_rng(8)
    for change in np.linspace(0.05, 0.95, 19):
        step = np.where(np.arange(1000) < 1000 * change, 2.0, 1.0)
        assert find_steady_part(step * generator.lognormal(0.0, 0.1, 1000)).begin <= 500


def test_short_and_constant_series() -> None:
    assert find_steady_part([5.0] * 10) == SteadyPart(0, True, tested=False)
    assert find_steady_part([]) == SteadyPart(0, True, tested=False)
    assert find_steady_part([5.0] * 100) == SteadyPart(0, True, tested=True)
    with pytest.raises(ValueError, match="significance"):
        find_steady_part([1.0] * 50, significance=0.0)


def test_what_is_significant_rises_with_the_range_and_falls_with_the_significance() -> None:
    assert is_significant(3.4, 0.05, 0.95, 0.05)  # critical is 3.16 by simulation of the limit
    assert not is_significant(3.0, 0.05, 0.95, 0.05)
    narrow, wide = (least_significant(*shares, 0.01) for shares in ((0.05, 0.95), (0.001, 0.999)))
    assert wide > narrow
    assert least_significant(0.05, 0.95, 0.001) > narrow


def least_significant(first: float, last: float, significance: float) -> float:
    tried = (x / 100 for x in range(100, 1000))
    return next(x for x in tried if is_significant(x, first, last, significance))


@pytest.mark.parametrize("shares", [(0.001, 0.95), (0.01, 0.95), (0.3, 0.5), (1e-5, 0.999)])
@pytest.mark.parametrize("significance", [0.2, 0.05, 0.01, 1e-6])
def test_small_and_large_statistics_are_told_apart(
    shares: tuple[float, float], significance: float
) -> None:
    assert not is_significant(1.19, *shares, significance)
    assert is_significant(100.0, *shares, significance)
