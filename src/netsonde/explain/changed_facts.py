"""Facts of a host that changed while its run went on: between sessions, or between launches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.explain.data import Finding, Seen
from netsonde.explain.unlike_hosts import DECISIVE
from netsonde.records.data import Point, Run

TOLD = 4
_LONGEST_VALUE = 60


@dataclass(frozen=True)
class ChangedFact:
    """A fact that was ``before`` on a host, and ``now`` when it was asked for again, in session
    ``session`` at ``time_utc``. ``points`` are those measured on that host since, up to the next
    change of this fact."""

    host: str
    fact: str
    before: str
    now: str
    session: int
    time_utc: str
    points: tuple[str, ...]

    @property
    def is_decisive(self) -> bool:
        """Whether it changes figures by itself."""
        return self.fact.endswith(DECISIVE)

    @property
    def in_words(self) -> str:
        return f"{self.fact} of {self.host} is {self.now}, and was {self.before}"


def changed_facts(run: Run) -> list[ChangedFact]:
    """Those that the manifest keeps, what changes figures by itself first, then by time."""
    entries = [e for e in run.manifest.get("changed") or () if isinstance(e, Mapping)]
    times = [str(entry.get("time_utc") or _session_began(run, entry)) for entry in entries]
    found = []
    for number, (entry, time) in enumerate(zip(entries, times, strict=True)):
        until = next(
            (
                times[later]
                for later in range(number + 1, len(entries))
                if (entries[later].get("host"), entries[later].get("fact"))
                == (entry.get("host"), entry.get("fact"))
            ),
            None,
        )
        found.append(_of_entry(run, entry, time, until))
    return sorted(found, key=lambda change: (not change.is_decisive, change.time_utc))


def facts_changed(seen: Seen) -> Iterator[Finding]:
    """What changed on the hosts during the run, and which points were measured since."""
    changes = changed_facts(seen.run)
    if not changes:
        return
    first = changes[0]
    points = {p: None for change in changes if change.is_decisive for p in change.points}
    if not first.is_decisive:
        points = {p: None for change in changes for p in change.points}
    measured = sum(point.measured for point in seen.run.points)
    # Where all points are of after the change, none is held beside one of before.
    mixed = 0 < len(points) < measured
    words = "; ".join(change.in_words for change in changes[:TOLD])
    more = f"; and {len(changes) - TOLD} more" if len(changes) > TOLD else ""
    others = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
    yield Finding(
        "warning" if first.is_decisive and mixed else "note",
        f"A host changed during the run: {first.in_words} from session {first.session} on{others}.",
        f"{words}{more}. {len(points)} of {measured} measured points are of after that"
        + (", so that no two are told apart by it." if not mixed else "."),
        "Hold figures of before and after beside each other with care, or measure the points "
        "of one side again; the circumstances in the report have all changes."
        if first.is_decisive and mixed
        else "",
        tuple(points),
    )


def _session_began(run: Run, entry: Mapping[str, Any]) -> str:
    sessions: Sequence[Mapping[str, Any]] = run.manifest.get("sessions") or ()
    number = int(entry.get("session", 1))
    return str(sessions[number - 1].get("started_utc")) if number <= len(sessions) else ""


def _of_entry(run: Run, entry: Mapping[str, Any], time: str, until: str | None) -> ChangedFact:
    host = str(entry.get("host"))
    names = {host, str((run.manifest.get("hosts") or {}).get(host, {}).get("host.name", host))}
    since = tuple(
        point.id
        for point in run.points
        if point.measured
        and time < (point.ended_utc or point.started_utc or "")
        and (until is None or (point.ended_utc or "") <= until)
        and (names & _hosts(point) or not _hosts(point))
    )
    before, now = (str(entry.get(name))[:_LONGEST_VALUE] for name in ("before", "now"))
    session = int(entry.get("session", 1))
    return ChangedFact(host, str(entry.get("fact")), before, now, session, time, since)


def _hosts(point: Point) -> set[str]:
    return {end.host for batch in point.batches[:1] for end in batch.ends.values()}
