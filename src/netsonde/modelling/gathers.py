"""``netsonde model congestion``: real gathers beside what the model and the simulator say of them.

Method: docs/methods/link.md, "Gathers beside model and simulator".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netsonde.catalogue.options.frames import (
    GO_BACK_N,
    USUAL_FRAGMENT_BYTES,
    USUAL_TIMEOUT_NS,
    USUAL_WINDOW_PACKETS,
)
from netsonde.errors import UsageError
from netsonde.figures.gathers import line_uses, sink_rate_bit_per_s
from netsonde.figures.simulated import chances_of
from netsonde.launch.binaries import find_worker
from netsonde.model.congestion import Chances, input_efficiency, loses, output_efficiency
from netsonde.model.platform import Architecture, wire_time_ns
from netsonde.modelling.lab_cluster import lab_cluster
from netsonde.records.data import Batch, Point, Run
from netsonde.records.decode import decode_batch
from netsonde.simulate.process import PROGRAM, Job, Simulators, processors

WITHIN = 0.05
"""What an efficiency may be beside the simulator's, and the most that lateness may move it by."""
SEEDS = 9
MOST_SEEDS = 100
LONGEST_S = 120.0
ANSWERS_A_TIMEOUT = 4
SYNC_BYTES = 40 + 52
"""Of a frame of the control connection: ours, and the headers of IP and TCP with its time
stamps."""
SENDERS_PART = 0.25
"""Of what a message costs hosts; most of it is the receiver's waking up."""


@dataclass(frozen=True)
class Load:
    """A gather. ``slot_ns``: a packet's time on the receiver's line; ``buffer_packets``: B_L of the
    receiver's switch, None where it is counted in bytes."""

    senders: int
    window: int
    timeout_ns: int
    slot_ns: float
    packets: int
    architecture: Architecture
    buffer_packets: int | None

    @property
    def timeout_slots(self) -> float:
        return self.timeout_ns / self.slot_ns


@dataclass(frozen=True)
class Spread:
    """Efficiencies of several runs: their median, and from where to where they are."""

    median: float
    least: float
    most: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(float(np.median(values)), min(values), max(values), len(values))


@dataclass(frozen=True)
class Gathered:
    """One point. ``moved``: by how much the simulated efficiency moves where each frame comes as
    late as one in a hundred of the emulated ones did; None of a network that is not emulated."""

    point: str
    label: str
    load: Load
    measured: Spread
    chances: Chances | None
    model: float | None
    simulated: Spread
    simulated_chances: Chances | None
    late_p99_ns: float | None
    moved: float

    @property
    def apart(self) -> float:
        return self.measured.median - self.simulated.median

    @property
    def is_decided_by_lateness(self) -> bool:
        """Whether it says more of this machine than of the network."""
        return abs(self.moved) > WITHIN


def gathered(run: Run, seeds: int = SEEDS) -> list[Gathered]:
    """Each gather of a run over a lab. Raises UsageError where there is none."""
    points = [one for one in run.points if one.kind.is_whole and one.measured]
    topology = (run.manifest.get("path") or {}).get("topology")
    if not points or not isinstance(topology, Mapping):
        raise UsageError(
            f"{run.directory} has no gather over a lab's switch: netsonde link 'lab:h[1-8]' gather"
        )
    with Simulators(find_worker(PROGRAM), processors()) as simulators:
        return [_one(run, point, topology, simulators, seeds) for point in points]


