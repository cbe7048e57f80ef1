"""Points of all pairs made by hand: how long each round trip of each pair took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from netsonde.model.meetings import all_meetings
from netsonde.records.data import Batch, EndData, Point, Run

TimesOf = Callable[[str, int, int], Sequence[float]]
"""Round trips, ns, of a company, who asks and who answers."""
ROOT = Path(__file__).parent


def flows_point(
    times: TimesOf,
    hosts: Sequence[str],
    size: int = 64,
    *,
    transport: str = "tcp",
    counters: dict[str, int] | None = None,
    id_: str = "p001",
    **more: Any,
) -> Point:
    """Over sockets: each pair has two workers."""
    number = len(hosts)
    batches = []
    for index, meeting in enumerate(all_meetings(number, more.get("pairs"))):
        ends = {}
        for a, b in meeting.pairs:
            rank = 2 * (a * number + b)
            own = {"round_trip_ns": _ns(times(meeting.company, a, b))}
            ends[rank] = EndData(rank, hosts[a], own, dict(counters or {}))
            ends[rank + 1] = EndData(rank + 1, hosts[b], {}, {})
        batches.append(Batch(index, ends))
    return _point(id_, transport, batches, number, size, more)


def ranks_point(
    times: TimesOf, hosts: Sequence[str], size: int = 64, *, id_: str = "p001", **more: Any
) -> Point:
    """Over MPI: a rank has all of its partners in a row."""
    batches = []
    for index, meeting in enumerate(all_meetings(len(hosts), more.get("pairs"))):
        ends = {}
        for rank, host in enumerate(hosts):
            own = [_ns(times(meeting.company, a, b)) for a, b in meeting.pairs if a == rank]
            series = {"round_trip_ns": np.concatenate(own)} if own else {}
            ends[rank] = EndData(rank, host, series, {})
        batches.append(Batch(index, ends))
    more = {"ranks": len(hosts), **more}
    return _point(id_, "mpi", batches, len(hosts), size, more)


def _ns(values: Sequence[float]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([round(value) for value in values], np.int64)


def _point(
    id_: str, transport: str, batches: list[Batch], hosts: int, size: int, more: dict[str, Any]
) -> Point:
    parameters = {"message_bytes": size, "cap_ns": 10**9, "hosts": hosts, **more}
    return Point(id_, transport, "all-pairs", parameters, "finished", batches=batches)


def run_of(*points: Point, directory: Path = ROOT) -> Run:
    """A run of these points."""
    manifest = {"name": "pairs", "origin": "emulated", "points": [], "path": {}, "hosts": {}}
    return Run(directory, manifest, list(points), finished=True)
