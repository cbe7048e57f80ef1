"""What a call costs more that the library of rules passes on: a program with it and without."""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bench.mpi_latency import compiled_for_mpich
from bench.peers import Route
from bench.turns import in_turn
from netsonde.errors import HostError
from netsonde.launch.host import printable
from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.mpi_launchers import launcher_arguments
from netsonde.launch.tuned_library import tuned_library_for
from netsonde.stats.quantiles import quantile_interval
from netsonde.tuning.mpi.called import VARIABLE

NAME = "passed-on"
GOAL_NS = 200.0
CALLS = 2000
BLOCKS = 50
TIMEOUT_S = 60
SOURCE = Path(__file__).with_name("passed_on.c")
# Of a program whose only operation is allreduce, on one rank.
RULES: Mapping[str, Sequence[Mapping[str, object]]] = {
    "another operation's rules": [{"operation": "bcast", "ranks": 1, "algorithm": "linear"}],
    "rules of other ranks": [{"operation": "allreduce", "ranks": 2, "algorithm": "ring"}],
    "rules of other sizes": [
        {"operation": "allreduce", "ranks": 1, "from_bytes": 64, "algorithm": "ring"}
    ],
}
COUNTED = "counted, without rules"
"""Calls that are counted have no goal."""


@dataclass(frozen=True)
class PassedOn:
    """ns that a call takes without the library, and the median by which it takes longer with it,
    with its 95 % interval by order statistics; over ``pairs`` of programs."""

    title: str
    native_ns: float
    more_ns: float
    low_ns: float | None
    high_ns: float | None
    pairs: int


def passed_on(route: Route, seconds: float, draw: random.Random) -> list[PassedOn]:
    """The route is not used: one rank is alone. Raises HostError."""
    del route
    library = tuned_library_for(find_mpi("mpich"))
    found = []
    with tempfile.TemporaryDirectory(prefix="netsonde-bench-") as folder:
        program = compiled_for_mpich(SOURCE, Path(folder))
        preloads: dict[str, Mapping[str, str]] = {}
        for number, (title, rules) in enumerate(RULES.items()):
            file = Path(folder, f"rules-{number}.json")
            file.write_text(json.dumps({"format": "netsonde rules", "version": 1, "rules": rules}))
            preloads[title] = {"LD_PRELOAD": str(library), "NETSONDE_RULES": str(file)}
        preloads[COUNTED] = {"LD_PRELOAD": str(library), VARIABLE: folder}
        for title, preload in preloads.items():
            ways = {
                "with": partial(_call_ns, program, preload),
                "native": partial(_call_ns, program, {}),
            }
            rounds = in_turn(ways, seconds / len(preloads), draw)
            found.append(summarised(title, [(one["with"], one["native"]) for one in rounds]))
    return found


def summarised(title: str, pairs: Sequence[tuple[float, float]]) -> PassedOn:
    """Pairs of ns a call, with the library and without."""
    more = np.asarray([a - b for a, b in pairs], np.float64)
    interval = quantile_interval(more, 0.5)
    return PassedOn(
        title,
        float(np.median([b for _, b in pairs])),
        float(np.median(more)),
        interval.low if interval else None,
        interval.high if interval else None,
        len(pairs),
    )


def lines(found: Sequence[PassedOn]) -> list[str]:
    """For the terminal: a line for each kind of rules, and what the goal is."""
    said = ["Calls that the library of rules passes on: ns without it, and ns more with it"]
    for one in found:
        interval = "-" if one.low_ns is None else f"{one.low_ns:.1f} to {one.high_ns:.1f}"
        said.append(
            f"{one.title:<26}{one.native_ns:9.1f}{one.more_ns:+8.1f} ns ({interval}) {_word(one)}"
        )
    pairs = min((one.pairs for one in found), default=0)
    said.append(f"Goal: below {GOAL_NS:.0f} ns, by {pairs} or more pairs of programs.")
    return said


def _word(one: PassedOn) -> str:
    if one.title == COUNTED:
        return ""
    if one.low_ns is None or one.high_ns is None:
        return "not decided"
    if one.high_ns < GOAL_NS:
        return "met"
    return "missed" if one.low_ns >= GOAL_NS else "not decided"


def _call_ns(program: Path, preload: Mapping[str, str]) -> float:
    mpi = find_mpi("mpich")
    words = ["env", *(f"{name}={value}" for name, value in preload.items())] if preload else []
    command = [str(mpi.mpiexec), *launcher_arguments(mpi, [], 1), *words, str(program)]
    try:
        done = subprocess.run(
            [*command, str(CALLS), str(BLOCKS)],
            env=dict(os.environ),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return float(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"{program.name} cannot be run: {error}") from error
    except ValueError as error:
        said = printable((done.stdout + done.stderr).strip()[-200:])
        raise HostError(f"{program.name} says no time, but {said!r}") from error
