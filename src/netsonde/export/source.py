"""What is exported: a run, its figures and findings, each made when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from netsonde.explain import Finding
from netsonde.explain.table import explain
from netsonde.figures import Figure
from netsonde.figures.compute import figures_of
from netsonde.records.data import Run
from netsonde.records.rundir import open_run, read_manifest
from netsonde.report.lookup import Study, point_label

FIGURE_COLUMNS = (
    *("run", "origin", "point", "label", "transport", "test", "operation", "message_bytes"),
    *("launch", "figure", "unit", "value", "low", "high", "confidence", "samples"),
    *("effective_samples", "method"),
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
        return open_run(self.directory)

    @cached_property
    def figures(self) -> Sequence[Figure]:
        return figures_of(self.run)

    @cached_property
    def findings(self) -> Sequence[Finding]:
        return explain(self.run, self.figures)

    @property
    def study(self) -> Study:
        return Study(self.run, self.figures)

    @property
    def name(self) -> str:
        """The run directory's own name."""
        return self.directory.resolve().name

    def figure_rows(self) -> list[tuple[Cell, ...]]:
        """One row for each figure, its cells those of ``FIGURE_COLUMNS``."""
        points = {point.id: point for point in self.run.points}
        rows: list[tuple[Cell, ...]] = []
        for figure in self.figures:
            point = points.get(figure.point)
            rows.append(
                (
                    *(self.name, self.run.origin, figure.point),
                    point_label(point) if point else figure.point,
                    *(figure.transport, figure.test, figure.operation, figure.message_bytes),
                    point.parameters.get("launch") if point else None,
                    *(figure.name, figure.unit, figure.value, figure.low, figure.high),
                    *(figure.confidence, figure.samples, figure.effective_samples, figure.method),
                )
            )
        return rows
