"""Processor time that the two ends spent, against what they moved."""

from __future__ import annotations

from netsonde.records.data import Batch

KINDS = ("process.user_ns", "process.system_ns")


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
