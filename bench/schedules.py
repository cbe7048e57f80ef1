"""A schedule that ranks execute beside the same messages written by hand."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.commands import said
from bench.peers import Route
from bench.turns import Beside, beside, line
from netsonde.errors import HostError
from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.mpi_launchers import LOOPBACK_SETTINGS, launcher_arguments
from netsonde.units import bytes_in_words

NAME = "schedules"
GOAL = 1.02
TIMEOUT_S = 120
PROGRAM = Path(__file__).parents[1] / "build" / "wheel" / "engine-mpi-ranks-tests"
PATHS: Mapping[str, Mapping[str, str]] = {"loopback": LOOPBACK_SETTINGS, "shared memory": {}}


def schedules(route: Route, seconds: float, draw: random.Random) -> list[Beside]:
    """The complete exchange of two ranks on two CPUs, each way in turn within one program; as
    many pairs as that makes. The route is not used: MPI finds its own. Raises HostError."""
    del route, seconds, draw
    if not PROGRAM.exists():
        raise HostError(f"{PROGRAM.name} is not built; scripts/setup test does so")
    if len(os.sched_getaffinity(0)) < 2:
        raise HostError("two ranks need two CPUs")
    return [one for title, settings in PATHS.items() for one in pairs_in(title, _by(settings))]


def pairs_in(title: str, text: str) -> list[Beside]:
    """The program's lines of bytes, ns by a schedule and ns by hand, a comparison for each size."""
    found: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for words in (row.split() for row in text.splitlines()):
        if len(words) == 3 and words[0].isdecimal():
            found[int(words[0])].append((float(words[1]), float(words[2])))
    made = []
    for size, pairs in found.items():
        ours, by_hand = [a for a, _ in pairs], [b for _, b in pairs]
        made.append(beside(f"{title} {bytes_in_words(size)}", "ns", ours, by_hand))
    return made


def _by(settings: Mapping[str, str]) -> str:
    mpi = find_mpi("mpich")
    command = [str(mpi.mpiexec), *launcher_arguments(mpi, [], 2), str(PROGRAM)]
    return said([*command, "--test-suite=overhead", "--no-skip"], TIMEOUT_S, settings)


def lines(found: Sequence[Beside]) -> list[str]:
    """For the terminal: both ways at each size, and their ratio beside the goal."""
    pairs = min((one.ratio.n for one in found), default=0)
    return [
        "A complete exchange of two ranks: by a schedule, by hand, and their ratio",
        *(line(one, one.lies(0.0, GOAL)) for one in found),
        f"Goal: at most {GOAL}, by {pairs} pairs of 200 exchanges.",
    ]
