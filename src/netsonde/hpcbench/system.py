"""What a host did between two readings of its counters: a row of Hpcbench's system logs.

Names of counters are those of docs/reference/records.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from netsonde.records.data import Snapshot
from netsonde.records.interrupts import in_order, names_of_interface

_WORD_32 = 1 << 32
_WORD_64 = 1 << 64
ALL = "all"  # the CPUs together


@dataclass(frozen=True)
class ProcessorShares:
    """Shares of a CPU's time, in per cent. load is what was neither idle nor waiting for
    disks; user has the time of low priority in it, system that of interrupts."""

    load: float
    user: float
    system: float
    idle: float
    interrupts: float
    wait: float
    stolen: float


@dataclass(frozen=True)
class InterfaceCounts:
    """What passed an interface, its interrupts by CPU, and by the name of each of its queues
    in order."""

    received_packets: int
    received_bytes: int
    sent_packets: int
    sent_bytes: int
    interrupts: Mapping[int, int]
    queues: Mapping[str, int] = field(default_factory=dict)

    @property
    def all_interrupts(self) -> int:
        return sum((self.queues or self.interrupts).values())


@dataclass(frozen=True)
class SystemRow:
    """One period. Pages are KiB moved to and from disks, swaps are pages."""

    window_s: float
    processors: Mapping[str, ProcessorShares]  # by number as text, and ALL
    memory_percent: float | None
    swap_percent: float | None
    interrupts: int | None
    context_switches: int | None
    paged_in_kib: int | None
    paged_out_kib: int | None
    swapped_in_pages: int | None
    swapped_out_pages: int | None
    interfaces: Mapping[str, InterfaceCounts]


def growth(before: int, after: int) -> int:
    """How much a counter grew: over the end of its 32 or 64 bits, or from zero where it was reset.

    A counter that fell was either full or set to zero. It counts as full where it was in the upper
    half of 32 bits and is in the lower half now; beyond 63 bits readings are negative.
    """
    if after >= before:
        return after - before
    if before >= _WORD_32 or after < 0:
        full = (after - before) % _WORD_64
        return full if full < _WORD_64 // 2 else max(after, 0)
    if before >= _WORD_32 // 2 and after < _WORD_32 // 2:
        return after + _WORD_32 - before
    return after


def system_row(
    before: Snapshot, after: Snapshot, devices: Mapping[str, str] | None = None
) -> SystemRow:
    """devices: what an interface is on its bus, by its name (fact ``interface.DEV.device``)."""

    def grew(name: str) -> int | None:
        if name not in before.values or name not in after.values:
            return None
        return growth(before.values[name], after.values[name])

    def grew_kib(name: str) -> int | None:
        grown = grew(name)
        return None if grown is None else grown // 1024

    return SystemRow(
        window_s=(after.time_ns - before.time_ns) / 1e9,
        processors={
            name: _shares(before.values, after.values, name)
            for name in processor_names(after.values)
            if f"cpu.{name}.idle" in before.values  # one that came in between: nothing to compare
        },
        memory_percent=_used_percent(after.values, "memory.total_bytes", "memory.available_bytes"),
        swap_percent=_used_percent(
            after.values, "memory.swap_total_bytes", "memory.swap_free_bytes"
        ),
        interrupts=grew("system.interrupts"),
        context_switches=grew("system.context_switches"),
        paged_in_kib=grew_kib("memory.paged_in_bytes"),
        paged_out_kib=grew_kib("memory.paged_out_bytes"),
        swapped_in_pages=grew("memory.swapped_in_pages"),
        swapped_out_pages=grew("memory.swapped_out_pages"),
        interfaces={
            name: _interface(before.values, after.values, name, (devices or {}).get(name))
            for name in interface_names(after.values)
        },
    )


def interface_names(values: Mapping[str, int]) -> list[str]:
    """In alphabetical order, the loopback last."""
    ending = ".rx_bytes"
    names = [
        name.removeprefix("interface.").removesuffix(ending)
        for name in values
        if name.startswith("interface.") and name.endswith(ending)
    ]
    return sorted(names, key=lambda name: (name == "lo", name))


def processor_names(values: Mapping[str, int]) -> list[str]:
    """``all`` and then the numbers, as text."""
    names = {name.split(".")[1] for name in values if name.startswith("cpu.")}
    return sorted(names, key=lambda name: -1 if name == ALL else int(name))


def devices_of(facts: Mapping[str, object]) -> dict[str, str]:
    """What each interface is on its bus, from a host's facts."""
    found = {}
    for name, value in facts.items():
        match = re.fullmatch(r"interface\.(.+)\.device", name)
        if match:
            found[match[1]] = str(value)
    return found


def _shares(before: Mapping[str, int], after: Mapping[str, int], cpu: str) -> ProcessorShares:
    def grew(*kinds: str) -> int:
        names = [f"cpu.{cpu}.{kind}" for kind in kinds]
        # The kernel corrects idle times backwards by a jiffy now and then.
        return sum(max(0, after[n] - before[n]) for n in names if n in after and n in before)

    user, system = grew("user", "nice"), grew("system")
    interrupts = grew("irq", "softirq")
    idle, wait, stolen = grew("idle"), grew("iowait"), grew("steal")
    total = max(1, user + system + interrupts + idle + wait + stolen)
    empty = user + system + interrupts + idle + wait + stolen == 0

    def percent(part: int) -> float:
        return 100 * part / total

    return ProcessorShares(
        load=percent(user + system + interrupts + stolen),
        user=percent(user),
        system=percent(system + interrupts),
        idle=100.0 if empty else percent(idle + wait),
        interrupts=percent(interrupts),
        wait=percent(wait),
        stolen=percent(stolen),
    )


def _interface(
    before: Mapping[str, int], after: Mapping[str, int], interface: str, device: str | None
) -> InterfaceCounts:
    def grew(counter: str) -> int:
        name = f"interface.{interface}.{counter}"
        now = after.get(name, 0)
        return growth(before.get(name, now), now)  # an interface that came in between: nothing yet

    by_processor, by_queue = _interrupts(before, after, names_of_interface(interface, device))
    return InterfaceCounts(
        received_packets=grew("rx_packets"),
        received_bytes=grew("rx_bytes"),
        sent_packets=grew("tx_packets"),
        sent_bytes=grew("tx_bytes"),
        interrupts=by_processor,
        queues={name: by_queue[name] for name in in_order(by_queue)},
    )


def _interrupts(
    before: Mapping[str, int], after: Mapping[str, int], wanted: re.Pattern[str]
) -> tuple[dict[int, int], dict[str, int]]:
    """By CPU, and by the name of the queue."""
    by_processor: dict[int, int] = {}
    by_queue: dict[str, int] = {}
    for name, now in after.items():
        if not name.startswith("interrupt_cpu."):
            continue
        _, cpu, label = name.split(".", 2)
        if wanted.search(label):
            # What was zero is left out of a snapshot.
            grown = growth(before.get(name, 0), now)
            by_queue[label] = by_queue.get(label, 0) + grown
            if grown:
                by_processor[int(cpu)] = by_processor.get(int(cpu), 0) + grown
    for name, now in after.items():
        label = name.removeprefix("interrupt.")
        if name.startswith("interrupt.") and label not in by_queue and wanted.search(label):
            # Never used, or beyond what a snapshot holds by CPU.
            by_queue[label] = growth(before.get(name, now), now)
    return by_processor, by_queue


def _used_percent(values: Mapping[str, int], total: str, free: str) -> float | None:
    if values.get(total, 0) <= 0 or free not in values:
        return None
    return 100 * (1 - values[free] / values[total])
