"""Where a study is measured: brings the path up, opens sessions on it, takes it down.

A path is the lab, loopback, or hosts that were named. It says of itself whether results are
``emulated`` or ``real``, and what is known of the link.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from netsonde.errors import HostError, UsageError
from netsonde.lab import Lab, LabSpec, lab_up, permission_problem
from netsonde.lab.observe import begin_watch, kept_time
from netsonde.lab.registry import lab_of
from netsonde.lab.scenario import lab_spec, read_scenario
from netsonde.launch.flows import open_flows
from netsonde.launch.generator import open_generator
from netsonde.launch.host import Host
from netsonde.launch.hosts import parse_host
from netsonde.launch.local import LocalHost
from netsonde.launch.mpi import open_mpi
from netsonde.launch.pair import open_pair
from netsonde.launch.session import Session
from netsonde.patterns import PATTERNS, flows_of
from netsonde.study.plan import PlannedPoint
from netsonde.study.spec import StudySpec

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
MANY_ON_LOOPBACK = 4
"""Hosts of a pattern where there is but one."""
UDP_ONLY = ("datagrams_per_call", "segment_offload")


class Path:
    """A context manager; ``open`` gives a session for a point and closes the one before where it
    cannot serve."""

    def __init__(self, spec: StudySpec, pair_code: str | None = None) -> None:
        self._spec = spec
        self._pair_code = pair_code
        self._stack = ExitStack()
        self._pair: Session | None = None
        self._mpi: Session | None = None
        self._origin: Host | None = None
        self._target: Host | None = None
        self._many: Sequence[Host] = ()
        self._mpi_hosts: Sequence[Host] | None = None
        self._lab: Lab | None = None
        self.kind = spec.path.kind
        self.facts: dict[str, Any] = {}
        self.notice: str | None = None

    @property
    def label(self) -> str:
        """``emulated`` or ``real``: what every figure of a run on this path says of itself."""
        return "emulated" if self.kind == "lab" else "real"

    def __enter__(self) -> Self:
        try:
            self._bring_up()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close_sessions()
        finally:
            self._stack.close()

    def _bring_up(self) -> None:
        if self.kind == "auto":
            problem = permission_problem()
            self.kind = "loopback" if problem else "lab"
            if problem:
                self.notice = (
                    f"No emulated cluster can be had here ({problem}), so this run measures plain "
                    "loopback: the speed of this machine's network stack, not of a network."
                )
        if self.kind == "lab":
            self._bring_up_lab()
        elif self.kind == "loopback":
            self._origin = self._target = LocalHost()
            self._many = [self._origin] * MANY_ON_LOOPBACK
            self.facts = {"kind": "loopback", "rate_bit_per_s": None}
        else:
            self._name_hosts()

    def _bring_up_lab(self) -> None:
        lab = self._lab = self._stack.enter_context(lab_up(self._lab_spec()))
        if len(lab.hosts) < 2:
            raise UsageError("a study needs a lab of at least 2 hosts; set hosts = 2 under [lab]")
        self._origin, self._target = lab.hosts[0], lab.hosts[1]
        self._mpi_hosts = self._many = lab.hosts
        self._check_patterns()
        self.facts = lab.path_facts()

    def _lab_spec(self) -> LabSpec:
        table = self._spec.lab
        if table.scenario is not None:
            return dataclasses.replace(lab_spec(read_scenario(table.scenario)), name="study")
        return LabSpec(
            hosts=table.hosts,
            rate_bit_per_s=table.rate,
            buffer_bytes=table.buffer,
            burst_bytes=table.burst,
            name="study",
        )

    def begin_point(self) -> None:
        """Whatever the path says of a point in point_check() is of the time from now on."""
        if self._lab is not None:
            begin_watch(self._lab)

    def point_check(self) -> dict[str, Any] | None:
        """Whether the emulated network was what it claims; None where it cannot tell."""
        return None if self._lab is None else kept_time(self._lab)

    def _name_hosts(self) -> None:
        table = self._spec.path
        self._many = [host for text in table.hosts for host in parse_host(text)]
        if self._many:
            self._origin, self._target = self._many[0], self._many[-1]
        else:
            targets = parse_host(table.target, pair=self._pair_code)
            origins = parse_host(table.origin)
            if len(targets) == 2 and table.origin == "local":  # lab:h1,h2 names both ends
                self._origin, self._target = targets
            else:
                self._origin, self._target = origins[0], targets[-1]
            self._many = [self._origin, self._target]
        self._mpi_hosts = [h for text in self._spec.mpi.hosts for h in parse_host(text)] or None
        if self._mpi_hosts is None and self._target.kind == "lab":
            self._mpi_hosts = [self._origin, self._target]
        self._check_patterns()
        pairs = self._many if self._has_pairs() else []
        self._describe([*pairs, *(self._mpi_hosts or [])])
        if self.kind == "lab":
            named = [*table.hosts, table.target, table.origin, *self._spec.mpi.hosts]
            self._lab = lab_of(next(text for text in named if text.startswith("lab:")))

    def _check_patterns(self) -> None:
        for block in self._spec.measure:
            if block.test in PATTERNS:
                flows_of(block.test, len(self._many))

    def _has_pairs(self) -> bool:
        return any(t != "mpi" for block in self._spec.measure for t in block.transports)

    def _describe(self, hosts: Sequence[Host]) -> None:
        """What lies between the named hosts."""
        kinds = {host.kind for host in hosts} or {"local"}
        if "lab" in kinds and len(kinds) > 1:
            raise UsageError(
                "a host of the lab reaches only hosts of the same lab; name both ends, as lab:h1,h2"
            )
        if kinds == {"lab"}:
            self.kind = "lab"
            self.facts = getattr(hosts[0], "path_facts", dict)()
        elif kinds == {"local"}:
            self.facts = {"kind": "loopback", "rate_bit_per_s": None}
        else:
            self.facts = {"kind": "network", "rate_bit_per_s": None}

    def open(self, point: PlannedPoint) -> Session:
        """A session that can measure the point. Raises HostError where an end cannot be had."""
        if point.transport == "mpi":
            return self._open_mpi(point)
        self._close_pair()
        if self._origin is None or self._target is None:
            raise HostError("the path is not up")
        options = dict(point.parameters["options"])
        apart = options.pop("placement", "free") == "apart"
        many = "streams" in point.parameters or point.test in PATTERNS
        if apart and self._on_this_machine and not many:
            options = {**processors_apart(), **options}
        origin_options, target_options = worker_options(point.transport, options)
        family = self._spec.path.family
        if point.test == "generate":
            self._pair = open_generator(
                self._origin,
                self._target.address(family),
                point.parameters["port"],
                family,
                origin_options,
            )
            return self._pair
        if point.test in PATTERNS:
            self._pair = open_flows(
                [(self._many[a], self._many[b]) for a, b in flows_of(point.test, len(self._many))],
                point.transport,
                family=family,
                options=origin_options,
                target_options=target_options,
            )
            return self._pair
        if point.parameters.get("streams", 1) > 1:
            self._pair = open_flows(
                [(self._origin, self._target)] * point.parameters["streams"],
                point.transport,
                family=family,
                options=origin_options,
                target_options=target_options,
            )
            return self._pair
        self._pair = open_pair(
            self._origin,
            self._target,
            point.transport,
            family=family,
            options=origin_options,
            target_options=target_options,
        )
        return self._pair

    @property
    def _on_this_machine(self) -> bool:
        return self.kind in ("lab", "loopback")

    def _open_mpi(self, point: PlannedPoint) -> Session:
        """MPI's start-up is long, so one job serves all MPI points of a run."""
        job = self._mpi or open_mpi(
            self._mpi_hosts, point.parameters["ranks"], mpi=self._spec.mpi.mpi
        )
        self._mpi = job
        return job

    def drop(self, session: Session) -> None:
        """Closes a session that failed, so that the next point gets a fresh one."""
        if session is self._mpi:
            self._mpi = None
        elif session is self._pair:
            self._pair = None
        session.close()

    def _close_pair(self) -> None:
        if self._pair is not None:
            pair, self._pair = self._pair, None
            pair.close()

    def close_sessions(self) -> None:
        self._close_pair()
        if self._mpi is not None:
            mpi, self._mpi = self._mpi, None
            mpi.close()


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
    TCP's is left out for UDP, and the other way round."""
    others = TCP_ONLY if transport == "udp" else UDP_ONLY
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
            ("wait", "wait"),
        )
        if key in options and key not in others
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
