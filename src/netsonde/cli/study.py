"""``netsonde study``: studies from a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netsonde.cli.common import (
    RUNS,
    JsonOption,
    OutOption,
    QuietOption,
    Shown,
    fail_where_points_failed,
    label,
    measure_and_show,
    show_run,
)
from netsonde.cli.sockets import PairOption
from netsonde.records.rundir import STUDY_NAME
from netsonde.study.execute import resume_study
from netsonde.study.plan import plan_points
from netsonde.study.spec import read_study
from netsonde.units import format_time

app = typer.Typer(no_args_is_help=True, help="Studies from a TOML file: plan, run, resume.")

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The study, in TOML.")]


@app.command()
def plan(file: FileArgument) -> None:
    """Show what a study would measure and how long at most; nothing is sent.

    Example: `netsonde study plan acceptance.toml`
    """
    points = plan_points(read_study(file))
    for point in points:
        cap = format_time(point.parameters["cap_ns"])
        typer.echo(f"{point.id}  {label(point):<30}  at most {cap}")
    total_ns = sum(p.parameters["cap_ns"] for p in points)
    typer.echo(f"{len(points)} points, at most {format_time(total_ns)} of measuring")


@app.command()
def run(
    file: FileArgument,
    pair: PairOption = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a study and write its report.

    Example: `netsonde study run acceptance.toml`
    """
    measure_and_show(read_study(file), out, as_json, quiet, pair=pair, with_report=True)


@app.command()
def resume(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    pair: PairOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Go on with a run that was stopped or killed; at most the point in flight is lost.

    Example: `netsonde study resume runs/20260101-120000-acceptance`
    """
    shown = Shown(quiet or as_json)
    try:
        outcome = resume_study(read_study(directory / STUDY_NAME), directory, shown, pair)
    finally:
        shown.stop()
    show_run(outcome.directory, as_json, quiet, with_report=True)
    fail_where_points_failed(outcome)
