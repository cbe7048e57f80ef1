"""Opens the session of a point that is not MPI's, between two hosts or among several."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.option import End
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.point import Generated, Program
from netsonde.launch.echoes import open_echoes
from netsonde.launch.flows import open_flows
from netsonde.launch.generator import open_generator
from netsonde.launch.host import Host, launcher_row
from netsonde.launch.local import target_address
from netsonde.launch.pair import open_pair
from netsonde.launch.program import open_program
from netsonde.launch.session import Session
from netsonde.patterns import flows_of
from netsonde.study.plan import PlannedPoint


@dataclass(frozen=True)
class Ends:
    """The hosts of a point: ``many`` are those of a pattern, in order; ``one_machine`` says that
    both ends share processors."""

    origin: Host
    target: Host
    many: Sequence[Host]
    family: str
    one_machine: bool


def open_sockets(ends: Ends, point: PlannedPoint) -> Session:
    """Raises HostError where an end cannot be had."""
    if point.kind.is_program:
        host = ends.origin if point.spec.of(Program).where == "origin" else ends.target
        return open_program(host, ends.family)
    options = point.spec.chosen.to_json()
    apart = options.pop("placement", "free") == "apart"
    many = point.spec.streams is not None or point.kind.is_pattern
    if apart and ends.one_machine and not many:
        options = {**processors_apart(), **options}
    origin_options, target_options = worker_options(point.transport, options)
    if launcher_row(ends.target).is_served:
        for row in SOCKETS.values():
            if row.refused_stranger:
                for name in row.wire:
                    target_options.pop(name, None)
    if point.carrier.is_echoed:
        return open_echoes(ends.origin, ends.target, family=ends.family, options=origin_options)
    if point.kind.is_unanswered:
        return open_generator(
            ends.origin,
            target_address(ends.origin, ends.target, ends.family),
            point.spec.of(Generated).port,
            ends.family,
            origin_options,
        )
    if many:
        return open_flows(
            _flows(ends, point),
            point.transport,
            family=ends.family,
            options=origin_options,
            target_options=target_options,
        )
    return open_pair(
        ends.origin,
        ends.target,
        point.transport,
        family=ends.family,
        options=origin_options,
        target_options=target_options,
    )


def _flows(ends: Ends, point: PlannedPoint) -> list[tuple[Host, Host]]:
    if point.kind.is_pattern:
        return [(ends.many[a], ends.many[b]) for a, b in flows_of(point.test, len(ends.many))]
    return [(ends.origin, ends.target)] * (point.spec.streams or 1)


def processors_apart() -> dict[str, int]:
    """Two different processors for the two ends; none where there is only one."""
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
