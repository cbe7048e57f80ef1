"""Figures of a host's own work: disturbance, copies of memory, context switches, HINT.

From a worker's samples; docs/methods/host.md says what each means.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from netsonde.host_benchmarks.figures import Spread, spread
from netsonde.records.data import Scalar, Series
from netsonde.stats.quantiles import quantile

DETOUR_NS = 1000.0
"""A quantum that lasts so much longer than the shortest one was disturbed."""
HINT_COLUMNS = ("subintervals", "time_ns", "memory_bytes", "gap")
LEVELS = ("l1d", "l2", "l3")
"""The caches as facts name them, the nearest first."""


@dataclass(frozen=True)
class NoiseFigures:
    """Disturbance of a program that needs nothing but its CPU.

    ``share``: of all time, what went to detours; ``detours``: their lengths, None without any.
    """

    quanta: int
    quantum: Spread
    share: float
    detours_per_s: float
    detours: Spread | None


@dataclass(frozen=True)
class CopyFigures:
    """Copies of one size; ``kind`` is cache to cache, cache to memory or memory to memory."""

    size_bytes: int
    kind: str
    copy_ns: float
    byte_per_s: float


@dataclass(frozen=True)
class ContextSwitchFigures:
    """What a context switch from one thread to another takes.

    ``calls_ns``: writing a byte and reading it, alone. ``switch_ns``: a switch between two threads
    of one CPU, without those calls. ``wake_ns``: until a thread of another CPU runs,
    with them; None where there is only one CPU.
    """

    cpus: tuple[int, ...]
    calls_ns: float
    switch_ns: float
    wake_ns: float | None


@dataclass(frozen=True)
class HintRegime:
    """The median QUIPS where the memory fits into one level and not into the one before."""

    level: str
    up_to_bytes: int | None
    quips: float


@dataclass(frozen=True)
class HintFigures:
    """HINT with one kind of number and so many threads: one value of each column for each run."""

    number: str
    threads: int
    subintervals: tuple[int, ...]
    time_ns: tuple[int, ...]
    memory_bytes: tuple[int, ...]
    quality: tuple[float, ...]
    regimes: tuple[HintRegime, ...]
    bounds_hold: bool

    @property
    def quips(self) -> tuple[float, ...]:
        """Quality per second."""
        return tuple(q / t * 1e9 for q, t in zip(self.quality, self.time_ns, strict=True))

    @property
    def net_quips(self) -> float:
        """The area under QUIPS over the logarithm of time, by trapezoids."""
        steps = zip(pairwise(self.quips), pairwise(self.time_ns), strict=True)
        return sum((q0 + q1) / 2 * math.log(t1 / t0) for (q0, q1), (t0, t1) in steps)


@dataclass(frozen=True)
class WorkTables:
    """All that was asked for; None or empty where it was not."""

    host: str
    noise: NoiseFigures | None = None
    copies: tuple[CopyFigures, ...] = ()
    context_switches: ContextSwitchFigures | None = None
    hint: tuple[HintFigures, ...] = ()


def noise_figures(quantum_ns: Series) -> NoiseFigures:
    """Disturbance from the lengths of quanta of equal work, shape (n,), in ns.

    A detour is what a quantum takes beyond the shortest, if it is ``DETOUR_NS`` or more.
    """
    beyond = quantum_ns - quantum_ns.min()
    detours = beyond[beyond >= DETOUR_NS]
    whole_ns = float(quantum_ns.sum())
    return NoiseFigures(
        len(quantum_ns),
        spread(quantum_ns),
        float(detours.sum()) / whole_ns,
        len(detours) / whole_ns * 1e9,
        spread(detours) if len(detours) else None,
    )


def copy_figures(size_bytes: int, kind: str, copies_ns: Series, together: int) -> CopyFigures:
    """``copies_ns``, shape (n,): the time of ``together`` copies each."""
    copy_ns = quantile(copies_ns, 0.5) / together
    return CopyFigures(size_bytes, kind, copy_ns, size_bytes / copy_ns * 1e9 if copy_ns else 0.0)


def context_switch_figures(
    cpus: Sequence[int], alone_ns: Series, same_ns: Series, other_ns: Series | None
) -> ContextSwitchFigures:
    """From round trips of a byte, shapes (n,): in one thread; between two threads of one
    CPU, which is two switches and the calls of two threads; between two CPUs."""
    calls_ns = quantile(alone_ns, 0.5)
    return ContextSwitchFigures(
        tuple(cpus),
        calls_ns,
        max(0.0, quantile(same_ns, 0.5) / 2 - calls_ns),
        None if other_ns is None else quantile(other_ns, 0.5) / 2,
    )


def hint_figures(
    number: str,
    threads: int,
    columns: Mapping[str, Series],
    caches: Sequence[tuple[str, int]],
    values: Mapping[str, Scalar],
) -> HintFigures:
    """``columns``: subintervals, time_ns, memory_bytes and gap (upper less lower bound, in 1e-18),
    shape (n,) each; ``caches``: (level, bytes of all that are used), the nearest first."""
    rows = zip(*(columns[name].tolist() for name in HINT_COLUMNS), strict=True)
    kept = [row for row in rows if row[1] > 0 and row[3] > 0]
    subintervals, time_ns, memory_bytes, gaps = zip(*kept, strict=True)
    found = HintFigures(
        number,
        threads,
        subintervals,
        time_ns,
        memory_bytes,
        tuple(1e18 / gap for gap in gaps),
        (),
        bool(values["bounds_hold"]),
    )
    return replace(found, regimes=tuple(_regimes(found, caches)))


def _regimes(found: HintFigures, caches: Sequence[tuple[str, int]]) -> list[HintRegime]:
    regimes = []
    below = 0.0
    for level, up_to in [*caches, ("memory", None)]:
        top = math.inf if up_to is None else float(up_to)
        places = zip(found.quips, found.memory_bytes, strict=True)
        inside = [quips for quips, memory in places if below < memory <= top]
        if inside:
            regimes.append(HintRegime(level, up_to, statistics.median(inside)))
        below = top
    return regimes
