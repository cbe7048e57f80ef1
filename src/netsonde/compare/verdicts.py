"""Two sets of runs compared, figure by figure. Definitions are in docs/methods/comparison.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Literal

import numpy.typing as npt

from netsonde.compare.circumstances import differences
from netsonde.compare.data import Better, Comparison, FigureVerdict, Launch, Pair, Side, Verdict
from netsonde.compare.pairing import (
    Pairing,
    change_p,
    fewest,
    has_ratio,
    log_change,
    log_differences,
    pairing_of,
)
from netsonde.compare.values import MAIN_FIGURES, RunValues, first_time, last_time, read_values
from netsonde.errors import UsageError
from netsonde.figures.keys import FigureKey, labels_of
from netsonde.stats.groups import levels_differ_p, neighbours_alike_p
from netsonde.stats.multiplicity import holm

FALSE_ALARMS = 0.05
"""The chance that anything at all is called better or worse where nothing changed."""
EQUAL_CONFIDENCE = 0.9
"""Two one-sided tests at 5 % are one interval of 90 %."""
MARGIN = 0.03
Unit = Literal["launch", "run"]
_LEAST_EQUAL = 3
_RUNS_DIFFER = 0.01
_RELAXED = ("options.", "label", "mpi")


@dataclass(frozen=True)
class Question:
    """How a comparison is made. ``margin`` is the share up to which two values count as equal.
    ``paired``: whether launches that took turns are judged in pairs; None for where that is proven
    and there are enough of them."""

    margin: float = MARGIN
    false_alarms: float = FALSE_ALARMS
    unit: Unit = "launch"
    figures: tuple[str, ...] = MAIN_FIGURES
    paired: bool | None = None


DEFAULT = Question()


def compare_directories(
    before: Sequence[Path], after: Sequence[Path], question: Question
) -> Comparison:
    """Compares run directories. Raises UsageError where one is given twice, is no run, or where the
    sides have nothing in common."""
    given = [path.resolve() for path in (*before, *after)]
    twice = next((p for p in given if given.count(p) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is given more than once; a run can be compared with others only")
    sides = [[read_values(path, question.figures) for path in side] for side in (before, after)]
    return compare(sides[0], sides[1], question)


def compare(
    before: Sequence[RunValues],
    after: Sequence[RunValues],
    question: Question = DEFAULT,
    same: Mapping[FigureKey, FigureKey] | None = None,
) -> Comparison:
    """Compares what was read of runs; see docs/methods/comparison.md. ``same`` says which figure
    after belongs to one before, where their keys do not."""
    if not 0.0 <= question.margin < 1.0:
        raise UsageError(f"margin {question.margin:g} is no share between 0 and 1, as 3 % is 0.03")
    olds, news = _joined(before, question.unit), _joined(after, question.unit)
    ways = {key: way for run in (*before, *after) for key, way in run.ways.items()}
    matched = list(same.items()) if same is not None else _matched(olds, news)
    if not matched:
        raise UsageError(
            f"{before[0].info.directory} and {after[0].info.directory} have no figure of the same "
            "test, size and options; compare runs of one study"
        )
    labels = labels_of([old for old, _ in matched])
    level = question.false_alarms / len(matched)
    pairing = pairing_of([(olds[o], news[n]) for o, n in matched], question.paired, level)
    verdicts = [
        _measured(old, labels[old], ways[old], (olds[old], news[new]), pairs)
        for (old, new), pairs in zip(matched, pairing.pairs, strict=True)
    ]
    least = fewest(pairing.paired, level)
    changes = [_option_changes(old, new) for old, new in matched]
    verdicts = [replace(v, changed=c) for v, c in zip(verdicts, changes, strict=True)]
    judged = _judged(verdicts, question, least)
    used_old, used_new = {old for old, _ in matched}, {new for _, new in matched}
    return Comparison(
        tuple(run.info for run in before),
        tuple(run.info for run in after),
        question.margin,
        question.false_alarms,
        question.unit,
        least,
        tuple(judged),
        differences([run.facts for run in before], [run.facts for run in after]),
        _left(olds.keys() - used_old),
        _left(news.keys() - used_new),
        tuple(_notes(judged, before, after, question, least, pairing)),
        pairing.paired,
    )


def _joined(runs: Sequence[RunValues], unit: Unit) -> dict[FigureKey, list[Launch]]:
    """All launches of a side; with the run as unit, one value for each run."""
    found: dict[FigureKey, list[Launch]] = {}
    for run in runs:
        for key, launches in run.values.items():
            own = list(launches)
            if unit == "run" and len(own) > 1:
                points = tuple(point for launch in own for point in launch.points)
                value = float(median(launch.value for launch in own))
                begin = first_time([launch.started_utc for launch in own])
                end = last_time([launch.ended_utc for launch in own])
                own = [Launch(own[0].run, 1, value, None, None, points, begin, end)]
            found.setdefault(key, []).extend(own)
    return found


def _matched(
    olds: Mapping[FigureKey, object], news: Mapping[FigureKey, object]
) -> list[tuple[FigureKey, FigureKey]]:
    """Keys of both sides that belong together: the same, else the only ones that are the same but
    for options, label and MPI."""
    pairs = {key: key for key in olds if key in news}
    left_old, left_new = (
        _by_relaxed(key for key in side if key not in pairs) for side in (olds, news)
    )
    for relaxed, keys in left_old.items():
        others = left_new.get(relaxed, [])
        if len(keys) == 1 and len(others) == 1:
            pairs[keys[0]] = others[0]
    return [(key, pairs[key]) for key in olds if key in pairs]


def _by_relaxed(keys: Iterable[FigureKey]) -> dict[FigureKey, list[FigureKey]]:
    found: dict[FigureKey, list[FigureKey]] = {}
    for key in keys:
        kept = tuple(item for item in key.parameters if not item[0].startswith(_RELAXED))
        found.setdefault(replace(key, parameters=kept), []).append(key)
    return found


def _option_changes(old: FigureKey, new: FigureKey) -> tuple[str, ...]:
    """``congestion_control: cubic -> bbr`` for each parameter in which two points differ."""
    before, after = dict(old.parameters), dict(new.parameters)
    names = sorted(before.keys() | after.keys())
    return tuple(
        f"{name.removeprefix('options.')}: {before.get(name, 'default')} -> "
        f"{after.get(name, 'default')}".replace('"', "")
        for name in names
        if before.get(name) != after.get(name)
    )


def _measured(
    key: FigureKey,
    label: str,
    better: Better,
    launches: tuple[Sequence[Launch], Sequence[Launch]],
    pairs: tuple[Pair, ...],
) -> FigureVerdict:
    """A figure with its effect, before anything is judged."""
    sides = [Side(tuple(s), float(median(launch.value for launch in s))) for s in launches]
    before, after = sides
    ratio = None
    if has_ratio(before, after):
        ratio = math.exp(log_change(before, after, pairs).estimate)
    enough = min(len(side) for side in launches) > 1
    return FigureVerdict(
        *(key, label, better, before, after, ratio, None, None, 0.95, None, None),
        change_p(before, after, pairs) if enough else None,
        *(None, "unknown", False, "", (), pairs),
    )


def _judged(
    figures: Sequence[FigureVerdict], question: Question, least: int
) -> list[FigureVerdict]:
    """Verdicts, with Holm's procedure over all figures that have two launches or more a side."""
    tested = [figure for figure in figures if figure.p is not None]
    family = iter(holm([f.p for f in tested if f.p is not None], question.false_alarms))
    judged = []
    for figure in figures:
        if figure.p is None:
            judged.append(replace(figure, reason=_too_few(figure, least)))
            continue
        outcome = next(family)
        known = _with_intervals(figure, 1.0 - outcome.level, outcome.adjusted)
        known = replace(known, beyond_margin=_is_beyond(known, question.margin))
        equal = _is_equal(known, question.margin)
        verdict: Verdict = "unknown"
        if equal:
            verdict = "equal"
        elif outcome.rejected:
            verdict = "better" if _rises(known) == (figure.better == "more") else "worse"
        reason = _reason(known, verdict, question, least)
        judged.append(replace(known, verdict=verdict, reason=reason))
    return judged


