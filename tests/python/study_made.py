"""Studies drawn at random whose figures are known: launches, options, MPIs, pairs of ranks, passes,
sizes beside others, sweeps over sizes, over several transports and tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from netsonde.records.data import Batch, EndData, Point, Run

TRIPS = 40
BATCHES = 7
NOISE = 0.05
LAUNCH_NOISE = 0.2
TRANSPORTS = ("udp", "tcp", "mpi")
SWEPT = 0.25
"""The share of studies that sweep over sizes."""
S = 1_000_000_000


@dataclass
class Study:
    """Draws points one after another. ``conditions`` holds the ids of the points of each condition
    by launch: what a reader has to see as one figure."""

    seed: int
    points: list[Point] = field(default_factory=list)
    conditions: dict[tuple[Any, ...], dict[int, list[str]]] = field(default_factory=dict)
    sweeps: dict[tuple[Any, ...], dict[int, dict[int, str]]] = field(default_factory=dict)
    """By what they have in common but the size, and launch, the ids of round trips by size; passes
    and sizes beside others are none of them."""
    has_sizes_beside: bool = False

    def __post_init__(self) -> None:
        self.random = np.random.default_rng([17, self.seed])

    def one_of(self, *choices: Any) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def add(self, transport: str, test: str, condition: dict[str, Any], launch: int | None) -> None:
        """A point; one in twenty could not be measured."""
        parameters: dict[str, Any] = {"cap_ns": S, "interval": 0.01, "options": {}, **condition}
        if launch is not None:
            parameters["launch"] = launch
        name = f"p{len(self.points) + 1:03d}"
        point = Point(name, transport, test, parameters)
        self.points.append(point)
        if self.random.random() < 0.05:
            point.status, point.error = "failed", "nobody answers"
            return
        point.status, point.ended_by = "finished", "interval"
        begin = f"2026-01-02T03:04:{len(self.points) % 50:02d}+00:00"
        point.started_utc, point.ended_utc = begin, begin.replace("+", ".500+")
        scale = float(np.exp(LAUNCH_NOISE * self.random.standard_normal()))
        if test in ("latency", "pingpong"):
            point.batches = [self._trips(condition["message_bytes"], scale)]
        else:
            point.batches = [self._stream(i, transport, scale) for i in range(BATCHES)]
        own = {k: v for k, v in condition.items() if k != "pass"}
        key = (transport, test, repr(sorted(own.items(), key=str)))
        self.conditions.setdefault(key, {}).setdefault(launch or 1, []).append(name)
        self.has_sizes_beside |= "perturbed_bytes" in condition
        if test in ("latency", "pingpong") and not {"pass", "perturbed_bytes"} & condition.keys():
            of_sweep = {k: v for k, v in own.items() if k != "message_bytes"}
            key = (transport, test, repr(sorted(of_sweep.items(), key=str)))
            sizes = self.sweeps.setdefault(key, {}).setdefault(launch or 1, {})
            sizes[condition["message_bytes"]] = name

    def _trips(self, size: int, scale: float) -> Batch:
        noise = np.exp(NOISE * self.random.standard_normal(TRIPS))
        trips = ((20_000 + 20 * size) * scale * noise).astype(np.int64)
        origin = EndData(0, "h1", {"round_trip_ns": trips}, {"messages_sent": TRIPS})
        origin.counters["bytes_sent"] = TRIPS * size
        return Batch(0, {0: origin, 1: EndData(1, "h2")})

    def _stream(self, index: int, transport: str, scale: float) -> Batch:
        rate = 4e8 * scale * float(np.exp(NOISE * self.random.standard_normal()))
        counters = {"start_ns": 0, "end_ns": S, "sync_round_trip_ns": 0, "messages_sent": 1000}
        counters |= {"bytes_sent": int(rate / 8), "bytes_received": int(rate / 8)}
        ends = {rank: EndData(rank, f"h{rank + 1}", {}, dict(counters)) for rank in (0, 1)}
        if transport == "udp":
            ends[1].counters |= {"lost": int(self.random.integers(20))}
            ends[1].counters |= {"messages_received": 1000 - ends[1].counters["lost"]}
        return Batch(index, ends)


def drawn_study(seed: int) -> tuple[Run, Study]:
    """A run, and what belongs together in it."""
    study = Study(seed)
    draw = study.random
    launches = max(1, int(draw.integers(0, 9)))
    swept = bool(draw.random() < SWEPT)
    labels = study.one_of([None], [None], ["cubic", "bbr"], [None, "buffer 64k"])
    mpis = study.one_of(["mpich"], ["mpich", "openmpi"])
    pairs = study.one_of([None], [None], [[0, 1], [1, 2]])
    perturb = int(study.one_of(0, 0, 3))
    passes = int(study.one_of(1, 3)) if launches == 1 else 1
    tests = [t for t in ("latency", "stream", "pingpong", "duplex") if draw.random() < 0.6]
    transports = [str(t) for t in draw.permutation(TRANSPORTS) if draw.random() < 0.6]
    sizes = sorted({int(2 ** draw.integers(3, 14)) for _ in range(int(draw.integers(1, 3)))})
    if swept:
        sizes = [int(2**n) for n in range(3, 9 + int(draw.integers(1, 3)))]
        tests = [study.one_of("latency", "pingpong"), *(t for t in tests if t == "stream")]
    # All at once would be thousands of points.
    for factor in draw.permutation(5)[: 4 if swept else 3]:
        labels = labels[:1] if factor == 0 else labels
        mpis = mpis[:1] if factor == 1 else mpis
        pairs = pairs[:1] if factor == 2 else pairs
        tests = tests[: 1 if swept else 2] if factor == 3 else tests
        transports = transports[:1] if factor == 4 else transports
    for transport in transports or ["tcp"]:
        for test in tests or ["stream"]:
            shifts = (-perturb, 0, perturb) if perturb and test == "latency" else (0,)
            for launch in range(1, launches + 1):
                for label in labels:
                    for job in _jobs(transport, mpis, pairs, launches):
                        for size in sizes:
                            for shift in shifts:
                                given = {"message_bytes": size + shift, **job}
                                given |= {"label": label} if label else {}
                                given |= {"perturbed_bytes": shift} if shift else {}
                                for number in range(1, passes + 1):
                                    again = {"pass": number} if passes > 1 else {}
                                    several = launch if launches > 1 else None
                                    study.add(transport, test, given | again, several)
    manifest = {
        "format": 1,
        "origin": "emulated",
        "name": "drawn",
        "seed": seed,
        "started_utc": "2026-01-02T03:04:05+00:00",
        "command": ["netsonde"],
        "versions": {"netsonde": "0.1.0"},
        "path": {"kind": "lab", "rate_bit_per_s": S},
        "hosts": {},
        "requirements": [
            {"figure": "half_round_trip_ns", "at_most": 1e9},
            {"figure": "throughput_bit_per_s", "at_least": 1.0},
            {"figure": "round_trip_median_ns", "at_most": 1e9},
        ],
    }
    return Run(Path("drawn"), manifest, study.points, True), study


def _jobs(transport: str, mpis: list[str], pairs: list[Any], launches: int) -> list[dict[str, Any]]:
    if transport != "mpi":
        return [{}]
    several = len(mpis) > 1 or launches > 1
    return [
        {"ranks": 3, **({"mpi": mpi} if several else {}), **({"pair": pair} if pair else {})}
        for mpi in (mpis if several else mpis[:1])
        for pair in pairs
    ]
