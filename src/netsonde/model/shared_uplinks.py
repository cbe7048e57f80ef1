"""Global windows of several programs that run at once on hosts of their own and share uplinks, and
anew whenever a program comes, goes, or changes its hosts or its pattern.

nu of an uplink is what a program sends over it in a step, in which each of its hosts sends one
packet; for complete exchanges on equal switches this is Eq. (6.1) of A. T. C. Tam, Performance
Studies of High-Speed Communication on Commodity Cluster, PhD thesis, The University of Hong Kong,
2001, which names both uses as future work (section 7.2). Windows are safe where the sum of W nu
over the programs of an uplink fits into its buffer, Eq. (6.2), control packets counted. Of all safe
ones these are the fairest: no program's window can grow without taking from a smaller one's
(D. Bertsekas and R. Gallager, Data Networks, 2nd edition, 1992, section 6.5.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Generic, TypeVar

Flows = frozenset[tuple[str, str]]
Way = tuple[str, bool]
"""A switch, and whether away from it (up) or towards it."""
Key = TypeVar("Key", bound=Hashable)


def all_to_all(hosts: Iterable[str]) -> Flows:
    """A complete exchange."""
    return frozenset(permutations(dict.fromkeys(hosts), 2))


def loads_of(flows: Flows, places: Mapping[str, str]) -> dict[Way, float]:
    """nu of each switch's uplink, both ways; ``places``: host -> leaf switch. Empty where nothing
    crosses. Raises ``ValueError`` for a host that has no place, or that sends to itself."""
    missing = {host for flow in flows for host in flow} - places.keys()
    if missing:
        raise ValueError(f"{min(missing)} is at no switch that is known")
    if any(source == target for source, target in flows):
        raise ValueError("a host that sends to itself needs no network")
    crossing: Counter[Way] = Counter()
    for source, target in flows:
        if places[source] != places[target]:
            crossing[places[source], True] += 1
            crossing[places[target], False] += 1
    steps = max(Counter(source for source, _ in flows).values(), default=1)
    return {way: count / steps for way, count in crossing.items()}


@dataclass
class SharedUplinks(Generic[Key]):
    """``places``: host -> leaf switch; ``buffers``: leaf switch -> packets of its uplink. Each
    change answers with the windows of all programs; None where nothing of one crosses. A window of
    0 says that no window is safe."""

    places: Mapping[str, str]
    buffers: Mapping[str, int]
    control: bool = True
    _loads: dict[Key, dict[Way, float]] = field(default_factory=dict)
    _hosts: dict[Key, frozenset[str]] = field(default_factory=dict)

    def begin(self, program: Key, flows: Flows) -> dict[Key, int | None]:
        """A program comes, or goes on with other hosts or another pattern. Raises ``ValueError``
        for hosts that another one has, or that are at no switch."""
        hosts = frozenset(host for flow in flows for host in flow)
        for other, taken in self._hosts.items():
            if other != program and hosts & taken:
                raise ValueError(f"{min(hosts & taken)} is a host of {other} as well")
        loads = loads_of(flows, self.places)
        unknown = {switch for switch, _ in loads} - self.buffers.keys()
        if unknown:
            raise ValueError(f"the buffer of the uplink of {min(unknown)} is not known")
        self._loads[program], self._hosts[program] = loads, hosts
        return self.windows()

    def end(self, program: Key) -> dict[Key, int | None]:
        """A program goes. Raises KeyError where it is not there."""
        del self._loads[program], self._hosts[program]
        return self.windows()

    def windows(self) -> dict[Key, int | None]:
        """All windows grow together; those of a full uplink stop, the others go on."""
        room = {way: self._room(way) for loads in self._loads.values() for way in loads}
        growing = {program: loads for program, loads in self._loads.items() if loads}
        found: dict[Key, float] = {}
        while growing:
            demand: Counter[Way] = Counter()
            for loads in growing.values():
                demand.update(loads)
            tight = min(demand, key=lambda way: (room[way] / demand[way], way))
            window = room[tight] / demand[tight]
            for program in [name for name, loads in growing.items() if tight in loads]:
                found[program] = window
                for way, load in growing.pop(program).items():
                    room[way] -= window * load
        # A quotient that is whole is not rounded down.
        return {p: int(found[p] + 1e-9) if p in found else None for p in self._loads}

    def _room(self, way: Way) -> float:
        return self.buffers[way[0]] / (2 if self.control else 1)
