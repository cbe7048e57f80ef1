"""``netsonde mpibench``: MPIBench's routines, statistics and files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netsonde.catalogue.options.commands import BLOCK, MPIBENCH_BLOCK, MPIBENCH_JOB
from netsonde.catalogue.options.mpi import MOST_KEPT
from netsonde.catalogue.transport import first_with
from netsonde.cli.common import study_of
from netsonde.cli.mpi_choices import binding, choices_of, parse_ppn, partners_of
from netsonde.cli.output import RUNS, OutOption, QuietOption, warn
from netsonde.cli.row_options import given_of, option_of, with_rows
from netsonde.errors import HostError, InterruptedByUserError, UsageError
from netsonde.hosts import split_hosts

if TYPE_CHECKING:
    from netsonde.mpibench.options import Routine, Summing
    from netsonde.study.execute import Outcome

CARRIER = first_with("has_ranks").name
USUAL = ["isend"]
USUAL_NAME = "mpibench"


@with_rows(CARRIER, (*MPIBENCH_JOB, *MPIBENCH_BLOCK))
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
    asked_processes: Annotated[
        int | None,
        typer.Option(
            "-n",
            min=1,
            help="Number of processes.",
            show_default="2; with --hosts one on each",
        ),
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
        typer.Option(
            metavar="PATTERN|FILE",
            help="Partners: half (p and p + n/2), pairs, ring, ring:DISTANCE; or a file with two "
            "processes on each line.",
        ),
    ] = None,
    root: Annotated[
        str | None, typer.Option(metavar="RANK|rotate", help="Root of a routine that has one.")
    ] = None,
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
    without_timer_overhead: Annotated[bool, option_of(BLOCK["timer_overhead"], CARRIER)] = False,
    output: Annotated[
        str | None, typer.Option("-o", metavar="NAME", help="Name of the files before the suffix.")
    ] = None,
    again: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Measure nothing: sum up a run directory."),
    ] = None,
    out: OutOption = RUNS,
    quiet: QuietOption = False,
    **given: Any,
) -> None:
    """MPIBench: the time of every process in every repetition, as tables, histograms and plots.

    Examples: `netsonde mpibench bcast -n 4`,
    `netsonde mpibench bcast -n 8 --hosts node1,node2 --max 64k`,
    `netsonde mpibench --from runs/20260101-120000-mpibench-bcast --ranks 0 -o first`
    """
    from netsonde.cli.mpi_many import hosts_left_out, usual_ranks
    from netsonde.mpibench.files import check_names
    from netsonde.mpibench.options import (
        Summing,
        parse_ranks,
        parse_size_of,
        routine_of,
        size_multiple_bytes,
        sizes_of,
    )

    summing = Summing(
        warm_up,
        None if ranks is None else parse_ranks(ranks),
        outliers,
        bins,
        None if bin_width is None else bin_width * 1e3,
        log_bins,
        every,
        parts,
        parse_size_of(size_of),
        without_timer_overhead,
    )
    limits = {"--min": smallest, "--max": largest, "--increment": increment, "--factor": factor}
    if again is not None:
        measuring = {"a routine": routines, **limits, "--repetitions": repetitions}
        _refuse_measuring(measuring | _flags_given(given))
        _sum_up_again(again, summing, output or USUAL_NAME, quiet)
        return
    job = _job(given)
    processes = asked_processes or usual_ranks(job["hosts"], job["ppn"])
    left_out = hosts_left_out(job["hosts"], job["ppn"], processes)
    if left_out is not None and not quiet:
        warn(left_out)
    if summing.ranks is not None and summing.ranks[-1] >= processes:
        raise UsageError(f"--ranks {ranks} and -n {processes} do not go together: they begin at 0")
    chosen = []
    for text in routines or USUAL:
        multiple = size_multiple_bytes(text, summing.size_of, processes)
        sizes = _sizes_named(given["sizes"], limits) or sizes_of(
            smallest, largest, increment, factor, multiple
        )
        chosen.append(routine_of(text, sizes, repetitions, summing.size_of, processes))
    names = _names(output, chosen)
    check_names(names)
    operations = [routine.operation for routine in chosen]
    choices = choices_of(operations, _block_keys(given))
    content = {
        "name": "mpibench-" + "-".join(r.name for r in chosen)[:40],
        "path": {"kind": "hosts" if job["hosts"] else "loopback"},
        "mpi": {"mpi": library, "ranks": processes, **job},
        "measure": [
            _block(routine, summing, processes) | shape | choices[routine.operation]
            for routine, shape in zip(chosen, shapes_of(operations, root, pattern), strict=True)
        ],
    }
    _measure(content, summing, output or USUAL_NAME, out, quiet)


def _job(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the table ``mpi``."""
    asked = given_of(MPIBENCH_JOB, CARRIER, given)
    return {
        **asked,
        "hosts": split_hosts(asked["hosts"]) if "hosts" in asked else [],
        "ppn": parse_ppn(asked.get("ppn")),
        **binding(given["pin"], given["oversubscribe"]),
    }


