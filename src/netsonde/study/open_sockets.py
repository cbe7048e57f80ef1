"""Opens the session of a point that is not MPI's, between two hosts or among several."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netsonde.catalogue.behind import Behind
from netsonde.catalogue.option import End
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.point import EveryPair, Generated, Pattern, Program
from netsonde.catalogue.transport import Ends
from netsonde.errors import HostError
from netsonde.launch.host import Host, launcher_row
from netsonde.launch.local import target_address
from netsonde.launch.pair import open_pair
from netsonde.launch.session import Session
from netsonde.patterns import flows_of
from netsonde.study.plan import PlannedPoint

if TYPE_CHECKING:
    from netsonde.launch.flows import Gate


@dataclass(frozen=True)
class EndHosts:
    """The hosts of a point: ``many`` are those of a pattern, in order; ``one_machine`` says that
    both ends share CPUs, and ``gate`` holds back what hosts of a lab send."""

    origin: Host
    target: Host
    many: Sequence[Host]
    family: str
    one_machine: bool
    gate: Gate | None = None


OPENERS: Behind[Callable[[EndHosts, PlannedPoint], Session]] = Behind(kind.name for kind in Ends)
"""By how the ends of a transport find each other. Ranks are not here: one job serves many points
(testbed.py)."""


def open_sockets(hosts: EndHosts, point: PlannedPoint) -> Session:
    """Raises HostError where an end cannot be had."""
    return OPENERS[point.carrier.ends.name](hosts, point)


@OPENERS.of("OTHERWISE")
def _open_program(hosts: EndHosts, point: PlannedPoint) -> Session:
    from netsonde.launch.program import open_program

    where = point.spec.of(Program).where
    return open_program(hosts.origin if where == "origin" else hosts.target, hosts.family)


@OPENERS.of("ALONE")
def _open_alone(hosts: EndHosts, point: PlannedPoint) -> Session:
    from netsonde.launch.alone import open_alone

    options, _ = _options(hosts, point)
    return open_alone(
        hosts.origin, hosts.target, point.transport, family=hosts.family, options=options
    )


@OPENERS.of("TASKS")
def _open_tasks(hosts: EndHosts, point: PlannedPoint) -> Session:
    from netsonde.launch.tasks import open_task_flows, open_tasks

    chosen = _chosen(hosts, point)
    if _has_flows(point):
        return open_task_flows(_flows(hosts, point), point.transport, **chosen)
    return open_tasks(hosts.origin, hosts.target, point.transport, **chosen)


@OPENERS.of("PAIR")
def _open_pairs(hosts: EndHosts, point: PlannedPoint) -> Session:
    chosen = _chosen(hosts, point)
    if point.kind.is_unanswered:
        from netsonde.launch.generator import open_generator

        address = target_address(hosts.origin, hosts.target, hosts.family)
        port = point.spec.of(Generated).port
        return open_generator(
            hosts.origin,
            address,
            port,
            hosts.family,
            chosen["options"],
            transport=point.transport,
        )
    if _has_flows(point):
        from netsonde.launch.flows import open_flows

        return open_flows(_flows(hosts, point), point.transport, gate=hosts.gate, **chosen)
    return open_pair(hosts.origin, hosts.target, point.transport, **chosen)


def _chosen(hosts: EndHosts, point: PlannedPoint) -> dict[str, Any]:
    """What the two ends are opened with, by the words of those that open."""
    options, target_options = _options(hosts, point)
    return {"family": hosts.family, "options": options, "target_options": target_options}


def _options(hosts: EndHosts, point: PlannedPoint) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the two workers."""
    options = point.spec.chosen.to_json()
    apart = options.pop("placement", "free") == "apart"
    if apart and hosts.one_machine and not _has_flows(point):
        options = {**processors_apart(), **options}
    origin_options, target_options = worker_options(point.transport, options)
    if launcher_row(hosts.target).is_served:
        for row in SOCKETS.values():
            if row.refused_stranger:
                for name in row.wire:
                    target_options.pop(name, None)
    return origin_options, target_options


def _has_flows(point: PlannedPoint) -> bool:
    return point.spec.streams is not None or point.kind.is_of_many


def _flows(hosts: EndHosts, point: PlannedPoint) -> list[tuple[Host, Host]]:
    if point.kind.is_of_many:
        some = isinstance(point.spec, EveryPair | Pattern) and point.spec.hosts
        taken = some or len(hosts.many)
        if taken > len(hosts.many):
            raise HostError(f"{taken} hosts are to take part, and there are {len(hosts.many)}")
        return [(hosts.many[a], hosts.many[b]) for a, b in flows_of(point.test, taken)]
    return [(hosts.origin, hosts.target)] * (point.spec.streams or 1)


def processors_apart() -> dict[str, int]:
    """Two different CPUs for the two ends; none where there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        return {}
    return {"origin_cpu": allowed[0], "target_cpu": allowed[1]}


def worker_options(
    transport: str, options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of a study as those of the two workers: (origin's, target's). What is only
    another transport's is left out."""
    asked: dict[End, dict[str, Any]] = {End.ORIGIN: {}, End.TARGET: {}}
    for row in SOCKETS.values():
        if row.run_key in options and transport in row.of:
            for end, found in asked.items():
                if row.end in (End.BOTH, end):
                    found |= dict.fromkeys(row.wire, options[row.run_key])
    return asked[End.ORIGIN], asked[End.TARGET]
