"""A run's points and findings as JUnit XML, for a CI system."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from xml.etree import ElementTree

from netsonde.compare.gate import add, case_of, suites_of
from netsonde.explain.requirements import KIND
from netsonde.export.source import Source
from netsonde.figures.judgements import WORDS, Judgement
from netsonde.records.data import Point
from netsonde.report.lookup import point_label
from netsonde.report.requirement_table import judgements_of


def junit(source: Source) -> str:
    """A case for each point, which is an error where it could not be measured and skipped where it
    was not; one for each requirement at each point, which fails where it is missed and is skipped
    where it is undecided; and one for each other finding, which fails where it is bad. What a case
    has to say is its output."""
    cases = []
    for point in source.run.points:
        group, name = f"points.{point.transport}.{point.test}", f"{point.id} {point_label(point)}"
        case = case_of(group, name, lasted_s(point))
        if point.status == "failed":
            add(case, "error", point.error or "failed", type="failed")
        elif not point.measured:
            add(case, "skipped", "not measured")
        cases.append(case)
    cases += [_requirement(j) for j in judgements_of(source.study)]
    findings = [f for f in source.findings if not f.kind.startswith(KIND)]
    for number, finding in enumerate(findings, 1):
        name = " ".join(filter(None, (f"{number}", finding.kind, finding.place)))
        case = case_of(f"findings.{finding.level}", name)
        if finding.level == "bad":
            add(case, "failure", finding.claim, type=finding.kind or "finding")
        told = (finding.claim, finding.evidence, finding.advice)
        add(case, "system-out", text="\n".join(part for part in told if part))
        cases.append(case)
    manifest = source.manifest
    properties = [
        ("run", source.name),
        ("origin", source.run.origin),
        ("started_utc", str(manifest.get("started_utc") or "")),
        *((f"version.{k}", str(v)) for k, v in (manifest.get("versions") or {}).items()),
        *_headlines(source),
    ]
    return suites_of(f"netsonde {manifest.get('name', 'run')}", cases, properties)


def lasted_s(point: Point) -> float:
    """How long a point was measured, in seconds; 0 where nobody knows."""
    if not point.started_utc or not point.ended_utc:
        return 0.0
    begin, end = (datetime.fromisoformat(t) for t in (point.started_utc, point.ended_utc))
    return max(0.0, (end - begin).total_seconds())


def _headlines(source: Source) -> Iterator[tuple[str, str]]:
    """The main figure of each condition over its launches, with its interval."""
    examples = {point.id: point for point in source.run.points}
    for headline in source.study.headlines.all:
        example = examples.get(headline.points[0])
        if example is None or not example.kind.is_main(headline.key.figure):
            continue
        over = headline.over
        ends = "" if over.low is None else f" ({over.low:.10g} to {over.high:.10g})"
        name = f"figure.{headline.label}.{headline.key.figure}"
        yield name, f"{over.value:.10g}{ends} {headline.basis_in_words()}"


def _requirement(judgement: Judgement) -> ElementTree.Element:
    required = judgement.requirement.in_words()
    case = case_of("requirements", f"{required}: {judgement.label}")
    told = f"{WORDS[judgement.verdict]}: {judgement.value_in_words()}"
    if judgement.verdict in ("missed", "unmeasured"):
        add(case, "failure", told, type=judgement.verdict)
    elif judgement.verdict == "undecided":
        add(case, "skipped", told)
    add(case, "system-out", text=told)
    return case
