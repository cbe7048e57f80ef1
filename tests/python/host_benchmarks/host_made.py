"""What a host did alone, of which the truth is known."""

from __future__ import annotations

import numpy as np

from netsonde.host_benchmarks.work_figures import HintFigures, hint_figures

QUANTUM_NS = 10_000


def disturbed(every: int, by_ns: int, count: int = 100_000) -> np.ndarray:
    """Quanta of which every so many is longer by so much."""
    quanta = np.full(count, QUANTUM_NS, dtype=np.int64)
    quanta[::every] += by_ns
    return quanta


def hint_of(quips: list[float], memory_bytes: list[int]) -> HintFigures:
    """HINT that has found these QUIPS with memory of these sizes."""
    time_ns = np.array([1000 * 4**i for i in range(len(quips))], dtype=np.int64)
    quality = np.array(quips) * time_ns / 1e9
    columns = {
        "subintervals": np.array(memory_bytes) // 40,
        "time_ns": time_ns,
        "memory_bytes": np.array(memory_bytes),
        "gap": np.round(1e18 / quality).astype(np.int64),
    }
    caches = [("l1d", 32_768), ("l2", 1 << 20)]
    return hint_figures("double", 1, columns, caches, {"bounds_hold": True})
