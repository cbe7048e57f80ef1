"""Points of a sweep whose curve is known, with what a kernel would have counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from netsonde.records.data import Batch, EndData, Point, Snapshot

OCTAVES = tuple(1 << power for power in range(21))
SAMPLES = 300
SEGMENT = 1448
Curve = Callable[[int], float]


def hockney(t0_ns: float = 20_000.0, bit_per_s: float = 1e9) -> Curve:
    """One way: t0 and so much for each byte."""
    return lambda size: t0_ns + size * 8e9 / bit_per_s


def swept_point(
    number: int,
    size: int,
    one_way_ns: float,
    *,
    transport: str = "tcp",
    growth: Mapping[str, int] | None = None,
    opened: Mapping[str, Any] | None = None,
    seed: int = 0,
    **parameters: Any,
) -> Point:
    """A point of 300 round trips about twice the time. ``growth`` is of the origin's snapshot."""
    rng = np.random.default_rng([seed, number, size])
    trips = 2 * one_way_ns * (1 + 0.01 * rng.standard_normal(SAMPLES))
    grown = {"connection.test.data_segs_out": SAMPLES * -(-size // SEGMENT), **(growth or {})}
    end = EndData(0, "h1", counters={"messages_sent": SAMPLES, "bytes_sent": SAMPLES * size})
    end.series["round_trip_ns"] = trips.astype(np.int64)
    end.before = Snapshot("before", 0, 0, dict.fromkeys(grown, 0))
    end.after = Snapshot("after", 1, 0, dict(grown))
    usual = {
        "max_segment_bytes": SEGMENT,
        "interface": "v0",
        "no_delay": True,
        "local_address": "10.0.0.1",
        "send_buffer_bytes": 87040,
        "receive_buffer_bytes": 131072,
    }
    return Point(
        f"p{number:03d}",
        transport,
        "latency",
        {"message_bytes": size, "interval": 0.01, "options": {}, **parameters},
        status="finished",
        ended_by="interval",
        opened={0: {**usual, **(opened or {})}},
        batches=[Batch(0, {0: end})],
    )


def swept_points(
    curve: Curve, sizes: tuple[int, ...] = OCTAVES, *, noise: float = 0.003, **fields: Any
) -> list[Point]:
    """A point for each size, each off the curve by its own noise."""
    seed = int(fields.get("seed", 0))
    rng = np.random.default_rng([7, seed])
    first = int(fields.pop("first", 1))
    return [
        swept_point(first + i, size, curve(size) * (1 + noise * rng.standard_normal()), **fields)
        for i, size in enumerate(sizes)
    ]
