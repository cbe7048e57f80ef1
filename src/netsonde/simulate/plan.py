"""From a scenario and its sweeps to points, and each point's runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netsonde.catalogue.named import Carried
from netsonde.catalogue.point import Simulation
from netsonde.errors import UsageError
from netsonde.simulate.resolve import FRAME_BYTES, header_bytes, resolve
from netsonde.simulate.scenario import Parsed, SimulationScenario
from netsonde.simulate.sweep import Change, Sweep, combinations, said
from netsonde.simulate.tables import MOST_SWEEP
from netsonde.tables import on_a_line

TEST = "simulation"
SEED_LIMIT = 2**53


@dataclass(frozen=True)
class Reference:
    """What others say of a point: ``figure`` is netsonde's name of it, ``value`` what was published
    and ``predicted`` what its own model said; ``formula`` names one of netsonde.model's."""

    figure: str
    value: float | None = None
    predicted: float | None = None
    formula: str | None = None
    source: str = ""


@dataclass(frozen=True)
class SimulatedPoint(Carried):
    """One point: what sonde-sim reads but for the seed, and what a report says of it."""

    id: str
    transport: str
    spec: Simulation
    seeds: tuple[int, ...]
    limit_s: float
    plan: dict[str, Any] = field(compare=False)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "transport": self.transport,
            "test": TEST,
            "parameters": self.spec.to_json(),
        }


def plan_sweep(
    scenario: SimulationScenario, sweeps: Sequence[Sweep], seed: int | None
) -> list[SimulatedPoint]:
    """Every point of a scenario with its sweeps. Raises UsageError where one cannot be."""
    return [
        plan_point(f"p{number:03d}", scenario, changes, seed)
        for number, changes in enumerate(combinations(sweeps), 1)
    ]


def plan_point(
    name: str,
    scenario: SimulationScenario,
    changes: Mapping[str, Change],
    seed: int | None,
    reference: Reference | None = None,
    label: str | None = None,
) -> SimulatedPoint:
    """One point. Raises UsageError, which names the values that were changed."""
    try:
        parsed = scenario.with_changes(changes)
        plan = resolve(parsed, seed)
    except UsageError as error:
        if not changes:
            raise UsageError(_with_source(str(error), scenario.source)) from error
        with_words = on_a_line(", ".join(f"{k} = {str(v)[:40]}" for k, v in said(changes).items()))
        raise UsageError(
            f"{_with_source(str(error), scenario.source)} (with {with_words})"
        ) from error
    runs = parsed.simulation.runs
    seeds = tuple((plan["seed"] + number) % SEED_LIMIT for number in range(runs))
    return SimulatedPoint(
        name,
        parsed.simulation.transport.kind,
        _spec(parsed, plan, changes, reference, label),
        seeds,
        parsed.simulation.limits.elapsed / 1e9,
        plan,
    )


def _with_source(sentence: str, source: str) -> str:
    return sentence if sentence.startswith(source) else f"{source}: {sentence}"


def _spec(
    parsed: Parsed,
    plan: Mapping[str, Any],
    changes: Mapping[str, Change],
    reference: Reference | None,
    label: str | None,
) -> Simulation:
    simulation = parsed.simulation
    workload, transport = simulation.workload, simulation.transport
    hosts = sum(group["count"] for group in plan["hosts"])
    words = ", ".join(
        f"{key.split('.')[-1].replace('_', ' ')} {value}" for key, value in said(changes).items()
    )
    return Simulation(
        message_bytes=_message_bytes(plan["workload"]),
        operation=workload.algorithm or workload.kind,
        label=label or words or None,
        swept=said(changes) or None,
        hosts=hosts,
        scenario=parsed.cluster.name,
        runs=simulation.runs,
        payload_bytes=workload.payload,
        slot_ns=slot_ns(parsed),
        senders=_senders(plan["workload"], hosts),
        packets=workload.packets,
        block_packets=workload.block_packets,
        window=transport.window,
        timeout_slots=transport.timeout_slots,
        buffer_packets=_bottleneck_packets(plan),
        leaf_hosts=plan["workload"].get("hierarchy", [None])[0],
        both_ways_bit_per_s=simulation.uplinks.both_ways,
        compared=None if reference is None else reference.figure,
        published=None if reference is None else reference.value,
        published_prediction=None if reference is None else reference.predicted,
        formula=None if reference is None else reference.formula,
        source=None if reference is None else reference.source or None,
    )


def slot_ns(parsed: Parsed) -> float:
    """How long a full packet is on a host's line."""
    transport = parsed.simulation.transport
    rate = parsed.cluster.link.rate or 10**9
    return 8e9 * (parsed.simulation.workload.payload + header_bytes(transport) + FRAME_BYTES) / rate


def _message_bytes(workload: Mapping[str, Any]) -> int:
    """What one host sends to another one in all: a block, all of a flow's packets, or the largest
    of unequal blocks."""
    if "sizes" in workload:
        return int(max(workload["sizes"]))
    if "block_bytes" in workload:
        return int(workload["block_bytes"])
    count = workload.get("block_packets", workload.get("packets", 1))
    return int(count) * int(workload["payload_bytes"])


def _senders(workload: Mapping[str, Any], hosts: int) -> int:
    """How many hosts send."""
    match workload["kind"]:
        case "many_to_one":
            return len(workload.get("senders", range(hosts - 1)))
        case "one_way":
            return 1
        case "two_way":
            return 2
        case "pairs":
            return len(workload["pairs"]) * (2 if workload.get("both_ways") else 1)
        case "burst":
            return len(workload["sources"])
        case "trace":
            return len({source for _, source, _, _ in workload["messages"]})
    return hosts


def _bottleneck_packets(plan: Mapping[str, Any]) -> int | None:
    """B_L of the first host's switch; of many to one, where all send from other switches than the
    target's, of that one's uplink."""
    kind = {switch["name"]: switch["kind"] for switch in plan["switches"]}
    workload, place, key = plan["workload"], plan["hosts"][0]["switch"], "buffer_packets"
    if workload["kind"] == "many_to_one":
        places = [group["switch"] for group in plan["hosts"] for _ in range(group["count"])]
        place = places[workload["target"]]
        senders = workload.get("senders", range(len(places)))
        if place not in {places[rank] for rank in senders}:
            key = "uplink_buffer_packets"
    own = plan["switch_kinds"][kind[place]]
    packets = own.get(key, own.get("buffer_packets"))
    return None if packets is None else int(packets)


def require_few(points: Sequence[SimulatedPoint]) -> None:
    """Raises UsageError where there are more points than can be asked for at once."""
    if len(points) > MOST_SWEEP:
        raise UsageError(f"{len(points)} points are asked for; {MOST_SWEEP} at once are the most")
