"""``netsonde report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netsonde.explain import Finding
    from netsonde.figures import Figure
    from netsonde.records.data import Run


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    format: Annotated[
        Literal["html", "png", "svg", "pdf", "csv", "json", "text"],
        typer.Option("--format", "-f", help="What to write; text prints a page for the terminal."),
    ] = "html",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to; else into the run directory.")
    ] = None,
) -> None:
    """Write the report of a run, or its plots and tables as files.

    Examples: `netsonde report runs/20260101-120000-quickstart`,
    `netsonde report runs/20260101-120000-quickstart --format text`,
    `netsonde report runs/20260101-120000-quickstart --format svg`
    """
    import gc

    # Late, so that other commands need not wait for the libraries of statistics and plots.
    from netsonde.explain.table import explain
    from netsonde.figures.compute import figures_of
    from netsonde.records.rundir import open_measured
    from netsonde.report.files import export
    from netsonde.report.page import write_report

    run = open_measured(directory)
    gc.freeze()  # the run lasts as long as the command: no collection need look at it
    figures = figures_of(run)
    findings = explain(run, figures)
    if format == "text":
        _print(run, figures, findings)
        return
    target = out or directory
    if format == "html":
        paths = [write_report(run, figures, findings, target)]
    else:
        paths = export(run, figures, findings, format, target)
    for path in paths:
        typer.echo(path)


def _print(run: Run, figures: Sequence[Figure], findings: Sequence[Finding]) -> None:
    """The run on one page of a terminal."""
    from rich.console import Console

    from netsonde.report.lookup import Study
    from netsonde.report.terminal import print_summary
    from netsonde.report.twelve_rules import in_a_line, rules_of

    print_summary(run, figures, findings, Console(highlight=False))
    typer.echo(f"Rules of Hoefler and Belli: {in_a_line(rules_of(Study(run, figures)))}")
