"""Opens the session of a point that is not MPI's, between two hosts or among several."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.launch.echoes import open_echoes
from netsonde.launch.flows import open_flows
from netsonde.launch.generator import open_generator
from netsonde.launch.host import Host
from netsonde.launch.local import target_address
from netsonde.launch.pair import open_pair
from netsonde.launch.program import open_program
from netsonde.launch.session import Session
from netsonde.patterns import PATTERNS, flows_of
from netsonde.records.data import PROGRAM
from netsonde.study.plan import PlannedPoint

TCP_ONLY = (
    "no_delay",
    "congestion_control",
    "max_segment",
    "cork",
    "not_sent_low",
    "multipath",
    "pacing",
    "sending",
)
BUFFERS = ("buffer", "receive_buffer", "target_buffer")
UDP_ONLY = ("datagrams_per_call", "segment_offload")
FOREIGN_OPTIONS = {
    "tcp": UDP_ONLY,
    "udp": TCP_ONLY,
    "icmp": (*TCP_ONLY, *UDP_ONLY, *BUFFERS, "kernel_times", "depth"),
}
"""By transport, what is for others only."""


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
    if point.test == PROGRAM:
        host = ends.origin if point.parameters["where"] == "origin" else ends.target
        return open_program(host, ends.family)
    options = dict(point.parameters["options"])
    apart = options.pop("placement", "free") == "apart"
    many = "streams" in point.parameters or point.test in PATTERNS
    if apart and ends.one_machine and not many:
        options = {**processors_apart(), **options}
    origin_options, target_options = worker_options(point.transport, options)
    if ends.target.kind == "paired":
        target_options.pop("depth", None)  # netsonde serve loads no programs for others
    if point.transport == "icmp":
        return open_echoes(ends.origin, ends.target, family=ends.family, options=origin_options)
    if point.test == "generate":
        return open_generator(
            ends.origin,
            target_address(ends.origin, ends.target, ends.family),
            point.parameters["port"],
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
    if point.test in PATTERNS:
        return [(ends.many[a], ends.many[b]) for a, b in flows_of(point.test, len(ends.many))]
    return [(ends.origin, ends.target)] * int(point.parameters["streams"])


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
    foreign = FOREIGN_OPTIONS[transport]
    options = {key: value for key, value in options.items() if key not in foreign}
    both = {
        name: options[key]
        for key, name in (
            ("no_delay", "no_delay"),
            ("congestion_control", "congestion_control"),
            ("max_segment", "max_segment_bytes"),
            ("cork", "cork"),
            ("not_sent_low", "not_sent_low_bytes"),
            ("traffic_class", "traffic_class"),
            ("busy_poll_us", "busy_poll_us"),
            ("multipath", "multipath"),
            ("pacing", "pacing_bit_per_s"),
            ("sending", "sending"),
            ("datagrams_per_call", "datagrams_per_call"),
            ("segment_offload", "segment_offload"),
            ("kernel_times", "kernel_times"),
            ("depth", "depth"),
            ("wait", "wait"),
        )
        if key in options
    }
    if "buffer" in options:
        both["send_buffer_bytes"] = both["receive_buffer_bytes"] = options["buffer"]
    if "receive_buffer" in options:
        both["receive_buffer_bytes"] = options["receive_buffer"]
    origin = {**both, **({"cpu": options["origin_cpu"]} if "origin_cpu" in options else {})}
    target = {**both, **({"cpu": options["target_cpu"]} if "target_cpu" in options else {})}
    if "target_buffer" in options:
        target["send_buffer_bytes"] = target["receive_buffer_bytes"] = options["target_buffer"]
    return origin, target
