"""A cluster as a person writes it, in TOML, and as the lab's switch takes it.

Unknown keys are refused. Rates, sizes and durations are text (``100M``, ``256k``, ``5ms``), shares
are text with a percent sign or plain numbers, buffers are packets (``"95 packets"``) or a size.
The topology that comes out is what ``sonde-switch`` and the simulator read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from netsonde.errors import UsageError
from netsonde.lab.spec import (
    FRAME_HEADER_BYTES,
    MAXIMUM_HOSTS,
    LabSpec,
    check_name,
    host_name,
)
from netsonde.lab.tables import (
    DEFAULT_BUFFER_BYTES,
    LINE_KEYS,
    ClusterTables,
    Host,
    Line,
    Link,
    Share,
    Switch,
    from_text,
)
from netsonde.lab.topology import (
    USUAL_RATE_BIT_PER_S,
    Bounds,
    complete_switches,
    particular_hosts,
    places_of,
    topology_of,
)
from netsonde.tables import Strict, checked, load_toml, presets_of, read_toml_text
from netsonde.units import parse_duration_ns

SCENARIO_LIMIT_BYTES = 1 << 20
LAB = Bounds("a lab", MAXIMUM_HOSTS, 64)
# What a token bucket on a bridge knows too; everything else needs the switch.
BRIDGE_FIELDS = {"rate"}


class Pace(Strict):
    """How the switch keeps time, and how late it may be before a run is called invalid.

    ``sleep`` shares its CPU, ``busy`` spins on it. ``awake`` keeps all CPUs of this
    machine from sleeping while the lab is up, so that its hosts answer at once; it and ``priority``
    (that of SCHED_FIFO) need root. A run is invalid where more than ``late_share`` of its frames
    were released more than ``late_limit`` late. ``calibrate`` takes off the delays what this
    machine adds to them; ``beyond_capacity`` allows more than ``netsonde lab capacity`` found that
    it can do. ``receive`` says whose thread takes a frame through the receiving host's part of the
    kernel: the switch's own, or one of the kernel's for each host.
    """

    mode: Literal["sleep", "busy"] = "sleep"
    receive: Literal["switch", "threads"] = "switch"
    priority: int = Field(0, ge=0, le=99)
    awake: bool = False
    cpu: int | None = Field(None, ge=0, le=4095)
    late_limit: Annotated[int, from_text(parse_duration_ns), Field(ge=1, le=10**10)] = 500_000
    late_share: Share = 0.01
    calibrate: bool = True
    beyond_capacity: bool = False


class Scenario(ClusterTables):
    """A whole cluster. ``links = "auto"`` takes the bridge where that can do what is asked.

    Hosts know each other's addresses for good, so that links carry nothing but what tests send;
    with ``arp`` they ask for them, as on a real network. ``simulation`` is the simulator's alone:
    a lab takes no notice of it.
    """

    links: Literal["auto", "bridge", "switch"] = "auto"
    arp: bool = False
    pace: Pace = Pace()
    simulation: dict[str, Any] = Field({})


def parse_scenario(text: str, source: str) -> Scenario:
    """A scenario from TOML. Raises UsageError with one sentence that names the place."""
    tables = load_toml(text, source)
    scenario = checked(Scenario, tables, source)
    try:
        lab_spec(scenario)  # what the tables say together is checked as well
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from error
    return scenario


def scenario_of(tables: Mapping[str, Any]) -> Scenario:
    """A scenario from its tables, as a command line makes them. Raises UsageError."""
    return checked(Scenario, tables)


def line_plan(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What sonde-switch takes for some keys of a [link] table. Raises UsageError."""
    return checked(Line, fields).plan()


def read_scenario(name: str) -> Scenario:
    """The scenario in a file, or the preset of that name. Raises UsageError."""
    return parse_scenario(*read_text(name, scenario_presets()))


def read_text(name: str, presets: Mapping[str, str]) -> tuple[str, str]:
    """The text of a scenario file, or of the preset of that name, and what to call it. Raises
    UsageError."""
    path = Path(name)
    if "/" not in name and not path.suffix and not path.exists():
        if name not in presets:
            raise UsageError(
                f"{name!r} is neither a scenario file nor one of {', '.join(sorted(presets))}"
            )
        return presets[name], f"preset {name}"
    return read_toml_text(path, SCENARIO_LIMIT_BYTES, "longer than 1 MiB"), name


def scenario_presets() -> dict[str, str]:
    """The scenarios that come with netsonde, by name."""
    return presets_of("netsonde.lab", but="switches.toml")


