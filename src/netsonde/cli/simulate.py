"""``netsonde simulate``: clusters that are not there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption
from netsonde.errors import HostError, NetsondeError, UsageError
from netsonde.units import format_count

if TYPE_CHECKING:
    from netsonde.cli.progress import SimulationShown


def simulate(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="A scenario with [simulation], or a preset's name."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=2**53 - 1, help="In place of the scenario's own."),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES",
            help="A point for each value: window=8..96:8 (in steps of 8), block=1k,64k. Several "
            "make every combination; window+senders=24+7,12+15 changes both together.",
        ),
    ] = None,
    presets: Annotated[
        bool, typer.Option("--presets", help="List the scenarios and hosts that there are.")
    ] = False,
    show_input: Annotated[
        bool,
        typer.Option("--show-input", help="Print what sonde-sim would read, and simulate nothing."),
    ] = False,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate a cluster packet by packet, and write its report.

    Examples: `netsonde simulate --presets`, `netsonde simulate gather-416`,
    `netsonde simulate gather-416 --sweep window=8..96:8`
    """
    from netsonde.simulate.plan import plan_sweep
    from netsonde.simulate.scenario import read_simulation
    from netsonde.simulate.sweep import parse_sweep

    if presets:
        print_presets(as_json)
        return
    if file is None:
        raise UsageError("simulate needs a scenario; `netsonde simulate --presets` lists some")
    scenario = read_simulation(file)
    points = plan_sweep(scenario, [parse_sweep(text) for text in sweep or ()], seed)
    if show_input:
        for point in points:
            typer.echo(json.dumps(point.plan))
        return
    from netsonde.simulate import execute
    from netsonde.simulate.resolve import path_of

    asked = execute.Asked(scenario.name, scenario.text, path_of(points[0].plan), sys.argv)
    run_and_show(lambda shown: execute.simulate(asked, points, out, shown), as_json, quiet)


def study_and_show(file: Path, out: Path, as_json: bool, quiet: bool) -> None:
    """A study of simulations, run and shown."""
    from netsonde.simulate import execute
    from netsonde.simulate.resolve import path_of
    from netsonde.simulate.study import plan_study, read_simulation_study

    read = read_simulation_study(file)
    points = plan_study(read)
    asked = execute.Asked(read.study.name, read.text, path_of(points[0].plan), sys.argv)
    run_and_show(lambda shown: execute.simulate(asked, points, out, shown), as_json, quiet)


def print_plan(file: Path) -> None:
    """What a study would simulate."""
    from netsonde.simulate.study import plan_study, read_simulation_study

    points = plan_study(read_simulation_study(file))
    for point in points:
        typer.echo(f"{point.id}  {point.spec.label or point.spec.operation}")
    typer.echo(f"{format_count(len(points), 'point')} to simulate")


def run_and_show(run: Callable[[SimulationShown], object], as_json: bool, quiet: bool) -> None:
    """Simulates, then shows what there is; raises the first failure."""
    from netsonde.cli.progress import SimulationShown
    from netsonde.simulate.execute import Outcome

    shown = SimulationShown(quiet, notices=not as_json)
    try:
        outcome = run(shown)
    finally:
        shown.stop()
    assert isinstance(outcome, Outcome)
    from netsonde.cli.show import show_run  # statistics and plots take long to load

    show_run(outcome.directory, as_json, quiet, with_report=True)
    if outcome.failures:
        raise _failure(list(outcome.failures.values()))


def _failure(errors: list[NetsondeError]) -> NetsondeError:
    first = errors[0]
    if len(errors) == 1:
        return first
    kind = UsageError if all(isinstance(error, UsageError) for error in errors) else HostError
    return kind(f"{format_count(len(errors), 'point')} failed, the first because {first}")


def print_presets(as_json: bool) -> None:
    """Scenarios with what they are, and the hosts that they may name."""
    from netsonde.simulate.scenario import simulation_presets
    from netsonde.simulate.tables import host_presets
    from netsonde.tables import load_toml

    about = {
        name: str(load_toml(text, name).get("about", ""))
        for name, text in sorted(simulation_presets().items())
    }
    if as_json:
        typer.echo(json.dumps({"scenarios": about, "hosts": sorted(host_presets())}, indent=1))
        return
    console = Console(highlight=False)
    for name, words in about.items():
        console.print(f"{name:<16} {words}", markup=False)
    console.print(f"hosts: {', '.join(sorted(host_presets()))}", markup=False)
