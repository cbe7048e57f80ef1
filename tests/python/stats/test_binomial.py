"""Quantiles of the binomial distribution are those of scipy, which is not needed for them."""

import numpy as np
import pytest
from scipy import stats

from netsonde.stats.binomial import binomial_quantile

SHARES = (1e-9, 0.005, 0.025, 0.05, 0.5, 0.95, 0.975, 0.995, 1 - 1e-9)
ORDERS = (1e-6, 0.001, 0.05, 0.5, 0.9, 0.99, 0.999, 1 - 1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 59, 100, 1001, 30_000, 1_000_000, 100_000_000])
def test_the_quantile_is_that_of_scipy(n: int) -> None:
    for q in ORDERS:
        for share in SHARES:
            k = binomial_quantile(share, n, q)
            below, at = (float(stats.binom.cdf(place, n, q)) for place in (k - 1, k))
            assert at >= share * (1 - 1e-9), (n, q, share)
            assert below < share * (1 + 1e-9), (n, q, share)


def test_a_tie_is_no_matter_of_rounding() -> None:
    """Half of all is below the middle of an odd number: P(B <= 2) of five is a half."""
    for n in range(1, 200, 2):
        assert binomial_quantile(0.5, n, 0.5) == n // 2


def test_it_rises_with_the_share() -> None:
    found = [binomial_quantile(share, 400, 0.3) for share in np.linspace(0.001, 0.999, 999)]
    assert found == sorted(found)
