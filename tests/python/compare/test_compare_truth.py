"""Comparisons of simulated runs whose truth is known: how often nothing is called something, and
how often a shift is found where the plan said so."""

from __future__ import annotations

import math

import numpy as np
import pytest
from compare_made import launch_values, read_as

from netsonde.compare.data import Comparison
from netsonde.compare.verdicts import Question, compare
from netsonde.stats.power import plan_launches, power_of

SHIFT = 0.03


def compared(pairs: int, launches: int, figures: int, shift: float, seed: int) -> list[Comparison]:
    """Pairs of runs of so many launches each; the second of each is shifted."""
    random = np.random.default_rng(seed)
    before = launch_values(random, pairs, launches, figures)
    after = launch_values(random, pairs, launches, figures, shift)
    return [
        compare([read_as("a", a)], [read_as("b", b)]) for a, b in zip(before, after, strict=True)
    ]


def alarms(comparisons: list[Comparison]) -> float:
    """The share of pairs of runs in which anything is called better or worse."""
    wrong = sum(c.counts["better"] + c.counts["worse"] > 0 for c in comparisons)
    return wrong / len(comparisons)


def bound(share: float, trials: int) -> float:
    """Three standard errors of a share."""
    return 3.0 * math.sqrt(share * (1.0 - share) / trials)


def test_nothing_is_found_where_nothing_changed() -> None:
    comparisons = compared(150, 8, 8, 0.0, seed=11)
    assert alarms(comparisons) <= 0.05 + bound(0.05, 150)


@pytest.mark.soak
def test_a_thousand_pairs_without_a_change_raise_few_alarms() -> None:
    rates = {launches: alarms(compared(1000, launches, 20, 0.0, launches)) for launches in (7, 12)}
    print("false alarms of 1000 pairs of 20 figures, by launches:", rates)
    assert max(rates.values()) <= 0.05


def planned_and_found(
    pilot_launches: int, figures: int, pairs: int, power: float, seed: int
) -> tuple[int, float, float]:
    """Launches planned from a pilot of one figure, the power that was predicted, and the share of
    pairs with a shift of all figures in which the first one was found, with so many launches."""
    random = np.random.default_rng(seed)
    pilot = np.log(launch_values(random, 1, pilot_launches, 1)[0, :, 0])
    level, margin = 0.05 / figures, math.log1p(0.03)
    plan = plan_launches(pilot, math.log1p(SHIFT), power, significance=level, margin=margin)
    assert plan.launches is not None
    before = launch_values(random, pairs, plan.launches, 1)
    after = launch_values(random, pairs, plan.launches, 1, SHIFT)
    quiet = launch_values(random, 2 * pairs, plan.launches, figures - 1)
    found = 0
    for pair in range(pairs):
        sides = [
            np.concatenate([shifted[pair], quiet[2 * pair + i]], axis=1)
            for i, shifted in enumerate((before, after))
        ]
        comparison = compare([read_as("a", sides[0])], [read_as("b", sides[1])])
        found += comparison.figures[0].verdict == "worse"
    return plan.launches, plan.power, found / pairs


@pytest.mark.parametrize("power", [0.8])
def test_a_shift_is_found_as_often_as_planned(power: float) -> None:
    _, predicted, found = planned_and_found(400, 3, 120, power, seed=5)
    assert abs(found - predicted) <= bound(predicted, 120) + 0.03


@pytest.mark.soak
@pytest.mark.parametrize("power", [0.5, 0.8, 0.9])
def test_a_thousand_shifts_are_found_as_often_as_planned(power: float) -> None:
    launches, predicted, found = planned_and_found(2000, 10, 1000, power, seed=5)
    print(f"{launches} launches: {predicted:.3f} predicted, {found:.3f} found of 1000 pairs")
    # Of the prediction, 2000 rounds and the pilot's own noise are uncertain as well.
    assert abs(found - predicted) <= bound(predicted, 1000) + bound(predicted, 2000)


@pytest.mark.soak
def test_a_plan_of_few_launches_is_safe_as_often_as_it_says() -> None:
    """Eight launches tell the noise badly; the number that is to be safe is so for four of five."""
    random = np.random.default_rng(9)
    truth = np.log(launch_values(random, 1, 4000, 1)[0, :, 0])
    pilots = np.log(launch_values(random, 100, 8, 1)[:, :, 0])
    enough = 0
    for pilot in pilots:
        safe = plan_launches(pilot, math.log1p(SHIFT), 0.9, significance=0.005).launches_safe
        assert safe is not None
        enough += power_of(truth, math.log1p(SHIFT), safe, significance=0.005) >= 0.9
    print(f"safe numbers that were enough: {enough} of 100")
    assert enough >= 70


def test_equality_is_claimed_wrongly_at_most_so_often_as_said() -> None:
    """A shift of exactly the margin is the hardest to keep apart from equality."""
    random = np.random.default_rng(3)
    before = launch_values(random, 300, 10, 1)
    after = launch_values(random, 300, 10, 1, SHIFT)
    verdicts = [
        compare([read_as("a", a)], [read_as("b", b)], Question(margin=SHIFT)).figures[0].verdict
        for a, b in zip(before, after, strict=True)
    ]
    assert verdicts.count("equal") / 300 <= 0.05 + bound(0.05, 300)
