"""A run's samples batch by batch, for runs that are larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch
from netsonde.records.journal import read_journal


def stream_batches(directory: Path) -> Iterator[tuple[str, Batch]]:
    """Point ids and batches of the last attempt at each point, in the order of measurement.

    One batch is in memory at a time; the journal is read twice. The same as
    :func:`netsonde.records.rundir.open_run` has.
    """
    last: dict[str, int] = {}
    for entry in read_journal(directory, batches=False):
        if entry["entry"] == "point_started":
            last[entry["point"]] = last.get(entry["point"], 0) + 1
    started: dict[str, int] = {}
    for entry in read_journal(directory):
        point = str(entry.get("point"))
        if entry["entry"] == "point_started":
            started[point] = started.get(point, 0) + 1
        elif entry["entry"] == "batch" and started.get(point) == last.get(point):
            yield point, decode_batch(entry["batch"], entry["records"])
