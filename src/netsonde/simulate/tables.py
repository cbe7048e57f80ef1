"""The ``[simulation]`` table of a scenario: what a lab does not ask for, and a simulation does.

Unknown keys are refused. Values are written as in the rest of the file. What each key means to the
simulator stands in docs/reference/simulator-input.md.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from netsonde.catalogue.transport import transport_row
from netsonde.errors import UsageError
from netsonde.lab.tables import Rate, from_text, named, parse_share
from netsonde.tables import Strict, load_toml
from netsonde.units import parse_duration_ns, parse_size_bytes

MOST_HOSTS = 1 << 20
MOST_SWITCHES = 1 << 16
MOST_PACKETS = 10**9
MOST_RUNS = 1000
MOST_MESSAGES = 1_000_000
MOST_SIZES = 1_000_000
"""Of unequal blocks: those of a thousand hosts to each other."""
MOST_QUEUES = 64
MOST_SWEEP = 1000
PAYLOAD_BYTES = 1492
"""What a full packet of Tam's Directed Point carries in a frame of Ethernet."""

Duration = Annotated[int, from_text(parse_duration_ns), Field(ge=0, le=10**9)]
LongTime = Annotated[int, from_text(parse_duration_ns), Field(ge=1, le=10**16)]
TimeOut = Annotated[int, from_text(parse_duration_ns), Field(ge=1, le=10**12)]
Size = Annotated[int, from_text(parse_size_bytes), Field(ge=0, le=1 << 40)]
Elapsed = Annotated[int, from_text(parse_duration_ns), Field(ge=10**9, le=10**14)]
Base = Annotated[float, from_text(parse_duration_ns), Field(ge=0, le=1e9)]
Window = Annotated[int, Field(ge=1, le=65_536)]
Packets = Annotated[int, Field(ge=1, le=MOST_PACKETS)]


class Cost(Strict):
    """Time for a packet of m bytes: ``base`` + ``per_byte_ns`` m. Written as a duration where it
    does not grow."""

    base: Base = named("base_ns", 0.0)
    per_byte_ns: float = Field(0.0, ge=0, le=1e9)


def _cost(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return {"base": parse_duration_ns(value)}
        except UsageError as error:
            raise ValueError(str(error)) from error
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"base": value}
    return value


CostField = Annotated[Cost, BeforeValidator(_cost)]


class HostJitter(Strict):
    """What is added to a piece of a process's work; to one in ``every`` on average."""

    distribution: Literal["none", "uniform", "exponential"]
    mean: Duration = named("mean_ns", 0)
    every: int | None = Field(None, ge=1, le=10**9)


class Coalescing(Strict):
    """When a card interrupts, and what an interrupt costs besides its packets."""

    policy: Literal["packet", "count", "time", "adaptive"] = "packet"
    packets: int | None = Field(None, ge=1, le=1_000_000)
    time: Duration | None = named("time_ns")
    interrupt: Duration | None = named("interrupt_ns")

    @model_validator(mode="after")
    def _complete(self) -> Coalescing:
        needed = {"packet": (), "time": ("time",)}.get(self.policy, ("packets", "time"))
        given = [key for key in ("packets", "time") if getattr(self, key) is not None]
        for key in needed:
            if key not in given:
                raise ValueError(f"policy = '{self.policy}' needs {key}")
        for key in given:
            if key not in needed:
                raise ValueError(f"policy = '{self.policy}' takes no {key}")
        return self


class HostTable(Strict):
    """What a host takes for its packets. ``preset`` names one of a kind; what is given beside it
    comes first."""

    preset: str | None = Field(None, exclude=True)
    send_overhead: CostField | None = None
    receive_overhead: CostField | None = None
    user_receive_overhead: CostField | None = None
    send_gap: CostField | None = None
    receive_gap: CostField | None = None
    copy_cost: CostField | None = Field(None, alias="copy")
    control_overhead: bool | None = None
    transmit_ring: int | None = named("transmit_ring_packets", ge=1, le=1_000_000)
    receive_pool: int | None = named("receive_pool_packets", ge=1, le=1_000_000)
    receive_processor: Literal["same", "other"] | None = None
    timer_late: Duration | None = named("timer_late_ns")
    jitter: HostJitter | None = None
    coalescing: Coalescing | None = None

    def complete(self) -> HostTable:
        """With its preset filled in. Raises UsageError where there is none of that name."""
        if self.preset is None:
            return self
        known = host_presets()
        if self.preset not in known:
            raise UsageError(
                f"no host is called {self.preset!r}; there are {', '.join(sorted(known))}"
            )
        return self.over(known[self.preset])

    def over(self, base: HostTable) -> HostTable:
        """This, with what it leaves open taken from base."""
        given = {key: value for key, value in self if value is not None}
        return base.model_copy(update={k: given[k] for k in given.keys() & HOST_KEYS})

    def stretched(self, slow_down: float) -> dict[str, Any]:
        """A kind of hosts as sonde-sim takes it; ``slow_down`` stretches the CPU's part."""
        plan = self.plan()
        for key in PROCESSOR_COSTS & plan.keys():
            plan[key] = {name: value * slow_down for name, value in plan[key].items()}
        return plan


