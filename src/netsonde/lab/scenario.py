"""A cluster as a person writes it, in TOML, and as the lab's switch takes it.

Unknown keys are refused. Rates, sizes and durations are text (``100M``, ``256k``, ``5ms``), shares
are text with a percent sign or plain numbers, buffers are packets (``"95 packets"``) or a size.
The topology that comes out is what ``sonde-switch`` and the simulator read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from netsonde.errors import UsageError
from netsonde.lab.spec import MAXIMUM_HOSTS, MTU_BYTES, LabSpec, check_name, host_name
from netsonde.tables import Strict, first_problem
from netsonde.units import parse_duration_ns, parse_rate_bit_per_s, parse_size_bytes

SCENARIO_LIMIT_BYTES = 1 << 20
MOST_SWITCHES = 64
DEFAULT_BUFFER_BYTES = 256 * 1024
USUAL_RATE_BIT_PER_S = 10**9
LEAST_MTU_BYTES = 1280  # what IPv6 asks of a link


def _text(parse: Any) -> BeforeValidator:
    """Parses text, leaves numbers alone; pydantic collects what is wrong with its place."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return parse(value)
        except UsageError as error:
            raise ValueError(str(error)) from error

    return BeforeValidator(read)


def parse_share(text: str) -> float:
    """``0.1%`` or ``0.001``. Raises UsageError."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a share; write it like 0.1% or 0.001") from error


def _signed_duration_ns(text: str) -> int:
    """``3ms`` or ``-3ms``. Raises UsageError."""
    sign = -1 if text.startswith("-") else 1
    return sign * parse_duration_ns(text.removeprefix("-"))


def _buffer(value: Any) -> Any:
    """``"95 packets"`` or a size, as {packets} or {bytes}."""
    if isinstance(value, str):
        number, _, word = value.strip().partition(" ")
        if word in ("packet", "packets") and number.isdecimal():
            return {"packets": int(number)}
        try:
            return {"bytes": parse_size_bytes(value)}
        except UsageError as error:
            raise ValueError(
                f"{value!r} is no buffer; write packets or a size, like '95 packets' or 256k"
            ) from error
    if isinstance(value, int) and not isinstance(value, bool):
        return {"bytes": value}
    return value


class Buffer(Strict):
    packets: int | None = Field(None, ge=1, le=10_000_000)
    bytes: int | None = Field(None, ge=1, le=1 << 40)


BufferField = Annotated[Buffer, BeforeValidator(_buffer)]
Share = Annotated[float, _text(parse_share), Field(ge=0, le=1)]
Rate = Annotated[int, _text(parse_rate_bit_per_s), Field(ge=1000, le=100 * 10**9)]
Delay = Annotated[int, _text(parse_duration_ns), Field(ge=0, le=10**10)]
Offset = Annotated[int, _text(_signed_duration_ns), Field(ge=-(10**13), le=10**13)]


class Jitter(Strict):
    """Delay beyond the line's own: its mean, for ``normal`` its deviation, for ``pareto`` its tail
    index; ``keep_order = false`` lets frames overtake each other."""

    distribution: Literal["none", "uniform", "normal", "exponential", "pareto"]
    mean: Delay = 0
    deviation: Delay = 0
    tail_index: float = Field(3.0, ge=1.01, le=1000)
    keep_order: bool = True


class Burst(Strict):
    """Loss in bursts after Gilbert and Elliott: chances per frame to enter and to leave the bad
    state, and of a loss in either."""

    enter: Share
    leave: Share = 1.0
    good_loss: Share = 0.0
    bad_loss: Share = 1.0


class Line(Strict):
    """One direction of a link. What is None is as in the table that this one refines."""

    rate: Rate | None = None
    delay: Delay | None = None
    mtu: int | None = Field(None, ge=LEAST_MTU_BYTES, le=65521)
    loss: Share | None = None
    burst: Burst | None = None
    loss_every: int | None = Field(None, ge=0, le=10_000_000)
    bit_errors: Annotated[float, _text(parse_share), Field(ge=0, le=0.5)] | None = None
    duplicates: Share | None = None
    reorder: Share | None = None
    reorder_delay: Delay | None = None
    jitter: Jitter | None = None

    def over(self, base: Line) -> Line:
        """This, with what it leaves open taken from base."""
        return base.model_copy(update={k: v for k, v in self if v is not None and k in LINE_FIELDS})

    def plan(self) -> dict[str, Any]:
        """What sonde-switch takes; only what is given."""
        plan: dict[str, Any] = {}
        for ours, theirs in LINE_FIELDS.items():
            value = getattr(self, ours)
            if isinstance(value, Jitter):
                value = {
                    "distribution": value.distribution,
                    "mean_ns": value.mean,
                    "deviation_ns": value.deviation,
                    "tail_index": value.tail_index,
                    "keep_order": value.keep_order,
                }
            elif isinstance(value, Burst):
                value = {
                    "enter_ratio": value.enter,
                    "leave_ratio": value.leave,
                    "good_loss_ratio": value.good_loss,
                    "bad_loss_ratio": value.bad_loss,
                }
            if value is not None:
                plan[theirs] = value
        return plan


LINE_FIELDS = {
    "rate": "rate_bit_per_s",
    "delay": "delay_ns",
    "mtu": "mtu_bytes",
    "loss": "loss_ratio",
    "burst": "burst",
    "loss_every": "loss_every",
    "bit_errors": "bit_error_ratio",
    "duplicates": "duplicate_ratio",
    "reorder": "reorder_ratio",
    "reorder_delay": "reorder_delay_ns",
    "jitter": "jitter",
}
# What a token bucket on a bridge knows too; everything else needs the switch.
BRIDGE_FIELDS = {"rate"}


class Link(Line):
    """Both directions; ``up`` (towards the switch) and ``down`` refine one of them."""

    up: Line = Line()
    down: Line = Line()

    def directions(self, base: Link) -> tuple[Line, Line]:
        """The up and the down direction of this link, where base is the cluster's usual link."""
        up = self.up.over(self.over(base.up.over(base)))
        down = self.down.over(self.over(base.down.over(base)))
        return up, down


