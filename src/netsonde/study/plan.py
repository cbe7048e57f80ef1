"""From a study to its points, in the random order in which they are measured."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import Any

from netsonde.study.spec import (
    MESSAGE_LIMIT_BYTES,
    OPEN_LOOP_LEAST_BYTES,
    UDP_PAYLOAD_LIMIT_BYTES,
    MeasureTable,
    StudySpec,
)

POINTS_LIMIT = 100_000
DISCARD_PORT = 9
"""Where datagrams go that nobody is to answer (RFC 863)."""


@dataclass(frozen=True)
class PlannedPoint:
    """One point: what is measured, and how long at most.

    ``parameters`` are JSON scalars and tables: message_bytes, cap_ns, interval, options and, where
    asked for, operation, call_bytes, count, rate_bit_per_s, streams, label, port, load_ratio,
    like, omit_ns, check_data, ranks, refine; perturbed_bytes of a size beside another one, and
    refined, the round in which a size was added.
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
                shifts = perturbed(sizes, block.perturb, *_limits(transport, block.test))
                for (size, shift), load in product(shifts, (*block.loads,) or (None,)):
                    parameters = _parameters(spec, block, transport, operation, size)
                    if shift:
                        parameters["perturbed_bytes"] = shift
                    if load is not None:
                        parameters["load_ratio"] = load
                    name = f"p{len(points) + 1:03d}"
                    points.append(PlannedPoint(name, transport, block.test, parameters))
    return points


def perturbed(sizes: list[int], by: int, least: int, most: int) -> list[tuple[int, int]]:
    """Each size N, and N - by and N + by: pairs of size and shift, bytes, in the order of N.

    Without those outside of least..most and those that are there already, and none where the next
    size is not more than by + 1 away, as NetPIPE does: they would meet its own.
    """
    pairs = list[tuple[int, int]]()
    seen = set(sizes)
    for size, following in zip_longest(sizes, sizes[1:]):
        is_apart = following is None or abs(following - size) > by + 1
        for shift in (-by, 0, by) if by and is_apart else (0,):
            beside = size + shift
            if shift == 0 or (least <= beside <= most and beside not in seen):
                seen.add(beside)
                pairs.append((beside, shift))
    return pairs


def _limits(transport: str, test: str) -> tuple[int, int]:
    """The least and the largest message, bytes."""
    least = OPEN_LOOP_LEAST_BYTES if test == "open_loop" else 1
    return least, UDP_PAYLOAD_LIMIT_BYTES if transport == "udp" else MESSAGE_LIMIT_BYTES


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
        "refine": block.refine or None,
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


def in_order(points: Sequence[PlannedPoint], seed: int) -> list[PlannedPoint]:
    """The points in the order of measurement: random, so that drift of the machine does not
    follow size or transport, and the same for the same seed; those of a later round after all of
    the rounds before, in an order of their own."""
    order: list[PlannedPoint] = []
    for number in sorted({round_of(point) for point in points}):
        members = [point for point in points if round_of(point) == number]
        random.Random(seed + number).shuffle(members)
        order += members
    return order


def round_of(point: PlannedPoint) -> int:
    """0 for the points of the study, 1, 2, ... for those that were added later."""
    return int(point.parameters.get("refined", 0))
