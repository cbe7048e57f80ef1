"""A ping-pong over MPI by netsonde, which keeps a time for every message, beside the least loop
that does the same and keeps none."""

from __future__ import annotations

import os
import random
import shutil
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bench.commands import COMPILER_TIMEOUT_S, ended, said
from bench.peers import Route
from bench.turns import Beside, beside, in_turn, line
from netsonde.errors import HostError
from netsonde.launch.host import printable
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.mpi_launchers import LOOPBACK_SETTINGS, launcher_arguments
from netsonde.records.decode import decode_batch

NAME = "mpi-latency"
GOAL = 1.02
MESSAGE_BYTES = 64
TRIPS = 100
"""Round trips of a block: the least loop reads the clock once for so many."""
BLOCKS = 400
EACH = "each"
"""Has the least loop read the clock around each round trip."""
TIMEOUT_S = 60
SOURCE = Path(__file__).with_name("mpi_minimal.c")
PATHS: Mapping[str, Mapping[str, str]] = {
    "MPI loopback": LOOPBACK_SETTINGS,
    "MPI shared memory": {},
}


@dataclass(frozen=True)
class Pingpong:
    """ns of a round trip: the median of blocks' means; and of netsonde the median of the round
    trips themselves, and what its loop takes for each between two of them."""

    block_ns: float
    median_ns: float = 0.0
    between_ns: float = 0.0


@dataclass(frozen=True)
class MpiLatency:
    """netsonde beside the least loop, and beside the same that reads the clock as often
    (``control``); ``recording_ns`` is what netsonde's takes between two round trips: reading the
    clock and keeping the time. Medians over the rounds."""

    beside: Beside
    control: Beside
    median_ns: float
    recording_ns: float


def mpi_latency(route: Route, seconds: float, draw: random.Random) -> list[MpiLatency]:
    """Programs of both kinds in turn, on the same CPUs. The route is not used: MPI finds its
    own. Raises HostError."""
    del route
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        raise HostError("a ping-pong over MPI needs two CPUs")
    found = []
    with tempfile.TemporaryDirectory(prefix="netsonde-bench-") as folder:
        program = compile_minimal(Path(folder))
        for title, settings in PATHS.items():
            ways = {
                "netsonde": partial(ours, settings),
                "minimal": partial(minimal, program, settings, processors),
                "timed": partial(minimal, program, settings, processors, EACH),
            }
            rounds = in_turn(ways, seconds / len(PATHS), draw)
            found.append(summarised(title, rounds))
    return found


def summarised(title: str, rounds: Sequence[Mapping[str, Pingpong]]) -> MpiLatency:
    own = [one["netsonde"] for one in rounds]

    def beside_the(name: str, said: str) -> Beside:
        theirs = [one[name].block_ns for one in rounds]
        return beside(said, "ns", [one.block_ns for one in own], theirs)

    return MpiLatency(
        beside_the("minimal", title),
        beside_the("timed", "  clock in both"),
        float(np.median([one.median_ns for one in own])),
        float(np.median([one.between_ns for one in own])),
    )


def lines(found: Sequence[MpiLatency]) -> list[str]:
    """For the terminal: a line for each path, what recording takes, and what the goal is."""
    said = [
        "64 B ping-pong over MPI: netsonde, the least loop, and their ratio; then with",
        "the clock read around each round trip by both",
    ]
    for one in found:
        said.append(line(one.beside, one.beside.lies(0.0, GOAL)))
        said.append(line(one.control, one.control.lies(0.0, GOAL)))
        said.append(
            f"  median of single round trips {one.median_ns:.0f} ns; recording takes "
            f"{one.recording_ns:.0f} ns between two"
        )
    pairs = min((one.beside.ratio.n for one in found), default=0)
    said.append(f"Goal: at most {GOAL}, by {pairs} or more pairs of programs.")
    return said


def compile_minimal(folder: Path) -> Path:
    """The least loop for the MPI that netsonde uses. Raises HostError."""
    return compiled_for_mpich(SOURCE, folder)


def compiled_for_mpich(source: Path, folder: Path) -> Path:
    """A C program for the MPI that netsonde uses, by its standard ABI. Raises HostError."""
    scripts = sysconfig.get_path("scripts")
    compiler = shutil.which("mpicc_abi", path=scripts) or shutil.which("mpicc_abi")
    if compiler is None:
        raise HostError(f"mpicc_abi, which compiles {source.name}, is not there (package mpich)")
    program = folder / source.stem
    command = [compiler, "-O3", "-o", str(program), str(source)]
    library = Path(scripts).parent / "lib"
    said([*command, f"-Wl,-rpath,{library}"], COMPILER_TIMEOUT_S)
    return program


def ours(settings: Mapping[str, str]) -> Pingpong:
    """netsonde's workers on the same CPUs."""
    fields = {"test": "latency", "message_bytes": MESSAGE_BYTES, "count": TRIPS * (BLOCKS + 1)}
    fields |= {"echo": "other"}  # the least loop has two buffers, as other tools do
    with open_mpi(None, 2, environment=settings, pin="all") as session:
        end = decode_batch(0, session.run(fields, TIMEOUT_S)).ends[0]
    every = end.series["round_trip_ns"]
    elapsed = end.counters["end_ns"] - end.counters["start_ns"]
    trips = every[TRIPS:]
    return Pingpong(
        float(np.median(trips.reshape(BLOCKS, TRIPS).mean(axis=1))),
        float(np.median(trips)),
        float(elapsed - every.sum()) / len(every),
    )


def minimal(
    program: Path, settings: Mapping[str, str], processors: Sequence[int], *more: str
) -> Pingpong:
    mpi = find_mpi("mpich")
    command = [str(mpi.mpiexec), *launcher_arguments(mpi, [], 2), str(program)]
    extent = [str(number) for number in (MESSAGE_BYTES, TRIPS, BLOCKS, *processors, *more)]
    done = ended([*command, *extent], TIMEOUT_S, settings)
    means = [float(word) for word in done.stdout.split()] if done.returncode == 0 else []
    if len(means) != BLOCKS:
        raise HostError(f"the least loop failed: {printable(done.stderr.strip()[-200:])}")
    return Pingpong(float(np.median(means)))
