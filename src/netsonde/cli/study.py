"""``netsonde study``: studies from a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netsonde.cli import simulate
from netsonde.cli.common import (
    RUNS,
    JsonOption,
    OutOption,
    QuietOption,
    label,
    measure_and_show,
)
from netsonde.cli.socket_options import PairOption
from netsonde.errors import UsageError
from netsonde.launch.hosts import parse_host, split_hosts
from netsonde.simulate.recognise import is_simulation_study
from netsonde.study.plan import longest_ns, plan_points
from netsonde.study.spec import StudySpec, read_study
from netsonde.units import format_time

app = typer.Typer(no_args_is_help=True, help="Studies from a TOML file: plan, run, resume.")

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The study, in TOML.")]


@app.command()
def plan(file: FileArgument) -> None:
    """Show what a study would measure and how long at most; nothing is sent.

    Example: `netsonde study plan acceptance.toml`
    """
    if is_simulation_study(file):
        simulate.print_plan(file)
        return
    spec = read_study(file)
    points = plan_points(spec)
    for point in points:
        cap = format_time(longest_ns(point))
        typer.echo(f"{point.id}  {label(point):<30}  at most {cap}")
    total_ns = sum(longest_ns(p) for p in points)
    typer.echo(f"{len(points)} points, at most {format_time(total_ns)} of measuring")
    further = sum(block.refine * len(block.transports) for block in spec.measure)
    if further:
        typer.echo(f"and up to {further} more points where sweeps break")


@app.command()
def run(
    file: FileArgument,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="HOSTS",
            help="The hosts to measure between, in place of those in FILE: node[1-8] or n1,n2. "
            "The first is the origin, the last the target.",
        ),
    ] = None,
    pair: PairOption = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a study and write its report.

    Example: `netsonde study run acceptance.toml --hosts node[1-8]`
    """
    if is_simulation_study(file):
        if hosts is not None or pair is not None:
            raise UsageError(f"{file} is a study of simulations: it takes no --hosts and no --pair")
        simulate.study_and_show(file, out, as_json, quiet)
        return
    spec = read_study(file)
    if hosts is not None:
        if pair is not None:
            raise UsageError(
                "--hosts and --pair do not go together: --hosts are reached by ssh or in a lab, a "
                "pairing code is for the one target that runs netsonde serve"
            )
        spec = between_hosts(spec, hosts, file)
    measure_and_show(spec, out, as_json, quiet, pair=pair, with_report=True)


def between_hosts(spec: StudySpec, hosts: str, file: Path) -> StudySpec:
    """The study with the hosts of ``--hosts`` as its path, and for MPI where it names none there.

    Raises UsageError for fewer than two, and where the study has a path that is no hosts'.
    """
    if spec.path.kind not in ("auto", "hosts"):
        raise UsageError(
            f"--hosts and kind = '{spec.path.kind}' of {file} do not go together; leave out one"
        )
    names = split_hosts(hosts)
    if len(names) < 2:
        raise UsageError(f"--hosts {hosts!r}: a study needs two hosts or more, such as n1,n2")
    for name in names:
        parse_host(name)
    for_mpi = spec.mpi.hosts or ([] if "local" in names else names)
    return spec.model_copy(
        update={
            "path": spec.path.model_copy(update={"kind": "hosts", "hosts": names}),
            "mpi": spec.mpi.model_copy(update={"hosts": for_mpi}),
        }
    )


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
