"""Points of many hosts of which some have died, as points of the hosts that are left.

A pattern over fewer hosts is another experiment, so it is another point: it says which hosts it is
without and is labelled with those that took part, and the point that could not be measured stays
marked as dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from netsonde.catalogue.point import Collective, EveryPair, PointSpec
from netsonde.errors import UsageError
from netsonde.patterns import flows_of
from netsonde.study.plan import PlannedPoint, numbered

NAMES_MOST = 40
"""Characters of the hosts' names in a label; of more, those that are missing are named."""


def shrunk_points(
    lost: Sequence[PlannedPoint],
    dead: Mapping[str, str],
    hosts_of: Mapping[str, Sequence[str]],
    planned: Sequence[PlannedPoint],
) -> tuple[list[PlannedPoint], dict[str, str]]:
    """Points in the place of those that were lost, and by id why others have none.

    ``hosts_of``: for each point that was lost, every host that its test may take, in order, the
    dead ones too. What is planned already is not planned again.
    """
    known = [(p.transport, p.test, p.spec) for p in planned]
    refused: dict[str, str] = {}
    for point in lost:
        before = point.spec.without or ()
        gone = tuple(name for name in hosts_of[point.id] if name in dead or name in before)
        if not set(gone) - set(before):
            continue
        left = [name for name in hosts_of[point.id] if name not in gone]
        try:
            own = replace(_over(point, left), without=gone)
        except UsageError as error:
            refused[point.id] = str(error)
            continue
        if (point.transport, point.test, own) not in known:
            known.append((point.transport, point.test, own))
    return numbered(known[len(planned) :], len(planned)), refused


def _over(point: PlannedPoint, left: Sequence[str]) -> PointSpec:
    """The same over the hosts that are left. Raises UsageError where they are too few."""
    asked = point.spec
    own = asked.label if asked.without is None else asked.label_before
    if point.kind.is_pattern:
        flows_of(point.test, len(left))
        return replace(asked, label_before=own, label=_label(left, own))
    if isinstance(asked, EveryPair) and not point.carrier.has_ranks:
        flows_of(point.test, len(left))
        hosts = min(asked.hosts, len(left))
        return replace(asked, hosts=hosts, label_before=own, label=_label(left, own))
    ppn = asked.ppn or 1
    ranks = min(asked.ranks or 2, ppn * len(left))
    if isinstance(asked, EveryPair):
        asked = replace(asked, hosts=min(asked.hosts, ranks))
    root = asked.root if isinstance(asked, Collective) else None
    if ranks < 2 or max(*(asked.pair or ()), root or 0, 0) >= ranks:
        raise UsageError(f"it needs more than the {ranks} ranks that {len(left)} hosts have")
    if isinstance(asked, Collective) and asked.total_bytes is not None:
        asked = replace(asked, total_bytes=asked.message_bytes * ranks)
    taken = left[: -(-ranks // ppn)]
    return replace(asked, label_before=own, ranks=ranks, label=_label(taken, own))


def _label(hosts: Sequence[str], own: str | None) -> str:
    names = ", ".join(hosts)
    if len(names) > NAMES_MOST:
        names = f"{len(hosts)} hosts, {hosts[0]} to {hosts[-1]}"
    return f"{own}; on {names}" if own else f"on {names}"
