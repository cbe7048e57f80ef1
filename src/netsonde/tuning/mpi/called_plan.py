"""From what a program calls to a plan: which operations and sizes are worth measuring, which of its
time they cover, and what no rule can be made for.

Sizes of one power of two are one cell. It is measured at the size that costs most of them; a rule
that is won there holds for all of them that the program calls, up to the next size that was
measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from netsonde.operations import Operation, operations
from netsonde.tuning.mpi.called import BLOCKING, Called, Kind
from netsonde.tuning.mpi.candidates import Cell
from netsonde.tuning.mpi.rules import Rule

MOST_CELLS = 256


@dataclass(frozen=True)
class Places:
    """For which communicators rules are made: of so many ``ranks``, and on ``hosts`` so many of
    them on one, ``ppn``."""

    ranks: tuple[int, ...]
    ppn: tuple[int, ...]
    has_hosts: bool


@dataclass
class Plan:
    """``costs`` of cells: calls' time of all ranks, ns, from the most. ``spans`` are the least and
    the largest size that the program calls of a cell. ``uncovered`` has of each reason the time of
    calls that no cell is for."""

    costs: dict[Cell, float] = field(default_factory=dict)
    calls: dict[Cell, float] = field(default_factory=dict)
    spans: dict[Cell, tuple[int, int]] = field(default_factory=dict)
    uncovered: dict[str, float] = field(default_factory=dict)
    total_ns: float = 0.0

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.operation for cell in self.costs))

    def share(self, cells: Collection[Cell]) -> float:
        """Of the time in all calls that were counted, that of some cells."""
        covered = sum(cost for cell, cost in self.costs.items() if cell in cells)
        return covered / self.total_ns if self.total_ns else 0.0


def plan_of(called: Called, places: Places) -> Plan:
    """What can be measured of what a program calls."""
    plan = Plan(total_ns=called.time_ns)
    bins: dict[tuple[str, int, int, int], list[Kind]] = defaultdict(list)
    uncovered: dict[str, float] = defaultdict(float)
    for kind, cost in called.kinds.items():
        if reason := why_not(kind, places):
            uncovered[reason] += cost.time_ns
            continue
        ppn = kind.ranks_per_host if places.has_hosts else places.ppn[0]
        bins[kind.operation, kind.ranks, ppn, kind.size_bytes.bit_length()].append(kind)
    if called.beyond.time_ns:
        uncovered["of more kinds than are kept"] += called.beyond.time_ns
    time_of = {key: sum(called.kinds[k].time_ns for k in kinds) for key, kinds in bins.items()}
    ordered = sorted(bins, key=lambda key: (-time_of[key], key))
    for key in ordered[MOST_CELLS:]:
        uncovered[f"of more than {MOST_CELLS} operations and sizes"] += time_of[key]
    for name, ranks, ppn, bits in ordered[:MOST_CELLS]:
        kinds = bins[name, ranks, ppn, bits]
        costliest = max(kinds, key=lambda k: (called.kinds[k].time_ns, k))
        cell = Cell(name, ranks, ppn, _measurable(costliest.size_bytes, operations()[name]))
        sizes = [k.size_bytes for k in kinds]
        if cell in plan.costs:  # rounded to the size of the one above
            sizes += plan.spans[cell]
        plan.costs[cell] = plan.costs.get(cell, 0.0) + time_of[name, ranks, ppn, bits]
        plan.calls[cell] = plan.calls.get(cell, 0.0) + sum(called.kinds[k].calls for k in kinds)
        plan.spans[cell] = (min(sizes), max(sizes))
    plan.uncovered = dict(sorted(uncovered.items(), key=lambda entry: -entry[1]))
    return plan


def _measurable(size_bytes: int, operation: Operation) -> int:
    """The size that is measured for one: rounded up to whole words where it has such."""
    if operation.fixed_bytes is not None:
        return operation.fixed_bytes
    multiple = operation.multiple_bytes
    return -(-size_bytes // multiple) * multiple


_REASONS: tuple[tuple[str, Callable[[Kind, Places], bool]], ...] = (
    ("of operations that no rule is for", lambda k, _: not _is_ruled(k.operation)),
    ("that return before they are done", lambda k, _: k.form != BLOCKING),
    ("on communicators of two groups or programs", lambda k, _: k.ranks == 0),
    ("with rare arguments", lambda k, _: k.rare),
    ("on communicators of other sizes", lambda k, p: k.ranks not in p.ranks),
    (
        "on communicators that lie on hosts otherwise",
        lambda k, p: p.has_hosts and k.ranks_per_host not in p.ppn,
    ),
    ("in place", lambda k, _: k.in_place),
    ("with an operation of the program's own", lambda k, _: k.own_operation),
    ("of datatypes with gaps", lambda k, _: k.gaps),
    ("of no bytes", lambda k, _: _is_empty(k)),
)


def why_not(kind: Kind, places: Places) -> str:
    """Why no rule is sought for calls, as the end of "calls ..."; empty where one is."""
    return next((reason for reason, holds in _REASONS if holds(kind, places)), "")


def _is_ruled(name: str) -> bool:
    operation = operations().get(name)
    return operation is not None and operation.is_collective_call and bool(operation.schedules)


def _is_empty(kind: Kind) -> bool:
    return kind.size_bytes == 0 and operations()[kind.operation].fixed_bytes is None


def widened(
    rules: Sequence[Rule], measured: Collection[Cell], spans: Mapping[Cell, tuple[int, int]]
) -> tuple[Rule, ...]:
    """Rules from measured sizes to those that the program calls beside them, short of the next size
    that was measured."""
    found = []
    for rule in rules:
        own = [c for c in measured if _is_of(c, rule)]
        last = rule.from_bytes if rule.to_bytes is None else rule.to_bytes
        below = max((c.size_bytes for c in own if c.size_bytes < rule.from_bytes), default=-1)
        above = min((c.size_bytes for c in own if c.size_bytes > last), default=None)
        called = [spans[c] for c in own if c in spans and rule.holds(c.size_bytes)]
        low = min([rule.from_bytes, *(least for least, _ in called)])
        high = max([last, *(most for _, most in called)])
        found.append(
            replace(
                rule,
                from_bytes=max(low, below + 1),
                to_bytes=high if above is None else min(high, above - 1),
            )
        )
    return tuple(found)


def _is_of(cell: Cell, rule: Rule) -> bool:
    same = (cell.operation, cell.ranks) == (rule.operation, rule.ranks)
    return same and rule.ranks_per_host in (None, cell.ppn)
