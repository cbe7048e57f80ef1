"""Runs of random factorial studies, in random order, whose every factor has an effect of its own.

What is put side by side although it differs in more than the factor in question then differs in
time as well, and rules that look for differences find it.
"""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from netsonde.records.data import Batch, EndData, Point, Run, Snapshot

SAMPLES = 12
OPERATIONS = ("allreduce", "reduce", "bcast", "send", "ssend", "sendrecv", "barrier")
MOST_POINTS = 16
FACTORS: dict[str, list[Any]] = {
    "transport": ["icmp", "udp", "tcp", "mpi"],
    "test": ["latency", "stream", "collective", "pingpong"],
    "message_bytes": [1, 64, 1024, 1448, 4096, 65536],
    "operation": list(OPERATIONS),
    "launch": [1, 2, 3],
    "mpi": ["mpich", "openmpi"],
    "ranks": [2, 3, 4, 5],
    "ppn": [1, 2],
    "pair": [[0, 1], [0, 2], [1, 2]],
    "busy": [None, "both", "origin"],
    "mtu": [None, 9000],
    "buffer": [None, 65536, 1 << 20],
    "congestion_control": [None, "cubic", "reno"],
    "wait": ["block", "spin"],
    "between": [None, ["h1", "h2"], ["h1", "h3"]],
    "perturbed_bytes": [None, -3],
    "check_data": [None, True],
    "label": [None, "before the change", "after it"],
    "root": [None, 1],
    "streams": [None, 2],
}
_OPTIONS = ("busy", "mtu", "buffer", "congestion_control", "wait")
_OF_MPI = ("mpi", "ranks", "ppn")
_ONLY = {
    "operation": ("collective",),
    "root": ("collective",),
    "pair": ("latency", "pingpong"),
    "streams": ("stream",),
}
_ALWAYS = ("transport", "test", "message_bytes")


KINDS: tuple[dict[str, list[Any]], ...] = (
    {"transport": ["icmp", "udp", "tcp", "mpi"], "test": ["latency"]},
    {"transport": ["tcp", "mpi"], "test": ["latency"], "message_bytes": FACTORS["message_bytes"]},
    {"transport": ["tcp"], "test": ["stream"], "congestion_control": ["cubic", "reno", None]},
    {"transport": ["mpi"], "test": ["collective"], "operation": list(OPERATIONS)},
    {"transport": ["mpi"], "test": ["collective"], "message_bytes": FACTORS["message_bytes"]},
    {"transport": ["mpi"], "test": ["collective"], "operation": ["send", "ssend"]},
    {"transport": ["mpi"], "test": ["collective"], "ranks": FACTORS["ranks"]},
    {},
)
"""What studies are about: these have all of these values, the rest is by chance."""


def factorial_run(seed: int) -> Run:
    """Every combination of a few values of a few factors, or of many a random part."""
    draw = random.Random(seed)
    about = draw.choice(KINDS)
    others = [name for name in FACTORS if name not in _ALWAYS and name not in about]
    chosen = draw.sample(others, draw.randint(1, 4 if about else 6))
    values = {name: _some(draw, name) for name in (*_ALWAYS, *chosen)} | about
    if "collective" in values["test"]:
        values.setdefault("operation", draw.sample(OPERATIONS, 2))
    effects = {
        (name, repr(value)): draw.uniform(0.5, 2.5) for name, all_of in FACTORS.items()
        for value in all_of
    }  # fmt: skip
    combinations = [dict(zip(values, one, strict=True)) for one in product(*values.values())]
    draw.shuffle(combinations)
    points: dict[str, Point] = {}
    for combination in combinations:
        point = _point(len(points) + 1, combination, effects, seed)
        if point is not None:
            points.setdefault(repr((point.transport, point.test, point.parameters)), point)
        if len(points) == MOST_POINTS:
            break
    manifest = {"origin": "real", "path": {}, "hosts": {}, "started_utc": "2026-01-01T00:00:00Z"}
    return Run(Path("runs/x"), manifest, list(points.values()), True)


