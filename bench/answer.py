"""From Enter to the answer: how long a plain command takes beyond what it measures, and its CPU
time, beside what has to be there in any case."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bench.peers import Route
from bench.turns import in_turn
from netsonde.errors import HostError
from netsonde.records.rundir import open_run
from netsonde.stats.quantiles import quantile_interval

NAME = "answer"
GOAL_S = 0.5
TRIPS = 1000
TIMEOUT_S = 60
LAST_WORD = "Run:"
"""With what the answer ends."""
COMMANDS: Mapping[str, Sequence[str]] = {
    "tcp latency": ("tcp", "local", "latency"),
    "mpi latency": ("mpi", "latency"),
}
LIBRARIES = "import numpy, pydantic, rich.console, rich.table, typer"


@dataclass(frozen=True)
class Answer:
    """Seconds of one command; ``low`` and ``high`` bound the median of ``over_s`` at 95 %.

    ``over_s``: from the start to the last word of the answer, less the ``measured_s`` that the run
    says of itself. ``cpu_s``: user and system time of the command and all that it started.
    ``libraries_s``: CPU time of a Python that only imports the libraries that all commands need.
    """

    command: str
    runs: int
    over_s: float
    low_s: float | None
    high_s: float | None
    measured_s: float
    cpu_s: float
    libraries_s: float

    @property
    def met(self) -> bool | None:
        """Whether it is below the goal; None where the interval holds that."""
        if self.low_s is None or self.high_s is None or self.low_s < GOAL_S <= self.high_s:
            return None
        return self.high_s < GOAL_S


def answer(route: Route, seconds: float, draw: random.Random) -> list[Answer]:
    """Each command and the bare libraries in turn. The route is not used. Raises HostError."""
    del route
    with tempfile.TemporaryDirectory(prefix="netsonde-bench-") as folder:
        ways: dict[str, Callable[[], tuple[float, float, float]]] = {
            name: partial(_run, words, folder) for name, words in COMMANDS.items()
        }
        rounds = in_turn({**ways, "": _libraries}, seconds, draw)
    libraries_s = float(np.median([one[""][2] for one in rounds]))
    return [_summarised(name, [one[name] for one in rounds], libraries_s) for name in COMMANDS]


def lines(found: Sequence[Answer]) -> list[str]:
    """For the terminal: a line for each command, and what the goal is."""
    said = [f"from Enter to the answer of {TRIPS} round trips: over the measuring, CPU time"]
    for one in found:
        interval = "-" if one.low_s is None else f"{one.low_s:.2f}-{one.high_s:.2f}"
        word = {None: "not decided", True: "met", False: "missed"}[one.met]
        said.append(
            f"{one.command:<14}{one.over_s:6.2f} s ({interval}), measuring {one.measured_s:.2f} s, "
            f"CPU {one.cpu_s:.2f} s  {word}"
        )
    if found:
        said.append(f"Libraries that every command needs take {found[0].libraries_s:.2f} s of CPU.")
    runs = min((one.runs for one in found), default=0)
    return [*said, f"Goal: below {GOAL_S} s over the measuring, by {runs} or more runs."]


def _summarised(
    name: str, runs: Sequence[tuple[float, float, float]], libraries_s: float
) -> Answer:
    over = np.array([answered - measured for answered, measured, _ in runs])
    interval = quantile_interval(over, 0.5)
    return Answer(
        name,
        len(runs),
        float(np.median(over)),
        interval.low if interval else None,
        interval.high if interval else None,
        float(np.median([measured for _, measured, _ in runs])),
        float(np.median([cpu for _, _, cpu in runs])),
        libraries_s,
    )


def _run(words: Sequence[str], folder: str) -> tuple[float, float, float]:
    """Seconds to the answer, of measuring, and of CPU. Raises HostError."""
    own = ["--sizes", "64", "--count", str(TRIPS), "--out", folder]
    before = _cpu_s()
    begun = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "netsonde", *words, *own],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    ) as process:
        assert process.stdout is not None
        said = [(time.monotonic() - begun, line) for line in process.stdout]
        status = process.wait(TIMEOUT_S)
    answers = [(at_s, line) for at_s, line in said if line.startswith(LAST_WORD)]
    if status != 0 or not answers:
        raise HostError(f"netsonde {' '.join(words)} ended with status {status}")
    at_s, line = answers[-1]
    return at_s, _measured_s(Path(line.removeprefix(LAST_WORD).strip())), _cpu_s() - before


def _measured_s(directory: Path) -> float:
    """What the ends say of their batches, from the first one's begin to the last one's end."""
    counters = [
        batch.ends[0].counters for point in open_run(directory).points for batch in point.batches
    ]
    if not counters:
        raise HostError(f"{directory} has no batch")
    end_ns = max(one["end_ns"] for one in counters)
    return float(end_ns - min(one["start_ns"] for one in counters)) / 1e9


def _libraries() -> tuple[float, float, float]:
    before = _cpu_s()
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", LIBRARIES], check=True, timeout=TIMEOUT_S)
    return time.monotonic() - begun, 0.0, _cpu_s() - before


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
