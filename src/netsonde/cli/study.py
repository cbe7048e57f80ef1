"""``netsonde study``: studies from a TOML file."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
from netsonde.records.data import ALL_PAIRS
from netsonde.simulate.recognise import is_simulation_study
from netsonde.study.all_pairs import plan_all_pairs
from netsonde.study.budget import budget_in_words, in_words, left_out
from netsonde.study.estimate import as_document, estimate, estimate_of, path_rate_bit_per_s
from netsonde.study.plan import PlannedPoint, in_order, plan_points
from netsonde.study.spec import StudySpec, read_study
from netsonde.units import format_bytes, format_duration, format_rate

app = typer.Typer(no_args_is_help=True, help="Studies from a TOML file: plan, run, resume.")

HostsOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOSTS",
        help="The hosts to measure between, in place of those in FILE: node[1-8] or n1,n2. "
        "The first is the origin, the last the target.",
    ),
]
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The study, in TOML.")]


@app.command()
def plan(
    file: FileArgument,
    hosts: HostsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a study would measure, how long and how much traffic at most; nothing is sent.

    Examples: `netsonde study plan acceptance.toml`, `netsonde study plan acceptance.toml --json`,
    `netsonde study plan allpairs.toml --hosts node[1-16]`
    """
    if is_simulation_study(file):
        if as_json:
            raise UsageError(f"{file} is a study of simulations, whose plan is shown as text only")
        simulate.print_plan(file)
        return
    spec = read_study(file)
    if hosts is not None:
        spec = between_hosts(spec, hosts, file)
    points = plan_points(spec)
    if as_json:
        typer.echo(json.dumps(as_document(spec, points), indent=1))
        return
    print_plan(spec, points)


def print_plan(spec: StudySpec, points: Sequence[PlannedPoint]) -> None:
    """A line for each point and the sums; what does not fit the budget is said."""
    for point in points:
        if point.test == ALL_PAIRS:
            continue
        one = estimate_of(spec, point)
        what = ", ".join(filter(None, (label(point), point.parameters.get("label"))))
        traffic = format_bytes(one.traffic_bytes) if one.is_bounded else "any traffic"
        typer.echo(f"{point.id}  {what:<42}  {format_duration(one.time_ns):>9}  {traffic:>9}")
    all_pairs = plan_all_pairs(spec)
    if all_pairs is not None:
        typer.echo("\n".join(all_pairs.lines))
    total = estimate(spec, points)
    rate = format_rate(path_rate_bit_per_s(spec))
    typer.echo(f"{len(points)} points, at most {in_words(total)} over a path of {rate};")
    if spec.measure:
        typer.echo("points that are known well enough sooner end sooner")
    if not total.is_bounded:
        typer.echo("what the programs send is not known and not among it")
    further = sum(block.refine * len(block.transports) for block in spec.measure)
    if further:
        typer.echo(f"and up to {further} more points where sweeps break")
    out = left_out(spec, in_order(points, spec.seed or 0))
    if out:
        typer.echo(
            f"{len(out)} points would be left out to keep within {budget_in_words(spec.budget)}"
        )


@app.command()
def run(
    file: FileArgument,
    hosts: HostsOption = None,
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


@app.command()
def schema() -> None:
    """Print the JSON Schema of a study file, for editors.

    Example: `netsonde study schema > study.schema.json`
    """
    from netsonde.study.schema import as_text  # late, as in measure_and_show

    typer.echo(as_text(), nl=False)
