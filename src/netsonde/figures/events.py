"""What happened inside a host while a batch ran: the events that eBPF programs noted there, each
with its time, by the names of docs/reference/records.md (series ``event_*``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.records.data import EndData, Series

KINDS = (
    "preempted",
    "woken-late",
    "moved",
    "softirq",
    "interrupt",
    "retransmitted",
    "frequency",
    "held",
)
"""In the order of their numbers (engine/kernel_trace/layout.h)."""


@dataclass(frozen=True)
class Events:
    """Arrays of one length, in the order of their ends; ``begin_ns`` since the end's own start.

    ``name`` has the place in ``names`` of who had the CPU, or of the interrupt; the first of
    them is empty. ``lost`` is how many came after these and were not kept.
    """

    begin_ns: Series
    duration_ns: Series
    kind: Series
    detail: Series
    name: Series
    names: tuple[str, ...]
    lost: int

    @property
    def covered_ns(self) -> float:
        """Until when all events are there."""
        if not self.lost:
            return float("inf")
        return float((self.begin_ns + self.duration_ns)[-1]) if len(self.begin_ns) else 0.0

    def of_kind(self, kind: str) -> Events:
        return self.where(self.kind == KINDS.index(kind))

    def where(self, chosen: npt.NDArray[np.bool_]) -> Events:
        """Only these."""
        return Events(
            self.begin_ns[chosen],
            self.duration_ns[chosen],
            self.kind[chosen],
            self.detail[chosen],
            self.name[chosen],
            self.names,
            self.lost,
        )


def events_of(end: EndData) -> Events | None:
    """None where that end was not watched, or what it wrote does not fit together."""
    found = [
        end.series.get(f"event_{column}")
        for column in ("begin_ns", "duration_ns", "kind", "detail", "name")
    ]
    columns = [column for column in found if column is not None]
    if len(columns) < len(found) or len({len(column) for column in columns}) != 1:
        return None
    begin, duration, kind, detail, name = columns
    names = ("", *str(end.done.get("event_names", "")).strip("\n").split("\n"))
    lost = end.counters.get("events_lost", 0)
    return Events(begin, duration, kind, detail, np.minimum(name, len(names) - 1), names, lost)