def _block_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a block that routines take or not."""
    return {
        key: value
        for key, value in given_of(MPIBENCH_BLOCK, CARRIER, given).items()
        if BLOCK[key].takers is not None
    }


def _flags_given(given: Mapping[str, Any]) -> dict[str, Any]:
    """By flag, what was given of the rows and is not as usual."""
    rows = {row.key: row for row in (*MPIBENCH_JOB, *MPIBENCH_BLOCK)}
    return {
        rows[key].flags_of(CARRIER)[0].first: value
        for key, value in given_of(rows.values(), CARRIER, given).items()
        if value != rows[key].default
    }


def _sizes_named(text: str | None, limits: Mapping[str, Any]) -> tuple[int, ...]:
    """Those of ``--sizes``; none where it was not given. Raises UsageError."""
    from netsonde.study.values import expand_sizes

    if text is None:
        return ()
    for name, value in limits.items():
        if value is not None:
            raise UsageError(f"--sizes and {name} do not go together: each says all sizes")
    try:
        return tuple(dict.fromkeys(expand_sizes(text)))
    except ValueError as error:
        raise UsageError(f"--sizes {str(error)[:160]}") from error


def _refuse_measuring(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if value:
            raise UsageError(f"--from and {name} do not go together: a run is summed up as it is")


def _names(output: str | None, routines: Sequence[Routine]) -> list[str]:
    """NAME, or NAME-ROUTINE where there are several. Raises UsageError for two that are one."""
    if len(routines) == 1:
        return [output or USUAL_NAME]
    for first, second in combinations(routines, 2):
        if first.operation == second.operation:
            raise UsageError(
                f"{first.name} and {second.name} are one measurement; name one of them, once"
            )
    return [f"{output or USUAL_NAME}-{routine.name}" for routine in routines]


def shapes_of(chosen: Sequence[str], root: str | None, pattern: str | None) -> list[dict[str, Any]]:
    """For each operation, what it takes of root and partners. Raises
    UsageError where none takes what was asked for: nothing is accepted without effect."""
    from netsonde.operations import operations, parse_root

    known = [operations()[name] for name in chosen]
    partners = partners_of(pattern)
    if pattern is not None and all(not each.is_between_two for each in known):
        raise UsageError(
            f"--pattern {pattern} goes with messages, such as isend; {chosen[0]} is not between two"
        )
    to_root = partners.get("pattern") == "all-to-one"
    if root is not None and not to_root and not any(each.rooted for each in known):
        raise UsageError(f"--root {root} goes with routines that have one, such as bcast; "
                         f"{chosen[0]} has none")  # fmt: skip
    asked = {} if root is None else {"root": parse_root(root)}
    return [
        (asked if each.rooted or (to_root and each.to_one) else {})
        | (partners if each.is_between_two else {})
        for each in known
    ]


def _block(routine: Routine, summing: Summing, processes: int) -> dict[str, Any]:
    parts = processes if summing.size_of == "total" else 1
    return {
        "transports": [CARRIER],
        "test": "collective",
        "operations": [routine.operation],
        "sizes": [size // parts for size in routine.sizes],
        "count": routine.repetitions + summing.warm_up,
        "keep": MOST_KEPT,
        "timer_overhead": "told",
    }


def _measure(content: dict[str, Any], summing: Summing, base: str, out: Path, quiet: bool) -> None:
    # Imported late: the help need not wait for the libraries.
    from netsonde.cli.mpibench_files import write_what_there_is
    from netsonde.cli.progress import Shown
    from netsonde.study.execute import start_study

    shown = Shown(quiet)
    try:
        outcome: Outcome = start_study(study_of(content), out, sys.argv, shown)
    except (HostError, InterruptedByUserError):
        shown.stop()
        if shown.directory is not None:
            write_what_there_is(shown.directory, summing, base, quiet)
        raise
    finally:
        shown.stop()
    lost = write_what_there_is(outcome.directory, summing, base, quiet)
    if outcome.failures:
        first = next(iter(outcome.failures.values()))
        raise HostError(f"{len(outcome.failures)} sizes failed, the first because {first}")
    _require_nothing_lost(lost)


def _sum_up_again(directory: Path, summing: Summing, base: str, quiet: bool) -> None:
    from netsonde.cli.mpibench_files import write_files_of
    from netsonde.records.rundir import open_run

    run = open_run(directory)
    if not any(p.batches for p in run.select(CARRIER, "collective")):
        raise UsageError(f"{directory} holds no measured MPI operation")
    _require_nothing_lost(write_files_of(run, summing, base, quiet))


def _require_nothing_lost(lost: Sequence[str]) -> None:
    """Raises HostError, after all files were written."""
    if lost:
        more = f"; {len(lost)} in all, named in the files" if len(lost) > 1 else ""
        raise HostError(f"{lost[0]}{more}")