class Pause(Strict):
    """802.3x: marks, in packets, at which a port asks its link to pause and to go on."""

    high: int = Field(ge=1)
    low: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Pause:
        if self.low >= self.high:
            raise ValueError("the low mark must lie below the high one")
        return self


class Switch(Strict):
    """A switch. ``preset`` names one of a kind; what is given beside it comes first."""

    name: str = Field(pattern="^[a-z][a-z0-9-]{0,30}$")
    hosts: str | None = None
    preset: str | None = None
    architecture: Literal["input", "output", "shared"] | None = None
    buffer: BufferField | None = None
    port_cap: BufferField | None = None
    uplink_buffer: BufferField | None = None
    forwarding: Literal["store-and-forward", "cut-through"] | None = None
    latency: Delay | None = None
    pause: Pause | None = None

    def complete(self) -> Switch:
        """With its preset filled in. Raises UsageError where there is none of that name."""
        if self.preset is None:
            return self
        known = switch_presets()
        if self.preset not in known:
            raise UsageError(
                f"no switch is called {self.preset!r}; there are {', '.join(sorted(known))}"
            )
        given = {key: value for key, value in self if value is not None}
        return known[self.preset].model_copy(update=given)

    def plan(self) -> dict[str, Any]:
        """What sonde-switch takes."""
        buffer = self.buffer or Buffer(packets=None, bytes=DEFAULT_BUFFER_BYTES)
        plan: dict[str, Any] = {
            "name": self.name,
            "architecture": self.architecture or "output",
            "cut_through": self.forwarding == "cut-through",
            "latency_ns": self.latency or 0,
            **_capacity("capacity", buffer),
            **_capacity("port_cap", self.port_cap),
        }
        if self.pause is not None:
            plan["pause"] = {"high_packets": self.pause.high, "low_packets": self.pause.low}
        return plan


class Uplink(Link):
    """A link between two switches; buffers are those of its ports, where they differ."""

    lower: str
    upper: str
    lower_buffer: BufferField | None = None
    upper_buffer: BufferField | None = None


class Host(Strict):
    """What is particular about a host, or about several: ``name = "h[3-4]"``."""

    name: str
    link: Link = Link()
    slow_down: float = Field(1.0, ge=1, le=100)
    clock_offset: Offset = 0
    clock_drift_ppm: float = Field(0.0, ge=-1000, le=1000)


