"""A run in Python: ``run = netsonde.open(DIR)``, then tables of what it holds.

The tables are those of docs/reference/python.md, as polars has them; ``.to_pandas()`` makes one for
pandas where pandas and pyarrow are installed.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from netsonde.errors import UsageError
from netsonde.explain.data import Finding
from netsonde.explain.table import explain
from netsonde.extras import missing_in_words
from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure
from netsonde.figures.headlines import Headlines
from netsonde.figures.judgements import judge
from netsonde.figures.requirements import requirements_of
from netsonde.records.data import Run
from netsonde.records.rundir import open_run

if TYPE_CHECKING:
    import polars as pl

FINDINGS_SHOWN = 12


def _tables() -> ModuleType:
    """What makes tables. Raises UsageError where the library of tables is not installed."""
    try:
        from netsonde.figures import tables
    except ModuleNotFoundError as error:
        raise UsageError(missing_in_words(error) or str(error)) from error
    return tables


class OpenedRun:
    """A run directory that was read. Figures and findings are made when they are first asked for.

    ``run`` is the run itself, with its points and their arrays.
    """

    def __init__(self, directory: str | Path) -> None:
        self.run: Run = open_run(Path(directory))

    @cached_property
    def _figures(self) -> list[Figure]:
        return figures_of(self.run)

    @cached_property
    def _headlines(self) -> Headlines:
        return Headlines(self.run.points, self._figures)

    @cached_property
    def _findings(self) -> list[Finding]:
        return explain(self.run, self._figures)

    def points(self) -> pl.DataFrame:
        """One row for each point: what was asked for, how it ended."""
        table: pl.DataFrame = _tables().points_table(self.run)
        return table

    def samples(
        self, series: str | Iterable[str] | None = None, point: str | Iterable[str] | None = None
    ) -> pl.DataFrame:
        """One row for each sample, of all series and points or of those that are named.

        Times are in ns, as the names of the series say. Of a large run, name what is needed: a row
        takes some thirty bytes.
        """
        table: pl.DataFrame = _tables().samples_table(self.run, _names(series), _names(point))
        return table

    def figures(self) -> pl.DataFrame:
        """One row for each figure of each point, with its interval and the page that defines it,
        and one for each that has several launches, over them; ``basis`` says which."""
        table: pl.DataFrame = _tables().figures_table(self._figures, self._headlines.all)
        return table

    def headlines(self) -> pl.DataFrame:
        """One row for each figure of each condition, over its launches: what the report shows."""
        table: pl.DataFrame = _tables().headlines_table(self._headlines.all)
        return table

    def findings(self) -> pl.DataFrame:
        """One row for each finding, what matters most first."""
        table: pl.DataFrame = _tables().findings_table(self._findings)
        return table

    def requirements(self) -> pl.DataFrame:
        """One row for each requirement of the study and each of its points, the worst first."""
        judged = judge(self.run, self._figures, requirements_of(self.run))
        table: pl.DataFrame = _tables().requirements_table(judged)
        return table

    def __repr__(self) -> str:
        measured = sum(point.measured for point in self.run.points)
        return (
            f"<netsonde run {self.run.manifest.get('name', '')!r}, {self.run.origin}: "
            f"{measured} of {len(self.run.points)} points measured, in {self.run.directory}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the findings that matter most."""
        rows = "".join(
            f"<tr><th scope='row'>{_text(f.level)}</th><td>{_text(f.claim)}</td></tr>"
            for f in self._findings[:FINDINGS_SHOWN]
        )
        more = len(self._findings) - FINDINGS_SHOWN
        rest = f"<p>{more} more: <code>findings()</code></p>" if more > 0 else ""
        return f"<p>{_text(repr(self)[1:-1])}</p><table><tbody>{rows}</tbody></table>{rest}"


def _names(given: str | Iterable[str] | None) -> frozenset[str] | None:
    if given is None:
        return None
    return frozenset([given] if isinstance(given, str) else given)


def _text(words: str) -> str:
    return html.escape(words)
