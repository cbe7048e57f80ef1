"""One point of a user's own program: runs until the medians of its figures are known."""

from __future__ import annotations

import time

import numpy as np

from netsonde.catalogue.point import Program
from netsonde.catalogue.test import names_of
from netsonde.errors import HostError
from netsonde.launch.host import last_words
from netsonde.launch.session import Session
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch
from netsonde.stats.stopping import needs_more
from netsonde.study.plan import PlannedPoint
from netsonde.study.program_table import LEAST_RUNS
from netsonde.study.series import MEASURERS, Ending, KeepBatch
from netsonde.units import format_time

SIGNAL_STATUS = 128
"""A shell's status of a program that a signal ended is this and the signal's number."""


@MEASURERS.of(*names_of("is_program"))
def measure_program(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """Runs the program again and again; every run's records are given to ``keep`` first.

    Raises HostError with one sentence where a run fails, lasts too long, or its output lacks a
    figure; what was kept stays kept.
    """
    asked = point.spec.of(Program)
    end = time.monotonic() + asked.cap_ns / 1e9
    patterns = {name: figure.pattern for name, figure in (asked.figures or {}).items()}
    request = {
        "command": list(asked.command),
        "environment": asked.environment or {},
        "figures": patterns,
    }
    batches: list[Batch] = []
    while True:
        records = session.run(request, asked.timeout_ns / 1e9)
        keep(len(batches), records)
        batches.append(decode_batch(len(batches), records))
        _require_good(batches[-1], asked)
        if asked.count is not None:
            if len(batches) == asked.count:
                return Ending("count", batches)
        elif len(batches) >= LEAST_RUNS:
            if _is_known(batches, list(patterns), asked.interval):
                return Ending("interval", batches)
            if time.monotonic() >= end:
                return Ending("time", batches)


def _require_good(batch: Batch, asked: Program) -> None:
    """Raises HostError where the run is no measurement."""
    (end,) = batch.ends.values()
    program = f"{end.host}: {asked.command[0]}"
    if end.done["timed_out"]:
        raise HostError(f"{program} was killed at its timeout of {format_time(asked.timeout_ns)}")
    status = int(end.done["exit_status"])
    if status:
        words = last_words(str(end.done["output_tail"]))
        raise HostError(f"{program} {_ending(status)}" + (f": {words}" if words else ""))
    for name, figure in (asked.figures or {}).items():
        if f"figure.{name}" not in end.done:
            raise HostError(
                f"{program} wrote no number for the figure {name}: no line of the end of its "
                f"output has {figure.pattern!r}"
            )


def _ending(status: int) -> str:
    if status > SIGNAL_STATUS:
        return f"was killed by signal {status - SIGNAL_STATUS}"
    return f"ended with status {status}"


def _is_known(batches: list[Batch], names: list[str], interval: float) -> bool:
    """Whether the median of each figure is known; where it has none, that of the elapsed time."""
    keys = [f"figure.{name}" for name in names] or ["elapsed_ns"]
    runs = [batch.ends[0].done for batch in batches]
    return all(
        needs_more(np.array([float(run[key]) for run in runs]), interval).enough for key in keys
    )
