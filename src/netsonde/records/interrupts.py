"""Which of a host's interrupts are those of a network interface."""

from __future__ import annotations

import re
from collections.abc import Iterable


def names_of_interface(interface: str, device: str | None = None) -> re.Pattern[str]:
    """Finds the names of an interface's interrupts.

    They hold its name (``eth0-TxRx-1``), or that of what it is on its bus: its ``device``
    (``virtio2-input.0``, ``mlx5_comp3@pci:0000:03:00.0``). A card with several queues has a name
    for each.
    """
    either = "|".join(re.escape(name) for name in (interface, device) if name)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{either})(?![A-Za-z0-9])")


def in_order(names: Iterable[str]) -> list[str]:
    """As a person counts: ``eth0-TxRx-2`` before ``eth0-TxRx-10``."""
    return sorted(names, key=_numbered)


def _numbered(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
