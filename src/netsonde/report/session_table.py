"""The sessions of a run that was resumed or broken off, and what changed between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.records.data import Run
from netsonde.records.sessions import SessionSeen
from netsonde.report.quantity import format_duration
from netsonde.units import format_count

_SIGNALS = {
    "SIGINT": "interrupted by Ctrl-C (SIGINT)",
    "SIGTERM": "ended by SIGTERM: a batch system, kill or a shutdown",
}
_LOST_NAMED = 3


@dataclass(frozen=True)
class SessionRow:
    """One session in words. ``kept`` and ``lost`` say what became of its points."""

    number: int
    begin: str
    lasted: str
    where: str
    ended: str
    kept: str
    lost: str


def session_rows(run: Run) -> list[SessionRow]:
    """Every session of a run that has several, or whose one did not end as it should; else none."""
    seen = run.sessions
    if len(seen) < 2 and all(session.ended_by == "finished" for session in seen):
        return []
    if len(seen) == 1 and run.finished:
        return []
    told: Sequence[Mapping[str, Any]] = run.manifest.get("sessions") or ()
    return [
        SessionRow(
            number,
            session.started_utc[:19].replace("T", " "),
            format_duration(session.lasted_s),
            _where(told[number - 1] if number <= len(told) else {}),
            _ended(session, number, told, run.finished and number == len(seen)),
            _kept(session),
            _lost(session, run),
        )
        for number, session in enumerate(seen, 1)
    ]


def session_lines(run: Run) -> list[str]:
    """The same for a terminal, a line for each."""
    return [
        f"Session {row.number}: {row.begin[:16]}, {row.lasted}, {row.ended}; {row.kept}"
        + (f"; {row.lost}" if row.lost else "")
        for row in session_rows(run)
    ]


def _where(told: Mapping[str, Any]) -> str:
    named = [str(told.get("host") or ""), f"netsonde {told.get('netsonde', '')}".strip()]
    return ", ".join(word for word in named if word)


def _ended(
    session: SessionSeen, number: int, told: Sequence[Mapping[str, Any]], finished: bool
) -> str:
    match session.ended_by:
        case "finished":
            return "went to its end"
        case "budget":
            return "stopped by the budget"
        case "interrupted":
            return _SIGNALS.get(session.why, f"interrupted {session.why}".strip())
        case "error":
            return f"ended by an error: {session.why}"
    if finished:  # by a version that did not note ends
        return "went to its end"
    boots = [str(entry.get("boot_id")) for entry in told[number - 1 : number + 1]]
    hosts = [str(entry.get("host")) for entry in told[number - 1 : number + 1]]
    if len(boots) == 2 and hosts[0] == hosts[1] and boots[0] != boots[1]:
        return "cut off: the machine stopped or was restarted"
    return "without an end: killed" + (", or still at work" if number == len(told) else "")


def _kept(session: SessionSeen) -> str:
    failed = f", {session.failed} failed" if session.failed else ""
    return f"{format_count(session.finished, 'point')} measured{failed}"


def _lost(session: SessionSeen, run: Run) -> str:
    """Points in flight at its end, and whether they have been measured since."""
    if not session.lost:
        return ""
    names = ", ".join(session.lost[:_LOST_NAMED])
    more = len(session.lost) - _LOST_NAMED
    finished = {point.id for point in run.points if point.status == "finished"}
    again = "measured again since" if finished >= set(session.lost) else "not measured since"
    return f"lost in flight: {names}{f' and {more} more' if more > 0 else ''}, {again}"