def _with_intervals(figure: FigureVerdict, confidence: float, adjusted: float) -> FigureVerdict:
    if figure.ratio is None:
        return replace(figure, confidence=confidence, p_adjusted=adjusted)
    sides = figure.before, figure.after, figure.pairs
    whole, narrow = (log_change(*sides, c) for c in (confidence, EQUAL_CONFIDENCE))
    low, high, equal_low, equal_high = (
        None if end is None else math.exp(end)
        for end in (whole.low, whole.high, narrow.low, narrow.high)
    )
    return replace(
        figure,
        low=low,
        high=high,
        confidence=confidence,
        equal_low=equal_low,
        equal_high=equal_high,
        p_adjusted=adjusted,
    )


def _rises(figure: FigureVerdict) -> bool:
    if figure.ratio is not None:
        return figure.ratio > 1.0
    if figure.pairs:
        sides = figure.before.launches, figure.after.launches
        return float(log_differences(*sides, figure.pairs).mean()) > 0.0
    return figure.after.median > figure.before.median


def _is_equal(figure: FigureVerdict, margin: float) -> bool:
    """The 90 % interval lies within the margin, which is as wide down as up: 1 / 1.03 to 1.03."""
    if figure.equal_low is None or figure.equal_high is None:
        # What counts and never was anything else, as no loss at all, is equal.
        values = {*figure.before.values, *figure.after.values}
        enough = min(len(figure.before.launches), len(figure.after.launches)) >= _LEAST_EQUAL
        return enough and len(values) == 1
    return 1.0 / (1.0 + margin) < figure.equal_low and figure.equal_high < 1.0 + margin


