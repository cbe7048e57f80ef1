"""``netsonde report``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class ReportFormat(StrEnum):
    """What a run can be turned into."""

    html = "html"
    png = "png"
    svg = "svg"
    pdf = "pdf"
    csv = "csv"
    json = "json"


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    format: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="What to write.")
    ] = ReportFormat.html,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to; else into the run directory.")
    ] = None,
) -> None:
    """Write the report of a run, or its plots and tables as files.

    Example: `netsonde report runs/20260101-120000-quickstart --format svg`
    """
    # Late, so that other commands need not wait for the libraries of statistics and plots.
    from netsonde.explain.table import explain
    from netsonde.figures.compute import figures_of
    from netsonde.records.rundir import open_run
    from netsonde.report import export, write_report

    run = open_run(directory)
    figures = figures_of(run)
    findings = explain(run, figures)
    target = out or directory
    if format is ReportFormat.html:
        paths = [write_report(run, figures, findings, target)]
    else:
        paths = export(run, figures, findings, format.value, target)
    for path in paths:
        typer.echo(path)


def register(app: typer.Typer) -> None:
    app.command()(report)
