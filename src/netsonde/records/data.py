"""What a run holds, in memory. The names of series, counters and snapshot values are those of
docs/reference/records.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.named import Asked
from netsonde.catalogue.point import PointSpec, spec_of
from netsonde.records.counted import growth
from netsonde.records.later import Later
from netsonde.records.sessions import SessionSeen

PROGRAM = "program"
"""The test, and what stands for the transport, of a point that ran a user's own program."""
ALL_PAIRS = "all_pairs"
"""The test, and what stands for the transport, of a round in which all hosts meet in pairs."""
Series = npt.NDArray[np.int64]
Scalar = int | float | str | bool
USUAL_MTU_BYTES = 1500
"""What a path without a known MTU is taken to have: that of Ethernet."""


class Snapshot:
    """The system's counters of one host at one instant of its monotonic clock. ``values`` that are
    still in a journal are read when they are first asked for."""

    __slots__ = ("_values", "cost_ns", "phase", "time_ns")

    def __init__(
        self, phase: str, time_ns: int, cost_ns: int, values: Mapping[str, int] | Later
    ) -> None:
        self.phase, self.time_ns, self.cost_ns = phase, time_ns, cost_ns
        self._values = values

    @property
    def values(self) -> Mapping[str, int]:
        if isinstance(self._values, Later):
            self._values = self._values.values()
        return self._values

    def _told(self) -> tuple[str, int, int, Mapping[str, int]]:
        return self.phase, self.time_ns, self.cost_ns, self.values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self._told() == other._told()

    def __reduce__(self) -> tuple[Any, ...]:
        return Snapshot, self._told()

    def __repr__(self) -> str:
        return f"Snapshot{self._told()}"


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
        try:
            return self.after.values[name] - self.before.values[name]
        except KeyError:
            return None

    def differences(self, prefix: str = "") -> dict[str, int]:
        """Every snapshot value's growth over the batch, of those whose names have a prefix."""
        if self.before is None or self.after is None:
            return {}
        return growth(self.before.values, self.after.values, prefix)


@dataclass
class Batch:
    """One `run` request: the data of each end by rank; of a test between two ranks of MPI, 0 is
    the origin and 1 the target, whatever their ranks are."""

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
class Point(Asked):
    """One point of a study and what was measured at it.

    ``parameters`` holds everything that was asked for: message_bytes, call_bytes, options, rate,
    cap and so on. ``series`` joins batches in order. ``started_utc`` and ``ended_utc`` are times of
    the machine that netsonde ran on, of the attempt whose data these are.
    """

    id: str
    transport: str
    test: str
    parameters: Mapping[str, Any]
    status: PointStatus = "planned"
    ended_by: str | None = None
    error: str | None = None
    opened: dict[int, dict[str, Scalar]] = field(default_factory=dict)
    checks: dict[str, Any] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)
    imported: Imported | None = None
    started_utc: str | None = None
    ended_utc: str | None = None

    @property
    def measured(self) -> bool:
        """Whether there is anything of it: samples, or what another tool said."""
        return bool(self.batches) or self.imported is not None

    @cached_property
    def spec(self) -> PointSpec:
        """What was asked for, with types."""
        return spec_of(self.test, self.parameters)

    def but_for(self, *keys: str) -> Point:
        """This point as if these keys had not been asked for: for a label that leaves them out."""
        return replace(self, parameters=self.spec.but_for(*keys))

    @property
    def operation(self) -> str | None:
        """The collective operation of an MPI point, else None."""
        return self.spec.operation

    @property
    def message_bytes(self) -> int:
        return self.spec.message_bytes

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
        if self.flows > 1 or self.kind.has_like_flows:
            ends = [end for b in self.batches for r, end in b.ends.items() if r % 2 == rank]
        else:
            ends = [b.ends[rank] for b in self.batches if rank in b.ends]
        return sum(end.counters.get(name, 0) for end in ends)

    @property
    def label(self) -> str | None:
        """What tells this point from others of the same test and size: its options in words."""
        return self.spec.label

    @property
    def mtu_bytes(self) -> int | None:
        """The MTU that the study gave the links for this point; None where it left them alone."""
        return self.spec.chosen.mtu

    @property
    def flows(self) -> int:
        """How many flows ran at once; flow i has the ranks 2 i and 2 i + 1."""
        return self.spec.streams or 1


@dataclass
class Run:
    """A run directory, read."""

    directory: Path
    manifest: dict[str, Any]
    points: list[Point]
    finished: bool
    sessions: list[SessionSeen] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """``real``, ``emulated`` or ``simulated``; ``imported`` where another tool measured."""
        return str(self.manifest["origin"])

    def host_facts(self, name: str) -> Mapping[str, Scalar]:
        """By the name that a host has for itself, as records have it; a run may have reached it by
        another one."""
        hosts: Mapping[str, Mapping[str, Scalar]] = self.manifest.get("hosts") or {}
        own = (facts for facts in hosts.values() if facts.get("host.name") == name)
        return hosts.get(name) or next(own, {})

    def facts_of_hosts(self, point: Point) -> dict[str, Mapping[str, Scalar]]:
        """The facts of each host of a point, by the name that it has for itself."""
        names = {end.host for batch in point.batches for end in batch.ends.values()}
        return {name: self.host_facts(name) for name in names}

    def mtu_bytes(self, point: Point) -> int:
        """That of the path at a point: what the study gave it, else what the origin's interface has
        by the host's facts, else Ethernet's 1500."""
        host = next((b.ends[0].host for b in point.batches if 0 in b.ends), "")
        facts = self.host_facts(host)
        device = point.opened.get(0, {}).get("interface")
        found = point.mtu_bytes or facts.get(f"interface.{device}.mtu")
        return found if isinstance(found, int) else USUAL_MTU_BYTES

    def where(self, is_wanted: Callable[[Point], bool]) -> list[Point]:
        """Measured points (finished or partial) that are wanted, by message size."""
        return [point for point in self.select() if is_wanted(point)]

    @property
    def of_operations(self) -> list[Point]:
        """Measured points of MPI's operations, by message size."""
        return self.where(lambda point: point.kind.is_operation)

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