class Pace(Strict):
    """How the switch keeps time, and how late it may be before a run is called invalid.

    ``sleep`` shares its processor, ``busy`` spins on it. ``awake`` keeps all processors of this
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
    late_limit: Annotated[int, _text(parse_duration_ns), Field(ge=1, le=10**10)] = 500_000
    late_share: Share = 0.01
    calibrate: bool = True
    beyond_capacity: bool = False


class Scenario(Strict):
    """A whole cluster. ``links = "auto"`` takes the bridge where that can do what is asked.

    Hosts know each other's addresses for good, so that links carry nothing but what tests send;
    with ``arp`` they ask for them, as on a real network.
    """

    name: str = "lab"
    about: str = ""
    seed: int = Field(1, ge=0, le=2**53)
    links: Literal["auto", "bridge", "switch"] = "auto"
    hosts: int | None = None
    arp: bool = False
    link: Link = Link()
    switch: list[Switch] = Field([], max_length=MOST_SWITCHES)
    uplink: list[Uplink] = Field([])
    host: list[Host] = Field([])
    pace: Pace = Pace()


def parse_scenario(text: str, source: str) -> Scenario:
    """A scenario from TOML. Raises UsageError with one sentence that names the place."""
    try:
        scenario = Scenario.model_validate(tomllib.loads(text))
        lab_spec(scenario)  # what the tables say together is checked as well
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} is not TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{source}: {first_problem(error)}") from error
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from error
    return scenario


def scenario_of(tables: Mapping[str, Any]) -> Scenario:
    """A scenario from its tables, as a command line makes them. Raises UsageError."""
    try:
        return Scenario.model_validate(tables)
    except ValidationError as error:
        raise UsageError(first_problem(error)) from error


def line_plan(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What sonde-switch takes for some keys of a [link] table. Raises UsageError."""
    try:
        return Line.model_validate(dict(fields)).plan()
    except ValidationError as error:
        raise UsageError(first_problem(error)) from error


def read_scenario(name: str) -> Scenario:
    """The scenario in a file, or the preset of that name. Raises UsageError."""
    path = Path(name)
    if "/" not in name and not path.suffix and not path.exists():
        presets = scenario_presets()
        if name not in presets:
            raise UsageError(
                f"{name!r} is neither a scenario file nor one of {', '.join(sorted(presets))}"
            )
        return parse_scenario(presets[name], f"preset {name}")
    try:
        with path.open("rb") as file:
            content = file.read(SCENARIO_LIMIT_BYTES + 1)
        if len(content) > SCENARIO_LIMIT_BYTES:
            raise UsageError(f"{name} is longer than {SCENARIO_LIMIT_BYTES >> 20} MiB")
        return parse_scenario(content.decode(), name)
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not TOML: it holds bytes that are no UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error


def scenario_presets() -> dict[str, str]:
    """The scenarios that come with netsonde, by name."""
    folder = resources.files("netsonde.lab") / "presets"
    return {
        entry.name.removesuffix(".toml"): entry.read_text()
        for entry in folder.iterdir()
        if entry.name.endswith(".toml") and entry.name != "switches.toml"
    }


def switch_presets() -> dict[str, Switch]:
    """The switches that come with netsonde, by name."""
    text = (resources.files("netsonde.lab") / "presets" / "switches.toml").read_text()
    tables = tomllib.loads(text)
    return {name: Switch.model_validate({"name": name, **table}) for name, table in tables.items()}


def lab_spec(scenario: Scenario) -> LabSpec:
    """What the lab is brought up from. Raises UsageError where the tables contradict each other."""
    check_name(scenario.name)
    switches = [switch.complete() for switch in scenario.switch] or [Switch(name="s1")]
    places = _places(scenario, switches)
    particular = _particular(scenario, len(places))
    if not _needs_switch(scenario):
        return LabSpec(
            name=scenario.name,
            hosts=len(places),
            rate_bit_per_s=scenario.link.rate or USUAL_RATE_BIT_PER_S,
            buffer_bytes=_bridge_buffer_bytes(switches[0]),
            host_settings=_host_settings(scenario, len(places)),
        )
    topology = _topology(scenario, switches, places, particular)
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
        host_settings=_host_settings(scenario, len(places)),
    )


def _needs_switch(scenario: Scenario) -> bool:
    """Whether the bridge with token buckets cannot do what is asked. Raises UsageError where it
    cannot but must."""
    wanted = set()
    links = [scenario.link, *(host.link for host in scenario.host), *scenario.uplink]
    for link in links:
        for line in (link, link.up, link.down):
            wanted |= {k for k, v in line if k in LINE_FIELDS and v is not None} - BRIDGE_FIELDS
    if any(host.link != Link() for host in scenario.host) or scenario.link.up != Line():
        wanted.add("links that differ")
    if scenario.link.down != Line():
        wanted.add("links that differ")
    if scenario.uplink or len(scenario.switch) > 1:
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


