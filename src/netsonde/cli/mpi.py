"""``netsonde mpi``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from netsonde.catalogue.options.commands import REFINE_POINTS
from netsonde.catalogue.test import test_row
from netsonde.cli.common import (
    RUNS,
    JsonOption,
    OutOption,
    QuietOption,
    measure_and_show,
    study_of,
)
from netsonde.cli.mpi_choices import (
    AlignOption,
    CacheBytesOption,
    CacheOption,
    OverlapOption,
    PairOption,
    PatternOption,
    PollsOption,
    PpnOption,
    ReductionOption,
    SizeOfOption,
    SwitchesOption,
    ThreadsOption,
    WindowOption,
    choices_of,
    parse_ppn,
    partners_of,
    threads_of,
)
from netsonde.cli.mpi_like import (
    INTERVAL,
    TIME,
    blocks_like,
    partner_of,
    refuse_beside_one_tool,
    tools_of,
)
from netsonde.cli.mpi_many import (
    LaunchesOption,
    RanksOption,
    hosts_left_out,
    mpi_listing,
    numbers_of_ranks,
    usual_ranks,
    with_all,
)
from netsonde.cli.mpi_options import (
    START_HELP,
    AtLeastOption,
    AtMostOption,
    BusyOption,
    CheckOption,
    ClockOption,
    ClocksOption,
    CompareTimersOption,
    CountOption,
    IntervalOption,
    KeepOption,
    PerturbOption,
    PinOption,
    RefineOption,
    SeedOption,
    ShareOption,
    SizesOption,
    TimeOption,
    WithoutOverheadOption,
    binding,
    clock_blocks,
    clock_method,
    compared_block,
)
from netsonde.cli.mpi_tests import CLOCK, POINT_TO_POINT, block_of, listing, with_guidelines
from netsonde.cli.required import required
from netsonde.cli.sockets import intervals_of, sweep_keys
from netsonde.errors import UsageError
from netsonde.hosts import split_hosts
from netsonde.operations import operations, parse_root
from netsonde.study.switches import read_switches
from netsonde.study.windows_table import start_of


def mpi(
    tests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEST...",
            help="latency, pingpong, stream, duplex, sweep, threads; clock; guidelines, which is "
            "every operation that is to be no slower than others; or operations, such as bcast, "
            "gatherv, iallreduce, alltoall_init, sendrecv, put_fence: `--list` shows all. "
            "`all` is a set that shows how an MPI does.",
            show_default=False,
        ),
    ] = None,
    ranks: RanksOption = None,
    hosts: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Hosts, as `node1,node2` or `lab:h1,h2`; else this one."),
    ] = None,
    library: Annotated[
        str,
        typer.Option(
            "--mpi",
            metavar="NAME|PATH,...",
            help="The MPI, or several to be put side by side: mpich, openmpi, impi, or the path of "
            "an mpiexec, an mpicc or an installation; @srun behind one lets Slurm's srun start its "
            "ranks, and +NAME=VALUE sets a variable of its library. `--mpi list` shows what is "
            "found here.",
        ),
    ] = "mpich",
    launches: LaunchesOption = None,
    ppn: PpnOption = None,
    switches: SwitchesOption = None,
    sizes: SizesOption = None,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="RANK|rotate",
            help="Root of an operation that has one; `rotate`: another rank in every repetition.",
        ),
    ] = None,
    pattern: PatternOption = None,
    pair: PairOption = None,
    uneven: Annotated[
        bool,
        typer.Option("--uneven", help="Parts of different sizes, in gatherv and others like it."),
    ] = False,
    outstanding: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1024,
            help="Messages of a stream on their way at once (MPI_Isend, MPI_Irecv); else calls "
            "block.",
        ),
    ] = None,
    size_of: SizeOfOption = "each",
    window: WindowOption = None,
    threads: ThreadsOption = None,
    reduction: ReductionOption = None,
    overlap: OverlapOption = False,
    polls: PollsOption = None,
    cache: CacheOption = "warm",
    cache_bytes: CacheBytesOption = None,
    align: AlignOption = None,
    busy: BusyOption = None,
    check_data: CheckOption = False,
    perturb: PerturbOption = None,
    refine: RefineOption = False,
    start: Annotated[
        str,
        typer.Option(metavar="HOW", help=START_HELP),
    ] = "barrier",
    like: Annotated[
        str | None,
        typer.Option(
            metavar="TOOL,...",
            help="Measure as another tool does, and say what it would say: osu, imb, pmb, skampi, "
            "mpptest, mpbench, reprompi or mpibench. Several, or all: each beside netsonde's own "
            "way, and whether they agree.",
        ),
    ] = None,
    clocks: ClocksOption = None,
    clock: ClockOption = None,
    keep: KeepOption = None,
    pin: PinOption = "none",
    share: ShareOption = False,
    compare_timers: CompareTimersOption = False,
    without_timer_overhead: WithoutOverheadOption = False,
    count: CountOption = None,
    time: TimeOption = TIME,
    interval: IntervalOption = INTERVAL,
    at_least: AtLeastOption = None,
    at_most: AtMostOption = None,
    seed: SeedOption = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="Print all tests and operations, and end.")
    ] = False,
) -> None:
    """Measure MPI operations, with the time of every rank in every repetition.

    Examples: `netsonde mpi latency bcast -n 2 --hosts node1,node2`,
    `netsonde mpi gather scan --sizes 8..64k -n 7 --check-data`,
    `netsonde mpi sendrecv --pattern ring -n 4`,
    `netsonde mpi guidelines -n 4 --hosts node1,node2`,
    `netsonde mpi latency -n 8 --hosts node1,node2 --ppn 4 --pair all`,
    `netsonde mpi bcast -n 4 --like all`,
    `netsonde mpi bcast allreduce -n 2..16`, `netsonde mpi threads --threads 2,4`,
    `netsonde mpi all --mpi mpich,openmpi`
    """
    if list_all or library == "list":
        typer.echo(listing() if list_all else mpi_listing())
        return
    tests = with_all(tests)
    if not tests:
        raise UsageError("name a test, such as latency or bcast; --list shows all")
    named, each = _host_list(hosts), parse_ppn(ppn)
    numbers = [usual_ranks(named, each)] if ranks is None else numbers_of_ranks(ranks)
    left_out = hosts_left_out(named, each, max(numbers))
    if left_out is not None and not quiet:
        typer.echo(f"netsonde: {left_out}", err=True)
    asked = with_guidelines(tests, sizes, numbers)
    several = threads_of(threads, tests)
    method = clock_method(clock)
    starting = start_of(start)
    _check_starts([test for test, _ in asked], start, clocks, method, keep)
    refined = {test for test, _ in asked if refine and test in operations()}
    keys = sweep_keys("sweep" in tests, perturb, refine and ("sweep" in tests or not refined))
    shape = _shape(root, pattern, uneven)
    tools = tools_of(like, [test for test, _ in asked])
    if pair is None and any(test_row(test).asks_round_trip for test in tests):
        pair = partner_of(tools, numbers, launches)
    choices = choices_of(
        [test for test, _ in asked],
        list(POINT_TO_POINT),
        {
            "pair": pair,
            "size_of": size_of,
            "window": window,
            "reduction": reduction,
            "overlap": overlap,
            "polls": polls,
            "cache": cache,
            "cache_bytes": cache_bytes,
            "align": align,
            "both_timers": compare_timers,
            "timer_overhead": "off" if without_timer_overhead else None,
        },
    )
    if outstanding is not None and not any(test_row(t).is_one_way_stream for t in tests):
        raise UsageError(f"--outstanding goes with stream, not with {tests[0]}")
    if len(tools) == 1:
        refuse_beside_one_tool(tools[0], time, interval)
    described = {} if switches is None else read_switches(switches).model_dump()
    content = {
        **described,
        "name": "mpi-" + "-".join(tests)[:40],
        "seed": seed,
        "cap": time,
        **intervals_of(interval),
        "path": {"kind": "hosts" if hosts else "loopback"},
        "mpi": {
            "mpi": library,
            "ranks": numbers,
            "hosts": named,
            "launches": launches,
            "ppn": each,
            **binding(pin, share),
        },
        "require": required(at_least, at_most),
        "measure": [
            block
            for test, own in asked
            for block in (
                [compared_block(own, count)]
                if test == CLOCK and compare_timers
                else clock_blocks(block_of(test, own, count), method, clocks, hosts)
                if test == CLOCK
                else [
                    each
                    | {"check_data": check_data, "busy": busy or [], **shape}
                    | (keys if test == "sweep" else {})
                    | ({"outstanding": outstanding} if test_row(test).is_one_way_stream else {})
                    | ({"threads": several} if test_row(test).has_threads else {})
                    | ({"refine": REFINE_POINTS} if test in refined else {})
                    | _starts(test, starting, clocks, method, keep)
                    | choices[test]
                    for each in blocks_like(
                        block_of(test, own, count), test, tools, own is None, time
                    )
                ]
            )
        ],
    }
    measure_and_show(study_of(content), out, as_json, quiet)


def _shape(root: str | None, pattern: str | None, uneven: bool) -> dict[str, Any]:
    """The keys of a block that say how an operation's ranks stand to each other."""
    return {
        "root": parse_root(root) if root is not None else None,
        "uneven": uneven,
        **partners_of(pattern),
    }


