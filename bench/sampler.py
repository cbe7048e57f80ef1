"""What the tracer takes while it samples once a second: CPU time, memory, lateness."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.peers import Route
from netsonde.errors import HostError
from netsonde.launch.tracer import start_tracer
from netsonde.trace.series import load_trace

NAME = "sampler"
INTERVAL_NS = 10**9
LEAST_SECONDS = 20.0
SHARE_GOAL = 0.002
BYTES_GOAL = 20e6


@dataclass(frozen=True)
class SamplerCost:
    """share: of one CPU, from the first sample to the last. late_ns: the median and the
    largest lateness of a sample's beginning."""

    seconds: float
    samples: int
    counters: int
    share: float
    resident_bytes: int
    reading_ns: float
    late_median_ns: float
    late_most_ns: float
    trace_bytes_per_s: float


def sampler(route: Route, seconds: float, draw: random.Random) -> list[SamplerCost]:  # noqa: ARG001
    """On this host, all parts. Raises HostError."""
    seconds = max(LEAST_SECONDS, seconds)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "trace")
        with start_tracer({"folder": str(folder), "interval_ns": INTERVAL_NS}) as tracer:
            tracer.wait_ready()
            time.sleep(seconds)
            resident_bytes = _most_resident_bytes(tracer.pid)
        trace = load_trace(folder)
        trace_bytes = sum(path.stat().st_size for path in folder.glob("trace-*.log"))
    spent = trace.increments("trace.cpu_us")
    if spent is None:
        raise HostError("the tracer does not say what it took")
    elapsed_s = float(trace.windows_s.sum())
    grid = trace.numbers >= 0
    late_ns = trace.since_ns[grid] - trace.numbers[grid] * INTERVAL_NS
    return [
        SamplerCost(
            elapsed_s,
            len(trace.since_ns),
            len(trace.columns),
            float(spent.amounts.sum()) / 1e6 / elapsed_s,
            resident_bytes,
            float(np.median(trace.cost_ns)),
            float(np.median(late_ns)),
            float(late_ns.max()),
            trace_bytes / elapsed_s,
        )
    ]


def lines(found: Sequence[SamplerCost]) -> list[str]:
    """For the terminal, with the goals."""
    said = ["the tracer at a sample a second, all parts, on this host"]
    for one in found:
        share = "met" if one.share < SHARE_GOAL else "missed"
        memory = "met" if one.resident_bytes < BYTES_GOAL else "missed"
        said += [
            f"CPU  {one.share:.3%} of one, goal {SHARE_GOAL:.1%}: {share}",
            f"memory     {one.resident_bytes / 1e6:.1f} MB at most, "
            f"goal {BYTES_GOAL / 1e6:.0f} MB: {memory}",
            f"a reading  {one.reading_ns / 1e6:.2f} ms of {one.counters} counters; begins "
            f"{one.late_median_ns / 1e3:.0f} µs late, {one.late_most_ns / 1e3:.0f} µs at most",
            f"on disk    {one.trace_bytes_per_s:.0f} bytes a second; "
            f"{one.samples} samples in {one.seconds:.0f} s",
        ]
    return said


def _most_resident_bytes(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError as error:
        raise HostError(f"the tracer's memory cannot be read: {error.strerror}") from error
    raise HostError("this kernel does not tell a process's memory")
