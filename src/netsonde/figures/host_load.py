"""How much of its CPUs a host used while it was measured."""

from __future__ import annotations

import re

from netsonde.records.data import Batch, EndData

_PROCESSOR = re.compile(r"cpu\.(\d+)\.(\w+)")
IDLE = frozenset({"idle", "iowait"})
GUESTS = frozenset({"guest", "guest_nice"})
"""The kernel counts these in user and nice as well."""


def host_load_ratio(end: EndData) -> float | None:
    """The share of the time of all of the host's CPUs that was not idle, 0..1, between the
    snapshots around a batch: what Hpcbench calls Load. None where there are no snapshots, or no
    time passed by the kernel's ticks.
    """
    if end.before is None or end.after is None:
        return None
    spent = {"idle": 0.0, "all": 0.0}
    for name, value in end.after.values.items():
        found = _PROCESSOR.fullmatch(name)
        if found is None or found[2] in GUESTS or name not in end.before.values:
            continue
        grown = value - end.before.values[name]
        spent["all"] += grown
        spent["idle"] += grown if found[2] in IDLE else 0.0
    return 1 - spent["idle"] / spent["all"] if spent["all"] > 0 else None


def loads_of_hosts(batch: Batch) -> dict[str, float]:
    """The load of each host of a batch that is known, by its first worker there."""
    loads: dict[str, float] = {}
    for rank in sorted(batch.ends):
        end = batch.ends[rank]
        load = None if end.host in loads else host_load_ratio(end)
        if load is not None:
            loads[end.host] = load
    return loads
