"""Batches and snapshots made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from netsonde.records.data import Batch, EndData, Snapshot

S = 1_000_000_000


def snapshot(time_s: float = 0.0, **values: int) -> Snapshot:
    """Names have ``__`` where a point is meant."""
    return Snapshot(
        "now", round(time_s * S), 0, {k.replace("__", "."): v for k, v in values.items()}
    )


def end(rank: int, series: dict[str, Any] | None = None, **counters: int) -> EndData:
    made = EndData(rank, f"host{rank}", counters={"sync_round_trip_ns": 0, **counters})
    made.series = {name: np.array(v, np.int64) for name, v in (series or {}).items()}
    made.before = snapshot(process__user_ns=0, process__system_ns=0)
    made.after = snapshot(process__user_ns=10_000_000, process__system_ns=1_190_000_000)
    return made


def batch(*ends: EndData) -> Batch:
    return Batch(0, {one.rank: one for one in ends})