def _places(scenario: Scenario, switches: list[Switch]) -> dict[int, str]:
    """Host number to the name of its switch, complete from 1 on."""
    names = [switch.name for switch in switches]
    if len(set(names)) != len(names):
        raise UsageError("two switches have the same name")
    places: dict[int, str] = {}
    for switch in switches:
        for number in _numbers(switch.hosts, f"switch {switch.name}"):
            if number in places:
                raise UsageError(f"host {host_name(number)} is at two switches")
            places[number] = switch.name
    if not places:
        if len(switches) > 1:
            raise UsageError("say which hosts are at which switch, as hosts = 'h[1-8]'")
        hosts = min(2 if scenario.hosts is None else scenario.hosts, MAXIMUM_HOSTS + 1)
        places = dict.fromkeys(range(1, hosts + 1), switches[0].name)
    if scenario.hosts is not None and scenario.hosts > MAXIMUM_HOSTS:
        raise UsageError(f"a lab of {scenario.hosts} hosts cannot be; give 1 to {MAXIMUM_HOSTS}")
    if sorted(places) != list(range(1, len(places) + 1)):
        raise UsageError(f"the hosts must be h1 to h{len(places)} without a gap")
    if scenario.hosts not in (None, len(places)):
        raise UsageError(
            f"hosts = {scenario.hosts}, but {len(places)} are at switches; give one of them"
        )
    if not 1 <= len(places) <= MAXIMUM_HOSTS:
        raise UsageError(f"a lab of {len(places)} hosts cannot be; give 1 to {MAXIMUM_HOSTS}")
    return dict(sorted(places.items()))


def _numbers(hosts: str | None, whose: str) -> Iterable[int]:
    if hosts is None:
        return []
    from ClusterShell.NodeSet import NodeSet, NodeSetException  # takes long to import

    try:
        names = list(NodeSet(hosts))
    except NodeSetException as error:
        raise UsageError(f"{whose}: {hosts!r} names no hosts; write h1,h2 or h[1-8]") from error
    numbers = []
    for name in names:
        if not (name.startswith("h") and name[1:].isdecimal() and int(name[1:]) > 0):
            raise UsageError(f"{whose}: {name!r} is no host; they are called h1, h2, ...")
        numbers.append(int(name[1:]))
    return sorted(numbers)


def _particular(scenario: Scenario, hosts: int) -> dict[int, Host]:
    """Host number to what is particular about it."""
    found: dict[int, Host] = {}
    for host in scenario.host:
        for number in _numbers(host.name, "host"):
            if number > hosts:
                raise UsageError(f"there is no host {host_name(number)}; there are {hosts}")
            if number in found:
                raise UsageError(f"host {host_name(number)} stands in two tables")
            found[number] = host
    return found


def _host_settings(scenario: Scenario, hosts: int) -> dict[str, dict[str, Any]]:
    """Host name to what its own processes meet; hosts without anything particular are left out."""
    return {
        host_name(number): {
            "slow_down": host.slow_down,
            "clock_offset_ns": host.clock_offset,
            "clock_drift_ppb": round(1000 * host.clock_drift_ppm),
        }
        for number, host in _particular(scenario, hosts).items()
        if (host.slow_down, host.clock_offset, host.clock_drift_ppm) != (1.0, 0, 0.0)
    }


def _topology(
    scenario: Scenario,
    switches: list[Switch],
    places: Mapping[int, str],
    particular: Mapping[int, Host],
) -> dict[str, Any]:
    usual = Line(rate=USUAL_RATE_BIT_PER_S, mtu=MTU_BYTES)
    base = scenario.link.model_copy(update=dict(scenario.link.over(usual)))
    by_name = {switch.name: switch for switch in switches}
    links: list[dict[str, Any]] = []
    for number, switch in places.items():
        own = particular[number].link if number in particular else Link()
        up, down = own.directions(base)
        name = host_name(number)
        links.append(
            {"name": name, "lower": name, "upper": switch, "up": up.plan(), "down": down.plan()}
        )
    for uplink in scenario.uplink:
        for end in (uplink.lower, uplink.upper):
            if end not in by_name:
                raise UsageError(f"uplink: no switch is called {end!r}")
        up, down = uplink.directions(base)
        lower_buffer = uplink.lower_buffer or by_name[uplink.lower].uplink_buffer
        links.append(
            {
                "name": f"{uplink.lower}-{uplink.upper}",
                "lower": uplink.lower,
                "upper": uplink.upper,
                "up": up.plan(),
                "down": down.plan(),
                **_capacity("lower_capacity", lower_buffer),
                **_capacity("upper_capacity", uplink.upper_buffer),
            }
        )
    return {
        "seed": scenario.seed,
        "hosts": [host_name(number) for number in places],
        "switches": [switch.plan() for switch in switches],
        "links": links,
    }


def _capacity(prefix: str, buffer: Buffer | None) -> dict[str, int]:
    if buffer is None:
        return {}
    parts = {f"{prefix}_packets": buffer.packets, f"{prefix}_bytes": buffer.bytes}
    return {name: value for name, value in parts.items() if value is not None}
