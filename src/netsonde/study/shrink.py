"""Points of many hosts of which some have died, as points of the hosts that are left.

A pattern over fewer hosts is another experiment, so it is another point: it says which hosts it is
without and is labelled with those that took part, and the point that could not be measured stays
marked as dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netsonde.errors import UsageError
from netsonde.patterns import flows_of
from netsonde.study.plan import PlannedPoint

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
    known = [(p.transport, p.test, p.parameters) for p in planned]
    found: list[PlannedPoint] = []
    refused: dict[str, str] = {}
    for point in lost:
        before = point.parameters.get("without", [])
        gone = [name for name in hosts_of[point.id] if name in dead or name in before]
        if not set(gone) - set(before):
            continue
        left = [name for name in hosts_of[point.id] if name not in gone]
        try:
            parameters = _over(point, left) | {"without": gone}
        except UsageError as error:
            refused[point.id] = str(error)
            continue
        if (point.transport, point.test, parameters) not in known:
            known.append((point.transport, point.test, parameters))
            name = f"p{len(planned) + len(found) + 1:03d}"
            found.append(PlannedPoint(name, point.transport, point.test, parameters))
    return found, refused


def _over(point: PlannedPoint, left: Sequence[str]) -> dict[str, Any]:
    """The parameters over the hosts that are left. Raises UsageError where they are too few."""
    given = point.parameters
    own = given.get("label_before" if "without" in given else "label")
    optional = {} if own is None else {"label_before": own}
    if point.kind.is_pattern:
        flows_of(point.test, len(left))
        return {**given, **optional, "label": _label(left, own)}
    ppn = int(given.get("ppn", 1))
    ranks = min(int(given["ranks"]), ppn * len(left))
    named = [*given.get("pair", ()), given.get("root", 0)]
    if ranks < 2 or max(named) >= ranks:
        raise UsageError(f"it needs more than the {ranks} ranks that {len(left)} hosts have")
    if "total_bytes" in given:
        optional["total_bytes"] = given["message_bytes"] * ranks
    taken = left[: -(-ranks // ppn)]
    return {**given, **optional, "ranks": ranks, "label": _label(taken, own)}


def _label(hosts: Sequence[str], own: str | None) -> str:
    names = ", ".join(hosts)
    if len(names) > NAMES_MOST:
        names = f"{len(hosts)} hosts, {hosts[0]} to {hosts[-1]}"
    return f"{own}; on {names}" if own else f"on {names}"
