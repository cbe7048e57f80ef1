"""A run with everything that the report makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from report_synthetic import synthetic_figures, synthetic_findings, synthetic_run

from netsonde.explain import Finding
from netsonde.figures import Figure
from netsonde.records.data import Run
from netsonde.report.page import write_report


@dataclass(frozen=True)
class Made:
    """A run, what was computed of it, and its page."""

    run: Run
    figures: list[Figure]
    findings: list[Finding]
    page: Path

    @property
    def text(self) -> str:
        return self.page.read_text(encoding="utf-8")


def make(directory: Path, run: Run | None = None) -> Made:
    run = run or synthetic_run(directory, samples=3000)
    figures = synthetic_figures(run)
    findings = synthetic_findings()
    return Made(run, figures, findings, write_report(run, figures, findings, directory))
