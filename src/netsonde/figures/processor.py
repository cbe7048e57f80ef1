"""CPU time that the two ends spent, against what they moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.records.data import Batch, EndData, Point, Run

KINDS = ("process.user_ns", "process.system_ns")
TICK_S = 0.01
"""Linux counts CPU time in hundredths of a second for programs, whatever its own clock."""
INTERRUPTS = ("irq", "softirq")
WORK = ("user", "nice", "system", *INTERRUPTS)
OF_HOSTS: Mapping[str, Sequence[str]] = {
    "host_cpu_s_per_gbyte": WORK,
    "interrupt_cpu_s_per_gbyte": INTERRUPTS,
}
"""Which of the kernel's kinds of time each figure adds up; time of guests is in user and nice."""


def processor_s_per_gbyte(batch: Batch) -> float | None:
    """Seconds of user and system time of all workers of a batch, for each 10^9 bytes of payload
    that arrived; None where nothing arrived or an end's time is not known.

    It is what the kernel charges the processes (getrusage); interrupts are charged to whoever runs,
    or to nobody.
    """
    times = [end.difference(kind) for end in batch.ends.values() for kind in KINDS]
    moved = sum(end.counters.get("bytes_received", 0) for end in batch.ends.values())
    known = [time for time in times if time is not None]
    if not moved or len(known) != len(times) or not times:
        return None
    return sum(known) / moved


def host_time_figures(run: Run, point: Point) -> list[Figure]:
    """Of streams: what all CPUs of the hosts worked, and for interrupts, in seconds for each
    10^9 bytes of payload that arrived. Bounds are what the ticks can hide."""
    moved = sum(end.counters.get("bytes_received", 0) for b in point.batches for end in _ends(b))
    if not point.kind.is_stream or not moved:
        return []
    made = []
    for name, kinds in OF_HOSTS.items():
        found = [_ticks(batch, kinds, run) for batch in point.batches]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            continue
        ticks = sum(grown for grown, _ in known)
        unseen = sum(off for _, off in known)
        value, low, high = (
            1e9 * TICK_S * max(0, n) / moved for n in (ticks, ticks - unseen, ticks + unseen)
        )
        made.append(Maker(point).figure(name, value, len(known), low, high))
    return made


def _ticks(batch: Batch, kinds: Sequence[str], run: Run) -> tuple[int, int] | None:
    """How many ticks the machines of a batch worked, and by how many that may be wrong: one for
    each counter that was read; None where an end was not read."""
    grown = [
        end.difference(f"cpu.all.{kind}")
        for end in _of_machines(batch, run).values()
        for kind in kinds
    ]
    known = [each for each in grown if each is not None]
    return (sum(known), len(known)) if len(known) == len(grown) and known else None


def _of_machines(batch: Batch, run: Run) -> dict[str, EndData]:
    """An end of each machine: the hosts of a lab are one, and count the same CPUs."""
    ends: dict[str, EndData] = {}
    for end in _ends(batch):
        machine = "" if run.manifest.get("origin") == "emulated" else end.host
        ends.setdefault(machine, end)
    return ends


def _ends(batch: Batch) -> Sequence[EndData]:
    return [batch.ends[rank] for rank in sorted(batch.ends)]
