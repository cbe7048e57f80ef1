"""A run held beside what its figures have to be, as lines or as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Literal

import typer
from rich.console import Console
from rich.text import Text

from netsonde.errors import UsageError, VerdictError
from netsonde.figures.compute import figures_of
from netsonde.figures.judgements import WORDS, Judgement, counts_in_words, counts_of, judge
from netsonde.figures.requirements import Decision, requirements_of
from netsonde.records.rundir import open_run
from netsonde.study.requirements import read_requirements
from netsonde.units import format_count

MOST_ROWS = 20
"""Of one requirement; the worst come first, and the JSON document has all."""
_STYLES: dict[Decision, str] = {
    "missed": "bold red",
    "unmeasured": "bold red",
    "undecided": "bold yellow",
    "met": "bold green",
}
FailOn = Literal["missed", "undecided", "never"]
FAILING: dict[FailOn, tuple[Decision, ...]] = {
    "missed": ("missed", "unmeasured"),
    "undecided": ("missed", "unmeasured", "undecided"),
    "never": (),
}
"""Which verdicts make the exit code 1."""


def judge_and_show(directory: Path, file: Path | None, fail_on: FailOn, as_json: bool) -> None:
    """Judges a run by its own requirements, or by those of a file. Raises UsageError where there
    are none, VerdictError where one fails."""
    run = open_run(directory)
    requirements = requirements_of(run) if file is None else read_requirements(file)
    if not requirements:
        raise UsageError(
            f"the study of {directory} required nothing; give a file with blocks [[require]], as "
            f"in netsonde study judge {directory} limits.toml"
        )
    judgements = judge(run, figures_of(run), requirements)
    if as_json:
        typer.echo(json.dumps(as_document(directory, judgements), indent=1))
    else:
        print_judgements(judgements, Console(highlight=False))
    failed = [j for j in judgements if j.verdict in FAILING[fail_on]]
    if failed:
        raise VerdictError(sentence(failed))


def as_document(directory: Path, judgements: Sequence[Judgement]) -> dict[str, object]:
    """What ``--json`` prints."""
    return {
        "run": str(directory),
        "counts": counts_of(judgements),
        "judgements": [
            {
                "requirement": j.requirement.as_json(),
                "label": j.label,
                "verdict": j.verdict,
                "value": j.value,
                "low": j.low,
                "high": j.high,
                "launches": j.launches,
                "points": list(j.points),
            }
            for j in judgements
        ],
    }


def print_judgements(judgements: Sequence[Judgement], console: Console) -> None:
    """A heading for each requirement, below it a line for each point, then the sums."""
    for requirement, group in groupby(judgements, key=lambda j: j.requirement):
        console.print(Text(requirement.in_words(), style="bold"))
        _print_rows(list(group), console)
    console.print(Text(counts_in_words(judgements)))


def _print_rows(judged: Sequence[Judgement], console: Console) -> None:
    width = max(len(WORDS[judgement.verdict]) for judgement in judged)
    indent = " " * (width + 4)
    for judgement in judged[:MOST_ROWS]:
        verdict = WORDS[judgement.verdict]
        rest = " " * (width - len(verdict) + 2) + _told(judgement)
        first, *more = wrap(f"  {verdict}{rest}", console.width, subsequent_indent=indent)
        line = Text(first)
        line.stylize(_STYLES[judgement.verdict], 2, 2 + len(verdict))
        console.print(line, *map(Text, more), sep="\n", soft_wrap=True)
    left = judged[MOST_ROWS:]
    if left:
        console.print(Text(f"  and {counts_in_words(left)}: --json has them", style="dim"))


def _told(judgement: Judgement) -> str:
    if judgement.value is None:
        return judgement.label
    several = f", {judgement.launches} launches" if judgement.launches > 1 else ""
    return f"{judgement.label}{several}: {judgement.value_in_words()}"


def sentence(failed: Sequence[Judgement]) -> str:
    """What an exit code of 1 means."""
    first = failed[0]
    has = f" has {first.value_in_words()}" if first.value is not None else ""
    counted = format_count(len({j.requirement for j in failed}), "requirement")
    return f"{counted} failed, the first: {first.requirement.in_words()}; {first.label}{has}"
