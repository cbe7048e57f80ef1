"""Jain's index of rates whose evenness is known."""

import numpy as np
import pytest

from netsonde.stats.fairness import jain_fairness


def test_even_and_uneven_shares():
    rates = np.array([[5.0, 5, 5, 5], [20, 0, 0, 0], [3, 1, 3, 1], [0, 0, 0, 0]])
    # The third: (8)^2 / (4 * 20).
    assert jain_fairness(rates) == pytest.approx([1.0, 0.25, 0.8, 1.0])


def test_the_unit_does_not_matter():
    rates = np.random.default_rng(1).uniform(1, 9, (3, 7))
    assert jain_fairness(rates * 1e9) == pytest.approx(jain_fairness(rates))
