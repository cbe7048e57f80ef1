"""What a journal says of the sessions of a run: from each start of netsonde to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

MEASURED_ANEW = (
    *("clock_tick_ns", "clock_resolution_ns", "clock_cost_ns"),
    *("clock_processors", "clock_apart_least_ns", "clock_apart_most_ns"),
    *("mpi.init_ns", "mpi.launch_ns"),
)
"""Facts of hosts that are measured whenever they are asked for, so that no two are equal."""


@dataclass
class SessionSeen:
    """One session. ``ended_by`` is ``finished``, ``budget``, ``interrupted``, ``error``, or None
    where the journal has no end of it: netsonde was killed, or still measures. ``why`` says more:
    a signal, or a sentence. ``last_utc`` is the last time that it wrote. ``finished`` and
    ``failed`` count its points; ``lost`` are the ids of those that were in flight at its end."""

    started_utc: str
    last_utc: str
    ended_by: str | None = None
    why: str = ""
    finished: int = 0
    failed: int = 0
    lost: tuple[str, ...] = ()
    in_flight: dict[str, None] = field(default_factory=dict)

    @property
    def lasted_s(self) -> float:
        """From its start to the last that it wrote, in seconds; 0 where its times are none."""
        try:
            begin, end = map(datetime.fromisoformat, (self.started_utc, self.last_utc))
            return (end - begin).total_seconds()
        except (TypeError, ValueError):
            return 0.0


def note_entry(sessions: list[SessionSeen], entry: Mapping[str, Any]) -> None:
    """Takes one entry of a journal into its last session."""
    kind, time = entry["entry"], str(entry.get("time_utc") or "")
    if kind == "session_started":
        _end(sessions)
        sessions.append(SessionSeen(time, time))
        return
    if not sessions:
        return  # a run of a version that did not note them, or an imported one
    own = sessions[-1]
    own.last_utc = time or own.last_utc
    point = str(entry.get("point", ""))
    match kind:
        case "point_started":
            own.in_flight[point] = None
        case "point_finished":
            own.in_flight.pop(point, None)
            own.finished += 1
        case "point_failed":
            own.in_flight.pop(point, None)
            own.failed += 1
        case "session_ended":
            own.ended_by, own.why = str(entry.get("ended_by")), str(entry.get("why", ""))
        case _:
            pass


def ended(sessions: list[SessionSeen]) -> list[SessionSeen]:
    """The same, where the journal ends."""
    _end(sessions)
    return sessions


def _end(sessions: list[SessionSeen]) -> None:
    if sessions:
        sessions[-1].lost = tuple(sessions[-1].in_flight)
