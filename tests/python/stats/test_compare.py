"""The ratio of two sets of runs and its interval."""

import numpy as np
import pytest

from netsonde.stats.compare import ratio_interval


@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_covers_the_true_ratio(paired: bool) -> None:
    generator = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        day = generator.lognormal(0.0, 0.1, 21) if paired else np.ones(21)
        a = 1.2 * day * generator.lognormal(0.0, 0.05, 21)
        b = day * generator.lognormal(0.0, 0.05, 21)
        found = ratio_interval(a, b, paired, resamples=1000)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 1.2 <= found.high
    # The percentile bootstrap of a median of 21 runs is a little wide.
    assert 0.93 <= hits / 400 <= 0.995


def test_the_seed_makes_it_repeatable() -> None:
    a, b = np.arange(1.0, 12.0), np.arange(2.0, 13.0)
    assert ratio_interval(a, b, seed=3) == ratio_interval(a, b, seed=3)
    assert ratio_interval(a, b, seed=3).ratio == pytest.approx(6 / 7)
    assert ratio_interval(a, a).low == ratio_interval(a, a).high == 1.0
    assert ratio_interval(a, a, paired=False).low != 1.0


def test_few_runs_have_no_interval_and_bad_ones_are_refused() -> None:
    few = ratio_interval([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
    assert (few.ratio, few.low, few.high, few.n) == (2.0, None, None, 3)
    with pytest.raises(ValueError, match="paired"):
        ratio_interval([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="positive"):
        ratio_interval([1.0, 0.0], [1.0, 1.0])
