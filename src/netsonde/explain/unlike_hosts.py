"""Hosts of one run that differ in something that could be the same and changes network figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.explain.data import Finding, Seen

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
    """Whether netsonde itself chose the processors that the workers were allowed."""
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
