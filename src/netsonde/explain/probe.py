"""What experiments show: how much faster or slower a point is with one thing changed.

One value per repetition (its median or its throughput), the ratio of the medians with a bootstrap
interval (:func:`netsonde.stats.compare.ratio_interval`). As many changes are looked at together,
each interval is at 1 - 0.05/n, so that all of them hold at 95 % (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from netsonde.experiments import BASE_LABEL, experiment_called
from netsonde.explain.data import Finding, Seen
from netsonde.figures.data import Figure
from netsonde.records.data import Point, Run
from netsonde.stats.compare import ratio_interval

MARGIN = 0.03
"""Less is as good as nothing."""
ALL_TOGETHER = 0.05
DOCS = "experiments#effect"

Verdict = Literal["faster", "slower", "equal", "undecided"]


@dataclass(frozen=True)
class Effect:
    """How many times as good a point is with one thing changed: above 1 is faster, whatever the
    figure. ``low`` and ``high`` are None where there are too few repetitions, all of it where
    there are none; ``failed`` is the sentence of why then."""

    name: str
    label: str
    ratio: float | None
    low: float | None
    high: float | None
    runs: int
    verdict: Verdict
    meaning: str
    failed: str = ""


def effects_of(run: Run, figures: Sequence[Figure]) -> list[Effect]:
    """The effect of each change, the most helpful first; empty where the run is no probe's."""
    values = _values(run, figures)
    if not any(point.label == BASE_LABEL for point in run.points):
        return []
    base = values.get(BASE_LABEL, [])
    labels = list(dict.fromkeys(str(p.label) for p in run.points if p.label != BASE_LABEL))
    confidence = 1 - ALL_TOGETHER / max(1, len(labels))
    found = [_effect(run, label, values.get(label, []), base, confidence) for label in labels]
    return sorted(
        (effect for effect in found if effect is not None), key=lambda e: -(e.ratio or 0.0)
    )


def _values(run: Run, figures: Sequence[Figure]) -> dict[str, list[float]]:
    by_point = {(f.point, f.name): f.value for f in figures}
    values: dict[str, list[float]] = {}
    for point in run.points:
        value = by_point.get((point.id, point.kind.main))
        if value is not None and value > 0 and point.label is not None:
            values.setdefault(point.label, []).append(value)
    return values


def _effect(
    run: Run, label: str, changed: list[float], base: list[float], confidence: float
) -> Effect | None:
    known = experiment_called(label)
    if known is None:
        return None
    experiment, filled = known
    if not changed or not base:
        failed = next((p.error for p in run.points if p.label == label and p.error), "")
        return Effect(
            experiment.name, label, None, None, None, len(changed), "undecided", "", failed
        )
    less_is_better = _probed(run).kind.main_is_time
    a, b = (base, changed) if less_is_better else (changed, base)
    interval = ratio_interval(a, b, paired=False, confidence=confidence)
    verdict = _verdict(interval.ratio, interval.low, interval.high)
    meaning = {
        "faster": experiment.if_faster,
        "slower": experiment.if_slower,
        "equal": experiment.if_equal,
        "undecided": "",
    }[verdict]
    return Effect(
        experiment.name,
        label,
        interval.ratio,
        interval.low,
        interval.high,
        interval.n,
        verdict,
        meaning.replace("{}", filled),
    )


def _verdict(ratio: float, low: float | None, high: float | None) -> Verdict:
    if low is None or high is None:
        return "undecided"
    if low >= 1 - MARGIN and high <= 1 + MARGIN:
        return "equal"
    if low > 1 and ratio > 1 + MARGIN:
        return "faster"
    if high < 1 and ratio < 1 - MARGIN:
        return "slower"
    return "undecided"


def _probed(run: Run) -> Point:
    return next(point for point in run.points if point.label == BASE_LABEL)


def experiments(seen: Seen) -> list[Finding]:
    """What a run of experiments shows, as a rule."""
    effects = effects_of(seen.run, seen.figures)
    return [conclusion(effects)] if effects else []


def conclusion(effects: Sequence[Effect]) -> Finding:
    """What follows from all of them together."""
    faster = [effect for effect in effects if effect.verdict == "faster"]
    slower = [effect for effect in effects if effect.verdict == "slower"]
    equal = [effect for effect in effects if effect.verdict == "equal"]
    undecided = [effect for effect in effects if effect.verdict == "undecided"]
    evidence = "; ".join(
        f"{words}: {', '.join(map(_in_words, chosen))}"
        for words, chosen in (
            ("faster with", faster),
            ("slower with", slower),
            ("as fast with", equal),
            ("not decided", undecided),
        )
        if chosen
    )
    what: dict[str, Any] = {"kind": "experiments", "docs": DOCS}
    if faster:
        best = faster[0]
        claim = f"Of what was changed, {best.label} helps most: {_times(best)} as fast."
        return Finding("warning", claim, evidence, best.meaning, **what)
    if undecided:
        claim = "Nothing that was changed is known to make it faster."
        advice = "Probe with more repetitions (--repeat) on quiet hosts."
        return Finding("note", claim, evidence, advice, **what)
    claim = "Nothing that was changed makes it faster: what limits is none of these."
    sensitive = next((effect.meaning for effect in reversed(slower) if effect.meaning), "")
    return Finding("note", claim, evidence, sensitive, **what)


def _times(effect: Effect) -> str:
    if effect.ratio is None or effect.low is None or effect.high is None:
        return "not measured"
    return f"{effect.ratio:.3g} times ({effect.low:.3g} to {effect.high:.3g})"


def _in_words(effect: Effect) -> str:
    return f"{effect.label} {_times(effect)}" if effect.ratio is not None else effect.label
