"""A run's points and findings as JUnit XML, for a CI system."""

from __future__ import annotations

from netsonde.compare.gate import add, case_of, suites_of
from netsonde.export.source import Source
from netsonde.report.lookup import point_label


def junit(source: Source) -> str:
    """A case for each point, which is an error where it could not be measured and skipped where it
    was not; and one for each finding, which fails where it is bad. What a case has to say is its
    output."""
    cases = []
    for point in source.run.points:
        case = case_of(f"points.{point.transport}.{point.test}", f"{point.id} {point_label(point)}")
        if point.status == "failed":
            add(case, "error", point.error or "failed", type="failed")
        elif not point.measured:
            add(case, "skipped", "not measured")
        cases.append(case)
    for number, finding in enumerate(source.findings, 1):
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
