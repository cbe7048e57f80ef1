"""From a scenario to the JSON that sonde-sim reads: every number plain, every host in its group.

The form of it is docs/reference/simulator-input.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netsonde.catalogue.transport import transport_row
from netsonde.errors import UsageError
from netsonde.lab.spec import host_name
from netsonde.lab.tables import ClusterTables, Line, Link, Switch, Uplink, capacity_plan
from netsonde.lab.topology import (
    USUAL_RATE_BIT_PER_S,
    complete_switches,
    host_numbers,
    particular_hosts,
    places_of,
)
from netsonde.simulate.scenario import Parsed
from netsonde.simulate.tables import HostTable, Simulation, Transport
from netsonde.simulate.workloads import BOUNDS, KINDS, Ranks, workload_plan

FORMAT = 1
MOST_KINDS = 1024
USUAL_MTU_BYTES = 1500
FRAME_BYTES = 38
"""What a frame of Ethernet takes on the line beside its payload."""
LINE_KEYS = ("rate", "delay", "loss", "burst", "mtu")
"""What a simulated link has; the lab's have more."""


@dataclass
class Kinds:
    """Named kinds of one sort, each once."""

    sort: str
    by_name: dict[str, dict[str, Any]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def name_of(self, plan: dict[str, Any]) -> str:
        """Raises UsageError where there are too many."""
        key = repr(sorted(plan.items(), key=lambda item: item[0]))
        if key not in self._names:
            name = f"{self.sort}{len(self._names) + 1}"
            if len(self._names) == MOST_KINDS:
                raise UsageError(
                    f"more than {MOST_KINDS} different {self.sort}s are more than can be simulated"
                )
            self._names[key] = name
            self.by_name[name] = plan
        return self._names[key]


@dataclass(frozen=True)
class Cluster:
    """The hosts' numbers, switches and links that a simulation is made of. ``slot_ns`` is the time
    of a full packet on a host's line."""

    plan: dict[str, Any]
    hosts: int
    slot_ns: float
    leaf_hosts: tuple[int, ...]


def resolve(parsed: Parsed, seed: int | None = None) -> dict[str, Any]:
    """What sonde-sim reads, with another seed where one is given. Raises UsageError where the
    tables contradict each other, or ask for what cannot be simulated."""
    simulation = parsed.simulation
    cluster = resolve_cluster(parsed)
    plan = {
        "simulation": FORMAT,
        "seed": parsed.cluster.seed if seed is None else seed,
        **cluster.plan,
        "transport": transport_plan(simulation.transport, cluster.slot_ns),
        "workload": workload_plan(simulation.workload, cluster.hosts, cluster.leaf_hosts),
    }
    record = _record(simulation, cluster)
    limits = simulation.limits.plan()
    return {
        **plan,
        **({"record": record} if record else {}),
        **({"limits": limits} if limits else {}),
    }


def resolve_cluster(parsed: Parsed) -> Cluster:
    """Hosts, switches and links. Raises UsageError."""
    tables, simulation = parsed.cluster, parsed.simulation
    switches, uplinks = complete_switches(tables, BOUNDS)
    places = places_of(tables, switches, BOUNDS)
    if len(places) < 2:
        raise UsageError("a simulation of 1 host has nobody to send to; give 2 hosts or more")
    _require_use(switches, simulation)
    links, kinds = Kinds("link"), Kinds("switch")
    ordered = _in_order(switches, uplinks, simulation, tables, links, kinds)
    groups, host_kinds = _host_groups(parsed, places, links)
    full_bytes = simulation.workload.payload + header_bytes(simulation.transport)
    _require_mtu(tables, full_bytes)
    rate = tables.link.rate or USUAL_RATE_BIT_PER_S
    return Cluster(
        {
            "host_kinds": host_kinds,
            "link_kinds": links.by_name,
            "switch_kinds": kinds.by_name,
            "switches": ordered,
            "hosts": groups,
        },
        len(places),
        8e9 * (full_bytes + FRAME_BYTES) / rate,
        _leaf_hosts(places),
    )


def _require_use(switches: Sequence[Switch], simulation: Simulation) -> None:
    """Raises UsageError where a key of [simulation.switches] is of no switch that there is."""
    has_inputs = {switch.architecture == "input" for switch in switches}
    for key, of_inputs in (("service", True), ("output_stage", True), ("control_first", False)):
        if getattr(simulation.switches, key) is not None and of_inputs not in has_inputs:
            which = "input" if of_inputs else "output or shared"
            raise UsageError(
                f"simulation.switches.{key} is for switches with {which} buffers; there are none"
            )


def _in_order(
    switches: Sequence[Switch],
    uplinks: Sequence[Uplink],
    simulation: Simulation,
    tables: ClusterTables,
    links: Kinds,
    kinds: Kinds,
) -> list[dict[str, Any]]:
    """The switches, each behind the one above it. Raises UsageError where they are no tree."""
    by_name = {switch.name: switch for switch in switches}
    above: dict[str, Uplink] = {}
    below: dict[str, list[Uplink]] = {}
    for uplink in uplinks:
        for end in (uplink.lower, uplink.upper):
            if end not in by_name:
                raise UsageError(f"uplink: no switch is called {end!r}")
        if uplink.lower in above:
            raise UsageError(
                f"switch {uplink.lower} has two uplinks; a simulated cluster is a tree of switches"
            )
        above[uplink.lower] = uplink
        below.setdefault(uplink.upper, []).append(uplink)
    tops = [name for name in by_name if name not in above]
    if len(tops) != 1:
        words = "none" if not tops else f"{len(tops)}: {', '.join(tops[:4])}"
        raise UsageError(
            f"a simulated cluster has one switch without an uplink; here there are {words}"
        )
    plans: list[dict[str, Any]] = []
    waiting = [tops[0]]
    for name in waiting:
        own = above.get(name)
        kind = kinds.name_of(switch_plan(by_name[name], own, simulation))
        plan: dict[str, Any] = {"name": name, "kind": kind}
        if own is not None:
            link = link_plan(own, tables.link, f"uplink {own.lower}-{own.upper}")
            if simulation.uplinks.both_ways is not None:
                link["both_ways_bit_per_s"] = simulation.uplinks.both_ways
            plan |= {"parent": own.upper, "link": links.name_of(link)}
        plans.append(plan)
        waiting += [uplink.lower for uplink in below.get(name, ())]
    if len(plans) < len(by_name):
        lost = next(name for name in by_name if name not in waiting)
        raise UsageError(f"uplinks close a loop at switch {lost}; a cluster is a tree of switches")
    return plans


def switch_plan(switch: Switch, uplink: Uplink | None, simulation: Simulation) -> dict[str, Any]:
    """A kind of switches as sonde-sim takes it. Raises UsageError."""
    plan = switch.plan()
    del plan["name"]
    for ours in ("capacity_packets", "capacity_bytes"):
        if ours in plan:
            plan[ours.replace("capacity", "buffer")] = plan.pop(ours)
    upward = switch.uplink_buffer
    if uplink is not None:
        if uplink.upper_buffer is not None:
            raise UsageError(
                f"uplink {uplink.lower}-{uplink.upper}: upper_buffer cannot be simulated; give the "
                "upper switch its buffer"
            )
        upward = uplink.lower_buffer or upward
    if upward is not None and uplink is not None:
        plan |= capacity_plan("uplink_buffer", upward)
    extra = simulation.switches
    if plan["architecture"] == "input" and extra.service is not None:
        plan["service"] = extra.service
    if plan["architecture"] == "input" and extra.output_stage is not None:
        plan["output_stage_packets"] = extra.output_stage
    if plan["architecture"] != "input" and extra.control_first is not None:
        plan["control_first"] = extra.control_first
    if plan["architecture"] != "shared" and switch.port_cap is not None:
        raise UsageError(f"switch {switch.name}: port_cap goes with architecture = 'shared' only")
    return plan


def link_plan(link: Link, base: Link, whose: str) -> dict[str, Any]:
    """A kind of links as sonde-sim takes it. Raises UsageError where the link has what only a lab
    has."""
    usual = Line(rate=USUAL_RATE_BIT_PER_S, mtu=USUAL_MTU_BYTES)
    filled = base.model_copy(update=dict(base.over(usual)))
    up, down = link.directions(filled)
    for key in type(up).model_fields:
        if key in LINE_KEYS or not isinstance(up, Line) or key in ("up", "down"):
            continue
        if getattr(up, key) or getattr(down, key):
            raise UsageError(
                f"{whose}: {key} cannot be simulated, only emulated; a simulated link has "
                "rate, delay, loss and burst"
            )
    for key in ("delay", "loss", "burst"):
        if (getattr(up, key) or 0) != (getattr(down, key) or 0):
            raise UsageError(f"{whose}: a simulated link has one {key} for both directions")
    plan: dict[str, Any] = {"rate_bit_per_s": up.rate}
    if down.rate != up.rate:
        plan["down_rate_bit_per_s"] = down.rate
    if up.delay:
        plan["propagation_ns"] = up.delay
    if up.loss:
        plan["loss_ratio"] = up.loss
    if up.burst is not None:
        plan["burst"] = up.burst.model_dump(by_alias=True, exclude_none=True)
    return plan


def _host_groups(
    parsed: Parsed, places: Mapping[int, str], links: Kinds
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Groups of equal hosts in the order of their numbers, and the kinds that they are of."""
    tables, simulation = parsed.cluster, parsed.simulation
    kinds = Kinds("host")
    usual = simulation.host.complete()
    own_hosts = particular_hosts(tables, len(places), BOUNDS)
    own_costs = _particular_costs(simulation, len(places))
    plain = (kinds.name_of(usual.plan()), links.name_of(link_plan(Link(), tables.link, "link")))
    groups: list[dict[str, Any]] = []
    for number, switch in places.items():
        kind, link = plain
        if number in own_hosts or number in own_costs:
            host = own_hosts.get(number)
            table = own_costs.get(number, usual)
            kind = kinds.name_of(table.stretched(host.slow_down if host else 1.0))
            own_link = host.link if host else Link()
            link = links.name_of(link_plan(own_link, tables.link, host_name(number)))
        last = groups[-1] if groups else None
        if last is not None and (last["switch"], last["kind"], last["link"]) == (
            switch,
            kind,
            link,
        ):
            last["count"] += 1
        else:
            groups.append({"switch": switch, "count": 1, "kind": kind, "link": link})
    return groups, kinds.by_name


def _particular_costs(simulation: Simulation, hosts: int) -> dict[int, HostTable]:
    usual = simulation.host.complete()
    found: dict[int, HostTable] = {}
    for table in simulation.particular:
        whole = table.complete() if table.preset is not None else table.over(usual)
        for number in host_numbers(table.hosts, "simulation.particular", BOUNDS):
            if number > hosts:
                raise UsageError(
                    f"simulation.particular: there is no host {host_name(number)} of {hosts}"
                )
            if number in found:
                raise UsageError(f"simulation.particular names host {host_name(number)} twice")
            found[number] = whole
    return found


def _leaf_hosts(places: Mapping[int, str]) -> tuple[int, ...]:
    """How many hosts each switch has, in the order of the hosts; empty where a switch's hosts are
    not next to each other."""
    counts: dict[str, int] = {}
    last = ""
    for switch in places.values():
        if switch != last and switch in counts:
            return ()
        counts[switch] = counts.get(switch, 0) + 1
        last = switch
    return tuple(counts.values())


def header_bytes(transport: Transport) -> int:
    """Of each packet, as the scenario says, else the transport's usual ones."""
    usual = transport_row(transport.kind).header_bytes
    return usual if transport.header is None else transport.header


def _require_mtu(tables: ClusterTables, full_bytes: int) -> None:
    mtu = tables.link.mtu or USUAL_MTU_BYTES
    given = [host.link.mtu for host in tables.host if host.link.mtu is not None]
    if full_bytes > min([mtu, *given]):
        raise UsageError(
            f"a full packet has {full_bytes} bytes with its header, and the links' mtu is "
            f"{min([mtu, *given])}; give a smaller simulation.workload.payload"
        )


def transport_plan(transport: Transport, slot_ns: float) -> dict[str, Any]:
    """What sonde-sim takes."""
    timeout = transport.timeout
    if transport.timeout_slots is not None:
        timeout = max(1, round(transport.timeout_slots * slot_ns))
    plan = {**transport.plan(), "kind": KINDS.get(transport.kind, transport.kind)}
    return plan if timeout is None else {**plan, "timeout_ns": timeout}


def _record(simulation: Simulation, cluster: Cluster) -> dict[str, Any]:
    output = simulation.output
    flags = {"packets": output.packets, "events": output.events}
    record: dict[str, Any] = {key: value for key, value in flags.items() if value}
    if output.ranks is not None:
        record["ranks"] = output.ranks
    if output.queues:
        names = {switch["name"] for switch in cluster.plan["switches"]}
        record["queues"] = [
            {"switch": _known(queue.switch, names), "port": _port(queue.port, names, cluster.hosts)}
            for queue in output.queues
        ]
    if output.queue_every:
        record["queue_every_ns"] = output.queue_every
    return record


def _known(name: str, names: set[str]) -> str:
    if name not in names:
        raise UsageError(f"simulation.output.queues: no switch is called {name!r}")
    return name


def _port(port: str, names: set[str], hosts: int) -> Any:
    """Of the neighbour at its other end: ``up``, a host or a switch."""
    if port == "up":
        return "up"
    if port in names:
        return {"switch": port}
    return {"host": Ranks(hosts).one(port, "output.queues")}


def path_of(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of a simulated cluster: how many hosts on how many switches, and of what
    kinds these are."""
    kinds = {switch["kind"] for switch in plan["switches"]}
    link = plan["link_kinds"][plan["hosts"][0]["link"]]
    return {
        "kind": "simulated",
        "hosts": sum(group["count"] for group in plan["hosts"]),
        "switches": len(plan["switches"]),
        "rate_bit_per_s": link["rate_bit_per_s"],
        "switch_kinds": {name: plan["switch_kinds"][name] for name in sorted(kinds)},
        "transport": plan["transport"],
        "workload": {k: v for k, v in plan["workload"].items() if not isinstance(v, list)},
    }
