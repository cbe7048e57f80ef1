"""A study run or resumed, and shown: as a summary, as one JSON document, as a report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console

from netsonde.cli.progress import Shown
from netsonde.errors import (
    HostError,
    InterruptedByUserError,
    NetsondeError,
    UsageError,
    VerdictError,
)
from netsonde.explain.all_pairs import DROPPED_KIND, NAMED_KINDS
from netsonde.explain.data import Finding
from netsonde.explain.requirements import FAILING_KINDS
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.figures.table_files import write_table_files
from netsonde.records.rundir import STUDY_NAME, open_run, read_manifest
from netsonde.report.terminal import print_summary
from netsonde.study.execute import Outcome, resume_study, start_study
from netsonde.study.spec import StudySpec, read_study
from netsonde.units import format_count

MOST_PLACES = 8
"""Named in the last line of a run; all of them are above it."""


def run_and_show(
    spec: StudySpec,
    out: Path,
    as_json: bool,
    quiet: bool,
    pair: str | None,
    with_report: bool,
    groups: Sequence[str] = (),
) -> None:
    """Measures a study in a new run directory below ``out``."""
    shown = Shown(quiet, notices=not as_json)
    _show_what_was_measured(
        lambda: start_study(spec, out, sys.argv, shown, pair),
        shown,
        as_json,
        quiet,
        with_report,
        groups,
    )


def resume_and_show(directory: Path, pair: str | None, as_json: bool, quiet: bool) -> None:
    """Goes on with a run."""
    shown = Shown(quiet, notices=not as_json)
    if read_manifest(directory).get("origin") == "imported":
        raise UsageError(f"{directory} was imported from files: there is nothing to go on with")
    if read_manifest(directory).get("origin") == "simulated":
        raise UsageError(
            f"{directory} was simulated: simulate {directory / 'scenario.toml'} again instead"
        )
    spec = read_study(directory / STUDY_NAME)
    _show_what_was_measured(
        lambda: resume_study(spec, directory, shown, pair), shown, as_json, quiet, True
    )


def _show_what_was_measured(
    measure: Callable[[], Outcome],
    shown: Shown,
    as_json: bool,
    quiet: bool,
    with_report: bool,
    groups: Sequence[str] = (),
) -> None:
    try:
        outcome = measure()
    except (HostError, InterruptedByUserError) as error:
        shown.stop()
        try:
            _show_partial(shown.directory, as_json, quiet, with_report)
        except NetsondeError as second:  # a full disk, say: the first error is the one to end with
            shown.notice(str(second))
        if isinstance(error, InterruptedByUserError) and shown.directory is not None:
            raise InterruptedByUserError(
                f"interrupted; what was measured is kept, and `netsonde study resume "
                f"{shown.directory}` goes on"
            ) from error
        raise
    finally:
        shown.stop()
    findings = show_run(outcome.directory, as_json, quiet, with_report, groups)
    if outcome.failures:
        first = next(iter(outcome.failures.values()))
        failed = format_count(len(outcome.failures), "point")
        raise HostError(f"{failed} failed, the first because {first}")
    if outcome.unmeasured is not None:
        raise VerdictError(outcome.unmeasured)
    require_all_pairs_alike(findings)
    require_what_was_required(findings)


def require_all_pairs_alike(findings: Sequence[Finding]) -> None:
    """Raises VerdictError where a run of all pairs names something, HostError where it lost a host:
    a job that asks whether its nodes are fit looks at the exit code."""
    named = list(dict.fromkeys(f.place for f in findings if f.kind in NAMED_KINDS))
    if named:
        raise VerdictError(f"{len(named)} out of line: {', '.join(named[:MOST_PLACES])}")
    dropped = [f.place for f in findings if f.kind == DROPPED_KIND]
    if dropped:
        hosts = "1 host was" if len(dropped) == 1 else f"{len(dropped)} hosts were"
        raise HostError(f"{hosts} dropped: {', '.join(dropped[:MOST_PLACES])}")


def require_what_was_required(findings: Sequence[Finding]) -> None:
    """Raises VerdictError where a figure is not what the study required, or has no value."""
    failed = [finding for finding in findings if finding.kind in FAILING_KINDS]
    if failed:
        more = f" Failed in all: {len(failed)}." if len(failed) > 1 else ""
        raise VerdictError(f"{failed[0].claim}{more}")


def _show_partial(directory: Path | None, as_json: bool, quiet: bool, with_report: bool) -> None:
    """What a run that broke off had measured; nothing where it had not measured anything."""
    if (
        directory is not None
        and directory.exists()
        and any(p.measured for p in open_run(directory).points)
    ):
        show_run(directory, as_json, quiet, with_report)


def show_run(
    directory: Path, as_json: bool, quiet: bool, with_report: bool, groups: Sequence[str] = ()
) -> list[Finding]:
    """The report, where asked for; then the summary or one JSON document; and tables last, whose
    library takes longer to load than all that is shown. Returns what was found."""
    run = open_run(directory)
    figures = figures_of(run)
    findings = explain(run, figures)
    if with_report:
        from netsonde.report.page import write_report  # late: with all plots

        write_report(run, figures, findings, directory)
    if as_json:
        from netsonde.peers.told import told

        document = {
            "run": str(directory),
            "origin": run.origin,
            "path": run.manifest["path"],
            "seed": run.manifest["seed"],
            "points": [
                {
                    "point": p.id,
                    "transport": p.transport,
                    "test": p.test,
                    "parameters": p.parameters,
                    "status": p.status,
                    "ended_by": p.ended_by,
                    "error": p.error,
                    "checks": p.checks,
                    **({"told": [asdict(t) for t in told(p)]} if p.spec.like is not None else {}),
                }
                for p in run.points
            ],
            "figures": [asdict(f) for f in figures],
            "findings": [asdict(f) for f in findings],
        }
        typer.echo(json.dumps(document, indent=1))
    elif not quiet:
        print_summary(run, figures, findings, Console(highlight=False), groups)
    sys.stdout.flush()
    write_table_files(run, figures, directory / "tables")
    return findings