def _host_list(hosts: str | None) -> list[str]:
    if hosts is None:
        return []
    return split_hosts(hosts)


def _check_starts(
    tests: Sequence[str], start: str, clocks: str | None, clock: str | None, keep: int | None
) -> None:
    """Raises UsageError for what means nothing to any of the tests."""
    has_operation = any(test in operations() for test in tests)
    if start != "barrier" and not has_operation:
        raise UsageError(f"--start {start} goes with operations such as bcast, not with {tests[0]}")
    if keep is not None and not has_operation:
        raise UsageError(f"--keep {keep} goes with operations such as bcast, not with {tests[0]}")
    by_wtime = clock == "wtime" and any(map(_is_timed_by_wtime, tests))
    for name, value in (("clocks", clocks), ("clock", None if by_wtime else clock)):
        if value is not None and not has_operation and CLOCK not in tests:
            raise UsageError(
                f"--{name} {value.replace('_', '-')} goes with clock and operations such as "
                f"bcast, not with {tests[0]}"
            )


def _is_timed_by_wtime(test: str) -> bool:
    return test == "sweep" or test_row(test).wtime


def _starts(
    test: str, start: dict[str, Any], clocks: str | None, clock: str | None, keep: int | None
) -> dict[str, Any]:
    """Keys of tests that they mean something for; others take part in the same run without."""
    if test not in operations():
        return {"clock": clock} if clock == "wtime" and _is_timed_by_wtime(test) else {}
    found = {**start, "clocks": clocks or "known", "clock": clock or "tree"}
    return found | ({} if keep is None else {"keep": keep})


def register(app: typer.Typer) -> None:
    app.command()(mpi)
