"""From a workload's table to what sonde-sim reads: hosts by their ranks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from netsonde.errors import UsageError
from netsonde.lab.spec import host_name
from netsonde.lab.topology import Bounds, host_numbers
from netsonde.simulate.tables import MOST_HOSTS, MOST_SWITCHES, Workload

BOUNDS = Bounds("a simulation", MOST_HOSTS, MOST_SWITCHES)
KINDS = {
    "one-way": "one_way",
    "two-way": "two_way",
    "many-to-one": "many_to_one",
    "go-back-n": "go_back_n",
}
"""Kinds whose names the simulator writes with another hyphen."""
OF_HOSTS = {"source", "target", "senders", "pairs", "sources", "sinks", "root", "messages", "file"}
"""Keys that name hosts, whose ranks the simulator takes."""


def workload_plan(workload: Workload, hosts: int, leaves: tuple[int, ...]) -> dict[str, Any]:
    """What sonde-sim takes. Raises UsageError for hosts that are not there."""
    ranks = Ranks(hosts)
    own = workload.model_dump(exclude=OF_HOSTS, by_alias=True, exclude_none=True)
    plan = {**own, "kind": KINDS.get(workload.kind, workload.kind), **_who(workload, ranks)}
    if workload.remap:
        plan["hierarchy"] = _hierarchy(leaves)
    return plan


def _hierarchy(leaves: tuple[int, ...]) -> list[int]:
    """Hosts of a leaf and the number of leaves. Raises UsageError where leaves differ."""
    if len(set(leaves)) != 1 or len(leaves) < 2:
        raise UsageError(
            "remap needs two switches or more with equal numbers of hosts, each switch's hosts "
            "next to each other; see [tree]"
        )
    return [leaves[0], len(leaves)]


def _who(workload: Workload, ranks: Ranks) -> dict[str, Any]:
    match workload.kind:
        case "one-way" | "two-way":
            source = ranks.one(workload.source or "h1", "source")
            target = ranks.one(workload.target or "h2", "target")
            if source == target:
                raise UsageError("simulation.workload: source and target are the same host")
            return {"source": source, "target": target}
        case "many-to-one":
            return _many_to_one(workload, ranks)
        case "pairs":
            assert workload.pairs is not None
            sources = ranks.many(workload.pairs.source, "pairs.source")
            targets = ranks.many(workload.pairs.target, "pairs.target")
            if len(sources) != len(targets):
                raise UsageError(
                    f"simulation.workload.pairs: {len(sources)} sources and {len(targets)} targets "
                    "make no pairs"
                )
            pairs = [list(pair) for pair in zip(sources, targets, strict=True)]
            if any(source == target for source, target in pairs):
                raise UsageError("simulation.workload.pairs: a host is paired with itself")
            return {"pairs": pairs}
        case "burst":
            return {
                "sources": ranks.many(workload.sources or "", "sources"),
                "sinks": ranks.many(workload.sinks or "", "sinks"),
            }
        case "schedule":
            return {} if workload.root is None else {"root": ranks.one(workload.root, "root")}
        case "trace":
            return {"messages": _messages(workload, ranks)}
    return {}


def _many_to_one(workload: Workload, ranks: Ranks) -> dict[str, Any]:
    target = ranks.one(workload.target or "h1", "target")
    given = workload.senders
    if given is None:
        return {"target": target}
    others = [rank for rank in range(ranks.hosts) if rank != target]
    if isinstance(given, int):
        if given > len(others):
            raise UsageError(
                f"simulation.workload.senders: {given} of {ranks.hosts} hosts cannot all send to "
                f"one; {len(others)} can"
            )
        return {"target": target, "senders": others[:given]}
    senders = ranks.many(given, "senders")
    if target in senders:
        raise UsageError("simulation.workload: the target is among the senders")
    return {"target": target, "senders": senders}


def _messages(workload: Workload, ranks: Ranks) -> list[list[int]]:
    messages = [
        [at, ranks.one(source, "messages"), ranks.one(target, "messages"), size]
        for at, source, target, size in workload.messages or ()
    ]
    if any(later[0] < earlier[0] for earlier, later in pairwise(messages)):
        raise UsageError("simulation.workload.messages are not in the order of their times")
    if any(source == target for _, source, target, _ in messages):
        raise UsageError("simulation.workload.messages: a host sends to itself")
    return messages


@dataclass(frozen=True)
class Ranks:
    """Hosts' ranks by their names: h1 has rank 0."""

    hosts: int

    def many(self, names: str, key: str) -> list[int]:
        whose = f"simulation.workload.{key}"
        if names.startswith("h") and names[1:].isdecimal() and len(names) < 9:
            numbers = [int(names[1:])]  # a trace has very many of these
        else:
            numbers = list(host_numbers(names, whose, BOUNDS))
        for number in numbers:
            if not 1 <= number <= self.hosts:
                raise UsageError(
                    f"{whose}: there is no host {host_name(number)}; there are {self.hosts}"
                )
        return [number - 1 for number in numbers]

    def one(self, name: str, key: str) -> int:
        found = self.many(name, key)
        if len(found) != 1:
            raise UsageError(f"simulation.workload.{key}: {name[:60]!r} is not one host")
        return found[0]