HOST_KEYS = set(HostTable.model_fields)
PROCESSOR_COSTS = {"send_overhead", "receive_overhead", "user_receive_overhead", "copy"}


class Particular(HostTable):
    """What differs at some hosts: ``hosts = "h3"``."""

    hosts: str


class UplinkTable(Strict):
    """What only a simulation knows of the links between switches: the most that both directions
    carry together."""

    both_ways: Rate | None = None


class SwitchesTable(Strict):
    """What only a simulation knows of switches: whom an output serves next, how many packets an
    output of an input-buffered switch holds ready, and whether acknowledgements overtake data."""

    service: Literal["fair", "fixed"] | None = None
    output_stage: int | None = Field(None, ge=0, le=65_536)
    control_first: bool | None = None


class Transport(Strict):
    """What carries the packets. ``timeout_slots`` is the timeout in times of a full packet on a
    host's line; it is given in place of ``timeout``."""

    kind: Literal["datagram", "go-back-n", "tcp"] = "datagram"
    window: Window | None = named("window_packets")
    global_window: Window | None = named("global_window_packets")
    global_window_counts: Literal["acknowledged", "received"] | None = None
    timeout: TimeOut | None = named("timeout_ns")
    timeout_slots: float | None = Field(None, gt=0, le=1e9, exclude=True)
    acknowledge: Literal["immediate", "delayed", "piggyback"] | None = None
    delay_packets: int | None = Field(None, ge=1, le=65_536)
    delay: Duration | None = named("delay_ns")
    fast_retransmit: bool | None = None
    initial_window: Window | None = named("initial_window_packets")
    receive_window: Window | None = named("receive_window_packets")
    minimum_timeout: TimeOut | None = named("minimum_timeout_ns")
    delayed_acknowledgement: Duration | None = named("delayed_acknowledgement_ns")
    selective: bool | None = None
    header: int | None = named("header_bytes", ge=0, le=1000)
    control: int | None = named("control_bytes", ge=0, le=1000)

    @model_validator(mode="after")
    def _fits_the_kind(self) -> Transport:
        own = TRANSPORT_KEYS[self.kind]
        for key in self.model_fields_set - {"kind", "header", "control"}:
            if key not in own and getattr(self, key) is not None:
                raise ValueError(f"kind = '{self.kind}' takes no {key}")
        if transport_row(self.kind).fixed_window:
            if self.window is None:
                raise ValueError(f"kind = '{self.kind}' needs a window, in packets")
            if (self.timeout is None) == (self.timeout_slots is None):
                raise ValueError(f"kind = '{self.kind}' needs one of timeout and timeout_slots")
        if self.acknowledge in (None, "immediate") and (self.delay_packets or self.delay):
            raise ValueError("delay and delay_packets go with delayed and piggyback only")
        if self.global_window_counts is not None and self.global_window is None:
            raise ValueError("global_window_counts goes with global_window only")
        return self


TRANSPORT_KEYS: dict[str, tuple[str, ...]] = {
    "datagram": ("global_window",),
    "go-back-n": (
        *("window", "global_window", "global_window_counts", "timeout", "timeout_slots"),
        *("acknowledge", "delay_packets", "delay", "fast_retransmit"),
    ),
    "tcp": (
        *("initial_window", "receive_window", "minimum_timeout", "delayed_acknowledgement"),
        *("selective", "global_window"),
    ),
}

Hosts = Annotated[str, Field(min_length=1, max_length=10_000)]
"""``h3`` or ``h[1-8]``."""


class PairsTable(Strict):
    """Who sends to whom: the first of ``source`` to the first of ``target``, and so on."""

    source: Hosts
    target: Hosts


Instant = Annotated[int, from_text(parse_duration_ns), Field(ge=0, le=10**16)]
Bytes = Annotated[int, from_text(parse_size_bytes), Field(ge=1, le=1 << 40)]
Payload = Annotated[int, from_text(parse_size_bytes), Field(ge=1, le=65_000)]
Message = tuple[Instant, Hosts, Hosts, Bytes]


