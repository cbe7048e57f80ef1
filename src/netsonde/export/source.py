"""What is exported: a run, its figures and findings, each made when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from netsonde.explain import Finding
from netsonde.explain.table import explain
from netsonde.figures import Figure
from netsonde.figures.compute import figures_of
from netsonde.names import as_text
from netsonde.records.data import Run
from netsonde.records.rundir import open_measured, read_manifest
from netsonde.report.lookup import Study, condition_label, point_label

FIGURE_COLUMNS = (
    *("run", "origin", "point", "label", "transport", "test", "operation", "message_bytes"),
    *("launch", "figure", "unit", "value", "low", "high", "confidence", "samples"),
    *("effective_samples", "method", "basis", "launches"),
)
Cell = str | int | float | None


class Source:
    """A run directory that is exported. Raises UsageError where it is none."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.manifest = read_manifest(directory)

    @cached_property
    def run(self) -> Run:
        """With all its samples in memory."""
        return open_measured(self.directory)

    @cached_property
    def figures(self) -> Sequence[Figure]:
        return figures_of(self.run)

    @cached_property
    def findings(self) -> Sequence[Finding]:
        return explain(self.run, self.figures)

    @cached_property
    def study(self) -> Study:
        return Study(self.run, self.figures)

    @cached_property
    def name(self) -> str:
        """The run directory's own name."""
        return as_text(self.directory.resolve().name)

    def figure_rows(self) -> list[tuple[Cell, ...]]:
        """One row for each figure of a point, its cells those of ``FIGURE_COLUMNS``; then one for
        each that has several launches, over them."""
        points = {point.id: point for point in self.run.points}
        rows = []
        for figure in self.figures:
            point = points.get(figure.point)
            label = point_label(point) if point else figure.point
            launch = point.spec.launch if point else None
            basis = "none" if figure.low is None else "within"
            rows.append(self._row(figure, label, launch, (figure.confidence, basis, 1)))
        for headline in self.study.headlines.several:
            first = points.get(headline.points[0])
            label = condition_label(first) if first else headline.label
            over = headline.over
            worth = (over.confidence, headline.basis, over.launches)
            rows.append(self._row(headline.figure, label, None, worth))
        return rows

    def _row(
        self, figure: Figure, label: str, launch: int | None, worth: tuple[Cell, str, int]
    ) -> tuple[Cell, ...]:
        confidence, basis, launches = worth
        return (
            *(self.name, self.run.origin, figure.point, label),
            *(figure.transport, figure.test, figure.operation, figure.message_bytes),
            *(launch, figure.name, figure.unit, figure.value, figure.low, figure.high),
            *(confidence, figure.samples, figure.effective_samples, figure.method),
            *(basis, launches),
        )
