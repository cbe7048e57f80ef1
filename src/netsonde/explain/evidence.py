"""Numbers that rules rest on, from the snapshots around a point's batches."""

from __future__ import annotations

from netsonde.records.data import Point

IDLE_KINDS = frozenset({"idle", "iowait"})
GUEST_KINDS = frozenset({"guest", "guest_nice"})  # the kernel counts these in user and nice too


def growth(point: Point, rank: int, name: str) -> int:
    """How much a snapshot value grew over all batches of a point."""
    return sum(
        (batch.ends[rank].difference(name) or 0) for batch in point.batches if rank in batch.ends
    )


def cpu_shares(point: Point, rank: int) -> dict[str, dict[str, float]]:
    """Share of time by processor and kind over all batches: {"0": {"user": 0.1}, "all": ..}."""
    jiffies: dict[str, dict[str, int]] = {}
    for batch in point.batches:
        if rank not in batch.ends:
            continue
        for name, value in batch.ends[rank].differences().items():
            if name.startswith("cpu."):
                _, cpu, kind = name.split(".", 2)
                if kind not in GUEST_KINDS:
                    kinds = jiffies.setdefault(cpu, {})
                    kinds[kind] = kinds.get(kind, 0) + value
    shares = {}
    for cpu, kinds in jiffies.items():
        total = sum(kinds.values())
        if total > 0:
            shares[cpu] = {kind: value / total for kind, value in kinds.items()}
    return shares


def busiest_cpu(point: Point, rank: int) -> tuple[str, float]:
    """(processor, busy share) of the busiest single processor; ("", 0.0) where unknown."""
    busy = {
        cpu: 1 - sum(kinds.get(kind, 0.0) for kind in IDLE_KINDS)
        for cpu, kinds in cpu_shares(point, rank).items()
        if cpu != "all"
    }
    if not busy:
        return "", 0.0
    cpu = max(busy, key=lambda name: busy[name])
    return cpu, busy[cpu]


def steal_share(point: Point) -> float:
    """The largest share of processor time that the hypervisor gave to others, over ranks."""
    ranks = {rank for batch in point.batches for rank in batch.ends}
    return max(
        (cpu_shares(point, rank).get("all", {}).get("steal", 0.0) for rank in ranks), default=0.0
    )