def lab_spec(scenario: Scenario) -> LabSpec:
    """What the lab is brought up from. Raises UsageError where the tables contradict each other."""
    check_name(scenario.name)
    switches, uplinks = complete_switches(scenario, LAB)
    places = places_of(scenario, switches, LAB)
    particular = particular_hosts(scenario, len(places), LAB)
    if not _needs_switch(scenario):
        return LabSpec(
            name=scenario.name,
            hosts=len(places),
            rate_bit_per_s=scenario.link.rate or USUAL_RATE_BIT_PER_S,
            buffer_bytes=_bridge_buffer_bytes(switches[0]),
            host_settings=_host_settings(particular),
        )
    topology = topology_of(scenario, switches, uplinks, places, particular)
    _refuse_without_room(topology)
    pace = scenario.pace
    return LabSpec(
        name=scenario.name,
        hosts=len(places),
        rate_bit_per_s=None,
        fabric={
            "topology": topology,
            "loop": {
                "busy": pace.mode == "busy",
                "awake": pace.awake,
                "priority": pace.priority,
                "late_limit_ns": pace.late_limit,
                **({} if pace.cpu is None else {"cpu": pace.cpu}),
            },
            "late_share": pace.late_share,
            "calibrate": pace.calibrate,
            "arp": scenario.arp,
            "receive": pace.receive,
            "beyond_capacity": pace.beyond_capacity,
        },
        host_settings=_host_settings(particular),
    )


def _refuse_without_room(topology: Mapping[str, Any]) -> None:
    """Raises UsageError where a buffer holds no frame of a link that it serves: small ones would
    pass, and every transfer would hang."""
    for switch in topology["switches"]:
        name = switch["name"]
        links = [link for link in topology["links"] if name in (link["lower"], link["upper"])]
        lines = [link[way] for link in links for way in ("up", "down")]
        frame_bytes = FRAME_HEADER_BYTES + max((line["mtu_bytes"] for line in lines), default=0)
        rooms = [switch.get("capacity_bytes"), switch.get("port_cap_bytes")]
        rooms += [
            link.get(f"{end}_capacity_bytes")
            for link in links
            for end in ("lower", "upper")
            if link[end] == name
        ]
        for room_bytes in rooms:
            if room_bytes is not None and room_bytes < frame_bytes:
                raise UsageError(
                    f"switch {name}: a buffer of {room_bytes} bytes holds no frame of "
                    f"{frame_bytes} bytes, so every transfer would hang; give it that many at "
                    f"least (256k are {256 * 1024} bytes), or its links a smaller MTU"
                )


def _needs_switch(scenario: Scenario) -> bool:
    """Whether the bridge with token buckets cannot do what is asked. Raises UsageError where it
    cannot but must."""
    wanted = set()
    links = [scenario.link, *(host.link for host in scenario.host), *scenario.uplink]
    for link in links:
        for line in (link, link.up, link.down):
            wanted |= {k for k, v in line if k in LINE_KEYS and v is not None} - BRIDGE_FIELDS
    if any(host.link != Link() for host in scenario.host) or scenario.link.up != Line():
        wanted.add("links that differ")
    if scenario.link.down != Line():
        wanted.add("links that differ")
    if scenario.uplink or len(scenario.switch) > 1 or scenario.tree is not None:
        wanted.add("several switches")
    for switch in scenario.switch:
        given = {key for key, value in switch if value is not None} - {"name", "hosts", "buffer"}
        if switch.buffer is not None and switch.buffer.packets is not None:
            given.add("a buffer in packets")
        wanted |= given
    wanted |= {"pace"} if scenario.pace != Pace() else set()
    wanted |= {"arp"} if scenario.arp else set()
    if scenario.links == "bridge" and wanted:
        raise UsageError(
            f"links = 'bridge' cannot do {', '.join(sorted(wanted))}; leave it out or say 'switch'"
        )
    return scenario.links == "switch" or bool(wanted)


def _bridge_buffer_bytes(switch: Switch) -> int:
    if switch.buffer is None or switch.buffer.bytes is None:
        return DEFAULT_BUFFER_BYTES
    return switch.buffer.bytes


def _host_settings(particular: Mapping[int, Host]) -> dict[str, dict[str, Any]]:
    """Host name to what its own processes meet; hosts without anything particular are left out."""
    return {
        host_name(number): {
            "slow_down": host.slow_down,
            "clock_offset_ns": host.clock_offset,
            "clock_drift_ppb": round(1000 * host.clock_drift_ppm),
        }
        for number, host in particular.items()
        if (host.slow_down, host.clock_offset, host.clock_drift_ppm) != (1.0, 0, 0.0)
    }
