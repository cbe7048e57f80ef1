"""``netsonde mpi``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from netsonde.cli.common import (
    RUNS,
    JsonOption,
    OutOption,
    QuietOption,
    measure_and_show,
    study_of,
)
from netsonde.cli.sockets import (
    CountOption,
    IntervalOption,
    PerturbOption,
    RefineOption,
    SeedOption,
    SizesOption,
    TimeOption,
    parse_interval,
    sweep_keys,
)
from netsonde.errors import UsageError

POINT_TO_POINT = {
    "latency": "64",
    "pingpong": "64k",
    "stream": "64k",
    "duplex": "64k",
    "sweep": "1..1M",
}
COLLECTIVES = {"barrier": "0", "bcast": "64,64k", "allreduce": "64,64k", "alltoall": "64,16k"}


def mpi(
    tests: Annotated[
        list[str],
        typer.Argument(
            metavar="TEST...",
            help="latency, pingpong, stream, duplex, sweep; or operations: barrier, bcast, "
            "allreduce, alltoall.",
        ),
    ],
    ranks: Annotated[int, typer.Option("-n", min=1, help="Number of ranks.")] = 2,
    hosts: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Hosts, as `node1,node2` or `lab:h1,h2`; else this one."),
    ] = None,
    library: Annotated[
        str, typer.Option("--mpi", metavar="NAME|PATH", help="The MPI, or its mpiexec.")
    ] = "mpich",
    sizes: SizesOption = None,
    perturb: PerturbOption = None,
    refine: RefineOption = False,
    count: CountOption = None,
    time: TimeOption = "2s",
    interval: IntervalOption = "1%",
    seed: SeedOption = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure MPI operations, with the time of every rank in every repetition.

    Example: `netsonde mpi latency bcast -n 2 --hosts node1,node2`
    """
    keys = sweep_keys("sweep" in tests, perturb, refine)
    content = {
        "name": "mpi-" + "-".join(tests)[:40],
        "seed": seed,
        "cap": time,
        "interval": parse_interval(interval),
        "path": {"kind": "hosts" if hosts else "loopback"},
        "mpi": {"mpi": library, "ranks": ranks, "hosts": _host_list(hosts)},
        "measure": [
            _block(test, sizes, count) | (keys if test == "sweep" else {}) for test in tests
        ],
    }
    measure_and_show(study_of(content), out, as_json, quiet)


def _host_list(hosts: str | None) -> list[str]:
    if hosts is None:
        return []
    return [hosts] if hosts.startswith("lab:") else hosts.split(",")


def _block(test: str, sizes: str | None, count: int | None) -> dict[str, Any]:
    if test in POINT_TO_POINT:
        return {
            "transports": ["mpi"],
            "test": "latency" if test == "sweep" else test,
            "sizes": sizes or POINT_TO_POINT[test],
            "count": count,
        }
    if test in COLLECTIVES:
        return {
            "transports": ["mpi"],
            "test": "collective",
            "operations": [test],
            "sizes": sizes or COLLECTIVES[test],
            "count": count,
        }
    known = ", ".join([*POINT_TO_POINT, *COLLECTIVES])
    raise UsageError(f"{test!r} is no MPI test; the tests are {known}")


def register(app: typer.Typer) -> None:
    app.command()(mpi)
