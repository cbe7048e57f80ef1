"""Launches that took turns while something drifted, whose truth is known: how often pairs call
nothing something, and how much more they find than all with all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from compare_made import Floats, launch_values, read_as

from netsonde.compare.data import Comparison
from netsonde.compare.plan import plan_of
from netsonde.compare.verdicts import Question, compare

SHIFT = 0.03
DRIFTS = ("none", "line", "wave", "walk", "step", "all")
ORDERS = ("in turns", "there and back", "at random")
GAP_MINUTES = {"in turns": (1.0, 9.0), "there and back": (1.0, 1.0), "at random": (1.0, 4.0)}
"""From the first of a round to its second, and from that to the next round."""


def order_of(random: np.random.Generator, kind: str, rounds: int) -> npt.NDArray[np.int64]:
    """Of each round, which side begins: A B A B, A B B A, or by lot."""
    if kind == "in turns":
        return np.zeros(rounds, np.int64)
    return np.arange(rounds) % 2 if kind == "there and back" else random.integers(0, 2, rounds)


def drift(random: np.random.Generator, kind: str, times: Floats) -> Floats:
    """What the machine does meanwhile, as a share, at times of shape (n,)."""
    along = times / times.max()
    parts = {
        "line": lambda: 0.3 * random.uniform(-1.0, 1.0) * along,
        "wave": lambda: (
            0.08 * np.sin(2 * np.pi * (random.uniform(0.5, 2.0) * along + random.random()))
        ),
        "walk": lambda: 0.02 * np.cumsum(random.standard_normal(times.size)),
        "step": lambda: 0.1 * random.standard_normal() * (along > random.random()),
    }
    chosen = parts if kind == "all" else [kind] if kind in parts else []
    return np.asarray(sum((parts[name]() for name in chosen), np.zeros(times.size)))


def compared(
    pairs: int,
    launches: int,
    figures: int,
    *,
    shift: float = 0.0,
    kinds: Sequence[str] = DRIFTS,
    orders: Sequence[str] = ORDERS,
    paired: bool | None = None,
    seed: int = 1,
) -> list[Comparison]:
    """So many pairs of runs whose launches took turns; the drift is the same for both sides. The
    second of each pair of runs is shifted."""
    random = np.random.default_rng(seed)
    sides = [launch_values(random, pairs, launches, figures, s) for s in (0.0, shift)]
    found = []
    for pair in range(pairs):
        order = orders[pair % len(orders)]
        begins = order_of(random, order, launches)
        inside, between = GAP_MINUTES[order]
        rounds = np.arange(launches) * (inside + between)
        minutes = [rounds + inside * (begins == side) for side in (1, 0)]
        moved = drift(
            random, kinds[pair // len(orders) % len(kinds)], np.sort(np.concatenate(minutes))
        )
        place = np.argsort(np.argsort(np.concatenate(minutes)))
        factors = np.split(np.exp(moved[place]), 2)
        runs = [
            read_as(name, values[pair] * factor[:, None], minutes=when)
            for name, values, factor, when in zip("ab", sides, factors, minutes, strict=True)
        ]
        found.append(compare(runs[:1], runs[1:], Question(paired=paired)))
    return found


def alarms(comparisons: Sequence[Comparison]) -> float:
    return sum(c.counts["better"] + c.counts["worse"] > 0 for c in comparisons) / len(comparisons)


def power(comparisons: Sequence[Comparison]) -> float:
    """The share in which the shift of the first figure is found."""
    return sum(c.figures[0].verdict == "worse" for c in comparisons) / len(comparisons)


def bound(share: float, trials: int) -> float:
    """Three standard errors of a share."""
    return 3.0 * math.sqrt(share * (1.0 - share) / trials)


def test_drift_without_a_change_raises_few_alarms_and_pairs_are_chosen() -> None:
    comparisons = compared(180, 14, 2, seed=2)
    # Where the lot made one side begin nearly always, nothing is proven, and all are with all.
    assert sum(c.paired for c in comparisons) >= 170
    assert alarms(comparisons) <= 0.05 + bound(0.05, 180)


def test_pairs_find_what_drift_hides() -> None:
    by_pairs, apart = (
        power(compared(60, 14, 1, shift=SHIFT, kinds=["line", "walk"], paired=p, seed=3))
        for p in (None, False)
    )
    assert by_pairs > apart + 0.2


@pytest.mark.soak
def test_a_thousand_drifting_pairs_without_a_change_raise_few_alarms() -> None:
    rates = {
        (launches, figures): alarms(compared(1000, launches, figures, seed=launches))
        for launches, figures in ((12, 1), (18, 20))
    }
    by_kind = {kind: alarms(compared(1000, 15, 2, kinds=[kind], seed=7)) for kind in DRIFTS}
    by_order = {order: alarms(compared(1000, 15, 2, orders=[order], seed=8)) for order in ORDERS}
    print("false alarms of 1000 by (launches, figures):", rates)
    print("by drift:", by_kind, "by order:", by_order)
    assert max(rates.values()) <= 0.05
    assert max([*by_kind.values(), *by_order.values()]) <= 0.05 + bound(0.05, 1000)


@pytest.mark.soak
def test_the_gain_of_pairs() -> None:
    for kind in DRIFTS:
        for order in ORDERS:
            found = [
                power(compared(500, 14, 1, shift=SHIFT, kinds=[kind], orders=[order], paired=p))
                for p in (None, False)
            ]
            print(f"{order}, {kind}: {found[0]:.3f} by pairs, {found[1]:.3f} all with all")
            if kind in ("line", "walk", "all"):
                assert found[0] > found[1]


def planned_and_found(
    pilot_launches: int, pairs: int, kind: str, asked: float
) -> tuple[int, float, float]:
    """Launches that `compare --plan --paired` takes from a run that drifted, the power that it
    predicts, and the share of pairs of runs with so many in which the shift was found."""
    random = np.random.default_rng(4)
    minutes = np.arange(pilot_launches) * 1.0
    moved = drift(random, kind, minutes + 1.0)
    values = launch_values(random, 1, pilot_launches, 1)[0] * np.exp(moved)[:, None]
    (launches,) = read_as("pilot", values, minutes=minutes).values.values()
    plan, reason = plan_of(launches, SHIFT, asked, Question().false_alarms, Question(paired=True))
    assert plan is not None, reason
    assert plan.launches is not None
    made = compared(
        pairs, plan.launches, 1, shift=SHIFT, kinds=[kind], orders=["there and back"], seed=7
    )
    return plan.launches, plan.power, power(made)


def test_turns_find_a_shift_as_often_as_planned() -> None:
    _, predicted, found = planned_and_found(1000, 120, "walk", 0.8)
    assert abs(found - predicted) <= bound(predicted, 120) + 0.03


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["none", "walk"])
@pytest.mark.parametrize("asked", [0.5, 0.8, 0.9])
def test_a_thousand_turns_find_a_shift_as_often_as_planned(kind: str, asked: float) -> None:
    launches, predicted, found = planned_and_found(4000, 1000, kind, asked)
    print(f"{kind}, {launches} launches: {predicted:.3f} predicted, {found:.3f} found")
    assert abs(found - predicted) <= bound(predicted, 1000) + bound(predicted, 2000)
