"""``netsonde mpibench``: MPIBench's routines, statistics and files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netsonde.cli.common import RUNS, OutOption, QuietOption, Shown, study_of
from netsonde.errors import HostError, UsageError

if TYPE_CHECKING:
    from netsonde.mpibench.options import Routine, Summing
    from netsonde.records.data import Run
    from netsonde.study.execute import Outcome

USUAL = ["isend"]
USUAL_NAME = "mpibench"


def mpibench(
    routines: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ROUTINE...",
            help="isend, send, sendrecv, bcast, barrier, scatter, gather, allgather, alltoall, "
            "reduce and others, also as MPI_Bcast.",
            show_default="isend",
        ),
    ] = None,
    processes: Annotated[int, typer.Option("-n", min=1, help="Number of processes.")] = 2,
    hosts: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Hosts, as `node1,node2` or `lab:h1,h2`; else this one."),
    ] = None,
    library: Annotated[
        str, typer.Option("--mpi", metavar="NAME|PATH", help="The MPI, or its mpiexec.")
    ] = "mpich",
    smallest: Annotated[
        str | None, typer.Option("--min", metavar="SIZE", help="Smallest size; 1 by default.")
    ] = None,
    largest: Annotated[
        str | None, typer.Option("--max", metavar="SIZE", help="Largest size; 256k by default.")
    ] = None,
    increment: Annotated[
        str | None, typer.Option(metavar="SIZE", help="From size to size, add this.")
    ] = None,
    factor: Annotated[
        float | None, typer.Option(help="From size to size, multiply by this; 4 by default.")
    ] = None,
    size_of: Annotated[
        str,
        typer.Option(
            metavar="each|total", help="Whether a size is of each part or of all together."
        ),
    ] = "each",
    repetitions: Annotated[
        int | None,
        typer.Option(min=1, max=10_000_000, help="Of each size; 1000 by default, 100 of alltoall."),
    ] = None,
    warm_up: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Repetitions before, left out of the files.")
    ] = 10,
    pattern: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Partners: half (p and p + n/2), pairs, ring."),
    ] = None,
    root: Annotated[
        str | None, typer.Option(metavar="RANK|rotate", help="Root of a routine that has one.")
    ] = None,
    start: Annotated[
        str, typer.Option(metavar="HOW", help="How processes begin: barrier, window or none.")
    ] = "barrier",
    ranks: Annotated[
        str | None, typer.Option(metavar="LIST", help="Sum up these processes only: `0,3-5`.")
    ] = None,
    outliers: Annotated[
        float | None,
        typer.Option(
            metavar="FACTOR",
            min=1.0,
            help="List and leave out what exceeds so many times the mean.",
        ),
    ] = None,
    bins: Annotated[int, typer.Option(min=1, max=100_000, help="Bins of a histogram.")] = 100,
    bin_width: Annotated[
        float | None,
        typer.Option(metavar="US", min=0.001, help="Their width in us; else they hold all."),
    ] = None,
    log_bins: Annotated[
        bool, typer.Option("--log-bins", help="Bins of one ratio in place of one width.")
    ] = False,
    every: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Write every so many-th repetition.")
    ] = 1,
    parts: Annotated[
        int, typer.Option(min=1, max=100_000, help="Parts whose least mean is given.")
    ] = 10,
    output: Annotated[
        str | None, typer.Option("-o", metavar="NAME", help="Name of the files before the suffix.")
    ] = None,
    again: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Measure nothing: sum up a run directory."),
    ] = None,
    out: OutOption = RUNS,
    quiet: QuietOption = False,
) -> None:
    """MPIBench: the time of every process in every repetition, as tables, histograms and plots.

    Examples: `netsonde mpibench bcast -n 8 --hosts node1,node2 --max 64k`,
    `netsonde mpibench --from runs/20260101-120000-mpibench-bcast --ranks 0 -o first`
    """
    from netsonde.mpibench.files import check_names
    from netsonde.mpibench.options import routine_of, sizes_of, summing_of
    from netsonde.operations import operations

    summing = summing_of(
        warm_up=warm_up,
        ranks=ranks,
        outliers=outliers,
        bins=bins,
        bin_width_us=bin_width,
        log_bins=log_bins,
        every=every,
        parts=parts,
        size_of=size_of,
    )
    if again is not None:
        _refuse_measuring(routines, hosts, smallest, largest, increment, factor, repetitions)
        _sum_up_again(again, summing, output)
        return
    if summing.ranks is not None and summing.ranks[-1] >= processes:
        raise UsageError(f"--ranks {ranks} and -n {processes} do not go together: they begin at 0")
    chosen = []
    for text in routines or USUAL:
        multiple = operations().get(text.removeprefix("MPI_").lower())
        sizes = sizes_of(
            smallest, largest, increment, factor, multiple.multiple_bytes if multiple else 1
        )
        chosen.append(routine_of(text, sizes, repetitions, summing.size_of, processes))
    names = _names(output, chosen)
    check_names(names)
    content = {
        "name": "mpibench-" + "-".join(r.name for r in chosen)[:40],
        "path": {"kind": "hosts" if hosts else "loopback"},
        "mpi": {"mpi": library, "ranks": processes, "hosts": _hosts(hosts)},
        "measure": [
            _block(routine, summing, processes, start=start, root=root, pattern=pattern)
            for routine in chosen
        ],
    }
    _measure(content, summing, names, out, quiet)


def _refuse_measuring(*given: object) -> None:
    options = ("a routine", "--hosts", "--min", "--max", "--increment", "--factor", "--repetitions")
    for name, value in zip(options, given, strict=True):
        if value:
            raise UsageError(f"--from and {name} do not go together: a run is summed up as it is")


def _names(output: str | None, routines: Sequence[Routine]) -> list[str]:
    """NAME, or NAME-ROUTINE where there are several."""
    if len(routines) == 1:
        return [output or USUAL_NAME]
    if len({routine.name for routine in routines}) < len(routines):
        raise UsageError("a routine is named twice; its files would replace each other")
    return [f"{output or USUAL_NAME}-{routine.name}" for routine in routines]


def _hosts(hosts: str | None) -> list[str]:
    if hosts is None:
        return []
    return [hosts] if hosts.startswith("lab:") else hosts.split(",")


def _block(
    routine: Routine,
    summing: Summing,
    processes: int,
    *,
    start: str,
    root: str | None,
    pattern: str | None,
) -> dict[str, Any]:
    from netsonde.operations import operations, parse_root
    from netsonde.study.measure_table import MOST_KEPT

    known = operations()[routine.operation]
    parts = processes if summing.size_of == "total" else 1
    return {
        "transports": ["mpi"],
        "test": "collective",
        "operations": [routine.operation],
        "sizes": [size // parts for size in routine.sizes],
        "count": routine.repetitions + summing.warm_up,
        "start": start,
        "keep": MOST_KEPT,
        "root": parse_root(root) if root is not None and known.rooted else None,
        "pattern": pattern if known.partnered != "none" else None,
    }


def _measure(
    content: dict[str, Any], summing: Summing, names: Sequence[str], out: Path, quiet: bool
) -> None:
    # Imported late: the help need not wait for the libraries.
    from netsonde.records.rundir import open_run
    from netsonde.study.execute import start_study

    shown = Shown(quiet)
    try:
        outcome: Outcome = start_study(study_of(content), out, sys.argv, shown)
    finally:
        shown.stop()
    run = open_run(outcome.directory)
    operations_in_order = [block["operations"][0] for block in content["measure"]]
    _write(run, summing, dict(zip(operations_in_order, names, strict=True)))
    typer.echo(f'Run directory: "{outcome.directory}"')
    if outcome.failures:
        first = next(iter(outcome.failures.values()))
        raise HostError(f"{len(outcome.failures)} sizes failed, the first because {first}")


def _sum_up_again(directory: Path, summing: Summing, output: str | None) -> None:
    from netsonde.mpibench.files import check_names
    from netsonde.records.rundir import open_run

    run = open_run(directory)
    found = list(dict.fromkeys(p.operation for p in run.select("mpi", "collective") if p.batches))
    operations_found = [operation for operation in found if operation is not None]
    if not operations_found:
        raise UsageError(f"{directory} holds no measured MPI operation")
    base = output or USUAL_NAME
    several = len(operations_found) > 1
    names = {name: f"{base}-{name}" if several else base for name in operations_found}
    check_names(list(names.values()))
    _write(run, summing, names)


def _write(run: Run, summing: Summing, names: dict[str, str]) -> None:
    """names: those of the files, by operation."""
    from netsonde.mpibench.files import SUFFIXES, Written, head, write_files
    from netsonde.mpibench.measured import measured, summary_row

    command = shlex.join(["netsonde", *sys.argv[1:]])
    for operation, name in names.items():
        points = [p for p in run.select("mpi", "collective", operation) if p.batches]
        if not points:
            continue
        sizes = [measured(point, summing) for point in points]
        top = head(run, points[0], summing, _printable(command))
        moved = write_files(name, Written(operation, sizes, summing, top))
        if moved is not None:
            typer.echo(f"netsonde: the earlier files of {name} are now {moved}.*", err=True)
        for found in sizes:
            row = summary_row(found, summing.parts)
            left_out = f", {row.outliers} outliers" if row.outliers else ""
            typer.echo(
                f"{operation} {row.message_bytes} bytes: mean {row.mean_ns / 1e3:.3f} us, "
                f"min {row.min_ns / 1e3:.3f} us, {row.values} values{left_out}"
            )
        typer.echo("Files: " + " ".join(f'"{name}{suffix}"' for suffix in SUFFIXES))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def register(main: typer.Typer) -> None:
    main.command()(mpibench)