class Workload(Strict):
    """Who sends what to whom."""

    kind: Literal[
        "one-way",
        "two-way",
        "many-to-one",
        "uniform",
        "pairs",
        "burst",
        "schedule",
        "trace",
    ]
    payload: Payload = named("payload_bytes", PAYLOAD_BYTES)
    packets: Packets | None = None
    source: Hosts | None = None
    target: Hosts | None = None
    senders: Annotated[int, Field(ge=1, lt=MOST_HOSTS)] | Hosts | None = None
    pairs: PairsTable | None = None
    both_ways: bool | None = None
    sources: Hosts | None = None
    sinks: Hosts | None = None
    load: Annotated[float, from_text(parse_share), Field(gt=0, le=1)] | None = None
    algorithm: str | None = Field(None, pattern=r"^[a-z0-9_-]+/[a-z0-9_-]+$", max_length=80)
    block: Size | None = named("block_bytes")
    block_packets: int | None = Field(None, ge=0, le=1_000_000)
    sizes: list[Size] | None = Field(None, min_length=1, max_length=MOST_SIZES)
    root: Hosts | None = None
    fan_out: int | None = Field(None, ge=1, lt=MOST_HOSTS)
    permutation: Literal["shift", "xor", "edge-colour"] | None = None
    remap: bool | None = None
    repetitions: int | None = Field(None, ge=1, le=100_000)
    start_spread: Instant | None = named("start_spread_ns")
    messages: list[Message] | None = Field(None, min_length=1, max_length=MOST_MESSAGES)
    file: str | None = Field(None, min_length=1, max_length=4096)

    @model_validator(mode="after")
    def _fits_the_kind(self) -> Workload:
        needed, allowed = WORKLOAD_KEYS[self.kind]
        given = {key for key, value in self if value is not None}
        for key in sorted(given - {"kind", "payload", "start_spread", *needed, *allowed}):
            raise ValueError(f"kind = '{self.kind}' takes no {key}")
        for key in needed:
            if key not in given:
                raise ValueError(f"kind = '{self.kind}' needs {key}")
        for alternatives in (("block", "block_packets", "sizes"), ("messages", "file")):
            if alternatives[0] in allowed and len(given.intersection(alternatives)) != 1:
                words = f"{', '.join(alternatives[:-1])} and {alternatives[-1]}"
                raise ValueError(f"kind = '{self.kind}' needs one of {words}")
        return self


WORKLOAD_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "one-way": (("packets",), ("source", "target")),
    "two-way": (("packets",), ("source", "target")),
    "many-to-one": (("packets",), ("target", "senders")),
    "uniform": (("packets",), ("load",)),
    "pairs": (("pairs", "packets"), ("both_ways",)),
    "burst": (("sources", "sinks", "packets"), ()),
    "schedule": (
        ("algorithm",),
        (
            *("block", "block_packets", "sizes", "root", "fan_out", "permutation", "remap"),
            "repetitions",
        ),
    ),
    "trace": ((), ("messages", "file")),
}
"""The keys that each kind needs, and those that it may have besides."""
DATAGRAMS_ONLY = ("uniform", "burst")


class QueueTable(Strict):
    """A queue whose length is recorded: of a switch, at the port to a host, a switch, or up."""

    switch: str = Field(max_length=32)
    port: str = Field(max_length=32)


class Output(Strict):
    """What is recorded besides totals."""

    packets: bool = False
    events: bool = False
    ranks: bool | None = None
    queues: list[QueueTable] = Field([], max_length=MOST_QUEUES)
    queue_every: Duration = 0


class Limits(Strict):
    """When a run is given up. ``elapsed`` is of this machine's time, all else of the simulation."""

    events: int | None = Field(None, ge=1, le=10**15)
    time: LongTime | None = named("time_ns")
    samples: int | None = Field(None, ge=1, le=1 << 26)
    memory: Bytes | None = named("memory_bytes")
    elapsed: Elapsed = Field(600 * 10**9, exclude=True)


class Simulation(Strict):
    """All of it. ``runs`` repeats each point with the next seeds."""

    runs: int = Field(1, ge=1, le=MOST_RUNS)
    host: HostTable = HostTable()
    particular: list[Particular] = Field([], max_length=4096)
    uplinks: UplinkTable = UplinkTable()
    switches: SwitchesTable = SwitchesTable()
    transport: Transport = Transport()
    workload: Workload
    output: Output = Output()
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _go_together(self) -> Simulation:
        kind, transport = self.workload.kind, self.transport.kind
        if kind in DATAGRAMS_ONLY and transport_row(transport).has_protocol:
            raise ValueError(f"workload {kind} is for datagrams; transport is {transport}")
        if self.output.events and not transport_row(transport).has_protocol:
            raise ValueError("output.events are those of a protocol, and transport is datagram")
        return self


@cache
def host_presets() -> dict[str, HostTable]:
    """The hosts that come with netsonde, by name."""
    text = (resources.files("netsonde.simulate") / "presets" / "hosts.toml").read_text()
    tables = load_toml(text, "hosts.toml")
    return {name: HostTable.model_validate(table) for name, table in tables.items()}
