"""What the simulator plays for an operation that one of our schedules did: its schedule with the
settings that it had, a lab's own switches, and its frames' Go-Back-N.

Method: docs/methods/model-measure.md, "Algorithms".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netsonde.catalogue.options.frames import (
    HEADER_BYTES,
    USUAL_FRAGMENT_BYTES,
    USUAL_TIMEOUT_NS,
    USUAL_WINDOW_PACKETS,
)
from netsonde.catalogue.point import AskedFrames, Collective
from netsonde.model.platform import Platform
from netsonde.model.predict import Options
from netsonde.modelling.lab_cluster import lab_cluster
from netsonde.platforms.simulated import beyond_lines_ns, simulation_plan
from netsonde.records.data import Point, Run


def played(platform: Platform, run: Run, point: Point) -> dict[str, Any]:
    """sonde-sim's input. Hosts cost what the platform says; where the run is one over a lab, lines
    and switches are the lab's, and otherwise one switch, the platform's. Raises ValueError for what
    cannot be simulated as the platform stands, UsageError for what only a lab has."""
    spec = point.spec.of(Collective)
    asked, ranks, size_bytes = spec.schedule, spec.ranks or 2, point.message_bytes
    assert asked is not None
    options = Options(fan_out=asked.fan_out)
    plan = simulation_plan(platform, asked.algorithm, ranks, size_bytes, options, seed=1)
    topology = (run.manifest.get("path") or {}).get("topology")
    if isinstance(topology, Mapping):
        plan |= _over_lab(platform, plan["host_kinds"]["host"], topology, point)
    if spec.frames is not None:
        plan |= _by_frames(plan["workload"], spec, spec.frames)
    return plan


def _over_lab(
    platform: Platform, host: Mapping[str, Any], topology: Mapping[str, Any], point: Point
) -> dict[str, Any]:
    """With the hosts that have ranks, in the ranks' order. What L has beyond its two lines is each
    line's half of it."""
    ends = point.batches[0].ends
    hosts = [ends[rank].host for rank in sorted(ends)]
    others = set(topology["hosts"]) - set(hosts)
    links = [link for link in topology["links"] if link["lower"] not in others]
    later_ns = beyond_lines_ns(platform, len(hosts)) / 2
    return lab_cluster({**topology, "hosts": hosts, "links": links}, host, round(later_ns))


def _by_frames(
    workload: Mapping[str, Any], spec: Collective, frames: AskedFrames
) -> dict[str, Any]:
    assert spec.schedule is not None
    own = {"kind": "schedule", "payload_bytes": frames.fragment_bytes or USUAL_FRAGMENT_BYTES}
    kept = {key: workload[key] for key in ("block_bytes",) if key in workload}
    root = {} if spec.root is None else {"root": spec.root}
    return {
        "workload": {**own, **kept, **root, **spec.schedule.to_json()},
        "transport": {
            "kind": "go_back_n",
            "window_packets": frames.window_packets or USUAL_WINDOW_PACKETS,
            "timeout_ns": frames.timeout_ns or USUAL_TIMEOUT_NS,
            "acknowledge": "immediate",
            "header_bytes": HEADER_BYTES,
            "control_bytes": HEADER_BYTES,
        },
    }
