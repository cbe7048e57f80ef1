"""What comes again: chances by hand, and trials of which it is known that nothing does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netsonde.stats.recurrence import chance_of_hits, expected_by_chance, hits_of


def test_chances_by_hand():
    assert chance_of_hits([0.5, 0.5], 0) == 1
    assert chance_of_hits([0.5, 0.5], 1) == 0.75
    assert chance_of_hits([0.1, 0.2, 0.4], 3) == pytest.approx(0.008)
    assert chance_of_hits([0.1, 0.2, 0.4], 1) == pytest.approx(1 - 0.9 * 0.8 * 0.6)
    assert chance_of_hits([0.3], 2) == 0
    with pytest.raises(ValueError, match="from 0 to 1"):
        chance_of_hits([1.5], 1)


def test_equal_chances_are_the_binomial_distribution():
    binomial = sum(math.comb(6, k) * 0.25**k * 0.75 ** (6 - k) for k in range(4, 7))
    assert chance_of_hits([0.25] * 6, 4) == pytest.approx(binomial)


def test_hits_count_each_trial_once():
    assert list(hits_of([[1, 1, 2], [2], [2, 3]]).items()) == [(2, 3), (1, 1), (3, 1)]


def test_as_many_come_again_by_chance_as_expected():
    random = np.random.default_rng(3)
    trials, places, hits, rounds = 6, 500, (10, 20, 5, 40, 15, 25), 300
    seen = sum(
        count >= 2
        for _ in range(rounds)
        for count in hits_of(
            [random.choice(places, n, replace=False).tolist() for n in hits]
        ).values()
    )
    expected = expected_by_chance(places, [n / places for n in hits], 2)
    assert len(hits) == trials
    assert seen / rounds == pytest.approx(expected, rel=0.05)


def test_many_rare_draws_are_poissons() -> None:
    """Where the exact sum takes long; its tail is a little thicker than the binomial's."""
    few = chance_of_hits([0.004] * 2000, 16)
    many = chance_of_hits([0.004] * 2001, 16)
    assert few < many < 1.05 * few
