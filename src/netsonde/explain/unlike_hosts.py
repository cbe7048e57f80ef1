"""Hosts of one run that differ in something that could be the same and changes network figures, and
facts of a host that changed while its run went on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.explain.data import Finding, Seen
from netsonde.records.data import Point, Run

DECISIVE = (
    ".mtu",
    ".speed_bit_per_s",
    ".duplex",
    ".driver",
    ".tso",
    ".gso",
    ".gro",
    "sysctl.net.ipv4.tcp_congestion_control",
    "sysctl.net.ipv4.tcp_rmem",
    "sysctl.net.ipv4.tcp_wmem",
    "sysctl.net.core.rmem_max",
    "sysctl.net.core.wmem_max",
    "os.kernel",
    "mpi.library",
    "cpu.model",
    "cpu.count",
    "cpu.governor",
    "clock.source",
)
"""How facts end that change a figure by themselves, the likeliest first."""
TOLD = 6
NAMED_HOSTS = 3
SAME_MEASURED = 0.02
"""What was measured on each host (the cost and the step of its clock) counts as different from so
much on."""
SAME_MEMORY = 0.02
"""Hosts with the same modules show a memory that differs by a little."""
_ALWAYS_OWN = frozenset(
    {
        *("host.name", "mac", "device", "mpi.binding"),
        *("clock_processors", "clock_apart_least_ns", "clock_apart_most_ns"),
    }
)
PROCESSORS = "cpu.allowed"
_FROM_MEMORY = ("tcp_mem", "udp_mem", "tcp_max_orphans", "tcp_max_tw_buckets", "hash_entries")
"""Settings that the kernel computes from the memory, unless somebody sets them."""


@dataclass(frozen=True)
class Difference:
    """A fact and its value on each host that has one."""

    name: str
    values: Mapping[str, Any]

    @property
    def weight(self) -> int:
        """The place in ``DECISIVE``, or beyond its end."""
        return next((i for i, end in enumerate(DECISIVE) if self.name.endswith(end)), len(DECISIVE))

    @property
    def is_decisive(self) -> bool:
        return self.weight < len(DECISIVE)


def is_own(name: str) -> bool:
    """Whether a fact is each host's own, so that no two could have the same."""
    return name in _ALWAYS_OWN or name.split(".")[-1] in _ALWAYS_OWN or ".address." in name


def differences(hosts: Mapping[str, Mapping[str, Any]]) -> list[Difference]:
    """The facts in which hosts differ, by host and name, those that matter most first. A fact that
    only some hosts have is none: another kernel has other settings."""
    names = set.intersection(*(set(facts) for facts in hosts.values())) if hosts else set()
    found = [
        Difference(name, {host: facts[name] for host, facts in hosts.items()})
        for name in sorted(names)
        if not is_own(name) and not name.endswith(_FROM_MEMORY)
    ]
    return sorted((d for d in found if _differ(d)), key=lambda d: (d.weight, d.name))


def unlike_hosts(seen: Seen) -> Iterator[Finding]:
    """Hosts that differ from each other, and in what."""
    hosts: Mapping[str, Mapping[str, Any]] = seen.run.manifest.get("hosts") or {}
    found = [d for d in differences(hosts) if d.name != PROCESSORS or not _is_pinned(seen)]
    if not found:
        return
    decisive = [d for d in found if d.is_decisive]
    words = [difference_in_words(d) for d in found[:TOLD]]
    more = f"; and {len(found) - TOLD} more" if len(found) > TOLD else ""
    yield Finding(
        "warning" if decisive else "note",
        f"The hosts are not alike: {difference_in_words(found[0])}"
        + (f", and {len(found) - 1} more differences." if len(found) > 1 else "."),
        f"{'; '.join(words)}{more}.",
        "Set them alike, or think of it where hosts or directions differ; the circumstances in "
        "the report have all of them side by side.",
    )


def _is_pinned(seen: Seen) -> bool:
    """Whether netsonde itself chose the CPUs that the workers were allowed."""
    hosts = (seen.run.manifest.get("hosts") or {}).values()
    asked = [point.spec.chosen for point in seen.run.points]
    return any("mpi.binding" in facts for facts in hosts) or any(
        options.placement == "apart" or (options.origin_cpu, options.target_cpu) != (None, None)
        for options in asked
    )


def difference_in_words(difference: Difference) -> str:
    """``interface.eth0.mtu is 1500 on h3, and 9000 on the other 7``."""
    by_value: dict[str, list[str]] = {}
    for host, value in difference.values.items():
        by_value.setdefault(_in_words(value), []).append(host)
    (most, usual), *_ = Counter({v: len(h) for v, h in by_value.items()}).most_common()
    if usual * 2 <= len(difference.values) or usual < 2:
        parts = [f"{value} on {_hosts(hosts)}" for value, hosts in by_value.items()]
        return f"{difference.name} is {_joined(parts)}"
    others = [f"{value} on {_hosts(hosts)}" for value, hosts in by_value.items() if value != most]
    return f"{difference.name} is {_joined(others)}, and {most} on the other {usual}"


def _in_words(value: Any) -> str:
    """What was measured, in as many digits as tell it apart."""
    return f"{value:.2g}" if isinstance(value, float) else str(value)


def _differ(difference: Difference) -> bool:
    values = list(difference.values.values())
    if difference.name == "memory.total_bytes" and all(isinstance(v, int) for v in values):
        return bool(max(values) - min(values) > SAME_MEMORY * max(values))
    if all(isinstance(v, float) for v in values):  # measured, so that no two are equal
        return bool(max(values) - min(values) > SAME_MEASURED * max(map(abs, values)))
    return len({str(value) for value in values}) > 1


def _hosts(names: Sequence[str]) -> str:
    if len(names) <= NAMED_HOSTS:
        return _joined(list(names))
    return f"{', '.join(names[:NAMED_HOSTS])} and {len(names) - NAMED_HOSTS} more"


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


CHANGES_TOLD = 4
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
    words = "; ".join(change.in_words for change in changes[:CHANGES_TOLD])
    more = f"; and {len(changes) - CHANGES_TOLD} more" if len(changes) > CHANGES_TOLD else ""
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
        and (names & _hosts_of(point) or not _hosts_of(point))
    )
    before, now = (str(entry.get(name))[:_LONGEST_VALUE] for name in ("before", "now"))
    session = int(entry.get("session", 1))
    return ChangedFact(host, str(entry.get("fact")), before, now, session, time, since)


def _hosts_of(point: Point) -> set[str]:
    return {end.host for batch in point.batches[:1] for end in batch.ends.values()}
