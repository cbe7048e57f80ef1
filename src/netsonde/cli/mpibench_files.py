"""A run's files as MPIBench has them, and what the terminal says of them and of the run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import typer
from rich.console import Console

from netsonde.catalogue.transport import first_with
from netsonde.cli.output import warn
from netsonde.errors import NetsondeError
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.mpibench.files import SUFFIXES, Written, check_names, write_files
from netsonde.mpibench.heading import head
from netsonde.mpibench.measured import Measured, NothingLeftError, measured, summary_row
from netsonde.mpibench.options import Summing, name_of
from netsonde.mpibench.sets import FileSet, names_of, sets_of
from netsonde.records.data import Point, Run
from netsonde.records.rundir import open_run
from netsonde.report.terminal import print_findings
from netsonde.units import bytes_in_words, format_count


def write_what_there_is(directory: Path, summing: Summing, base: str, quiet: bool) -> list[str]:
    """The files of what a run has measured, also of one that broke off. Returns why sizes have no
    value."""
    run = open_run(directory)
    lost = []
    if _collectives(run):
        lost = write_files_of(run, summing, base, quiet)
    if not quiet:
        typer.echo(f'Run directory: "{directory}"')
    return lost


def _collectives(run: Run) -> list[Point]:
    """What was measured of them."""
    return [p for p in run.select(first_with("has_ranks").name, "collective") if p.batches]


def write_files_of(run: Run, summing: Summing, base: str, quiet: bool) -> list[str]:
    """A set of files for each routine and for whatever else the run varied but sizes; then the
    run's findings. Returns why sizes have no value."""
    sets = sets_of(_collectives(run))
    names = names_of(base, sets)
    check_names(names)
    made = [_written(run, found, summing) for found in sets]  # all, before a file is moved
    for name, found, written in zip(names, sets, made, strict=True):
        moved = write_files(name, written)
        if moved is not None:
            warn(f"the earlier files of {name} are now {moved}.*")
        if not quiet:
            _print_sizes(found, written)
            typer.echo("Files: " + " ".join(f'"{name}{suffix}"' for suffix in SUFFIXES))
    if not quiet:
        _print_findings(run)
    return [sentence for written in made for sentence in written.lost]


def _written(run: Run, found: FileSet, summing: Summing) -> Written:
    sizes, lost = list[Measured](), list[str]()
    for point in found.points:
        try:
            sizes.append(measured(point, summing))
        except NothingLeftError as error:
            lost.append(f"{error}" + (f" ({found.in_words})" if found.apart else ""))
    command = shlex.join(["netsonde", *sys.argv[1:]])
    printable = "".join(c if c.isprintable() else "?" for c in command)
    return Written(found.operation, sizes, summing, head(run, found, summing, printable), lost)


def _print_sizes(found: FileSet, written: Written) -> None:
    what = name_of(found.operation) + (f" ({found.in_words})" if found.apart else "")
    for each in written.sizes:
        row = summary_row(each, written.summing.parts)
        left_out = f", {row.outliers} outliers" if row.outliers else ""
        typer.echo(
            f"{what} {bytes_in_words(row.message_bytes)}: mean {row.mean_ns / 1e3:.3f} µs, "
            f"min {row.min_ns / 1e3:.3f} µs, {format_count(row.values, 'value')}{left_out}"
        )
    for sentence in written.lost:
        typer.echo(f"No value: {sentence}")


def _print_findings(run: Run) -> None:
    """What the run's own report would say of it; the files stay where that is not to be had."""
    try:
        findings = explain(run, figures_of(run))
    except NetsondeError as error:
        warn(str(error))
        return
    if findings:
        typer.echo()
        print_findings(findings, run, Console(highlight=False))
