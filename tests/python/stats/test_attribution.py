"""Shares of variance of designs whose answer is known."""

from itertools import product

import pytest

from netsonde.stats.attribution import attributed


def of(function, levels, repeated=(0.0,)):
    cells = {key: [function(*key) + add for add in repeated] for key in product(*levels)}
    return attributed([f"f{i}" for i in range(len(levels))], cells)


def test_sums_of_independent_factors_are_taken_apart():
    """Variances of 0, 1 and of 0, 2 are as 1 to 4."""
    found = of(lambda a, b, c: a + 2 * b + 0 * c, [(0, 1), (0, 1), (0, 1)])
    assert [name for name, _ in found.factors] == ["f1", "f0", "f2"]
    assert [share for _, share in found.factors] == pytest.approx([0.8, 0.2, 0.0])
    assert (found.together, found.chance) == pytest.approx((0.0, 0.0))


def test_what_acts_in_company_alone_is_of_no_factor():
    found = of(lambda a, b: float(a != b), [(0, 1), (0, 1)])
    assert [share for _, share in found.factors] == pytest.approx([0.0, 0.0])
    assert found.together == pytest.approx(1.0)


def test_repetitions_that_differ_are_chance():
    """Half of the variance: cells at 0 and 1, values at 0.5 on either side."""
    found = of(lambda a, _: float(a), [(0, 1), (0, 1)], repeated=(-0.5, 0.5))
    assert found.factors[0] == ("f0", pytest.approx(0.5))
    assert found.chance == pytest.approx(0.5)


def test_levels_may_be_words_and_many():
    found = of(lambda a, b: {"x": 0, "y": 1, "z": 5}[a] + b, [("x", "y", "z"), (1, 2, 3, 4)])
    assert found.factors[0][0] == "f0"
    assert sum(share for _, share in found.factors) == pytest.approx(1.0)


def test_nothing_to_explain():
    assert of(lambda *_: 0.7, [(0, 1), (0, 1)]) is None


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({(0, 0): [1.0], (0, 1): [1.0], (1, 0): [2.0]}, "3 of 4 combinations"),
        ({(0, 0): [1.0], (0, 1): [1.0, 2.0]}, "as many values"),
        ({(0, 0): [1.0], (0, 1): [2.0]}, "fewer than two factors"),
    ],
)
def test_designs_that_cannot_be_taken_apart(cells, said):
    with pytest.raises(ValueError, match=said):
        attributed(["a", "b"], cells)