def _one(
    run: Run, point: Point, topology: Mapping[str, Any], simulators: Simulators, seeds: int
) -> Gathered:
    rate = sink_rate_bit_per_s(run, point)
    assert rate is not None
    load = _load(point, topology, rate)
    lab = point.checks.get("lab")
    late = lab if isinstance(lab, Mapping) else {}
    host = host_of(point, topology, late)
    plans = [_plan(point, topology, load, host, later_ns) for later_ns in _delays(late)]
    found = [_simulated(simulators, plan, seeds) for plan in plans]
    batches = found[0]
    simulated = Spread.of([_efficiency(batch, load) for batch in batches])
    moved = 0.0
    if len(found) > 1:
        moved = Spread.of([_efficiency(b, load) for b in found[1]]).median - simulated.median
    chances = chances_of(point.batches)
    return Gathered(
        point.id,
        point.label or "",
        load,
        Spread.of(line_uses(point, rate)),
        chances,
        _model(load, chances),
        simulated,
        chances_of(batches),
        float(late["late_p99_ns"]) if late else None,
        moved,
    )


def _load(point: Point, topology: Mapping[str, Any], rate_bit_per_s: float) -> Load:
    told = _obtained(point)
    fragment = int(told.get("fragment_bytes", USUAL_FRAGMENT_BYTES))
    targets = [end for rank, end in point.batches[0].ends.items() if rank % 2]
    each = int(targets[0].counters["messages_received"])
    pieces = -(-point.message_bytes // fragment)
    packet = min(point.message_bytes, fragment) + point.carrier.header_bytes
    switch = _switch_of(topology, targets[0].host)
    return Load(
        len(targets),
        int(told.get("window_packets", USUAL_WINDOW_PACKETS)),
        int(told.get("timeout_ns", USUAL_TIMEOUT_NS)),
        wire_time_ns(packet, rate_bit_per_s),
        each * pieces,
        switch["architecture"],
        switch.get("capacity_packets"),
    )


def _obtained(point: Point) -> dict[str, Any]:
    """What the ends said that they had, over what was asked for."""
    asked = point.spec.chosen.to_json()
    wire = {option.key: option.wire[0] for option in GO_BACK_N if option.wire}
    return {wire.get(key, key): value for key, value in asked.items()} | point.opened.get(0, {})


def _switch_of(topology: Mapping[str, Any], host: str) -> Mapping[str, Any]:
    (upper,) = (link["upper"] for link in topology["links"] if link["lower"] == host)
    (switch,) = (one for one in topology["switches"] if one["name"] == upper)
    return dict(switch)


def host_of(point: Point, topology: Mapping[str, Any], late: Mapping[str, Any]) -> dict[str, Any]:
    """What a message costs its hosts: half of what the exchange of short frames before the gather
    took beyond its lines, a quarter of it at the sender. They scatter as far as frames came late
    by different times, and learn of their timers as late as these did: whoever sends again is by
    so much behind those that answers drive, and loses the race for a place that has become free."""
    senders = [
        (end, _sink(batch))
        for batch in point.batches
        for rank, end in batch.ends.items()
        if rank % 2 == 0
    ]
    beyond = [
        (end.counters["sync_round_trip_ns"] - round_trip_ns(topology, end.host, sink)) / 2
        for end, sink in senders
    ]
    cost_ns = max(0.0, float(np.median(beyond)))
    sent_ns = SENDERS_PART * cost_ns
    host: dict[str, Any] = {
        "send_overhead": {"base_ns": sent_ns},
        "user_receive_overhead": {"base_ns": cost_ns - sent_ns},
    }
    timers = sum(end.counters.get("timers", 0) for end, _ in senders)
    if timers:
        late_ns = sum(end.counters["timers_late_ns"] for end, _ in senders)
        host["timer_late_ns"] = round(late_ns / timers)
    if late:
        usual_ns = float(late["late_median_ns"])
        mean_ns = (float(late["late_p99_ns"]) - usual_ns) / math.log(50)
        # Rarer and longer ones are what each point is simulated a second time for.
        host["jitter"] = {"distribution": "exponential", "mean_ns": round(min(mean_ns, usual_ns))}
    return host


def round_trip_ns(topology: Mapping[str, Any], origin: str, target: str) -> float:
    """Of the frames by which two ends find their clocks' difference, on lines that are free."""
    up, down = (_lines_from(topology, host) for host in (origin, target))
    while up and down and up[-1] == down[-1]:  # from where both go the same way on
        up, down = up[:-1], down[:-1]
    lines = [link[way] for link in (*up, *down) for way in ("up", "down")]
    delays_ns = sum(float(line.get("delay_ns", 0)) for line in lines)
    return delays_ns + sum(wire_time_ns(SYNC_BYTES, line["rate_bit_per_s"]) for line in lines)


def _lines_from(topology: Mapping[str, Any], host: str) -> list[Mapping[str, Any]]:
    """The links from a host to the switch that is above all."""
    above = {link["lower"]: link for link in topology["links"]}
    found = list[Mapping[str, Any]]()
    place = host
    while place in above and len(found) < len(above):
        found.append(above[place])
        place = above[place]["upper"]
    return found


def _sink(batch: Batch) -> str:
    return batch.ends[1].host


def _delays(late: Mapping[str, Any]) -> list[int]:
    """None, and what one frame in a hundred was late by."""
    return [0, *([round(float(late["late_p99_ns"]))] if late else [])]


def _plan(
    point: Point, topology: Mapping[str, Any], load: Load, host: dict[str, Any], later_ns: int
) -> dict[str, Any]:
    told = _obtained(point)
    way = str(told.get("acknowledge", "immediate"))
    late = {} if way == "immediate" else {"delay_ns": load.timeout_ns // ANSWERS_A_TIMEOUT}
    senders, target = _places(point.batches[0], list(topology["hosts"]))
    return {
        "simulation": 1,
        **lab_cluster(topology, host, later_ns),
        "transport": {
            "kind": "go_back_n",
            "window_packets": load.window,
            "timeout_ns": load.timeout_ns,
            "acknowledge": way,
            "fast_retransmit": not told.get("simple_go_back_n", False),
            "header_bytes": point.carrier.header_bytes,
            "control_bytes": point.carrier.header_bytes,
            **late,
        },
        "workload": {
            "kind": "many_to_one",
            "target": target,
            "senders": senders,
            "packets": load.packets,
            "payload_bytes": min(point.message_bytes, USUAL_FRAGMENT_BYTES),
        },
        "record": {"events": True},
    }


def _places(batch: Batch, hosts: list[str]) -> tuple[list[int], int]:
    """Ranks of the senders and of the receiver."""
    senders = [hosts.index(end.host) for rank, end in sorted(batch.ends.items()) if rank % 2 == 0]
    return senders, hosts.index(_sink(batch))


def _simulated(simulators: Simulators, plan: Mapping[str, Any], seeds: int) -> list[Batch]:
    """The run of each seed. Raises what it ended with."""
    jobs = [Job(seed, {**plan, "seed": seed}, LONGEST_S) for seed in range(1, seeds + 1)]
    batches = []
    for result in sorted(simulators.results(jobs), key=lambda one: one.key):
        if result.error is not None:
            raise result.error
        batches.append(decode_batch(result.key, result.records))
    return batches


def _efficiency(batch: Batch, load: Load) -> float:
    packets = sum(end.counters.get("packets_received", 0) for end in batch.ends.values())
    return packets * load.slot_ns / float(batch.ends[0].done["elapsed_ns"])


def _model(load: Load, chances: Chances | None) -> float | None:
    """Eq. (4.2) of input buffers, Eq. (4.10) of others with the chances that were measured, 1 where
    nothing should be lost; None where the equations say nothing."""
    buffer, kind = load.buffer_packets, load.architecture
    if buffer is None:
        return None
    try:
        if not loses(kind, load.window, load.senders, buffer):
            return 1.0
        if kind == "input":
            return input_efficiency(load.window, load.senders, buffer)
        if chances is None:
            return None
        slots = load.timeout_slots
        return output_efficiency(chances, load.window, load.senders, buffer, slots)
    except ValueError:
        return None
