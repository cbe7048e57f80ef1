"""A ping-pong over MPI by netsonde and by NetPIPE's MPI programs: under the same MPI, with the same
settings, on the same CPUs, and by NetPIPE's figure, half a round trip, best of three means.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.commands import ended
from bench.peers import Route
from bench.turns import Beside, beside, in_turn, line
from netsonde.catalogue.within import LOOPBACK
from netsonde.errors import HostError
from netsonde.launch.host import printable
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_found import Mpi, find_mpi
from netsonde.launch.mpi_launchers import (
    default_environment,
    environment_of,
    launcher_arguments,
)
from netsonde.peers.netpipe import parse_netpipe
from netsonde.peers.output import UnreadableOutputError
from netsonde.records.decode import decode_batch

NAME = "mpi-netpipe"
ALIKE = (0.95, 1.05)
SIZES_BYTES = (64, 65536)
TRIALS = 3
REPEATS: Mapping[int, int] = {64: 4000, 65536: 1000}
"""Round trips of a trial: some 50 ms."""
TIMEOUT_S = 60
PROGRAMS: Mapping[str, str] = {"openmpi-debian": "NPopenmpi", "mpich-debian": "NPmpich2"}
"""Debian's builds of NetPIPE 3, by the MPI that they are built for."""
# Each rank on a CPU of its own, whatever the launcher does about it.
PINNED = """#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:?}}
[ "$rank" = 0 ] && cpu=$1 || cpu=$2
shift 2
exec taskset -c "$cpu" "$@"
"""


@dataclass(frozen=True)
class MpiNetpipe:
    """netsonde beside NetPIPE at one size under one MPI, one way, ns."""

    mpi: str
    message_bytes: int
    beside: Beside


def mpi_netpipe(route: Route, seconds: float, draw: random.Random) -> list[MpiNetpipe]:
    """Programs of both kinds in turn. MPI finds its own route. Raises HostError."""
    del route
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        raise HostError("a ping-pong over MPI needs two CPUs")
    here = present()
    found = []
    with tempfile.TemporaryDirectory(prefix="netsonde-bench-") as folder:
        script = Path(folder, "pinned.sh")
        script.write_text(PINNED)
        script.chmod(0o700)
        for mpi, program in here:
            for size in SIZES_BYTES:
                ways = {
                    "netsonde": partial(ours, mpi, size),
                    "netpipe": partial(netpipe, mpi, program, script, processors, size),
                }
                rounds = in_turn(ways, seconds / len(here) / len(SIZES_BYTES), draw)
                pairs = [(one["netsonde"], one["netpipe"]) for one in rounds]
                found.append(summarised(mpi.title, size, pairs))
    return found


def present() -> list[tuple[Mpi, str]]:
    """The MPIs for which there is a NetPIPE here. Raises HostError where there is none."""
    found = []
    for name, program in PROGRAMS.items():
        path = shutil.which(program)
        try:
            mpi = find_mpi(name)
        except HostError:
            continue
        if path is not None:
            found.append((mpi, path))
    if not found:
        packages = "netpipe-openmpi or netpipe-mpich2"
        raise HostError(f"NetPIPE's MPI programs are not there (Debian's package {packages})")
    return found


def summarised(title: str, size: int, pairs: Sequence[tuple[float, float]]) -> MpiNetpipe:
    words = f"{title}, {size} B" if size < 1024 else f"{title}, {size >> 10} KiB"
    return MpiNetpipe(
        title, size, beside(words, "ns", [a for a, _ in pairs], [b for _, b in pairs])
    )


def lines(found: Sequence[MpiNetpipe]) -> list[str]:
    """For the terminal: a line for each MPI and size, and what the goal is."""
    said = ["Ping-pong over MPI, one way: netsonde, NetPIPE, and their ratio"]
    said += [line(one.beside, one.beside.lies(*ALIKE)) for one in found]
    pairs = min((one.beside.ratio.n for one in found), default=0)
    low, high = ALIKE
    said.append(f"Goal: the same number, {low} to {high}, by {pairs} or more pairs of programs.")
    return said


def ours(mpi: Mpi, size: int) -> float:
    """By netsonde's ranks: the least of as many means of as many round trips, halved."""
    fields = {"test": "latency", "message_bytes": size, "count": TRIALS * REPEATS[size]}
    with open_mpi(None, 2, mpi=mpi.name, within=LOOPBACK.name, pin="all") as session:
        end = decode_batch(0, session.run(fields, TIMEOUT_S)).ends[0]
    trials = end.series["round_trip_ns"].reshape(TRIALS, REPEATS[size])
    return float(trials.mean(axis=1).min()) / 2


def netpipe(mpi: Mpi, program: str, script: Path, processors: Sequence[int], size: int) -> float:
    """One way, ns. Raises HostError."""
    settings = {**default_environment(mpi, [], 2, LOOPBACK), **environment_of(mpi)}
    own = ["-l", str(size), "-u", str(size), "-p", "0", "-n", str(REPEATS[size]), "-o", "/dev/null"]
    pinned = [str(script), *map(str, processors), program, *own]
    command = [str(mpi.mpiexec), *launcher_arguments(mpi, [], 2), *pinned]
    done = ended(command, TIMEOUT_S, settings)
    try:
        return parse_netpipe(done.stderr + done.stdout)[0].one_way_ns
    except UnreadableOutputError as error:
        words = printable(done.stderr.strip()[-200:])
        raise HostError(f"{Path(program).name} failed: {words or error}") from error