def _is_beyond(figure: FigureVerdict, margin: float) -> bool:
    if figure.low is None or figure.high is None:
        return False
    return figure.low > 1.0 + margin or figure.high < 1.0 / (1.0 + margin)


def _units(figure: FigureVerdict) -> int:
    """How many values the change of a figure was judged by: pairs, or launches of the lesser
    side."""
    sides = figure.before.launches, figure.after.launches
    return len(figure.pairs) or min(len(side) for side in sides)


def _too_few(figure: FigureVerdict, least: int) -> str:
    old, new = len(figure.before.launches), len(figure.after.launches)
    return (
        f"{old} launch{'es' * (old != 1)} before and {new} after: how far another launch would "
        f"differ is not known; measure {least} or more a side"
    )


def _reason(figure: FigureVerdict, verdict: Verdict, question: Question, least: int) -> str:
    units = _units(figure)
    if verdict == "unknown" and figure.ratio is None:
        return "a value is 0, so that there is no ratio, and ranks show no change"
    if verdict == "unknown" and units < least:
        made = f"{units} pairs" if figure.pairs else f"{units} launches a side"
        return f"{made} cannot prove a change of one in so many figures; measure {least} or more"
    if verdict == "unknown":
        return f"neither a change nor equality within {percent(question.margin)} is proven"
    if verdict in ("better", "worse") and not figure.beyond_margin:
        return f"changed, but not provably by more than {percent(question.margin)}"
    return ""


def percent(share: float) -> str:
    """0.03 -> ``3 %``."""
    return f"{100 * share:.3g} %"


def _left(keys: Iterable[FigureKey]) -> tuple[str, ...]:
    points = {replace(key, figure="") for key in keys}
    return tuple(sorted(labels_of(points).values()))


def _notes(
    figures: Sequence[FigureVerdict],
    before: Sequence[RunValues],
    after: Sequence[RunValues],
    question: Question,
    least: int,
    pairing: Pairing,
) -> Iterable[str]:
    """Sentences on the whole of it."""
    units = [_units(f) for f in figures]
    if max(min(len(f.before.launches), len(f.after.launches)) for f in figures) == 1:
        yield (
            "Each side has one launch. Its messages tell how well that launch is known, not how "
            f"far another would differ, so nothing is decided: measure {least} launches or more "
            f"a side (--launches {least}, or give several runs with --before and --after)."
        )
    elif min(units) < least:
        what = "pairs are" if pairing.paired else "launches of a side are"
        yield (
            f"The fewest {what} {min(units)}; {least} are the least that can prove a "
            f"change of one in {len(figures)} figures."
        )
    if pairing.note:
        yield pairing.note
    if not pairing.paired:
        yield from _notes_on_sides(figures, before, after, question)
    elif count := _drifting([log_differences(*_sides(f), f.pairs) for f in figures]):
        yield (
            f"The changes of pairs that follow each other are alike ({count} of {len(figures)} "
            "figures): something drifts on one side alone, which makes false alarms likelier than "
            "said."
        )
    if len({run.info.origin for run in (*before, *after)}) > 1:
        yield "The runs are not of one kind (real, emulated, simulated): a change may be that."


def _sides(figure: FigureVerdict) -> tuple[tuple[Launch, ...], tuple[Launch, ...]]:
    return figure.before.launches, figure.after.launches


def _notes_on_sides(
    figures: Sequence[FigureVerdict],
    before: Sequence[RunValues],
    after: Sequence[RunValues],
    question: Question,
) -> Iterable[str]:
    """What makes launches of a side no good measure of how far another one would differ."""
    for word, side in (("before", before), ("after", after)):
        if question.unit == "launch" and (count := _uneven(side)):
            yield (
                f"The runs {word} differ more than their launches do ({count} of {len(figures)} "
                "figures): compare them with --unit run."
            )
        series = [launches for run in side for launches in run.values.values()]
        if count := _drifting([[launch.value for launch in s] for s in series]):
            yield (
                f"Launches {word} that follow each other are alike ({count} of {len(figures)} "
                "figures): something drifts, which makes false alarms likelier than said. Measure "
                "before and after in turns, in short runs."
            )


def _drifting(series: Sequence[npt.ArrayLike]) -> int:
    """How many series have values whose order matters, at 1 % over all of them."""
    p_values = [neighbours_alike_p(values) for values in series]
    return sum(tested.rejected for tested in holm(p_values, _RUNS_DIFFER))


def _uneven(side: Sequence[RunValues]) -> int:
    """How many figures have runs at different levels, at 1 % over all of them."""
    groups: dict[FigureKey, list[list[float]]] = {}
    for run in side:
        for key, launches in run.values.items():
            if len(launches) > 1:
                groups.setdefault(key, []).append([launch.value for launch in launches])
    p_values = [levels_differ_p(values) for values in groups.values() if len(values) > 1]
    return sum(tested.rejected for tested in holm(p_values, _RUNS_DIFFER)) if p_values else 0
