"""A study as a person writes it, in TOML, and as the program uses it.

Unknown keys are refused. Sizes, rates and durations may be written as text (``64k``, ``1G``,
``500ms``) or as plain integers of bytes, bit/s and nanoseconds.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from netsonde.errors import UsageError
from netsonde.patterns import PATTERNS
from netsonde.peers.techniques import Tool, conflict
from netsonde.study.quality import parse_traffic_class
from netsonde.tables import Strict, first_problem
from netsonde.units import parse_duration_ns, parse_rate_bit_per_s, parse_size_bytes

MESSAGE_LIMIT_BYTES = 1 << 32
UDP_PAYLOAD_LIMIT_BYTES = 65507
OPEN_LOOP_LEAST_BYTES = 8
PERTURB_LIMIT_BYTES = 4096
REFINE_LIMIT = 200
REFINE_POINTS = 24
"""Sizes that a sweep may add, where only a wish to refine was given."""
ROUND_TRIP_TESTS = ("latency", "pingpong")
"""Those whose curves over size are refined."""
SIZES_LIMIT = 1000
NUMBER_BYTES = 8
"""Datagrams of so many bytes or more carry their number."""


def _size(value: Any) -> Any:
    return _parsed(parse_size_bytes, value)


def _rate(value: Any) -> Any:
    return _parsed(parse_rate_bit_per_s, value)


def _duration(value: Any) -> Any:
    return _parsed(parse_duration_ns, value)


def _traffic_class(value: Any) -> Any:
    return _parsed(parse_traffic_class, value)


def _parsed(parse: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except UsageError as error:
        raise ValueError(str(error)) from error  # pydantic collects these with their place


def expand_sizes(value: Any) -> Any:
    """``"1..1M"`` (times two), ``"1..1M:4"`` (times four), ``"1..1M:1.5"`` (times two, and one
    and a half times each), ``"64,1k"``, or a list of these."""
    if isinstance(value, int | str):
        value = [value]
    sizes: list[Any] = []
    for item in value:
        for part in item.split(",") if isinstance(item, str) else [item]:
            sizes += _one_range(part) if isinstance(part, str) and ".." in part else [_size(part)]
    if len(sizes) > SIZES_LIMIT:
        raise ValueError(f"{len(sizes)} sizes are asked for; the limit is {SIZES_LIMIT}")
    return sizes


def _one_range(text: str) -> list[int]:
    bounds, _, factor_text = text.partition(":")
    first_text, _, last_text = bounds.partition("..")
    first, last = _size(first_text), _size(last_text)
    halves = factor_text == "1.5"
    factor = 2 if not factor_text or halves else 0
    factor = int(factor_text) if factor_text.isdecimal() else factor
    if factor < 2 or first < 1 or last < first:
        raise ValueError(
            f"{text!r} is no range of sizes; write it like 1..1M, 1..1M:4 or 1..1M:1.5"
        )
    sizes = []
    while first <= last:
        between = first * 3 // 2
        sizes += [first, between] if halves and first < between <= last else [first]
        first *= factor
    return sizes


Size = Annotated[int, BeforeValidator(_size), Field(ge=0, le=MESSAGE_LIMIT_BYTES)]
TrafficClass = Annotated[int, BeforeValidator(_traffic_class), Field(ge=0, le=255)]
Rate = Annotated[int, BeforeValidator(_rate), Field(ge=1000, le=10**12)]
Duration = Annotated[int, BeforeValidator(_duration), Field(ge=10**6, le=3600 * 10**9)]
Sizes = Annotated[list[Size], BeforeValidator(expand_sizes), Field(min_length=1)]

Transport = Literal["tcp", "udp", "mpi"]
Test = Literal[
    "latency",
    "pingpong",
    "stream",
    "duplex",
    "open_loop",
    "generate",
    "incast",
    "outcast",
    "pairs",
    "ring",
    "alltoall",
    "victim",
    "collective",
]
Operation = Literal["barrier", "bcast", "allreduce", "alltoall"]


def _as_loads(value: Any) -> Any:
    """``"0,25,50%"`` or a list of percentages and shares; a % at the end is of all."""
    if isinstance(value, str):
        parts = value.split(",")
        whole = "%" if parts[-1].strip().endswith("%") else ""
        value = [f"{part.strip().removesuffix('%')}{whole}" for part in parts]
    return [_share(item) for item in value] if isinstance(value, list) else value


def _share(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return float(value[:-1]) / 100 if value.endswith("%") else float(value)
    except ValueError as error:
        raise ValueError(f"load {value!r} is no share; write it like 50%") from error


Load = Annotated[float, Field(ge=0, le=2)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class LabTable(Strict):
    """The emulated cluster to measure on: ``scenario``, a file or preset, or what a
    plain one has."""

    scenario: str | None = None
    hosts: int = Field(2, ge=1, le=64)
    rate: Rate | None = 10**9
    buffer: Size = 256 * 1024
    burst: Size | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> LabTable:
        beside = self.model_fields_set - {"scenario"}
        plain = LabTable.model_fields
        differing = [n for n in sorted(beside) if getattr(self, n) != plain[n].default]
        if self.scenario is not None and differing:
            raise ValueError(f"{differing[0]} and a scenario do not go together; write it in there")
        return self


class PathTable(Strict):
    """What lies between the ends: ``auto`` is the lab, or loopback where no lab can be had.

    ``hosts`` are those of patterns (incast and the like), in order.
    """

    kind: Literal["auto", "lab", "loopback", "hosts"] = "auto"
    origin: str = "local"
    target: str = "local"
    hosts: list[str] = Field([], max_length=4096)
    family: Literal["ipv4", "ipv6"] = "ipv4"


class MpiTable(Strict):
    """How MPI is started."""

    mpi: str = "mpich"
    ranks: int = Field(2, ge=1, le=4096)
    hosts: list[str] = Field([])


class OptionsTable(Strict):
    """Options of the test connection, at both ends; None leaves the system's default.

    ``buffer`` is that of sending and, where ``receive_buffer`` is not given, of receiving.
    ``placement = "apart"`` pins ends that share a machine to two different processors: left to the
    scheduler, they are sometimes on one and sometimes on two, and a round trip differs by five
    times. ``origin_cpu`` and ``target_cpu`` name processors and come first. ``target_buffer`` is
    that of the end that answers or receives, where it is to differ. ``wait = "ready"`` makes calls
    that do not block and asks the kernel for readiness, as event-driven programs do.
    """

    buffer: Size | None = None
    receive_buffer: Size | None = None
    target_buffer: Size | None = None
    no_delay: bool = True
    congestion_control: str | None = Field(None, pattern="^[a-z0-9_]{1,15}$")
    max_segment: Size | None = None
    cork: bool | None = None
    not_sent_low: Size | None = None
    traffic_class: TrafficClass | None = None
    busy_poll_us: int | None = Field(None, ge=0, le=10**6)
    multipath: bool | None = None
    pacing: Rate | None = None
    sending: Literal["copy", "sendfile", "zerocopy", "uring"] | None = None
    datagrams_per_call: int | None = Field(None, ge=1, le=64)
    segment_offload: bool | None = None
    kernel_times: bool | None = None
    wait: Literal["block", "spin", "ready"] = "block"
    placement: Literal["free", "apart"] = "free"
    origin_cpu: int | None = Field(None, ge=0, le=4095)
    target_cpu: int | None = Field(None, ge=0, le=4095)

    @model_validator(mode="before")
    @classmethod
    def _cork_goes_with_nagle(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("cork"):
            return {"no_delay": False, **content}
        return content

    @model_validator(mode="after")
    def _possible(self) -> OptionsTable:
        if self.cork and self.no_delay:
            raise ValueError("cork holds back what no_delay sends at once; ask for one of them")
        if self.target_buffer is not None and self.receive_buffer is not None:
            raise ValueError("target_buffer and receive_buffer both say what the target's is")
        if self.sending not in (None, "copy") and self.wait != "block":
            raise ValueError(
                f"sending = '{self.sending}' goes with wait = 'block', not with '{self.wait}'"
            )
        if self.segment_offload and (self.datagrams_per_call or 1) == 1:
            raise ValueError("segment_offload needs datagrams_per_call of 2 or more")
        if self.kernel_times and self.sending not in (None, "copy"):
            raise ValueError(f"kernel_times and sending = '{self.sending}' do not go together")
        if self.kernel_times and self.multipath:
            raise ValueError("kernel_times and multipath do not go together")
        return self


class MeasureTable(Strict):
    """One block of points: every combination of transports, operations and sizes.

    ``perturb`` measures so many bytes beside each size as well, ``refine`` adds up to so many sizes
    for each transport where the curve breaks (:mod:`netsonde.study.refine`).
    """

    transports: Annotated[list[Transport], BeforeValidator(_as_list), Field(min_length=1)]
    test: Test
    sizes: Sizes
    operations: Annotated[list[Operation], BeforeValidator(_as_list)] = Field([])
    call: Size | None = None
    count: int | None = Field(None, ge=1, le=1 << 24)
    rate: Rate | None = None
    streams: int = Field(1, ge=1, le=64)
    label: str | None = Field(None, min_length=1, max_length=60)
    port: int | None = Field(None, ge=1, le=65535)
    loads: Annotated[list[Load], BeforeValidator(_as_loads)] = Field([])
    cap: Duration | None = None
    check_data: bool = False
    perturb: Annotated[int, BeforeValidator(_size), Field(ge=0, le=PERTURB_LIMIT_BYTES)] = 0
    refine: int = Field(0, ge=0, le=REFINE_LIMIT)
    like: Tool | None = None
    omit: Duration | None = None
    options: OptionsTable = OptionsTable()

    @model_validator(mode="after")
    def _possible(self) -> MeasureTable:
        if self.test == "collective":
            if self.transports != ["mpi"]:
                raise ValueError("test collective needs transports = ['mpi']")
            if not self.operations:
                raise ValueError("test collective needs operations, such as ['bcast']")
        elif self.operations:
            raise ValueError(f"operations go with test collective, not with {self.test}")
        paced = self.transports == ["udp"] and self.test in (
            "stream",
            "generate",
            *PATTERNS,
        )
        if self.rate is not None and not paced:
            raise ValueError(
                "rate (pacing) goes with transports = ['udp'] and tests stream and generate only"
            )
        if self.test == "generate" and (self.rate is None or not paced or 0 in self.sizes):
            raise ValueError(
                "test generate needs transports = ['udp'], sizes of 1 or more and a rate: traffic "
                "that nobody asked for must be bounded"
            )
        if (self.test == "open_loop") != bool(self.loads):
            raise ValueError("test open_loop and loads go together: loads = '0,25,50,75,90%'")
        if self.test == "open_loop" and (
            "mpi" in self.transports or min(self.sizes) < OPEN_LOOP_LEAST_BYTES
        ):
            raise ValueError("test open_loop is for tcp and udp, with sizes of 8 bytes or more")
        if self.perturb and self.test in ("collective", "generate"):
            raise ValueError(f"perturb and test {self.test} do not go together")
        if self.refine and self.test not in ROUND_TRIP_TESTS:
            raise ValueError(
                f"refine looks at round trips: it goes with the tests "
                f"{' and '.join(ROUND_TRIP_TESTS)}, not with {self.test}"
            )
        if self.streams > 1 and (self.test != "stream" or "mpi" in self.transports):
            raise ValueError("streams of more than 1 are for test stream over tcp and udp")
        if self.test in PATTERNS and "mpi" in self.transports:
            raise ValueError(f"test {self.test} is for tcp and udp; MPI has collectives for it")
        if self.port is not None and self.test != "generate":
            raise ValueError("port is that of test generate's target; other tests find their own")
        if self.like is not None:
            self._as_the_tool_does()
        if self.omit is not None and self.like != "iperf3":
            raise ValueError("omit goes with like = 'iperf3', whose figures leave out a first part")
        if (self.options.datagrams_per_call or 1) > 1:
            if self.rate is not None:
                raise ValueError(
                    "datagrams_per_call and rate do not go together: a paced datagram leaves at "
                    "its own time"
                )
            if self.test not in ("stream", "duplex"):
                raise ValueError(
                    f"datagrams_per_call and test {self.test} do not go together: there each "
                    "datagram waits for an answer"
                )
        if self.options.kernel_times:
            self._require_stamped()
        for size in self.sizes:
            if "udp" in self.transports and size > UDP_PAYLOAD_LIMIT_BYTES:
                raise ValueError(
                    f"size {size} does not fit a UDP datagram, which takes "
                    f"{UDP_PAYLOAD_LIMIT_BYTES} bytes at most"
                )
            if size == 0 and "tcp" in self.transports:
                raise ValueError("size 0 cannot be sent over TCP; the least is 1 byte")
        if "allreduce" in self.operations and any(size % 8 for size in self.sizes):
            raise ValueError("allreduce sums 8-byte integers: sizes must be multiples of 8")
        return self

    def _require_stamped(self) -> None:
        if self.test not in ("latency", "pingpong"):
            raise ValueError(
                f"kernel_times and test {self.test} do not go together: they are for latency and "
                "pingpong"
            )
        if "udp" in self.transports and min(self.sizes) < NUMBER_BYTES:
            raise ValueError(
                f"kernel_times need datagrams of at least {NUMBER_BYTES} bytes, the room of a "
                f"number; size {min(self.sizes)} has none"
            )

    def _as_the_tool_does(self) -> None:
        """Raises ValueError where ``like`` and the rest of the block do not go together."""
        options = self.options
        given = {
            "count": self.count,
            "load": self.loads,
            "call": self.call,
            "check_data": self.check_data,
            "datagrams_per_call": (options.datagrams_per_call or 1) > 1,
            "segment_offload": options.segment_offload,
        }
        for transport in self.transports:
            problem = conflict(
                str(self.like),
                transport,
                self.test,
                given=[name for name, value in given.items() if value],
                paced=self.rate is not None,
                streams=self.streams,
                cap_ns=self.cap,
            )
            if problem is not None:
                raise ValueError(problem)


class StudySpec(Strict):
    """A whole study."""

    name: str = Field("study", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    seed: int | None = Field(None, ge=0, le=2**53 - 1)
    interval: float = Field(0.01, gt=0, lt=1)
    cap: Duration = 2 * 10**9
    path: PathTable = PathTable()
    lab: LabTable = LabTable()
    mpi: MpiTable = MpiTable()
    measure: list[MeasureTable] = Field(min_length=1)


def parse_study(text: str, source: str) -> StudySpec:
    """A study from TOML. Raises UsageError with one sentence that names the place."""
    try:
        return StudySpec.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} is not TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{source}: {first_problem(error)}") from error


def read_study(path: Path) -> StudySpec:
    try:
        return parse_study(path.read_text(), str(path))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not TOML: it holds bytes that are no UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def to_toml(spec: StudySpec) -> str:
    """The study with every default filled in; reads back to an equal study."""
    content = spec.model_dump(exclude_none=True)
    lines = [
        f"{key} = {_toml(value)}"
        for key, value in content.items()
        if not isinstance(value, dict) and key != "measure"
    ]
    for key, table in content.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]", *_toml_table(table)]
    for block in content["measure"]:
        options = block.pop("options")
        lines += [
            "",
            "[[measure]]",
            *_toml_table(block),
            "[measure.options]",
            *_toml_table(options),
        ]
    return "\n".join(lines) + "\n"


def _toml_table(table: dict[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in table.items()]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)
