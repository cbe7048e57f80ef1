"""Two conditions of one run as the two sides of a comparison: what a study varied, or its MPIs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from netsonde.compare.data import Comparison
from netsonde.compare.values import RunValues, values_of
from netsonde.compare.verdicts import Question, compare
from netsonde.errors import UsageError
from netsonde.figures.keys import FigureKey
from netsonde.records.data import Point
from netsonde.records.rundir import open_run

_NAMED = 12


def compare_conditions(directory: Path, before: str, after: str, question: Question) -> Comparison:
    """Compares the points of a run of one condition with those of another.

    A condition is a part of the points' label, as ``vary`` gives them, or an MPI. Raises UsageError
    where the run has no such condition, or nothing that is the same but for it.
    """
    run = open_run(directory)
    conditions = {word: None for point in run.points for word in _words(point)}
    sides: list[RunValues] = []
    for word in (before, after):
        if word not in conditions:
            raise UsageError(f"{directory} has no condition {word!r}; {_there_are(conditions)}")
        points = [point for point in run.points if word in _words(point)]
        sides.append(values_of(replace(run, points=points), question.figures))
    same = _matched(sides[0].values, sides[1].values, (before, after))
    if before == after or not same:
        raise UsageError(
            f"{before!r} and {after!r} of {directory} have no figure in common that is the same "
            "but for them; name two values of one thing that the study varied"
        )
    named = [
        replace(side, info=replace(side.info, name=word))
        for word, side in zip((before, after), sides, strict=True)
    ]
    return compare(named[:1], named[1:], question, same)


def _words(point: Point) -> list[str]:
    words = [word.strip() for word in (point.label or "").split(",")]
    return [word for word in (*words, point.spec.mpi or "") if word]


def _there_are(conditions: Mapping[str, None]) -> str:
    if not conditions:
        return "its study varied nothing, and has one MPI at most"
    more = len(conditions) - _NAMED
    named = ", ".join(repr(word) for word in list(conditions)[:_NAMED])
    return f"there are {named}" + (f" and {more} more" if more > 0 else "")


def _matched(
    olds: Mapping[FigureKey, object], news: Mapping[FigureKey, object], words: Sequence[str]
) -> dict[FigureKey, FigureKey]:
    """Keys that are the same but for what makes the two conditions: the word itself in the label,
    and every parameter that has one value in all of the one and another in all of the other."""
    values = [_constant(side) for side in (olds, news)]
    own = {
        name
        for name in values[0].keys() | values[1].keys()
        if values[0].get(name) != values[1].get(name) and name != "label"
    }
    plain = {_without(key, own, words[1]): key for key in news}
    found = {}
    for key in olds:
        other = plain.get(_without(key, own, words[0]))
        if other is not None and other != key:
            found[key] = other
    return found


def _constant(keys: Mapping[FigureKey, object]) -> dict[str, str]:
    """Parameters that all keys of a side have with the same value."""
    shared = set.intersection(*(set(key.parameters) for key in keys)) if keys else set()
    return dict(shared)


def _without(key: FigureKey, names: set[str], word: str) -> FigureKey:
    kept = {name: text for name, text in key.parameters if name not in names}
    if "label" in kept:
        words = [part.strip() for part in json.loads(kept.pop("label")).split(",")]
        kept |= {"label": ", ".join(part for part in words if part != word)}
    return replace(key, parameters=tuple(sorted(kept.items())))
