"""Everything that could change the numbers, side by side."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from netsonde.explain.unlike_hosts import is_own
from netsonde.records.carried import NODE, carried_by, carried_in_words
from netsonde.records.data import Run
from netsonde.report.lookup import Study
from netsonde.report.quantity import format_duration, group_digits, list_in_words, short_rate
from netsonde.report.theme import transport_name
from netsonde.units import format_size

if TYPE_CHECKING:
    from netsonde.report.plot import Cell, Table

FACT_GROUPS = (
    ("System", ("os.", "host.", "virtualization", "page_bytes", "compiler", "timer.")),
    ("CPU, clock and memory", ("cpu.", "clock.", "memory.")),
    ("MPI", ("mpi.",)),
    ("Interfaces", ("interface.",)),
    ("Kernel settings", ("sysctl.",)),
)
_CHANGES_EVERY_TIME = frozenset({"local_port", "peer_port"})
_LONGEST_RUN_S = 30 * 86400.0
HOSTS_NAMED = 3
"""A title names so many hosts and counts more of them."""


@dataclass(frozen=True)
class Fact:
    """``differs`` where hosts have different values of something that could be the same."""

    name: str
    values: list[str]
    differs: bool


@dataclass(frozen=True)
class FactGroup:
    title: str
    facts: list[Fact]

    @property
    def differing(self) -> int:
        return sum(fact.differs for fact in self.facts)


@dataclass(frozen=True)
class Obtained:
    """Options that the ends of a transport's connections really had."""

    title: str
    facts: list[Fact]


def fact_groups(study: Study) -> list[FactGroup]:
    """Facts of each host by group; what no group names comes last."""
    facts = _facts(study)
    groups, taken = [], set[str]()
    for title, prefixes in FACT_GROUPS:
        found = [f for f in facts if f.name.startswith(prefixes)]
        taken |= {f.name for f in found}
        groups.append(FactGroup(title, found))
    groups.append(FactGroup("Other", [f for f in facts if f.name not in taken]))
    return [group for group in groups if group.facts]


def facts_table(study: Study) -> Table:
    from netsonde.report.plot import Column, Table  # late: the heading of an answer has no table

    hosts: Mapping[str, Mapping[str, Cell]] = study.run.manifest.get("hosts") or {}
    rows: list[tuple[Cell, ...]] = [
        (host, name, value)
        for host, facts in hosts.items()
        for name, value in sorted(facts.items())
    ]
    return Table(
        "facts",
        "Facts",
        (Column("host", "Host"), Column("name", "Name"), Column("value", "Value")),
        rows,
    )


def _facts(study: Study) -> list[Fact]:
    hosts: Mapping[str, Mapping[str, Any]] = study.run.manifest.get("hosts") or {}
    names = sorted({name for facts in hosts.values() for name in facts})
    return [_fact(name, [facts.get(name) for facts in hosts.values()]) for name in names]


def _fact(name: str, values: list[Any]) -> Fact:
    shown = ["–" if v is None else _value(name, v) for v in values]
    return Fact(name, shown, differs=not is_own(name) and len(set(shown)) > 1)


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return group_digits(value) if name.endswith(("_bytes", "_ns")) else str(value)
    if isinstance(value, float) and abs(value) < 1000:
        # Measured, as what a reading of the clock costs: more digits are noise, and no difference.
        return f"{value:.4g}"
    return str(value)


def obtained_options(study: Study) -> list[Obtained]:
    """What `open` reported, by transport; several values where points differ."""
    made = []
    for transport in study.transports:
        ranks: dict[int, dict[str, dict[str, None]]] = {}
        for point in study.run.select(transport):
            for rank, values in point.opened.items():
                for name, value in values.items():
                    if name not in _CHANGES_EVERY_TIME:
                        found = ranks.setdefault(rank, {}).setdefault(name, {})
                        found[_value(name, value)] = None
        names = sorted({name for found in ranks.values() for name in found})
        facts = [
            Fact(n, [", ".join(ranks[r].get(n, {"–": None})) for r in sorted(ranks)], differs=False)
            for n in names
        ]
        if facts:
            ends = " and ".join(
                "origin" if r == 0 else "target" if r == 1 else f"rank {r}" for r in sorted(ranks)
            )
            made.append(Obtained(f"{transport_name(transport)}: {ends}", facts))
    return made


def general(run: Run) -> list[tuple[str, str]]:
    """Command, seed, versions and path as (name, words)."""
    manifest = run.manifest
    command = manifest.get("command", "")
    rows = [
        ("Command", shlex.join(command) if isinstance(command, list) else str(command)),
        ("Started", str(manifest.get("started_utc", "")) or "not known"),
    ]
    if run.origin != "imported":
        rows.append(("Seed of the random order", str(manifest.get("seed", ""))))
    for file in manifest.get("imported") or ():
        rows += _imported_file(file)
    rows += [(f"Version of {name}", str(v)) for name, v in (manifest.get("versions") or {}).items()]
    rows += [
        (f"Path: {name.replace('_', ' ')}", _path_value(name, value))
        for name, value in (manifest.get("path") or {}).items()
        if value is not None
    ]
    return rows


