"""How many launches a comparison needs, from the noise of launches that were made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from netsonde.compare.data import Launch, Pair
from netsonde.compare.pairing import log_differences
from netsonde.compare.values import read_values
from netsonde.compare.verdicts import DEFAULT, Question
from netsonde.errors import UsageError
from netsonde.figures.keys import FigureKey, labels_of
from netsonde.stats.arrays import FloatArray
from netsonde.stats.power import Plan, plan_launches

_LEAST_SEEN = {False: 3, True: 6}
"""Launches that tell a noise: three values, or three pairs of neighbours."""
POWER = 0.9


@dataclass(frozen=True)
class FigurePlan:
    """What one figure needs: ``seen`` launches were made; no plan where they do not tell the
    noise, and why."""

    key: FigureKey
    label: str
    seen: int
    plan: Plan | None
    reason: str = ""


@dataclass(frozen=True)
class LaunchPlan:
    """The launches a side that find a change of ``shift``, a share, in any one of the figures.
    ``paired``: where the sides are measured in turns, and judged in pairs."""

    shift: float
    power: float
    figures: tuple[FigurePlan, ...]
    paired: bool = False

    @property
    def launches(self) -> int | None:
        """Enough for every figure; None where one needs more than can be counted, or none has a
        plan."""
        asked = [f.plan.launches for f in self.figures if f.plan is not None]
        return max((n for n in asked if n is not None), default=None) if None not in asked else None

    @property
    def sentence(self) -> str:
        """What to do."""
        known = [f.plan for f in self.figures if f.plan is not None]
        if not known:
            least = "six" if self.paired else "three"
            return f"No figure has {least} launches whose values differ, so nothing can be planned."
        if self.launches is None:
            return "Some figures are too noisy: no number of launches up to 1000 is enough."
        safe = [plan.launches_safe for plan in known]
        at_most = max(n for n in safe if n is not None) if None not in safe else None
        less = "more than 1000" if at_most is None else str(at_most)
        turns = ", in turns: before, after, before and so on" if self.paired else ""
        return (
            f"Measure {self.launches} launches a side{turns}. The noise is known from few launches "
            f"only: with 80 % confidence, {less} are enough for each figure."
        )


def plan_comparison(
    directories: Sequence[Path],
    shift: float,
    power: float = POWER,
    question: Question = DEFAULT,
) -> LaunchPlan:
    """Plans from the launches of runs of one configuration; for launches in turns where pairs are
    asked for. Raises UsageError where the shift or the power is out of range, or a directory is no
    run."""
    if not 0.0 < shift < 10.0:
        raise UsageError(f"shift {shift:g} is no change that can be looked for; give it like 3%")
    if not 0.0 < power < 1.0:
        raise UsageError(f"power {power:g} is no share between 0 and 1; give it like 90%")
    found: dict[FigureKey, list[Launch]] = {}
    for directory in directories:
        for key, launches in read_values(directory, question.figures).values.items():
            found.setdefault(key, []).extend(launches)
    labels = labels_of(found)
    level = question.false_alarms / len(found)
    figures = tuple(
        FigurePlan(
            key, labels[key], len(launches), *plan_of(launches, shift, power, level, question)
        )
        for key, launches in found.items()
    )
    return LaunchPlan(shift, power, figures, bool(question.paired))


def plan_of(
    launches: Sequence[Launch], shift: float, power: float, level: float, question: Question
) -> tuple[Plan | None, str]:
    """The plan of a figure to be judged at a level, or why there is none."""
    paired = bool(question.paired)
    if min(launch.value for launch in launches) <= 0.0:
        return None, "a value is 0: no ratio"
    if len(launches) < (least := _LEAST_SEEN[paired]):
        return None, f"{least} launches tell the noise"
    noise = _neighbours(launches) if paired else np.log([launch.value for launch in launches])
    if float(np.ptp(noise)) == 0.0:
        return None, "no noise at all: any change is seen"
    asked = (noise, math.log1p(shift), power)
    margin = math.log1p(question.margin)
    return plan_launches(*asked, paired=paired, significance=level, margin=margin), ""


def _neighbours(launches: Sequence[Launch]) -> FloatArray:
    """By how much launches differ that follow each other, as if every second one were after the
    change; shape (launches // 2,), logarithms."""
    ordered = sorted(launches, key=lambda launch: launch.started_utc or "")
    before, after = ordered[0::2], ordered[1::2]
    return log_differences(before, after, [Pair(n, n) for n in range(len(after))])
