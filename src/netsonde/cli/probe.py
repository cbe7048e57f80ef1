"""Experiments that isolate a cause: ``netsonde explain DIR --probe``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console

from netsonde.cli.progress import Shown
from netsonde.errors import HostError, UsageError
from netsonde.explain.evidence import point_in_words
from netsonde.explain.probe import conclusion, effects_of
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.figures.table_files import write_table_files
from netsonde.records.rundir import STUDY_NAME, open_run
from netsonde.report.ranked import effects_table
from netsonde.report.terminal import print_finding
from netsonde.study.execute import start_study
from netsonde.study.plan import longest_ns, plan_points
from netsonde.study.probe import choose_point, probe_study
from netsonde.study.spec import read_study
from netsonde.units import format_time


def probe_and_show(
    directory: Path,
    wanted: str | None,
    repetitions: int,
    out: Path,
    pair: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measures a point of a run again, as it was and with one thing changed at a time, and says
    which change matters. Raises UsageError for what cannot be probed, HostError where the point
    cannot be measured any more."""
    run = open_run(directory)
    if run.origin == "imported":
        raise UsageError(f"{directory} was imported from files: there is nothing to measure again")
    findings = explain(run, figures_of(run))
    ranked = tuple(p for f in findings if f.level in ("bad", "warning") for p in f.points)
    point = choose_point(run, wanted, ranked)
    study = read_study(directory / STUDY_NAME)
    spec = probe_study(run, study, point, repetitions, other_work=pair is None)
    shown = Shown(quiet, notices=not as_json)
    planned = plan_points(spec)
    seconds = format_time(sum(longest_ns(p) for p in planned))
    changes = len({p.spec.label for p in planned}) - 1
    shown.notice(
        f"{point_in_words(point)} again, as it was and with {changes} changes, {repetitions} times "
        f"each: at most {seconds} of measuring"
    )
    try:
        outcome = start_study(spec, out, sys.argv, shown, pair)
    finally:
        shown.stop()
    _show(outcome.directory, as_json, quiet)


def _show(directory: Path, as_json: bool, quiet: bool) -> None:
    run = open_run(directory)
    figures = figures_of(run)
    effects = effects_of(run, figures)
    if not effects or all(effect.ratio is None for effect in effects):
        error = next((p.error for p in run.points if p.error), "nothing was measured")
        raise HostError(f"the point could not be measured again: {error}")
    found = conclusion(effects)
    write_table_files(run, figures, directory / "tables")
    from netsonde.report.page import write_report  # late: with all plots

    write_report(run, figures, explain(run, figures), directory)
    if as_json:
        document = {
            "run": str(directory),
            "effects": [asdict(effect) for effect in effects],
            "finding": asdict(found),
        }
        typer.echo(json.dumps(document, indent=1))
    elif not quiet:
        console = Console(highlight=False)
        console.print(effects_table(effects))
        console.print()
        print_finding(found, console)
        console.print(f"\nRun: {directory}", markup=False)
