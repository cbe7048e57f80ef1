"""A prediction's algorithm on its platform, simulated packet by packet: what the formula leaves out
is then there, above all conflicts and full buffers.

The simulated cluster is the platform as it stands: its hosts on one switch, its packets without
acknowledgements, which the equations do not know either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker
from netsonde.model.fit import ALIKE
from netsonde.model.platform import Cost, Platform
from netsonde.model.predict import Options, usual_fan_out, usual_segment_bytes
from netsonde.simulate.process import PROGRAM, Job, Simulators

LONGEST_S = 300.0
MOST_PACKETS = 50_000_000
_MESSAGES = ("message/one-way", "message/exchange")
_PACKET_BY_PACKET = (
    "broadcast/tree",
    "alltoall/synchronous-shuffle",
    "alltoall/group-shuffle",
    "alltoall/shift",
    "alltoall/pairwise",
    "alltoall/pairwise-xor",
)
"""Schedules whose steps are packets; those of all others are whole parts."""


@dataclass(frozen=True)
class Simulated:
    """``time_ns`` is None where packets were lost and somebody waits for them for ever. A schedule
    ends with its last step, as measured ones do, before the last acknowledgements."""

    time_ns: float | None
    lost_packets: int
    seed: int


def simulated(
    platform: Platform,
    algorithm: str,
    ranks: int,
    size_bytes: int,
    options: Options,
    seed: int = 1,
) -> Simulated:
    """Simulates it. Raises ``ValueError`` for what cannot be simulated as the platform stands,
    and HostError where sonde-sim is missing."""
    return simulated_plan(simulation_plan(platform, algorithm, ranks, size_bytes, options, seed))


def simulated_plan(plan: Mapping[str, Any]) -> Simulated:
    """The same of what sonde-sim is to read. Raises HostError where it is missing."""
    with Simulators(find_worker(PROGRAM), 1) as simulators:
        (result,) = simulators.results([Job(0, dict(plan), LONGEST_S)])
    if result.error is not None:
        raise result.error
    found = [record["values"] for record in result.records if record["record"] == "done"]
    if len(found) != 1:
        raise HostError(f"{PROGRAM} ended without saying how; it may be of another version")
    done = found[0]
    lost = sum(int(done.get(key, 0)) for key in ("lost_overflow", "lost_receive_pool"))
    finished = done.get("ended_by") == "finished"
    ended_ns = done.get("steps_done_ns", done["elapsed_ns"])
    return Simulated(float(ended_ns) if finished else None, lost, int(plan["seed"]))


def simulation_plan(
    platform: Platform,
    algorithm: str,
    ranks: int,
    size_bytes: int,
    options: Options,
    seed: int,
) -> dict[str, Any]:
    """What sonde-sim reads, see docs/reference/simulator-input.md. Errors as :func:`simulated`."""
    platform.times(ranks=ranks)  # says which parameter is missing
    if options.shape is not None:
        raise ValueError("--simulate knows one switch; netsonde simulate plays trees of switches")
    packets = platform.packets(size_bytes) * ranks * ranks
    if packets > MOST_PACKETS:
        raise ValueError(
            f"up to {packets} packets are too many to simulate beside a prediction; expected at"
            f" most {MOST_PACKETS}: netsonde simulate takes more"
        )
    return {
        "simulation": 1,
        "seed": seed,
        "host_kinds": {"host": _host(platform, ranks)},
        "link_kinds": {"link": {"rate_bit_per_s": round(platform.link_bit_per_s)}},
        "switch_kinds": {"switch": _switch(platform, ranks)},
        "switches": [{"name": "s1", "kind": "switch"}],
        "hosts": [{"switch": "s1", "count": ranks, "kind": "host", "link": "link"}],
        "transport": {"kind": "datagram", "header_bytes": platform.header_bytes},
        "workload": _workload(platform, algorithm, ranks, size_bytes, options),
    }


def _host(platform: Platform, ranks: int) -> dict[str, Any]:
    names = {
        "send_overhead": "send_overhead",
        "receive_overhead": "receive_overhead",
        "user_overhead": "user_receive_overhead",
        "send_gap": "send_gap",
        "receive_gap": "receive_gap",
    }
    kind: dict[str, Any] = {
        theirs: _cost(platform, platform.cost(ours), ranks) for ours, theirs in names.items()
    }
    if _is_the_lines(platform, ranks):
        del kind["receive_gap"]
    if "reduction" in platform.costs:
        kind["copy"] = {"per_byte_ns": platform.costs["reduction"].per_byte_ns}
    kind["receive_processor"] = "other" if platform.receives_beside else "same"
    # Nobody takes packets for the program meanwhile: what it has not yet taken must have a place.
    kind["receive_pool_packets"] = 1_000_000
    return kind


def _is_the_lines(platform: Platform, ranks: int) -> bool:
    """Whether the line alone keeps packets as far apart as g_r: then nothing says that the card
    would let a short packet wait that comes behind a long one."""
    gap = platform.at("receive_gap", platform.packet_bytes, ranks)
    return gap <= (1.0 + ALIKE) * platform.wire_ns()


def _cost(platform: Platform, cost: Cost, ranks: int) -> dict[str, float]:
    """A law over the payload as one over payload and header, which sonde-sim has. A fitted part
    below 0 whose interval holds 0 is taken for 0, and the other one is what a half packet, or a
    full one, says."""
    per_byte = cost.per_byte_ns + cost.per_rank_byte_ns * ranks
    base = cost.start_ns + cost.per_rank_ns * ranks - per_byte * platform.header_bytes
    if per_byte < 0.0 and _may_be_nothing(cost, "per_byte_ns"):
        base, per_byte = cost.at(platform.packet_bytes / 2, ranks), 0.0
    elif base < 0.0 and _may_be_nothing(cost, "start_ns"):
        whole = platform.packet_bytes + platform.header_bytes
        base, per_byte = 0.0, cost.at(platform.packet_bytes, ranks) / whole
    if base < 0.0 or per_byte < 0.0:
        raise ValueError(
            f"platform {platform.name} has a cost of {base:.6g} ns and {per_byte:.6g} ns a byte; a"
            " simulation takes none below 0"
        )
    return {"base_ns": base, "per_byte_ns": per_byte}


def _may_be_nothing(cost: Cost, part: str) -> bool:
    interval = None if cost.fit is None else cost.fit.intervals.get(part)
    return interval is not None and interval.low <= 0.0 <= interval.high


def beyond_lines_ns(platform: Platform, ranks: int) -> float:
    """What L has for a full packet beyond its time on two lines, or on one that is cut through.
    Raises ``ValueError`` where that is less than nothing."""
    latency = platform.at("latency", platform.packet_bytes, ranks)
    lines = min(platform.serialisations, 2)
    beyond = latency - lines * platform.wire_ns()
    if beyond < 0.0:
        raise ValueError(
            f"L of platform {platform.name} is {latency:.6g} ns for a full packet, less than its"
            f" {lines} times on the wire; it was not measured over a switch"
        )
    return beyond


def _switch(platform: Platform, ranks: int) -> dict[str, Any]:
    """The platform's switch; what L has beyond its two lines is its delay, other switches' times
    among it."""
    kind: dict[str, Any] = {
        "architecture": "output",
        "cut_through": platform.serialisations == 1,
        "latency_ns": round(beyond_lines_ns(platform, ranks)),
    }
    if platform.buffer is not None:
        kind["architecture"] = platform.buffer.architecture
        kind["buffer_packets"] = platform.buffer.packets
    return kind


def _workload(
    platform: Platform, algorithm: str, ranks: int, size_bytes: int, options: Options
) -> Mapping[str, Any]:
    base = {"payload_bytes": platform.packet_bytes}
    if algorithm in _MESSAGES:
        messages = [[0, 0, 1, max(1, size_bytes)]]
        if algorithm == "message/exchange":
            messages.append([0, 1, 0, max(1, size_bytes)])
        return {**base, "kind": "trace", "messages": messages}
    found: dict[str, Any] = {**base, "kind": "schedule", "algorithm": algorithm}
    if not algorithm.startswith("barrier/"):
        found["block_bytes"] = size_bytes
    if algorithm == "broadcast/chain":
        found["segment_bytes"] = usual_segment_bytes(platform, ranks, size_bytes, options)
    elif algorithm in _PACKET_BY_PACKET:
        found["segment_bytes"] = platform.packet_bytes
    if algorithm == "alltoall/group-shuffle":
        found["fan_out"] = options.fan_out or usual_fan_out(ranks)
    return found
