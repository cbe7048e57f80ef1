"""Launches whose truth is known: as arrays, as what was read of runs, and as run directories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from netsonde.compare.circumstances import Facts
from netsonde.compare.data import Launch, RunInfo
from netsonde.compare.values import RunValues
from netsonde.figures.keys import FigureKey
from netsonde.records.decode import encode_series
from netsonde.records.journal import Journal
from netsonde.records.rundir import write_manifest

Floats = npt.NDArray[np.float64]
BETWEEN = 0.015
"""Standard deviation of launches, as a share; that of messages is ten times as much."""
WITHIN = 0.15
MESSAGES = 300
LAG_1 = 0.6
COMMON = 0.5
"""Of a launch's deviation so much (of its variance) is in all of its figures alike."""


def launch_values(
    random: np.random.Generator, runs: int, launches: int, figures: int, shift: float = 0.0
) -> Floats:
    """Medians of launches, shape (runs, launches, figures), around 20000 ns times 1 + ``shift``.

    Launches deviate with Student's t of 4 degrees of freedom, partly in all figures alike; messages
    of a launch are lognormal with a lag-1 autocorrelation, and 1 % are ten times as slow.
    """
    scale = BETWEEN / np.sqrt(2.0)  # t of 4 has a variance of 2
    shared = random.standard_t(4, (runs, launches, 1))
    own = random.standard_t(4, (runs, launches, figures))
    deviation = scale * (np.sqrt(COMMON) * shared + np.sqrt(1.0 - COMMON) * own)
    medians = np.empty((runs, launches, figures))
    for run in range(runs):  # a part at a time, for the memory
        noise = random.standard_normal((launches, figures, MESSAGES)) * np.sqrt(1.0 - LAG_1**2)
        messages = WITHIN * scipy.signal.lfilter([1.0], [1.0, -LAG_1], noise, axis=-1)
        slow = random.random(messages.shape) < 0.01
        medians[run] = np.median(np.exp(messages) * np.where(slow, 10.0, 1.0), axis=-1)
    return np.asarray(20_000.0 * (1.0 + shift) * medians * np.exp(deviation))


def read_as(
    directory: str,
    values: Floats,
    hosts: Sequence[str] = ("h1", "h2"),
    minutes: npt.ArrayLike | None = None,
) -> RunValues:
    """What would be read of a run with these values, shape (launches, figures); ``minutes`` say
    when its launches began, each of which takes less than one."""
    times = np.full(len(values), np.nan) if minutes is None else np.asarray(minutes, float)
    found = {}
    for figure in range(values.shape[1]):
        key = FigureKey("mpi", "latency", None, 2**figure, (), "round_trip_median_ns")
        found[key] = tuple(
            Launch(
                *(directory, number + 1, float(value), None, None, ("p001",)),
                *(utc_of(times[number]), utc_of(times[number] + 0.9)),
            )
            for number, value in enumerate(values[:, figure])
        )
    info = RunInfo(directory, directory, "2026-01-01T00:00:00+00:00", "emulated", len(values))
    return RunValues(info, found, dict.fromkeys(found, "less"), Facts({}, tuple(hosts)))


def utc_of(minutes: float) -> str | None:
    """As a journal has it; None for a time that is not known."""
    if np.isnan(minutes):
        return None
    begin = datetime(2026, 1, 2, tzinfo=UTC)
    return (begin + timedelta(minutes=float(minutes))).isoformat(timespec="milliseconds")


def write_run(
    directory: Path,
    medians_ns: Mapping[int, Sequence[float]] | Mapping[tuple[int, str], Sequence[float]],
    *,
    seed: int = 1,
    messages: int = 200,
    kernel: str = "6.1.0",
    options: Mapping[str, Any] | None = None,
    started: str = "2026-01-02T03:04:05+00:00",
    origin: str = "emulated",
    transport: str = "mpi",
    minutes: Sequence[float] | None = None,
) -> Path:
    """A run directory of round trips: by message size, or by that and the congestion control that
    a study varied, the median of each launch; ``minutes`` are when they began."""
    random = np.random.default_rng(seed)
    directory.mkdir(parents=True)
    points: list[dict[str, Any]] = []
    series = []
    for kind, medians in medians_ns.items():
        size, control = kind if isinstance(kind, tuple) else (kind, None)
        for launch, median_ns in enumerate(medians, 1):
            parameters: dict[str, Any] = {"message_bytes": size, "cap_ns": 10**9, "interval": 0.01}
            parameters |= {"mpi": "mpich", "launch": launch} if len(medians) > 1 else {}
            parameters["options"] = dict(options or {})
            if control:
                parameters["options"] |= {"congestion_control": control}
                parameters["label"] = control
            name = f"p{len(points) + 1:03d}"
            points.append(
                {"id": name, "transport": transport, "test": "latency", "parameters": parameters}
            )
            noise = np.exp(0.05 * random.standard_normal(messages))
            # Its sample median is what was asked for, to the nanosecond.
            series.append(np.rint(median_ns * noise / np.median(noise)).astype(np.int64))
    facts = {"os.kernel": kernel, "cpu.governor": "performance", "interface.v0.mtu": 1500}
    manifest = {
        "format": 1,
        "name": directory.name,
        "started_utc": started,
        "origin": origin,
        "command": ["netsonde"],
        "seed": seed,
        "versions": {"netsonde": "0.1.0"},
        "path": {"kind": "lab", "rate_bit_per_s": 10**9},
        "hosts": {host: {"host.name": host, **facts} for host in ("h1", "h2")},
        "points": points,
    }
    write_manifest(directory, manifest)
    with Journal(directory) as journal:
        for point, trips in zip(points, series, strict=True):
            launch = point["parameters"].get("launch", 1)
            _append(journal, str(point["id"]), trips, minutes[launch - 1] if minutes else 0.0)
        journal.append("run_finished")
    return directory


def _append(journal: Journal, name: str, trips: npt.NDArray[np.int64], minutes: float) -> None:
    mark = {"point": name, "attempt": 1}
    counters = {"messages_sent": len(trips), "unanswered": 0, "start_ns": 0, "end_ns": 10**9}
    records = [
        *encode_series(0, "h1", "round_trip_ns", "ns", trips),
        {"record": "counters", "request": 1, "rank": 0, "host": "h1", "values": counters},
        {"record": "counters", "request": 1, "rank": 1, "host": "h2", "values": {"start_ns": 0}},
    ]
    journal.append("point_started", **mark, time_utc=utc_of(minutes))
    journal.append("batch", **mark, batch=0, records=records)
    ending = {"ended_by": "interval", "batches": 1, "checks": {}}
    journal.append("point_finished", **mark, **ending, time_utc=utc_of(minutes + 0.9))
