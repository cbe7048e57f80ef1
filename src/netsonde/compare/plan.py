"""How many launches a comparison needs, from the noise of launches that were made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from netsonde.compare.data import FigureKey
from netsonde.compare.values import labels_of, read_values
from netsonde.compare.verdicts import DEFAULT, Question
from netsonde.errors import UsageError
from netsonde.stats.power import Plan, plan_launches

_LEAST_SEEN = 3
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
    """The launches a side that find a change of ``shift``, a share, in any one of the figures."""

    shift: float
    power: float
    figures: tuple[FigurePlan, ...]

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
            return "No figure has three launches whose values differ, so nothing can be planned."
        if self.launches is None:
            return "Some figures are too noisy: no number of launches up to 1000 is enough."
        safe = [plan.launches_safe for plan in known]
        at_most = max(n for n in safe if n is not None) if None not in safe else None
        less = "more than 1000" if at_most is None else str(at_most)
        return (
            f"Measure {self.launches} launches a side. The noise is known from few launches only: "
            f"with 80 % confidence, {less} are enough for each figure."
        )


def plan_comparison(
    directories: Sequence[Path],
    shift: float,
    power: float = POWER,
    question: Question = DEFAULT,
) -> LaunchPlan:
    """Plans from the launches of runs of one configuration. Raises UsageError where the shift or
    the power is out of range, or a directory is no run."""
    if not 0.0 < shift < 10.0:
        raise UsageError(f"shift {shift:g} is no change that can be looked for; give it like 3%")
    if not 0.0 < power < 1.0:
        raise UsageError(f"power {power:g} is no share between 0 and 1; give it like 90%")
    found: dict[FigureKey, list[float]] = {}
    for directory in directories:
        for key, launches in read_values(directory, question.figures).values.items():
            found.setdefault(key, []).extend(launch.value for launch in launches)
    labels = labels_of(found)
    level = question.false_alarms / len(found)
    figures = [
        _plan(key, labels[key], values, shift, power, level, question.margin)
        for key, values in found.items()
    ]
    return LaunchPlan(shift, power, tuple(figures))


def _plan(
    key: FigureKey,
    label: str,
    values: Sequence[float],
    shift: float,
    power: float,
    level: float,
    margin: float,
) -> FigurePlan:
    seen = len(values)
    if min(values) <= 0.0:
        return FigurePlan(key, label, seen, None, "a value is 0: no ratio")
    if seen < _LEAST_SEEN:
        return FigurePlan(key, label, seen, None, f"{_LEAST_SEEN} launches tell the noise")
    logs = np.log(values)
    if float(np.ptp(logs)) == 0.0:
        return FigurePlan(key, label, seen, None, "no noise at all: any change is seen")
    plan = plan_launches(
        *(logs, math.log1p(shift), power), significance=level, margin=math.log1p(margin)
    )
    return FigurePlan(key, label, seen, plan)
