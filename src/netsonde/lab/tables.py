"""The tables of a scenario that say what a cluster is made of: hosts, links, switches.

The lab and the simulator read the same ones. Unknown keys are refused; rates, sizes and durations
are text (``100M``, ``256k``, ``5ms``), shares are text with a percent sign or plain numbers,
buffers are packets (``"95 packets"``) or a size.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from importlib import resources
from math import prod
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from netsonde.errors import UsageError
from netsonde.tables import Strict, text_by
from netsonde.units import parse_duration_ns, parse_rate_bit_per_s, parse_size_bytes

DEFAULT_BUFFER_BYTES = 256 * 1024
LEAST_MTU_BYTES = 1280  # what IPv6 asks of a link
MOST_SWITCH_TABLES = 4096


def from_text(parse: Callable[[str], Any]) -> BeforeValidator:
    """Parses text, leaves numbers alone."""
    return BeforeValidator(text_by(parse))


def named(their_key: str, default: Any = None, **bounds: Any) -> Any:
    """A field that programs know by another key, which holds its unit."""
    return Field(default, serialization_alias=their_key, **bounds)


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
Share = Annotated[float, from_text(parse_share), Field(ge=0, le=1)]
SmallShare = Annotated[float, from_text(parse_share), Field(ge=0, le=0.5)]
Rate = Annotated[int, from_text(parse_rate_bit_per_s), Field(ge=1000, le=100 * 10**9)]
Delay = Annotated[int, from_text(parse_duration_ns), Field(ge=0, le=10**10)]
Offset = Annotated[int, from_text(_signed_duration_ns), Field(ge=-(10**13), le=10**13)]


class Jitter(Strict):
    """Delay beyond the line's own: its mean, for ``normal`` its deviation, for ``pareto`` its tail
    index; ``keep_order = false`` lets frames overtake each other."""

    distribution: Literal["none", "uniform", "normal", "exponential", "pareto"]
    mean: Delay = named("mean_ns", 0)
    deviation: Delay = named("deviation_ns", 0)
    tail_index: float = Field(3.0, ge=1.01, le=1000)
    keep_order: bool = True


class Burst(Strict):
    """Loss in bursts after Gilbert and Elliott: chances per frame to enter and to leave the bad
    state, and of a loss in either."""

    enter: Share = named("enter_ratio", ...)
    leave: Share = named("leave_ratio", 1.0)
    good_loss: Share = named("good_loss_ratio", 0.0)
    bad_loss: Share = named("bad_loss_ratio", 1.0)


class Line(Strict):
    """One direction of a link. What is None is as in the table that this one refines."""

    rate: Rate | None = named("rate_bit_per_s")
    delay: Delay | None = named("delay_ns")
    mtu: int | None = named("mtu_bytes", ge=LEAST_MTU_BYTES, le=65521)
    loss: Share | None = named("loss_ratio")
    burst: Burst | None = None
    loss_every: int | None = Field(None, ge=0, le=10_000_000)
    bit_errors: SmallShare | None = named("bit_error_ratio")
    duplicates: Share | None = named("duplicate_ratio")
    reorder: Share | None = named("reorder_ratio")
    reorder_delay: Delay | None = named("reorder_delay_ns")
    jitter: Jitter | None = None

    def over(self, base: Line) -> Line:
        """This, with what it leaves open taken from base."""
        return base.model_copy(update={k: v for k, v in self if v is not None and k in LINE_KEYS})

    def plan(self) -> dict[str, Any]:
        """What sonde-switch takes of one direction; only what is given."""
        return self.model_dump(include=LINE_KEYS, by_alias=True, exclude_none=True)


LINE_KEYS = set(Line.model_fields)


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

    high: int = named("high_packets", ..., ge=1)
    low: int = named("low_packets", ..., ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Pause:
        if self.low >= self.high:
            raise ValueError("the low mark must lie below the high one")
        return self


def capacity_plan(prefix: str, buffer: Buffer | None) -> dict[str, int]:
    """A buffer as sonde-switch takes it."""
    if buffer is None:
        return {}
    parts = {f"{prefix}_packets": buffer.packets, f"{prefix}_bytes": buffer.bytes}
    return {name: value for name, value in parts.items() if value is not None}


class SwitchKind(Strict):
    """What a switch is like: as ``preset`` has it, but for what is given beside it."""

    preset: str | None = None
    architecture: Literal["input", "output", "shared"] | None = None
    buffer: BufferField | None = None
    port_cap: BufferField | None = None
    uplink_buffer: BufferField | None = None
    forwarding: Literal["store-and-forward", "cut-through"] | None = None
    latency: Delay | None = None
    pause: Pause | None = None


class Switch(SwitchKind):
    """A switch, and the hosts at it."""

    name: str = Field(pattern="^[a-z][a-z0-9-]{0,30}$")
    hosts: str | None = None

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
            **capacity_plan("capacity", buffer),
            **capacity_plan("port_cap", self.port_cap),
        }
        if self.pause is not None:
            plan["pause"] = self.pause.plan()
        return plan


class Uplink(Link):
    """A link between two switches; buffers are those of its ports, where they differ."""

    lower: str
    upper: str
    lower_buffer: BufferField | None = None
    upper_buffer: BufferField | None = None


def _of_preset(given: object) -> object:
    if not isinstance(given, str | dict | SwitchKind):
        raise ValueError("must be a preset's name, or a table")
    return {"preset": given} if isinstance(given, str) else given


class Tree(Strict):
    """Switches in levels, in place of ``[[switch]]`` and ``[[uplink]]`` tables.

    ``fan`` is, from the hosts up, how many hosts hang on a switch of the first level, how many of
    these on one of the second, and so on; the last level is one switch. ``switches`` says what
    those of each level are like, or names a preset (one stands for all), ``uplinks`` is the link
    above each level but the last (one stands for all).
    """

    fan: list[Annotated[int, Field(ge=1, le=1 << 20)]] = Field(min_length=1, max_length=6)
    switches: list[Annotated[SwitchKind, BeforeValidator(_of_preset)]] = Field([], max_length=6)
    uplinks: list[Link] = Field([], max_length=5)

    @model_validator(mode="after")
    def _one_for_each_level(self) -> Tree:
        for name, given, levels in (
            ("switches", len(self.switches), len(self.fan)),
            ("uplinks", len(self.uplinks), len(self.fan) - 1),
        ):
            if given not in (0, 1, levels):
                raise ValueError(
                    f"{name} has {given} entries; give one, or one for each of {levels}"
                )
        return self

    @property
    def hosts(self) -> int:
        return prod(self.fan)

    @property
    def switch_count(self) -> int:
        return sum(prod(self.fan[level:]) for level in range(1, len(self.fan) + 1))


class Host(Strict):
    """What is particular about a host, or about several: ``name = "h[3-4]"``."""

    name: str
    link: Link = Link()
    slow_down: float = Field(1.0, ge=1, le=100)
    clock_offset: Offset = 0
    clock_drift_ppm: float = Field(0.0, ge=-1000, le=1000)


@cache
def switch_presets() -> dict[str, Switch]:
    """The switches that come with netsonde, by name."""
    text = (resources.files("netsonde.lab") / "presets" / "switches.toml").read_text()
    tables = tomllib.loads(text)
    return {name: Switch.model_validate({"name": name, **table}) for name, table in tables.items()}


class ClusterTables(Strict):
    """What the lab and the simulator read alike: a cluster without what plays it."""

    name: str = "lab"
    about: str = ""
    seed: int = Field(1, ge=0, le=2**53)
    hosts: int | None = None
    link: Link = Link()
    switch: list[Switch] = Field([], max_length=MOST_SWITCH_TABLES)
    uplink: list[Uplink] = Field([], max_length=MOST_SWITCH_TABLES)
    host: list[Host] = Field([], max_length=MOST_SWITCH_TABLES)
    tree: Tree | None = None

    @model_validator(mode="after")
    def _tree_or_switches(self) -> ClusterTables:
        if self.tree is not None and (self.switch or self.uplink):
            raise ValueError("tree makes switches and uplinks itself; give no others beside it")
        return self
