"""``netsonde mpi``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from netsonde.catalogue.options.commands import BLOCK, MPI_ROWS, REFINE_POINTS
from netsonde.catalogue.options.mpi import MPI
from netsonde.catalogue.test import test_row
from netsonde.cli.common import measure_and_show, study_of
from netsonde.cli.help_pages import CommandInGroups
from netsonde.cli.mpi_choices import SWEEP, binding, choices_of, parse_ppn, shape_of
from netsonde.cli.mpi_like import blocks_like, partner_of, refuse_beside_one_tool, tools_of
from netsonde.cli.mpi_many import (
    hosts_left_out,
    mpi_listing,
    numbers_of_ranks,
    usual_ranks,
    with_all,
)
from netsonde.cli.mpi_tests import (
    CARRIER,
    CLOCK,
    block_of,
    clock_blocks,
    compared_block,
    listing,
    with_guidelines,
)
from netsonde.cli.output import RUNS, HtmlOption, JsonOption, OutOption, QuietOption, warn
from netsonde.cli.row_options import given_of, with_rows
from netsonde.cli.sockets import stopping, sweep_keys
from netsonde.errors import UsageError
from netsonde.hosts import split_hosts
from netsonde.operations import operations
from netsonde.reductions import REDUCTIONS, USUAL, ReductionName


@with_rows(CARRIER.name, MPI_ROWS)
def mpi(
    tests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEST...",
            help="latency, pingpong, stream, duplex, sweep, threads, all-pairs; clock; guidelines, "
            "which is every operation that is to be no slower than others; or operations, such as "
            "bcast, gatherv, iallreduce, alltoall_init, sendrecv, put_fence: `--list` shows all. "
            "`all` is a set that shows how an MPI does.",
            show_default=False,
        ),
    ] = None,
    *,
    out: OutOption = RUNS,
    html: HtmlOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="Print all tests and operations, and end.")
    ] = False,
    **given: Any,
) -> None:
    """Measure MPI operations, with the time of every rank in every repetition.

    Examples: `netsonde mpi all`, `netsonde mpi latency stream -n 2 --hosts node1,node2`,
    `netsonde mpi bcast allreduce -n 16 --hosts node1,node2 --sizes 8..64k`,
    `netsonde mpi gather scan --sizes 8..64k -n 7 --check-data`,
    `netsonde mpi sendrecv --pattern ring -n 4`,
    `netsonde mpi guidelines -n 4 --hosts node1,node2`,
    `netsonde mpi latency -n 8 --hosts node1,node2 --ppn 4 --rank-pair all`,
    `netsonde mpi bcast -n 4 --like all`,
    `netsonde mpi bcast allreduce -n 2..16`, `netsonde mpi threads --threads 2,4`,
    `netsonde mpi all --mpi mpich,openmpi`
    """
    if list_all or given["mpi"] == "list":
        typer.echo(listing() if list_all else mpi_listing())
        return
    tests = with_all(tests)
    if not tests:
        raise UsageError("name a test, such as latency or bcast; --list shows all")
    job = _job(given)
    left_out = hosts_left_out(job["hosts"], job["ppn"], max(job["ranks"]))
    if left_out is not None and not quiet:
        warn(left_out)
    blocks = _blocks(tests, job["ranks"], given)
    content = {
        **_switches(given["switches"]),
        "name": "mpi-" + "-".join(tests)[:40],
        **stopping(CARRIER.name, given),
        "path": {"kind": "hosts" if given["hosts"] else "loopback"},
        "mpi": job,
        "measure": blocks,
    }
    measure_and_show(study_of(content), out, as_json, quiet, with_report=html)


def _switches(file: str | None) -> dict[str, Any]:
    """What a file says of the switches between the hosts, where one is given."""
    if file is None:
        return {}
    from netsonde.study.switches import read_switches  # late, as in study_of

    return read_switches(Path(file)).model_dump()


def _job(given: Mapping[str, Any]) -> dict[str, Any]:
    """The table ``mpi``, with how many ranks where it was not said."""
    asked = given_of(MPI.values(), CARRIER.name, given)
    named = split_hosts(asked["hosts"]) if "hosts" in asked else []
    each, ranks = parse_ppn(asked.get("ppn")), asked.get("ranks")
    return {
        **asked,
        "ranks": [usual_ranks(named, each)] if ranks is None else numbers_of_ranks(ranks),
        "hosts": named,
        "ppn": each,
        **binding(given["pin"], given["oversubscribe"]),
    }


def _blocks(
    tests: Sequence[str], ranks: Sequence[int], given: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The blocks of a study for all tests that are asked for."""
    keys = given_of(BLOCK.values(), CARRIER.name, given)
    asked = with_guidelines(tests, given["sizes"], ranks)
    names = [test for test, _ in asked]
    refined = {test for test in names if given["refine"] and test in operations()}
    swept = sweep_keys(
        SWEEP in tests, given["perturb"], given["refine"] and (SWEEP in tests or not refined)
    )
    shape = {
        "check_data": given["check_data"],
        "background_load": given["background_load"] or [],
        **shape_of(given["root"], given["pattern"], given["uneven"]),
    }
    tools = tools_of(given["like"], names)
    if "rank_pair" not in keys and any(test_row(test).asks_round_trip for test in tests):
        partner = partner_of(tools, ranks, given["launches"])
        keys |= {} if partner is None else {"rank_pair": partner}
    choices = choices_of(names, keys)
    if len(tools) == 1:
        refuse_beside_one_tool(tools[0], given["time"], given["relative_precision"])
    blocks: list[dict[str, Any]] = []
    for test, sizes in asked:
        if test == CLOCK:
            blocks += _clocks(sizes, choices[test], given)
            continue
        own = {
            **shape,
            **(swept if test == SWEEP else {}),
            **({"refine": REFINE_POINTS} if test in refined else {}),
            **choices[test],
        }
        plain = block_of(test, sizes, given["count"])
        own |= varied_ways(test, own.pop("algorithm", None), own.get("reduction"), given["mpi"])
        made = blocks_like(plain, test, tools, sizes is None, given["time"])
        blocks += [block | own for block in made]
    return blocks


def varied_ways(
    test: str, algorithms: str | None, reduction: str | None, mpis: str
) -> dict[str, Any]:
    """The key ``vary`` of an operation's block. Raises UsageError."""
    if algorithms is None:
        return {}
    from netsonde.launch.mpi_ways import listing_of  # late, as in study_of
    from netsonde.schedules.algorithms import LIBRARY, named_ways

    if "-buffer=" in algorithms:
        from netsonde.platforms.safety import with_known_buffers  # late: few ask for it

        algorithms = with_known_buffers(algorithms)
    joined_by = REDUCTIONS[cast("ReductionName", reduction or USUAL)]
    # Of several MPIs each has its own names: those that are written out are held by the engine.
    asks = LIBRARY in algorithms and "," not in mpis
    listing = listing_of(mpis) if asks else None
    ways = named_ways(algorithms, operations()[test], joined_by.commutes, listing)
    return {"vary": {"algorithm": ways}}


def _clocks(
    sizes: str | None, own: Mapping[str, Any], given: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The blocks of the test clock."""
    if own.get("both_timers"):
        return [compared_block(sizes, given["count"])]
    block = block_of(CLOCK, sizes, given["count"])
    return clock_blocks(block, own.get("clock_method"), own.get("compare_clocks"), given["hosts"])


def register(app: typer.Typer) -> None:
    app.command(cls=CommandInGroups)(mpi)
