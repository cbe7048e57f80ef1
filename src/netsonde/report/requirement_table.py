"""What the study required, and what became of it at each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netsonde.explain.requirements import LEVELS
from netsonde.figures import Figure
from netsonde.figures.judgements import NO_INTERVAL, WORDS, Judgement, counts_in_words, judge
from netsonde.figures.requirements import DECISIONS, requirements_of
from netsonde.report.lookup import Study
from netsonde.report.plot import Table, plain_table
from netsonde.report.quantity import format_value_and_interval


@dataclass(frozen=True)
class RequirementRow:
    """``level`` has the colours of a finding's; ``point`` is where a link leads, if anywhere."""

    figure: str
    limits: str
    label: str
    point: str | None
    value: str
    interval: str
    launches: int
    level: str
    verdict: str


@dataclass(frozen=True)
class RequirementRows:
    """The first of all rows, the worst of all first, and how many more there are."""

    rows: list[RequirementRow]
    summary: str
    left_out: int


def judgements_of(study: Study) -> list[Judgement]:
    """Those on the requirements of the run's own study."""
    return judge(study.run, study.figures, requirements_of(study.run))


def requirement_rows(study: Study, most: int) -> RequirementRows | None:
    """At most so many rows; None where nothing was required."""
    judged = judgements_of(study)
    if not judged:
        return None
    worst_first = sorted(judged, key=lambda j: DECISIONS.index(j.verdict))
    return RequirementRows(
        [_row(j) for j in worst_first[:most]], counts_in_words(judged), len(judged[most:])
    )


def _row(judgement: Judgement) -> RequirementRow:
    value, interval = _in_words(judgement)
    return RequirementRow(
        judgement.requirement.figure,
        judgement.requirement.limits_in_words(),
        judgement.label,
        judgement.points[0] if judgement.points else None,
        value,
        interval,
        judgement.launches,
        LEVELS[judgement.verdict],
        WORDS[judgement.verdict],
    )


def _in_words(judgement: Judgement) -> tuple[str, str]:
    if judgement.value is None:
        return "–", ""
    name, value, low, high = (
        judgement.requirement.figure,
        judgement.value,
        judgement.low,
        judgement.high,
    )
    figure = Figure("", "", "", None, 0, name, value, low, high, judgement.launches, None, "")
    words, interval = format_value_and_interval(figure)
    return words, interval or (NO_INTERVAL if judgement.verdict == "undecided" else "")


def requirements_table(study: Study) -> Table:
    """A row for each judgement, raw: limits and values in the unit of the figure's name."""
    return table_of(judgements_of(study))


def table_of(judgements: Sequence[Judgement]) -> Table:
    return plain_table(
        "requirements",
        "Requirements",
        judgements,
        figure=lambda j: j.requirement.figure,
        at_least=lambda j: j.requirement.at_least,
        at_most=lambda j: j.requirement.at_most,
        label=lambda j: j.label,
        points=lambda j: " ".join(j.points),
        launches=lambda j: j.launches,
        value=lambda j: j.value,
        low=lambda j: j.low,
        high=lambda j: j.high,
        verdict=lambda j: j.verdict,
    )
