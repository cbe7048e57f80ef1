"""Laws of growth against times that follow one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from netsonde.model.growth import ERROR_FLOOR, LawFit, growth, most_change

POWERS = [2, 4, 8, 16]
MORE_POWERS = [2, 4, 8, 16, 32, 64]
MIXED = [2, 3, 4, 6, 8, 12, 16]
Times = Callable[[np.ndarray], np.ndarray]
TRUTHS: dict[str, tuple[str, Times]] = {
    "log": ("log2 p", lambda p: 10 * np.log2(p)),
    "level and log": ("log2 p", lambda p: 10 + 3 * np.log2(p)),
    "steps": ("ceil(log2 p)", lambda p: 10 * np.ceil(np.log2(p))),
    "level and steps": ("ceil(log2 p)", lambda p: 10 + 8 * np.ceil(np.log2(p))),
    "line": ("p", lambda p: 3.0 * p),
    "level and line": ("p", lambda p: 7 + 2.0 * p),
    "others": ("(p - 1)", lambda p: 7.0 * (p - 1)),
    "square": ("p^2", lambda p: 1.0 * p * p),
    "level and square": ("p^2", lambda p: 20 + 1.0 * p * p),
}


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("ranks", [POWERS, MORE_POWERS, MIXED])
def test_a_law_without_noise_is_the_one(name: str, ranks: list[int]) -> None:
    formula, times = TRUTHS[name]
    p = np.array(ranks, float)
    found = growth(p, times(p))
    assert found.verdict == "decided"
    if formula == "ceil(log2 p)" and ranks is not MIXED:
        assert (found.best.formula, found.same) == ("log2 p", formula)  # the same at powers of two
    else:
        assert found.best.formula == formula
        assert found.same == (
            "ceil(log2 p)" if formula == "log2 p" and ranks is not MIXED else None
        )
    assert found.best.error == ERROR_FLOOR
    assert found.best.at(p) == pytest.approx(times(p))
    assert (found.best.intercept is not None) == name.startswith("level")


@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_a_law_is_found_in_noise_and_never_a_wrong_one(noise: float) -> None:
    random = np.random.default_rng(5)
    decided = wrong = 0
    for name, (formula, times) in TRUTHS.items():
        for ranks in (MORE_POWERS, MIXED):
            p = np.array(ranks, float)
            for _ in range(4):
                found = growth(p, times(p) * random.lognormal(0, noise, len(p)))
                assert found.verdict in ("decided", "open"), name
                if found.verdict == "decided":
                    decided += 1
                    laws = {found.best.law, _law_of(found.same)}
                    wrong += _law_of(formula) not in laws
    assert wrong == 0
    assert decided >= (53 if noise < 0.05 else 40)  # of 72


def _law_of(formula: str | None) -> str:
    return {
        "log2 p": "logarithm", "ceil(log2 p)": "steps", "p": "linear", "(p - 1)": "linear",
        "p^2": "square",
    }.get(formula or "", "")  # fmt: skip


def test_parameters_are_in_their_intervals_as_often_as_they_say() -> None:
    random = np.random.default_rng(2)
    p = np.array(MORE_POWERS, float)
    inside = made = 0
    for _ in range(80):
        best = growth(p, (20 + 15 * np.log2(p)) * random.lognormal(0, 0.02, len(p))).best
        if best.law != "logarithm" or best.intercept is None:
            continue
        assert best.slope_interval is not None
        assert best.intercept_interval is not None
        made += 2
        inside += best.slope_interval.low <= 15 <= best.slope_interval.high
        inside += best.intercept_interval.low <= 20 <= best.intercept_interval.high
    assert made >= 130
    assert 0.90 <= inside / made <= 0.99


def test_times_that_do_not_grow() -> None:
    random = np.random.default_rng(4)
    p = np.array(MORE_POWERS, float)
    found = [growth(p, 5 * random.lognormal(0, 0.02, len(p))) for _ in range(60)]
    constant = [each for each in found if each.verdict == "constant"]
    assert len(constant) >= 52
    for each in constant:
        assert each.best.intercept == pytest.approx(5, rel=0.05)
        assert each.best.slope is None
        assert 0 <= most_change(each, p) < 0.15


def test_a_growth_that_could_not_be_seen_is_no_constant() -> None:
    assert growth(POWERS, [10, 25, 9, 30]).verdict == "none"


def test_two_laws_that_explain_it_equally_are_not_decided() -> None:
    p = np.array(POWERS, float)
    found = growth(p, (10 + 0.7 * np.log2(p)) * np.array([1.01, 0.99, 1.0, 1.03]))
    assert found.verdict == "open"
    assert {fit.law for fit in found.equal} >= {"logarithm", "linear"}


def test_times_that_fall_and_times_without_a_law() -> None:
    p = np.array(MORE_POWERS, float)
    assert growth(p, 100 / p).verdict == "falling"
    assert growth(p, 2.0**p).verdict == "none"


def test_a_point_that_is_left_out_is_foretold_by_the_others() -> None:
    """By hand: b log2 p is the mean of t / log2 p, so the error of each is against the others'."""
    times = np.array([1.0, 2.2, 3.0, 4.0])
    found = growth(POWERS, times).best
    assert (found.formula, found.intercept) == ("log2 p", None)
    rates = times / np.log2(POWERS)
    errors = [math.log(rates[i] / np.delete(rates, i).mean()) for i in range(4)]
    assert found.error == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-3)


@pytest.mark.parametrize(
    ("ranks", "times", "words"),
    [
        ([2, 4, 8], [1, 2, 3], "4"),
        ([2, 4, 4, 8], [1, 2, 2, 3], "twice"),
        ([1, 2, 4, 8], [1, 2, 3, 4], "2 ranks or more"),
        ([2, 4, 8, 16], [1, 2, 0, 4], "above 0"),
        ([2, 4, 8, 16], [1, 2, 3], "each needs one|at least"),
    ],
)
def test_what_is_refused(ranks: list[int], times: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        growth(ranks, times)


def test_order_does_not_matter() -> None:
    p = np.array(MIXED, float)
    times = 10 * np.log2(p)
    turned: LawFit = growth(p[::-1], times[::-1]).best
    assert turned == growth(p, times).best