def _some(draw: random.Random, name: str) -> list[Any]:
    most = 2 if name not in ("message_bytes", "ranks", "operation") else 5
    return draw.sample(FACTORS[name], min(len(FACTORS[name]), draw.randint(1, most + 1)))


def _point(
    number: int, given: dict[str, Any], effects: dict[tuple[str, str], float], seed: int
) -> Point | None:
    transport, test = given["transport"], given["test"]
    is_mpi = transport == "mpi"
    if (test == "collective") != ("operation" in given and is_mpi) or (
        test != "latency" and transport == "icmp"
    ):
        return None
    kept = {
        name: value
        for name, value in given.items()
        if value is not None
        and (name not in _OF_MPI or is_mpi)
        and (name not in _OPTIONS or not is_mpi or name in ("busy", "mtu"))
        and (name != "congestion_control" or transport == "tcp")
        and (name not in _ONLY or test in _ONLY[name])
        and (name != "pair" or is_mpi)
    }
    factor = 1.0
    for name, value in kept.items():
        factor *= effects[name, repr(value)]
    parameters: dict[str, Any] = {"interval": 0.01, "cap_ns": 10**9, "options": {}}
    if not is_mpi:
        parameters["options"] |= {"no_delay": True, "wait": "block", "placement": "free"}
    else:
        parameters["ranks"] = 2
        parameters |= {"mpi": "mpich"} if "launch" in kept else {}
    for name, value in kept.items():
        if name in ("transport", "test"):
            continue
        (parameters["options"] if name in _OPTIONS else parameters)[name] = value
    if "ranks" in given and is_mpi:
        parameters["ranks_vary"] = True
    if parameters.get("operation") == "barrier":
        parameters["message_bytes"] = 0
    noise = np.random.default_rng([seed, number]).lognormal(0.0, 0.01, SAMPLES)
    times = (20_000 * factor * noise).astype(np.int64)
    opened = {0: {"congestion_control": kept.get("congestion_control", "bbr")}}
    return Point(
        f"p{number:03d}",
        transport,
        test,
        parameters,
        "finished",
        ended_by="interval",
        opened=opened if transport == "tcp" else {},
        batches=_batches(test, parameters, times),
    )


def _batches(test: str, parameters: dict[str, Any], times: np.ndarray) -> list[Batch]:
    if test == "stream":
        return [Batch(i, _stream_ends(parameters, int(t))) for i, t in enumerate(times[:8])]
    if test == "collective":
        ends = {}
        for rank in range(int(parameters["ranks"])):
            end = EndData(rank, f"h{rank + 1}")
            end.series["duration_ns"] = times
            end.series["begin_ns"] = np.arange(SAMPLES) * 10**7
            end.counters |= {"start_ns": 10**9, "end_ns": 10**12}
            ends[rank] = end
        return [Batch(0, ends)]
    end = EndData(0, "h1", counters={"messages_sent": SAMPLES, "bytes_sent": 0})
    end.series["round_trip_ns"] = times
    return [Batch(0, {0: end})]


def _stream_ends(parameters: dict[str, Any], elapsed_ns: int) -> dict[int, EndData]:
    size, messages = int(parameters["message_bytes"]), 1000
    ends = {}
    for rank, (way, host) in enumerate((("sent", "h1"), ("received", "h2"))):
        counters = {
            "start_ns": 0,
            "end_ns": 1000 * elapsed_ns,
            "drained_ns": 1000 * elapsed_ns,
            "sync_round_trip_ns": 0,
            f"bytes_{way}": size * messages,
            f"messages_{way}": messages,
            "lost": 0,
        }
        before, after = Snapshot("before", 0, 0, {}), Snapshot("after", 1, 0, {})
        ends[rank] = EndData(rank, host, {}, counters, before, after)
    return ends