def _imported_file(file: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Which file of which tool, with what command, and how to know it again."""
    named = [str(file.get("tool", "")), str(file.get("version") or "of unknown version")]
    return [
        ("Imported from", f"{' '.join(named)}: {file.get('file')}, kept as {file.get('kept')}"),
        ("Its command", str(file.get("command") or "not known: the file does not say it")),
        ("Its SHA-256", str(file.get("sha256", ""))),
    ]


def imported_tools(run: Run) -> list[str]:
    """The tools that measured, each once, with their versions."""
    files = run.manifest.get("imported") or ()
    versions: dict[str, dict[str, None]] = {}
    for file in files:
        known = versions.setdefault(str(file.get("tool")), {})
        known |= {str(file["version"]): None} if file.get("version") else {}
    return [f"{tool} {', '.join(known)}".strip() for tool, known in versions.items()]


def _path_value(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return json.dumps(value) if isinstance(value, dict | list) else _value(name, value)
    if name.endswith("_bit_per_s"):
        return short_rate(value)
    return format_size(int(value)) if name.endswith("_bytes") else str(value)


@dataclass(frozen=True)
class Heading:
    """The title line: what was measured, between whom, over what, when and how long."""

    title: str
    name: str
    label: str
    explanation: str
    when: str
    lasted: str


def heading(study: Study) -> Heading:
    run = study.run
    transports = list_in_words([transport_name(t) for t in study.transports]) or "Nothing"
    hosts = [] if run.origin == "imported" else study.host_names
    between = (
        f" between {list_in_words(hosts) if len(hosts) <= HOSTS_NAMED else f'{len(hosts)} hosts'}"
        if len(hosts) > 1
        else (f" on {hosts[0]}" if hosts else "")
    )
    seconds = measured_seconds(run)
    return Heading(
        f"{transports}{between}{_over(study)}",
        str(run.manifest.get("name", "run")),
        run.origin,
        _explanation(study),
        _when(run),
        _lasted(run, seconds),
    )


def _lasted(run: Run, seconds: float) -> str:
    if run.origin == "imported":
        return f"measured by {list_in_words(imported_tools(run))}"
    if run.origin == "simulated":
        runs = sum(len(point.batches) for point in run.points)
        return f"{runs} run{'s' if runs != 1 else ''}"
    return f"measured for {format_duration(seconds)}" if seconds else "nothing measured"


def _over(study: Study) -> str:
    path = study.run.manifest.get("path") or {}
    if study.run.origin == "imported":
        return ", as another tool measured it"
    if path.get("kind") == NODE:
        carried = carried_by(study.run.points)
        return f" over {carried_in_words(carried)}" if carried else " on one node"
    if path.get("kind") == "loopback":
        apart = [row for row in carried_by(study.run.points) if not row.is_network_stack]
        return " over loopback" + (f", MPI over {carried_in_words(apart)}" if apart else "")
    article = (
        "an emulated"
        if study.run.origin == "emulated"
        else ("a simulated" if study.run.origin == "simulated" else "a")
    )
    rate = study.rate_bit_per_s
    speed = f" of {short_rate(rate)}" if rate else ""
    return f" over {article} link{speed}"


def _explanation(study: Study) -> str:
    path = study.run.manifest.get("path") or {}
    link = f" ({path['link']})" if path.get("link") else ""
    if study.run.origin == "emulated":
        return (
            f"The hosts are namespaces of one machine, joined by an emulated link{link}. The "
            "network stack is real; no network card or cable was involved."
        )
    if study.run.origin == "simulated":
        return "No packet was sent: these are the results of a model."
    if study.run.origin == "imported":
        return (
            f"Measured by {list_in_words(imported_tools(study.run))}, not by netsonde. What lay "
            "between the hosts is not known. The files are kept in the run directory."
        )
    if path.get("kind") == NODE:
        return (
            "All ranks ran on one node and no network was crossed: this is what the MPI does there."
        )
    if path.get("kind") == "loopback":
        return (
            "Both ends ran on one machine and no network was crossed: this is the speed of the "
            "machine's network stack."
        )
    return "Real hosts and the real network between them."


def _when(run: Run) -> str:
    text = str(run.manifest.get("started_utc") or "")
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return text


def measured_seconds(run: Run) -> float:
    """From the first snapshot to the last, on the clock of the host that saw the longest."""
    times: dict[str, list[int]] = {}
    for point in run.points:
        for batch in point.batches:
            for end in batch.ends.values():
                times.setdefault(end.host, []).extend(
                    s.time_ns for s in (end.before, end.after) if s is not None
                )
    seconds = max(((max(t) - min(t)) / 1e9 for t in times.values() if t), default=0.0)
    return seconds if seconds < _LONGEST_RUN_S else 0.0
