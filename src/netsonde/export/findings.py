"""A run's points and findings as JUnit XML, for a CI system."""

from __future__ import annotations

from xml.etree import ElementTree

from netsonde.compare.gate import add, case_of, suites_of
from netsonde.explain.requirements import KIND
from netsonde.export.source import Source
from netsonde.figures.judgements import WORDS, Judgement
from netsonde.report.lookup import point_label
from netsonde.report.requirement_table import judgements_of


def junit(source: Source) -> str:
    """A case for each point, which is an error where it could not be measured and skipped where it
    was not; one for each requirement at each point, which fails where it is missed and is skipped
    where it is undecided; and one for each other finding, which fails where it is bad. What a case
    has to say is its output."""
    cases = []
    for point in source.run.points:
        case = case_of(f"points.{point.transport}.{point.test}", f"{point.id} {point_label(point)}")
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
    ]
    return suites_of(f"netsonde {manifest.get('name', 'run')}", cases, properties)


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
