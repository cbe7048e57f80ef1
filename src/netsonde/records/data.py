"""What a run holds, in memory. The names of series, counters and snapshot values are those of
docs/reference/records.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Series = npt.NDArray[np.int64]
Scalar = int | float | str | bool


@dataclass(frozen=True)
class Snapshot:
    """The system's counters of one host at one instant of its monotonic clock."""

    phase: str
    time_ns: int
    cost_ns: int
    values: dict[str, int]


@dataclass
class EndData:
    """What one end (rank) reported of one batch."""

    rank: int
    host: str
    series: dict[str, Series] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    before: Snapshot | None = None
    after: Snapshot | None = None
    done: dict[str, Scalar] = field(default_factory=dict)

    def difference(self, name: str) -> int | None:
        """How much a snapshot value grew over the batch, or None where it was not read."""
        if self.before is None or self.after is None:
            return None
        if name not in self.before.values or name not in self.after.values:
            return None
        return self.after.values[name] - self.before.values[name]

    def differences(self) -> dict[str, int]:
        """Every snapshot value's growth over the batch."""
        if self.before is None or self.after is None:
            return {}
        after = self.after.values
        return {k: after[k] - v for k, v in self.before.values.items() if k in after}


@dataclass
class Batch:
    """One `run` request: the data of each end by rank."""

    index: int
    ends: dict[int, EndData]


@dataclass(frozen=True)
class ImportedFigure:
    """One figure that another tool gave, in netsonde's units; the name ends in the unit."""

    name: str
    value: float
    samples: int = 1


@dataclass(frozen=True)
class Imported:
    """What another tool said of a point. ``series`` are its own intervals, of equal length."""

    tool: str
    figures: tuple[ImportedFigure, ...]
    series: dict[str, list[float]] = field(default_factory=dict)


PointStatus = Literal["planned", "partial", "finished", "failed"]


@dataclass
class Point:
    """One point of a study and what was measured at it.

    ``parameters`` holds everything that was asked for: message_bytes, call_bytes, options, rate,
    cap and so on. ``series`` joins batches in order.
    """

    id: str
    transport: str
    test: str
    parameters: dict[str, Any]
    status: PointStatus = "planned"
    ended_by: str | None = None
    error: str | None = None
    opened: dict[int, dict[str, Scalar]] = field(default_factory=dict)
    checks: dict[str, Any] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)
    imported: Imported | None = None

    @property
    def measured(self) -> bool:
        """Whether there is anything of it: samples, or what another tool said."""
        return bool(self.batches) or self.imported is not None

    @property
    def operation(self) -> str | None:
        """The collective operation of an MPI point, else None."""
        return self.parameters.get("operation")

    @property
    def message_bytes(self) -> int:
        return int(self.parameters["message_bytes"])

    def series(self, name: str, rank: int = 0) -> Series:
        """A series over all batches, in order; empty where nobody wrote it."""
        parts = [
            b.ends[rank].series[name]
            for b in self.batches
            if rank in b.ends and name in b.ends[rank].series
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def counter(self, name: str, rank: int = 0) -> int:
        """A counter summed over all batches, and over all origins (0) or targets (1) of flows."""
        ranks = range(rank, 2 * self.flows, 2) if self.flows > 1 else (rank,)
        ends = (b.ends[r] for b in self.batches for r in ranks if r in b.ends)
        return sum(end.counters.get(name, 0) for end in ends)

    @property
    def label(self) -> str | None:
        """What tells this point from others of the same test and size: its options in words."""
        return self.parameters.get("label")

    @property
    def flows(self) -> int:
        """How many flows ran at once; flow i has the ranks 2 i and 2 i + 1."""
        return int(self.parameters.get("streams", 1))


@dataclass
class Run:
    """A run directory, read."""

    directory: Path
    manifest: dict[str, Any]
    points: list[Point]
    finished: bool

    @property
    def origin(self) -> str:
        """``real``, ``emulated`` or ``simulated``; ``imported`` where another tool measured."""
        return str(self.manifest["origin"])

    def select(
        self, transport: str | None = None, test: str | None = None, operation: str | None = None
    ) -> list[Point]:
        """Measured points (finished or partial) that match, by message size."""
        chosen = [
            p
            for p in self.points
            if p.measured
            and (transport is None or p.transport == transport)
            and (test is None or p.test == test)
            and (operation is None or p.operation == operation)
        ]
        return sorted(chosen, key=lambda p: p.message_bytes)
