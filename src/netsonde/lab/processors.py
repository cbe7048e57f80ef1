"""What all of this machine's CPUs did, for the part of a cost that one process's misses."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from netsonde.errors import HostError

STAT = Path("/proc/stat")
FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


@dataclass(frozen=True)
class Unused:
    """At one instant: how long the CPUs have been without work, or with another machine."""

    at_ns: int
    processors: int
    unused_ns: int


def look() -> Unused:
    """To be compared with a later one by used_ns(). Raises HostError where the kernel says nothing.

    Source: /proc/stat, whose idle time is exact; its times at work are sampled each tick, and a
    process that sleeps and wakes often is missed.
    """
    try:
        first, *others = STAT.read_text().splitlines()
        counted = dict(zip(FIELDS, (int(word) for word in first.split()[1:]), strict=False))
        ticks = counted["idle"] + counted["iowait"] + counted["steal"]
    except (OSError, ValueError, KeyError) as error:
        raise HostError(f"cannot read the CPUs' times from {STAT}: {error}") from error
    return Unused(
        at_ns=time.monotonic_ns(),
        processors=sum(line.startswith("cpu") for line in others),
        unused_ns=ticks * 10**9 // os.sysconf("SC_CLK_TCK"),
    )


def used_ns(before: Unused, after: Unused) -> int:
    """CPU time that this machine used between the two, whatever for; at least 0."""
    whole = (after.at_ns - before.at_ns) * after.processors
    return max(whole - (after.unused_ns - before.unused_ns), 0)
