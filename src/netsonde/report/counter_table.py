"""What each host's kernel counted during throughput points and users' own programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netsonde.records.data import Point
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import Cell, Column, Table, columns

GROUPS = (
    ("interface.", "Interfaces"),
    ("infiniband.", "Ports of fabrics"),
    ("connection.", "The test's own connections"),
    ("snmp.", "Protocols"),
    ("snmp6.", "Protocols"),
    ("netstat.", "Protocols"),
    ("softirq.", "Softirqs"),
    ("softnet.", "Softirqs"),
    ("system.", "System"),
    ("interrupt.", "Interrupts"),
    ("process.", "The worker itself"),
)
"""Prefixes of counters that only grow, by the heading they are shown under."""
_NOT_COUNTERS = frozenset({"system.jiffies_per_s", "snmp.Tcp.CurrEstab"})


@dataclass(frozen=True)
class CounterRow:
    name: str
    counts: list[tuple[int, float] | None]
    """(difference, difference per second) by host; None where the host did not read it."""


@dataclass(frozen=True)
class PointCounters:
    point: str
    label: str
    hosts: list[str]
    seconds: list[float]
    groups: list[tuple[str, list[CounterRow]]]


def counters_of_points(study: Study) -> Iterator[PointCounters]:
    """The counters of every throughput point and every program that has snapshots."""
    for point in (*study.throughput_points(), *study.programs):
        counters = _counters(point)
        if counters.groups:
            yield counters


def first_counters(study: Study, most: int, most_rows: int) -> tuple[list[PointCounters], bool]:
    """Those of the first ``most`` points, as long as they have ``most_rows`` rows together, and
    whether there are more; one at least, where there is any."""
    made: list[PointCounters] = []
    rows = 0
    for counters in counters_of_points(study):
        rows += sum(len(own) for _, own in counters.groups)
        if made and (len(made) == most or rows > most_rows):
            return made, True
        made.append(counters)
    return made, False


def counters_table(study: Study) -> Table:
    """The same, one row per point, host and counter."""
    rows: list[tuple[Cell, ...]] = []
    for counters in counters_of_points(study):
        for _, found in counters.groups:
            for row in found:
                rows += [
                    (counters.point, host, row.name, *count)
                    for host, count in zip(counters.hosts, row.counts, strict=True)
                    if count
                ]
    return Table(
        "counters",
        "Counters",
        (
            *columns("text", point="Point", host="Host", counter="Counter"),
            Column("difference", "Difference", "count"),
            Column("per_s", "Per second", "number"),
        ),
        rows,
    )


def _counters(point: Point) -> PointCounters:
    totals: dict[int, dict[str, int]] = {}
    elapsed_ns: dict[int, int] = {}
    hosts: dict[int, str] = {}
    for batch in point.batches:
        for rank, end in batch.ends.items():
            if end.before is None or end.after is None:
                continue
            hosts[rank] = end.host
            elapsed_ns[rank] = elapsed_ns.get(rank, 0) + end.after.time_ns - end.before.time_ns
            total = totals.setdefault(rank, {})
            for name, growth in end.differences().items():
                total[name] = total.get(name, 0) + growth
    ranks = sorted(totals)
    seconds = [max(elapsed_ns[rank], 1) / 1e9 for rank in ranks]
    names = sorted({n for rank in ranks for n, v in totals[rank].items() if v and _is_counter(n)})
    groups: dict[str, list[CounterRow]] = {}
    for prefix, heading in GROUPS:
        for name in (n for n in names if n.startswith(prefix)):
            counts = [
                (totals[r][name], totals[r][name] / s) if name in totals[r] else None
                for r, s in zip(ranks, seconds, strict=True)
            ]
            groups.setdefault(heading, []).append(CounterRow(name, counts))
    return PointCounters(
        point.id, point_label(point), [hosts[r] for r in ranks], seconds, list(groups.items())
    )


def _is_counter(name: str) -> bool:
    return name not in _NOT_COUNTERS
