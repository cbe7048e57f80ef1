"""Asks a worker for its host's disturbance, copies of memory, context switches, and HINT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ClusterShell.RangeSet import RangeSet

from netsonde.errors import HostError
from netsonde.host_benchmarks.measure import ask, ask_series, host_facts
from netsonde.host_benchmarks.plan import WorkPlan
from netsonde.host_benchmarks.work_figures import (
    HINT_COLUMNS,
    LEVELS,
    ContextSwitchFigures,
    CopyFigures,
    HintFigures,
    NoiseFigures,
    WorkTables,
    context_switch_figures,
    copy_figures,
    hint_figures,
    noise_figures,
)
from netsonde.launch.worker import Worker
from netsonde.limits import limit_s

COPY_SIZES = (64, 1024, 16 * 1024, 256 * 1024, 4 * 1024**2, 32 * 1024**2)
ARENA_CACHES = 4
"""Cold ends go around in so many times the largest cache."""
LEAST_ARENA_BYTES = 64 * 1024**2
MOST_ARENA_BYTES = 1024**3
MEMORY_SHARE = 8
"""At most one part in so many of the host's memory is taken by either end of a copy."""
COPIED_BYTES = 512 * 1024**2
"""What one size and kind moves in all, roughly."""
COPY_COUNTS = (9, 400)
CONTEXT_SWITCHES = 5000
HINT_NUMBERS = ("double", "int64")
STEP_TIMEOUT_S = limit_s("host-step")


def measure_work(worker: Worker, plan: WorkPlan) -> WorkTables:
    """What the plan asks for, one after the other. Raises HostError."""
    facts = host_facts(worker)
    return WorkTables(
        worker.host_name,
        _noise(worker, plan) if plan.noise_quanta else None,
        tuple(_copies(worker, facts)) if plan.copies else (),
        _context_switches(worker, facts) if plan.threads else None,
        tuple(_hint(worker, facts, plan)) if plan.hint_subintervals else (),
    )


def _noise(worker: Worker, plan: WorkPlan) -> NoiseFigures:
    timeout_s = 10 * plan.noise_quanta * plan.quantum_ns / 1e9 + STEP_TIMEOUT_S
    quantum_ns, _ = ask(
        worker,
        "work",
        "quantum_ns",
        timeout_s,
        quantum_ns=plan.quantum_ns,
        count=plan.noise_quanta,
    )
    if len(quantum_ns) != plan.noise_quanta:
        raise HostError(f"{worker.host_name}: the worker worked less often than it was asked to")
    return noise_figures(quantum_ns)


def _copies(worker: Worker, facts: Mapping[str, Any]) -> list[CopyFigures]:
    caches = [int(facts[name]) for name in _cache_names(facts)]
    largest = max(caches, default=LEAST_ARENA_BYTES // ARENA_CACHES)
    arena_bytes = min(max(LEAST_ARENA_BYTES, ARENA_CACHES * largest), MOST_ARENA_BYTES)
    if memory := facts.get("memory.total_bytes"):
        arena_bytes = min(arena_bytes, int(memory) // MEMORY_SHARE)
    found = []
    for size in COPY_SIZES:
        for kind, source, destination in (
            ("cache to cache", "warm", "warm"),
            ("cache to memory", "warm", "cold"),
            ("memory to memory", "cold", "cold"),
        ):
            # A block is in the cache only where there is room for it, and for its other end.
            if (source == "warm" and 2 * size > largest) or 4 * size > arena_bytes:
                continue
            least, most = COPY_COUNTS
            copies_ns, values = ask(
                worker,
                "copy",
                "copies_ns",
                STEP_TIMEOUT_S,
                bytes=size,
                source=source,
                destination=destination,
                arena_bytes=arena_bytes,
                count=min(max(least, COPIED_BYTES // max(size, 32768)), most),
            )
            if not values["arrived"]:
                raise HostError(f"{worker.host_name}: a copy of {size} bytes did not arrive whole")
            together = int(values["copies_together"])
            found.append(copy_figures(size, kind, copies_ns, together))
    return found


def _context_switches(worker: Worker, facts: Mapping[str, Any]) -> ContextSwitchFigures:
    allowed = processors_of(facts)
    cpu = allowed[0]

    def round_trips(**other: int) -> Any:
        found, _ = ask(
            worker,
            "hand_over",
            "round_trip_ns",
            STEP_TIMEOUT_S,
            count=CONTEXT_SWITCHES,
            cpu=cpu,
            **other,
        )
        return found

    return context_switch_figures(
        allowed[:2],
        round_trips(),
        round_trips(other_cpu=cpu),
        round_trips(other_cpu=allowed[1]) if len(allowed) > 1 else None,
    )


def _hint(worker: Worker, facts: Mapping[str, Any], plan: WorkPlan) -> list[HintFigures]:
    found = []
    processors = len(processors_of(facts))
    for number in HINT_NUMBERS:
        for threads in dict.fromkeys((1, processors)):
            columns, values = ask_series(
                worker,
                "hint",
                HINT_COLUMNS,
                STEP_TIMEOUT_S,
                number=number,
                subintervals=plan.hint_subintervals,
                threads=threads,
            )
            # The caches next to a core are there once for each thread.
            caches = [
                (name.split(".")[2].removesuffix("_bytes"), int(facts[name]))
                for name in _cache_names(facts)
            ]
            used = [(level, size * (1 if level == "l3" else threads)) for level, size in caches]
            found.append(hint_figures(number, threads, columns, used, values))
    return found


def processors_of(facts: Mapping[str, Any]) -> list[int]:
    """The allowed CPUs, from the kernel's list such as ``0-3,8``."""
    return sorted(int(cpu) for cpu in RangeSet(str(facts["cpu.allowed"])))


def _cache_names(facts: Mapping[str, Any]) -> list[str]:
    names = [f"cpu.cache.{level}_bytes" for level in LEVELS]
    return [name for name in names if name in facts]
