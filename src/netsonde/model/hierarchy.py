"""Switches as a tree or another graph: how many lie between two hosts, and what an uplink carries.

Pure functions of names. A host hangs on one switch; uplinks join switches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SwitchLink:
    """A link between two switches; ``rate_bit_per_s`` of each direction, None where unknown."""

    lower: str
    upper: str
    rate_bit_per_s: float | None = None

    @property
    def name(self) -> str:
        return f"{self.lower}-{self.upper}"


@dataclass(frozen=True)
class Hierarchy:
    """``places``: the switch of each host."""

    places: Mapping[str, str]
    uplinks: tuple[SwitchLink, ...] = ()

    def switches_between(self, first: str, second: str) -> int | None:
        """How many switches a message crosses; None where a host has no switch, or no uplinks lead
        from one to the other."""
        begin, end = self.places.get(first), self.places.get(second)
        if begin is None or end is None:
            return None
        steps = {begin: 1}
        ready = deque([begin])
        while ready:
            switch = ready.popleft()
            for other in self._neighbours(switch):
                if other not in steps:
                    steps[other] = steps[switch] + 1
                    ready.append(other)
        return steps.get(end)

    def hosts_below(self, uplink: SwitchLink) -> frozenset[str] | None:
        """The hosts on the lower side of an uplink, which nothing else joins to the upper one; None
        where another way leads around it."""
        side = {uplink.lower}
        ready = deque([uplink.lower])
        while ready:
            switch = ready.popleft()
            for other in self._neighbours(switch, without=uplink):
                if other not in side:
                    side.add(other)
                    ready.append(other)
        if uplink.upper in side:
            return None
        return frozenset(host for host, switch in self.places.items() if switch in side)

    def _neighbours(self, switch: str, without: SwitchLink | None = None) -> list[str]:
        joined = [link for link in self.uplinks if link is not without]
        return [
            link.upper if link.lower == switch else link.lower
            for link in joined
            if switch in (link.lower, link.upper)
        ]


@dataclass(frozen=True)
class Crossing:
    """Bytes that must cross a link in each direction, and at least how many in one after the other:
    there and back of one message."""

    up_bytes: float
    down_bytes: float
    in_turn_bytes: float = 0.0

    def least_ns(self, rate_bit_per_s: float) -> float:
        """No schedule is faster: each direction carries one bit at a time."""
        most = max(self.up_bytes, self.down_bytes, self.in_turn_bytes)
        return most * 8e9 / rate_bit_per_s


def crossing(
    operation: str,
    message_bytes: int,
    below: Sequence[bool],
    partners: Sequence[int | None],
    root: int,
) -> Crossing | None:
    """What an operation must send over a link that has some ranks ``below`` it; None where that is
    not known. ``partners``: whom each rank sends to, in operations between two.

    Of collectives it is what cannot be made of less: a part that is needed on the other side once.
    """
    ranks, inside = len(below), sum(below)
    outside = ranks - inside
    if not inside or not outside:
        return Crossing(0, 0)
    size = float(message_bytes)
    if operation in ROUND_TRIPS or operation in EXCHANGES:
        return _between_partners(operation, size, below, partners)
    if operation == "alltoall":
        return Crossing(inside * outside * size, inside * outside * size)
    if operation == "allgather":
        return Crossing(inside * size, outside * size)
    far = outside if below[root] else inside
    if operation in ("bcast", "scatter"):
        bytes_ = size if operation == "bcast" else far * size
        return Crossing(bytes_, 0) if below[root] else Crossing(0, bytes_)
    if operation == "gather":
        return Crossing(0, far * size) if below[root] else Crossing(far * size, 0)
    return None


ROUND_TRIPS = ("send", "ssend", "bsend", "rsend", "isend", "issend", "irecv")
"""There and back between partners."""
EXCHANGES = ("sendrecv", "sendrecv_replace", "isend_irecv")
"""Everyone sends to its partner at once."""


def _between_partners(
    operation: str, size: float, below: Sequence[bool], partners: Sequence[int | None]
) -> Crossing:
    pairs = [
        (below[rank], below[to])
        for rank, to in enumerate(partners)
        if to is not None and 0 <= to < len(below)
    ]
    up = sum(mine and not theirs for mine, theirs in pairs) * size
    down = sum(theirs and not mine for mine, theirs in pairs) * size
    there_and_back = 2 * size if operation in ROUND_TRIPS and (up or down) else 0.0
    return Crossing(up, down, there_and_back)
