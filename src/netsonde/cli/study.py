"""``netsonde study``: studies from a TOML file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from netsonde.catalogue.launcher import HERE, default_launcher, starters, takes_nodes
from netsonde.cli import simulate
from netsonde.cli.common import PairOption, measure_and_show
from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption
from netsonde.errors import UsageError
from netsonde.hosts import LauncherName, allocation_here, parse_hosts, split_hosts
from netsonde.launch.submit import Batch, batch_script, time_of
from netsonde.launch.submit import submit as hand_over
from netsonde.simulate.recognise import is_simulation_study
from netsonde.study.all_pairs import plan_all_pairs
from netsonde.study.budget import budget_in_words, in_words, left_out
from netsonde.study.estimate import as_document, estimate, estimate_of, path_rate_bit_per_s
from netsonde.study.plan import PlannedPoint, in_order, plan_points
from netsonde.study.requirements import refuse_unmet_by_plan
from netsonde.study.spec import StudySpec, read_study
from netsonde.units import (
    format_bytes,
    format_count,
    format_duration,
    format_rate,
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


def print_plan(spec: StudySpec, points: Sequence[PlannedPoint]) -> None:
    """A line for each point and the sums; what does not fit the budget is said."""
    from netsonde.cli.progress import label  # late, as in measure_and_show

    for point in points:
        if point.kind.is_round:
            continue
        one = estimate_of(spec, point)
        what = ", ".join(filter(None, (label(point), point.spec.label)))
        traffic = format_bytes(one.traffic_bytes) if one.is_bounded else "any traffic"
        typer.echo(f"{point.id}  {what:<42}  {format_duration(one.time_ns):>9}  {traffic:>9}")
    all_pairs = plan_all_pairs(spec)
    if all_pairs is not None:
        typer.echo("\n".join(all_pairs.lines))
    total = estimate(spec, points)
    rate = format_rate(path_rate_bit_per_s(spec))
    sooner = ";\npoints that are known well enough sooner end sooner" if spec.measure else ""
    planned = format_count(len(points), "point")
    typer.echo(f"{planned}, at most {in_words(total)} over a path of {rate}{sooner}")
    if not total.is_bounded:
        typer.echo("what the programs send is not known and not among it")
    further = sum(block.refine * len(block.transports) for block in spec.measure)
    if further:
        typer.echo(f"and up to {further} more points where sweeps break")
    for requirement in spec.requirements:
        typer.echo(f"requires {requirement.in_words()}")
    out = left_out(spec, in_order(points, spec.seed or 0))
    if out:
        typer.echo(
            f"{format_count(len(out), 'point')} would be left out to keep within "
            f"{budget_in_words(spec.budget)}"
        )


@app.command()
def run(
    file: FileArgument,
    hosts: HostsOption = None,
    launcher: LauncherOption = "auto",
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
    if is_simulation_study(file):
        if hosts is not None or pair is not None:
            raise UsageError(
                f"{file} is a study of simulations: it takes no --hosts and no --pairing-code"
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
                "--hosts and --pairing-code do not go together: --hosts are reached by ssh or in a "
                "lab, a pairing code is for the one target that runs netsonde serve"
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
    if spec.path.between:
        raise UsageError(
            f"--hosts and between of {file} do not go together: the file says which hosts are pairs"
        )
    names = split_hosts(hosts)
    if names == [HERE.word]:
        return spec.model_copy(update={"path": spec.path.model_copy(update={"kind": "loopback"})})
    if len(names) < 2:
        raise UsageError(f"--hosts {hosts!r}: a study needs two hosts or more, such as n1,n2")
    parse_hosts(names, launcher=spec.path.launcher)
    return _between(spec, names)


def on_own_nodes(spec: StudySpec) -> StudySpec:
    """The study between the nodes of the job that we are in, where it says nothing of its path; as
    it is outside of a job, and in a job of one node. Raises HostError."""
    allocation = allocation_here()
    if allocation is None or len(allocation.nodes) < 2:
        return spec
    return on_nodes_of(spec, list(allocation.nodes))


def on_nodes_of(spec: StudySpec, nodes: list[str]) -> StudySpec:
    """The study between these nodes; as it is where it says something of its path."""
    path = spec.path
    named = (path.hosts, path.between, spec.mpi.hosts)
    names_some = any(named) or {path.origin, path.target} != {HERE.word}
    if path.kind not in ("auto", "hosts") or not takes_nodes(path.launcher) or names_some:
        return spec
    return _between(spec, nodes)


def started_by(spec: StudySpec, launcher: LauncherName) -> StudySpec:
    """The study with another launcher."""
    return spec.model_copy(update={"path": spec.path.model_copy(update={"launcher": launcher})})


def _between(spec: StudySpec, names: list[str]) -> StudySpec:
    for_mpi = spec.mpi.hosts or ([] if HERE.word in names else names)
    return spec.model_copy(
        update={
            "path": spec.path.model_copy(update={"kind": "hosts", "hosts": names}),
            "mpi": spec.mpi.model_copy(update={"hosts": for_mpi}),
        }
    )


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


@app.command("judge")
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
