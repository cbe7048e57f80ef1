"""``netsonde report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from netsonde.cli.of_runs import of_runs
from netsonde.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netsonde.explain import Finding
    from netsonde.figures import Figure
    from netsonde.records.data import Run


@of_runs
def report(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="A run directory, or a folder that holds some; several runs, to lay them over "
            "each other.",
        ),
    ],
    format: Annotated[
        Literal["html", "png", "svg", "pdf", "csv", "json", "text"],
        typer.Option("--format", "-f", help="What to write; text prints a page for the terminal."),
    ] = "html",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where to; else into the run directory, of several runs here."
        ),
    ] = None,
) -> None:
    """Write the report of a run, or its plots and tables as files.

    Of a folder of runs, such as `runs`, it writes `index.html` there: a line for each of them.
    Of several runs it writes `overlay.html`: their curves over each other.

    Examples: `netsonde report runs/20260101-120000-quickstart`,
    `netsonde report runs/20260101-120000-quickstart --format text`,
    `netsonde report runs/20260101-120000-quickstart --format svg`, `netsonde report runs`,
    `netsonde report runs/TIME-before runs/TIME-after --out overlaid`
    """
    import gc

    # Late, so that other commands need not wait for the libraries of statistics and plots.
    from netsonde.explain.table import explain
    from netsonde.figures.compute import figures_of
    from netsonde.records.rundir import open_measured
    from netsonde.report.files import export
    from netsonde.report.page import write_report
    from netsonde.report.runs_index import has_runs

    if len(directories) > 1:
        typer.echo(_overlay(directories, format, out))
        return
    directory = directories[0]
    if has_runs(directory):
        typer.echo(_index(directory, format, out))
        return
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


def _overlay(directories: Sequence[Path], format: str, out: Path | None) -> Path:
    from netsonde.figures.compute import figures_of
    from netsonde.records.rundir import open_measured
    from netsonde.report.lookup import Study
    from netsonde.report.overlay_page import OVERLAY_NAME, write_overlay

    if format != "html":
        raise UsageError(f"--format {format} is of a single run; several are laid over in html")
    runs = [open_measured(directory) for directory in directories]
    studies = [Study(run, figures_of(run)) for run in runs]
    return write_overlay(studies, (out or Path()) / OVERLAY_NAME)


def _index(folder: Path, format: str, out: Path | None) -> Path:
    from netsonde.report.runs_index import write_index

    if format != "html":
        raise UsageError(
            f"{folder} holds runs and is none itself; --format {format} is of a single run, "
            "name one of them"
        )
    return write_index(folder, out or folder)


def _print(run: Run, figures: Sequence[Figure], findings: Sequence[Finding]) -> None:
    """The run on one page of a terminal."""
    from rich.console import Console

    from netsonde.report.lookup import Study
    from netsonde.report.terminal import print_summary
    from netsonde.report.twelve_rules import in_a_line, rules_of

    print_summary(run, figures, findings, Console(highlight=False))
    typer.echo(f"Rules of Hoefler and Belli: {in_a_line(rules_of(Study(run, figures)))}")
