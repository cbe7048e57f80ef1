"""``netsonde explain``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from netsonde.cli.common import CodeFileOption, PairOption
from netsonde.cli.of_runs import of_runs
from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption
from netsonde.errors import UsageError
from netsonde.launch.given_code import given_code


@of_runs
def explain(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Also the rules that could not judge, and what they lack."
        ),
    ] = False,
    most: Annotated[
        int | None,
        typer.Option("--most", metavar="N", min=1, help="The first N findings; else all."),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Measure a point again, as it was and with one thing changed at a time, and say "
            "which change matters.",
        ),
    ] = False,
    point: Annotated[
        str | None,
        typer.Option(metavar="POINT", help="With --probe: which one, as p003; else the worst."),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(metavar="N", min=5, max=100, help="With --probe: so often each (8)."),
    ] = None,
    code_file: CodeFileOption = None,
    pair: PairOption = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say why a run's results are what they are: findings, what matters most first.

    Each has a claim, where it is, the numbers that prove it, its confidence and what to do.

    Examples: `netsonde explain runs/20260101-120000-quickstart`,
    `netsonde explain runs/20260101-120000-quickstart --json`,
    `netsonde explain runs/20260101-120000-quickstart --probe --point p003`
    """
    if probe:
        if verbose or most is not None:
            other = "--verbose" if verbose else "--most"
            raise UsageError(
                f"{other} and --probe do not go together: it says what its changes did"
            )
        from netsonde.cli.probe import probe_and_show  # late, as below
        from netsonde.study.probe import REPETITIONS

        code = given_code(pair, code_file)
        probe_and_show(directory, point, repeat or REPETITIONS, out, code, as_json, quiet)
        return
    given_words = (("--point", point), ("--repeat", repeat), ("--quiet", quiet or None))
    for option, given in (*given_words, ("--code-file", code_file), ("--pairing-code", pair)):
        if given is not None:
            raise UsageError(f"{option} goes with --probe, which measures again")
    # Late, so that other commands need not wait for the libraries of statistics and plots.
    from rich.console import Console

    from netsonde.explain.table import explain_and_lack
    from netsonde.figures.compute import figures_of
    from netsonde.records.rundir import open_measured
    from netsonde.report.ranked import print_findings

    run = open_measured(directory)
    findings, silent = explain_and_lack(run, figures_of(run))
    shown = findings[:most]
    if as_json:
        document = {
            "run": str(directory),
            "findings": [asdict(finding) for finding in shown],
            "silent": [asdict(rule) for rule in silent],
        }
        typer.echo(json.dumps(document, indent=1))
        return
    print_findings(run, shown, silent if verbose else [], Console(highlight=False))
