"""The rows of the system logs, collected while a test goes on and written when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from netsonde.hpcbench.ends import Session
from netsonde.hpcbench.system import SystemRow, devices_of, system_row
from netsonde.records.data import Batch, Snapshot

IDLE_S = 1.0
"""Length of the periods before and after the test."""


class Trace:
    """Rows by end: 0 the client, 1 the server."""

    def __init__(self, session: Session, sleep: Callable[[float], None] = time.sleep) -> None:
        self._session = session
        self._sleep = sleep
        facts = session.facts()
        self._devices = [devices_of(facts[name]) for name in session.host_names]
        self.rows: list[list[SystemRow]] = [[] for _ in session.host_names]

    def watch_idle(self) -> None:
        """A period in which no test runs."""
        before = [_snapshot(record) for record in self._session.snapshots()]
        self._sleep(IDLE_S)
        after = [_snapshot(record) for record in self._session.snapshots()]
        for end, (first, last) in enumerate(zip(before, after, strict=True)):
            self._add(end, first, last)

    def add(self, batch: Batch) -> None:
        """The period of a repetition."""
        for rank, end in batch.ends.items():
            if end.before is not None and end.after is not None:
                self._add(rank, end.before, end.after)

    def _add(self, end: int, before: Snapshot, after: Snapshot) -> None:
        self.rows[end].append(system_row(before, after, self._devices[end]))


def _snapshot(record: dict[str, Any]) -> Snapshot:
    return Snapshot(record["phase"], record["time_ns"], record["cost_ns"], record["values"])
