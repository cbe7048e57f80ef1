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
    label,
    measure_and_show,
)
from netsonde.cli.sockets import PairOption
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
    spec = read_study(file)
    points = plan_points(spec)
    for point in points:
        cap = format_time(point.parameters["cap_ns"])
        typer.echo(f"{point.id}  {label(point):<30}  at most {cap}")
    total_ns = sum(p.parameters["cap_ns"] for p in points)
    typer.echo(f"{len(points)} points, at most {format_time(total_ns)} of measuring")
    further = sum(block.refine * len(block.transports) for block in spec.measure)
    if further:
        typer.echo(f"and up to {further} more points where sweeps break")


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
    from netsonde.cli.show import resume_and_show  # late, as in measure_and_show

    resume_and_show(directory, pair, as_json, quiet)
