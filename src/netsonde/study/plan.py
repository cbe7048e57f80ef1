"""From a study to its points, in the random order in which they are measured."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product
from typing import Any

from netsonde.study.spec import MeasureTable, StudySpec

POINTS_LIMIT = 100_000
DISCARD_PORT = 9
"""Where datagrams go that nobody is to answer (RFC 863)."""


@dataclass(frozen=True)
class PlannedPoint:
    """One point: what is measured, and how long at most.

    ``parameters`` are JSON scalars and tables: message_bytes, cap_ns, interval, options and, where
    asked for, operation, call_bytes, count, rate_bit_per_s, streams, label, port, load_ratio, like,
    omit_ns, check_data, ranks.
    """

    id: str
    transport: str
    test: str
    parameters: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "transport": self.transport,
            "test": self.test,
            "parameters": self.parameters,
        }


def plan_points(spec: StudySpec) -> list[PlannedPoint]:
    """Every point in the order of the study; ids are p001, p002, ..."""
    points: list[PlannedPoint] = []
    for block in spec.measure:
        for transport in block.transports:
            for operation in (*block.operations,) or (None,):
                sizes = [0] if operation == "barrier" else block.sizes
                for size, load in product(sizes, (*block.loads,) or (None,)):
                    parameters = _parameters(spec, block, transport, operation, size)
                    if load is not None:
                        parameters["load_ratio"] = load
                    name = f"p{len(points) + 1:03d}"
                    points.append(PlannedPoint(name, transport, block.test, parameters))
    return points


def _parameters(
    spec: StudySpec, block: MeasureTable, transport: str, operation: str | None, size: int
) -> dict[str, Any]:
    optional = {
        "operation": operation,
        # Every one of these tools hands a message over in one call.
        "call_bytes": block.call if block.like is None else size,
        "like": block.like,
        "omit_ns": block.omit,
        "count": block.count,
        "rate_bit_per_s": block.rate,
        "label": block.label,
        "streams": block.streams if block.streams > 1 else None,
        "port": (block.port or DISCARD_PORT) if block.test == "generate" else None,
        "check_data": block.check_data or None,
        "ranks": spec.mpi.ranks if transport == "mpi" else None,
    }
    options = {} if transport == "mpi" else block.options.model_dump(exclude_none=True)
    return {
        "message_bytes": size,
        "cap_ns": block.cap or spec.cap,
        "interval": spec.interval,
        "options": options,
        **{name: value for name, value in optional.items() if value is not None},
    }


def shuffled(points: list[PlannedPoint], seed: int) -> list[PlannedPoint]:
    """The points in the order of measurement: random, so that drift of the machine does not
    follow size or transport, and the same for the same seed."""
    order = list(points)
    random.Random(seed).shuffle(order)
    return order
