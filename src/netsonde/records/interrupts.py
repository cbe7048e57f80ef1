"""Which of a host's interrupts are those of a network interface."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

Way = Literal["sent", "received"]
_WORDS: Mapping[str, Way] = {
    "tx": "sent",
    "output": "sent",
    "send": "sent",
    "rx": "received",
    "input": "received",
    "recv": "received",
}
"""In names of interrupts that a driver has apart for the two directions."""


def names_of_interface(interface: str, device: str | None = None) -> re.Pattern[str]:
    """Finds the names of an interface's interrupts.

    They hold its name (``eth0-TxRx-1``), or that of what it is on its bus: its ``device``
    (``virtio2-input.0``, ``mlx5_comp3@pci:0000:03:00.0``). A card with several queues has a name
    for each.
    """
    either = "|".join(re.escape(name) for name in (interface, device) if name)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{either})(?![A-Za-z0-9])")


def way_of(name: str) -> Way | None:
    """Whether an interrupt is of frames sent or received; None where its name says neither, or
    both (``eth0-TxRx-1``, ``eth0-Tx-Rx-1``)."""
    ways = {_WORDS[word] for word in re.split(r"[^a-z]+", name.lower()) if word in _WORDS}
    return ways.pop() if len(ways) == 1 else None


def counted_apart(queues: Mapping[str, int]) -> dict[Way, int] | None:
    """How often the interrupts of each direction came, where a card has them apart; None where one
    of those that came is of both, or there are not both kinds. An interrupt for neither, as for
    changes of settings, that came is taken to be of both."""
    ways = {name: way_of(name) for name in queues}
    if any(count and ways[name] is None for name, count in queues.items()):
        return None
    if not {"sent", "received"} <= set(ways.values()):
        return None
    found: dict[Way, int] = {"sent": 0, "received": 0}
    for name, count in queues.items():
        if (way := ways[name]) is not None:
            found[way] += count
    return found


def in_order(names: Iterable[str]) -> list[str]:
    """As a person counts: ``eth0-TxRx-2`` before ``eth0-TxRx-10``."""
    return sorted(names, key=_numbered)


def _numbered(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
