"""``netsonde study``: studies from a TOML file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from netsonde.catalogue.launcher import default_launcher, starters
from netsonde.cli import simulate
from netsonde.cli.common import CodeFileOption, PairOption, measure_and_show
from netsonde.cli.of_runs import of_runs
from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption
from netsonde.errors import UsageError
from netsonde.hosts import LauncherName
from netsonde.launch.given_code import given_code
from netsonde.simulate.recognise import is_simulation_study
from netsonde.units import (
    parse_duration_ns,
)

app = typer.Typer(no_args_is_help=True)

LauncherOption = Annotated[
    LauncherName,
    typer.Option(
        help=f"What starts processes on hosts: {starters()} for nodes of the job that this runs "
        f"in, {default_launcher().needs} for others; auto chooses.",
    ),
]
HostsOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOSTS",
        help="The hosts to measure between, in place of those in FILE: n1,n2 or node[1-8] or "
        "@rack1!node7. The first is the origin, the last the target; `local` alone is loopback.",
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
    # Late, as in study_of; so are those of the other commands.
    from netsonde.cli.study_plan import print_plan
    from netsonde.study.estimate import as_document
    from netsonde.study.placed import between_hosts
    from netsonde.study.plan import plan_points
    from netsonde.study.requirements import refuse_unmet_by_plan
    from netsonde.study.spec import read_study

    if is_simulation_study(file):
        if as_json:
            raise UsageError(f"{file} is a study of simulations, whose plan is shown as text only")
        simulate.print_plan(file)
        return
    spec = read_study(file)
    if hosts is not None:
        spec = between_hosts(spec, hosts, file)
    points = plan_points(spec)
    refuse_unmet_by_plan(spec.requirements, points)
    if as_json:
        typer.echo(json.dumps(as_document(spec, points), indent=1))
        return
    print_plan(spec, points)


@app.command()
def run(
    file: FileArgument,
    hosts: HostsOption = None,
    launcher: LauncherOption = "auto",
    code_file: CodeFileOption = None,
    pair: PairOption = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a study and write its report.

    Inside a job of Slurm or Flux, a study that names no hosts is measured between the job's nodes.

    Examples: `netsonde study run acceptance.toml`,
    `netsonde study run acceptance.toml --hosts local`,
    `netsonde study run acceptance.toml --hosts node[1-8]`
    """
    from netsonde.study.placed import between_hosts, on_own_nodes, started_by
    from netsonde.study.spec import read_study

    pair = given_code(pair, code_file)
    if is_simulation_study(file):
        if hosts is not None or pair is not None:
            raise UsageError(
                f"{file} is a study of simulations: it takes no --hosts and no pairing code"
            )
        simulate.study_and_show(file, out, as_json, quiet)
        return
    spec = read_study(file)
    if launcher != "auto":
        spec = started_by(spec, launcher)
    if hosts is None and pair is None:
        spec = on_own_nodes(spec)
    if hosts is not None:
        if pair is not None:
            raise UsageError(
                "--hosts and a pairing code do not go together: --hosts are reached by ssh or in a "
                "lab, a pairing code is for the one target that runs netsonde serve"
            )
        spec = between_hosts(spec, hosts, file)
    measure_and_show(spec, out, as_json, quiet, pair=pair, with_report=True)


@app.command()
def submit(
    file: FileArgument,
    nodes: Annotated[
        int, typer.Option("--nodes", "-N", metavar="N", min=2, help="How many nodes to measure.")
    ],
    partition: Annotated[
        str | None, typer.Option("--partition", "-p", metavar="NAME", help="Slurm's partition.")
    ] = None,
    account: Annotated[
        str | None, typer.Option("--account", "-A", metavar="NAME", help="Slurm's account.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="The job's time limit, such as 30min or 2h; without it, what the study takes at "
            "most and a reserve.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION", help="A further option of sbatch, such as --option=--qos=short."
        ),
    ] = None,
    out: OutOption = RUNS,
    show: Annotated[
        bool, typer.Option("--show", help="Print the job's script; submit nothing.")
    ] = False,
) -> None:
    """Submit a study to Slurm, to be run between a job's nodes; prints the job's number.

    Example: `netsonde study submit acceptance.toml -N 4 --partition batch`
    """
    from netsonde.launch.submit import Batch, batch_script, time_of
    from netsonde.launch.submit import submit as hand_over
    from netsonde.study.estimate import estimate
    from netsonde.study.placed import on_nodes_of
    from netsonde.study.plan import plan_points
    from netsonde.study.requirements import refuse_unmet_by_plan
    from netsonde.study.spec import read_study

    if is_simulation_study(file):
        raise UsageError(f"{file} is a study of simulations: it needs no nodes; use study run")
    spec = read_study(file)
    placed = on_nodes_of(spec, [f"n{number}" for number in range(1, nodes + 1)])
    if placed is spec:
        raise UsageError(
            f"{file} says where it is measured, so a job's nodes would not be used; take out kind, "
            "origin, target and hosts under [path] and [mpi]"
        )
    planned = plan_points(placed)
    refuse_unmet_by_plan(placed.requirements, planned)
    needed_s = time_of(estimate(placed, planned).time_ns)
    limit_s = parse_duration_ns(time) / 1e9 if time is not None else needed_s
    batch = Batch(nodes, limit_s, partition, account, tuple(option or ()))
    folder = out.absolute()
    script = batch_script(batch, spec.name, file.absolute(), folder)
    if show:
        typer.echo(script, nl=False)
        return
    folder.mkdir(parents=True, exist_ok=True)  # Slurm opens the job's output there
    typer.echo(hand_over(script))


@app.command()
@of_runs
def resume(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    code_file: CodeFileOption = None,
    pair: PairOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Go on with a run that was stopped or killed; at most the point in flight is lost.

    Example: `netsonde study resume runs/20260101-120000-acceptance`
    """
    from netsonde.cli.show import resume_and_show  # late, as in measure_and_show

    resume_and_show(directory, given_code(pair, code_file), as_json, quiet)


@app.command("judge")
@of_runs
def judge_run(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A TOML file with blocks \\[\\[require]], in place of those of the run's study.",
        ),
    ] = None,
    fail_on: Annotated[
        Literal["missed", "undecided", "never"],
        typer.Option(
            help="Exit code 1 where a requirement is missed or has no result; also where it is "
            "undecided; never.",
        ),
    ] = "missed",
    as_json: JsonOption = False,
) -> None:
    """Say which figures of a run are what its study required; measures nothing.

    Examples: `netsonde study judge runs/20260101-120000-acceptance`, `netsonde study judge
    runs/20260101-120000-acceptance limits.toml --fail-on undecided`
    """
    from netsonde.cli.judge import judge_and_show  # late, as in measure_and_show

    judge_and_show(directory, file, fail_on, as_json)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a study file, for editors.

    Example: `netsonde study schema > study.schema.json`
    """
    from netsonde.study.schema import as_text  # late, as in measure_and_show

    typer.echo(as_text(), nl=False)
