"""Modes are found where there are several, and tails are not taken for modes."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsonde.stats.modes import find_modes

Array = npt.NDArray[np.generic]

ONE_MODE: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda g, n: g.normal(100.0, 10.0, n),
    "lognormal": lambda g, n: g.lognormal(0.0, 1.0, n),
    "pareto": lambda g, n: 1.0 + g.pareto(1.1, n),
    "exponential": lambda g, n: g.exponential(1.0, n),
    "uniform": lambda g, n: g.uniform(10.0, 20.0, n),
    "nanoseconds": lambda g, n: np.round(g.lognormal(3.7, 0.05, n)).astype(np.int64),
    "clock of 40 ns": lambda g, n: 40 * np.round(g.lognormal(2.5, 0.2, n)).astype(np.int64),
    "rare outliers": lambda g, n: np.where(
        g.random(n) < 0.02, g.normal(4e6, 1e4, n), g.lognormal(3.0, 0.1, n)
    ),
}


def wake_ups(generator: np.random.Generator, n: int, share: float) -> npt.NDArray[np.float64]:
    """Receivers that were awake (12 us) and a share that had to be woken (55 us)."""
    woken = generator.lognormal(np.log(55_000.0), 0.15, n)
    awake = generator.lognormal(np.log(12_000.0), 0.10, n)
    return np.where(generator.random(n) < share, woken, awake)


@pytest.mark.parametrize("shape", list(ONE_MODE))
@pytest.mark.parametrize("n", [60, 300, 3000])
def test_one_mode_is_one_mode(shape: str, n: int) -> None:
    generator = np.random.default_rng(1)
    several = sum(len(find_modes(ONE_MODE[shape](generator, n))) > 1 for _ in range(200))
    assert several <= 4


@pytest.mark.parametrize(("n", "share"), [(200, 0.5), (200, 0.3), (1000, 0.1), (20_000, 0.07)])
def test_two_wake_up_times_are_two_modes(n: int, share: float) -> None:
    generator = np.random.default_rng(2)
    found = [find_modes(wake_ups(generator, n, share)) for _ in range(100)]
    two = [modes for modes in found if len(modes) == 2]
    assert len(two) >= 95
    awake = np.array([modes[0].location for modes in two])
    woken = np.array([modes[1].location for modes in two])
    assert np.median(awake) == pytest.approx(12_000, rel=0.05)
    assert np.median(woken) == pytest.approx(55_000, rel=0.08)
    assert np.mean([modes[1].share for modes in two]) == pytest.approx(share, abs=0.02)


def test_three_modes_and_close_ones() -> None:
    generator = np.random.default_rng(3)
    centre = generator.choice([12.0, 55.0, 4000.0], 6000)
    three = find_modes(centre * generator.lognormal(0.0, 0.1, 6000))
    assert [mode.location for mode in three] == pytest.approx([12, 55, 4000], rel=0.08)
    centre = generator.choice([12.0, 14.0], 4000)
    close = find_modes(centre * generator.lognormal(0.0, 0.03, 4000))
    assert [mode.location for mode in close] == pytest.approx([12, 14], rel=0.03)


def test_a_mode_that_is_too_small_is_not_counted() -> None:
    samples = wake_ups(np.random.default_rng(4), 20_000, 0.02)
    assert len(find_modes(samples)) == 1
    assert len(find_modes(samples, minimum_share=0.01)) == 2


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(-20, 20))
def test_the_unit_does_not_matter(seed: int, power: int) -> None:
    samples = wake_ups(np.random.default_rng(seed), 400, 0.4)
    plain, scaled = find_modes(samples), find_modes(samples * 2.0**power)
    assert len(plain) == len(scaled)
    for one, other in zip(plain, scaled, strict=True):
        assert other.location == pytest.approx(one.location * 2.0**power, rel=0.02)
        assert other.share == pytest.approx(one.share, abs=0.01)


@settings(max_examples=100)
@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=200))
def test_any_samples_have_modes_that_share_them_all(values: list[int]) -> None:
    modes = find_modes(values)
    assert modes
    assert sum(mode.share for mode in modes) == pytest.approx(1.0)
    assert all(a.location < b.location for a, b in pairwise(modes))


def test_few_equal_and_two_valued_samples() -> None:
    assert find_modes([5.0]) == find_modes([5.0, 5.0, 5.0])
    assert len(find_modes([12, 55] * 10)) == 1  # too few to tell
    two = find_modes([12_000, 55_000] * 100)
    assert [mode.location for mode in two] == pytest.approx([12_000, 55_000], rel=0.02)
    assert len(find_modes([40, 41] * 100)) == 1  # neighbouring ticks
    with pytest.raises(ValueError, match="at least 1"):
        find_modes([])
