"""How near two ranks are: on one socket, one host, one switch, or further apart.

Sockets and NUMA nodes are the hosts' own word, for ranks that are bound to CPUs. Switches are
those of a lab, or of the description that the study has of them (docs/methods/partners.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from netsonde.figures.partners import Pair, Pairs
from netsonde.model.hierarchy import Hierarchy, SwitchLink
from netsonde.records.data import Point, Run
from netsonde.stats.quantiles import quantile_interval

ONE_HOST = "one host"
OTHER_HOST = "another host"


@dataclass(frozen=True)
class Level:
    """Pairs with the same between them. ``median_ns`` is over pairs; ``low_ns`` and ``high_ns``
    bound its 95 % interval; of fewer than six pairs, or of pairs that are all alike, they are what
    the pairs' own intervals span. None where nothing says how exactly it is known."""

    name: str
    distance: int
    pairs: tuple[Pair, ...]

    @property
    def median_ns(self) -> float:
        return float(np.median(self._values))

    @property
    def low_ns(self) -> float | None:
        return self._ends[0]

    @property
    def high_ns(self) -> float | None:
        return self._ends[1]

    @property
    def _ends(self) -> tuple[float | None, float | None]:
        interval = quantile_interval(self._values, 0.5)
        if interval and interval.low < interval.high:
            return interval.low, interval.high
        medians = [pair.median for pair in self.pairs]
        known = [end for f in medians for end in (f.low, f.value, f.high) if end is not None]
        least, most = min(known), max(known)
        return (least, most) if least < most else (None, None)

    @property
    def _values(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([pair.median.value for pair in self.pairs])


def levels_of(run: Run, pairs: Pairs) -> list[Level]:
    """The levels of a test's pairs, the nearest first."""
    hierarchy = hierarchy_of(run)
    groups: dict[tuple[int, str], list[Pair]] = {}
    for pair in pairs.pairs:
        groups.setdefault(_between(run, hierarchy, pair), []).append(pair)
    return [Level(name, far, tuple(own)) for (far, name), own in sorted(groups.items())]


def _between(run: Run, hierarchy: Hierarchy | None, pair: Pair) -> tuple[int, str]:
    first, second = pair.hosts
    if first == second:
        return _on_one_host(run, pair)
    switches = None if hierarchy is None else hierarchy.switches_between(first, second)
    if switches is None:
        return 9, OTHER_HOST
    return 9 + switches, "one switch" if switches == 1 else f"{switches} switches"


def _on_one_host(run: Run, pair: Pair) -> tuple[int, str]:
    places = [place_of(run, pair.point, end) for end in (0, 1)]
    if places[0] is None or places[1] is None:
        return 3, ONE_HOST
    if places[0].cpu == places[1].cpu:
        return -1, "one CPU"
    if places[0].package != places[1].package:
        return 2, "another socket"
    return (0, "one socket") if places[0].node == places[1].node else (1, "another NUMA node")


@dataclass(frozen=True)
class Place:
    """Where a rank is bound: host, CPU, and the numbers of its package and NUMA node there;
    -1 where the kernel does not tell the latter."""

    host: str
    cpu: int
    package: int
    node: int


def place_of(run: Run, point: Point, end: int) -> Place | None:
    """None where ranks are not bound, or the host does not say how its CPUs belong."""
    data = next((batch.ends[end] for batch in point.batches if end in batch.ends), None)
    facts = run.host_facts(data.host) if data is not None else {}
    packages = groups_in(str(facts.get("cpu.packages", "")))
    if data is None or "cpu" not in data.counters or "mpi.binding" not in facts:
        return None
    cpu = data.counters["cpu"]
    package = next((number for number, own in packages.items() if cpu in own), None)
    nodes = groups_in(str(facts.get("cpu.numa_nodes", "")))
    node = next((number for number, own in nodes.items() if cpu in own), -1)
    return None if package is None else Place(data.host, cpu, package, node)


def groups_in(text: str) -> dict[int, frozenset[int]]:
    """``0:0-3,8 1:4-7`` as the facts have it; what is not so is left out."""
    found: dict[int, frozenset[int]] = {}
    for part in text.split():
        number, _, listed = part.partition(":")
        members: set[int] = set()
        for piece in listed.split(","):
            first, _, last = piece.partition("-")
            if first.isdecimal() and (last or first).isdecimal() and len(piece) < 16:
                members.update(range(int(first), int(last or first) + 1))
        if number.isdecimal() and members:
            found[int(number)] = frozenset(members)
    return found


def hierarchy_of(run: Run) -> Hierarchy | None:
    """The switches of the run's path: those of a lab's scenario, or as the study describes them."""
    path: Mapping[str, Any] = run.manifest.get("path") or {}
    told = path.get("switches")
    if isinstance(told, dict):
        links = told.get("uplinks") or []
        places = dict(told.get("hosts") or {})
        for reached_by, facts in (run.manifest.get("hosts") or {}).items():
            if reached_by in places and "host.name" in facts:
                places.setdefault(str(facts["host.name"]), places[reached_by])
        return Hierarchy(
            places,
            tuple(SwitchLink(u["lower"], u["upper"], u.get("rate_bit_per_s")) for u in links),
        )
    topology = path.get("topology")
    return _of_a_lab(topology) if isinstance(topology, dict) else None


def _of_a_lab(topology: Mapping[str, Any]) -> Hierarchy:
    hosts = set(topology.get("hosts") or [])
    links = topology.get("links") or []
    return Hierarchy(
        {link["lower"]: link["upper"] for link in links if link["lower"] in hosts},
        tuple(
            SwitchLink(link["lower"], link["upper"], _slower(link))
            for link in links
            if link["lower"] not in hosts
        ),
    )


def _slower(link: Mapping[str, Any]) -> float | None:
    rates = [(link.get(way) or {}).get("rate_bit_per_s") for way in ("up", "down")]
    known = [float(rate) for rate in rates if rate]
    return min(known, default=None)
