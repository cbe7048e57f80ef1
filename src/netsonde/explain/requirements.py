"""Findings on what the study required: missed, not measured, not decided, met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from netsonde.explain.data import Finding, Level, Seen
from netsonde.figures.requirements import DECISIONS, Decision, Requirement, requirements_of
from netsonde.units import format_count

if TYPE_CHECKING:
    from netsonde.figures.judgements import Judgement

KIND = "requirement-"
"""Kinds of findings on requirements begin so and end in the verdict."""
FAILING_KINDS = frozenset({f"{KIND}missed", f"{KIND}unmeasured"})
"""Kinds of findings that end a study with exit code 1."""
SHOWN = 4
NAMES_SHOWN = 4
DOCS = "requirements#verdicts"
LEVELS: dict[Decision, Level] = {
    "missed": "bad",
    "unmeasured": "bad",
    "undecided": "warning",
    "met": "good",
}


def requirements(seen: Seen) -> Iterator[Finding]:
    """A finding for each requirement and each verdict that it has anywhere."""
    required = requirements_of(seen.run)
    if not required:
        return
    from netsonde.figures.judgements import judge  # late: few runs have requirements

    for requirement in required:
        judged = judge(seen.run, seen.figures, [requirement])
        for verdict in DECISIONS:
            own = [judgement for judgement in judged if judgement.verdict == verdict]
            if own:
                yield _finding(seen, requirement, verdict, own, len(judged))


def _finding(
    seen: Seen, requirement: Requirement, verdict: Decision, own: Sequence[Judgement], all_of: int
) -> Finding:
    from netsonde.figures.judgements import WORDS

    points = tuple(point for judgement in own for point in judgement.points)
    return Finding(
        LEVELS[verdict],
        f"Requirement {WORDS[verdict]}: {requirement.in_words()}.",
        _evidence(seen, requirement, verdict, own, all_of),
        _advice(seen, verdict, points),
        points,
        kind=f"{KIND}{verdict}",
        docs=DOCS,
    )


def _evidence(
    seen: Seen, requirement: Requirement, verdict: Decision, own: Sequence[Judgement], all_of: int
) -> str:
    if verdict == "unmeasured" and not own[0].points:
        return _of_no_figure(seen, requirement)
    shown = "; ".join(f"{j.label}: {j.value_in_words()}" for j in own[:SHOWN])
    more = f"; and {len(own) - SHOWN} more" if len(own) > SHOWN else ""
    of_all = f"{len(own)} of {all_of}" if all_of > 1 else ""
    worst = ", the nearest to the limit first" if len(own) > 1 and verdict == "met" else ""
    worst = ", the worst first" if len(own) > 1 and verdict == "missed" else worst
    lead = f"{of_all}{worst}: " if of_all else ""
    return f"{lead}{shown}{more}."


def _of_no_figure(seen: Seen, requirement: Requirement) -> str:
    """What the points have instead: a name may be wrong by a letter."""
    ids = {point.id for point in seen.run.points if requirement.concerns(point)}
    if not any(point.measured for point in seen.run.points if point.id in ids):
        return "None of its points was measured."
    names = sorted({figure.name for figure in seen.figures if figure.point in ids})
    near = get_close_matches(requirement.figure, names, NAMES_SHOWN, cutoff=0.0) or ["none"]
    points = format_count(len(ids), "point")
    return f"{points} would be meant. The nearest names that they have: {', '.join(near)}."


def _advice(seen: Seen, verdict: Decision, points: Sequence[str]) -> str:
    again = f"`netsonde study judge {seen.run.directory}"
    if verdict == "missed":
        return f"{again}` lists all of them; the other findings may say why."
    if verdict == "undecided":
        return "It is too near to the limit for so few values: measure longer, or in six launches."
    if verdict == "met":
        return ""
    if not seen.run.finished or points:
        return "See why its points have no result; `netsonde study resume` measures what is left."
    return f"Correct the figure's name; {again} FILE` judges by another file, without measuring."
