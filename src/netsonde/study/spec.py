"""A study as a person writes it, in TOML, and as the program uses it.

Unknown keys are refused. Sizes, rates and durations may be written as text (``64k``, ``1G``,
``500ms``) or as plain integers of bytes, bit/s and nanoseconds.
"""

from __future__ import annotations

import json
import tomllib
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from netsonde.busy import parse_busy
from netsonde.errors import UsageError
from netsonde.launch.nodes import HOSTS_LIMIT
from netsonde.operations import operations as known_operations
from netsonde.operations import parse_pattern, problem
from netsonde.patterns import PATTERNS
from netsonde.peers.mpi_techniques import MpiTool, mpi_conflict
from netsonde.peers.techniques import Tool, conflict
from netsonde.study.mpi_keys import MOST_RANKS, MpiKeys, part_bytes
from netsonde.study.mpi_table import MpiTable, as_hosts
from netsonde.study.program_table import ProgramTable
from netsonde.study.switches import SwitchPlace, UplinkPlace, problem_of_switches
from netsonde.study.values import (
    Duration,
    Rate,
    Size,
    Sizes,
    TrafficClass,
    as_size,
    expand_sizes,
)
from netsonde.tables import Strict, first_problem

UDP_PAYLOAD_LIMIT_BYTES = 65507
"""That of an ICMP echo as well: its header is as long as UDP's."""
OPEN_LOOP_LEAST_BYTES = 8
PERTURB_LIMIT_BYTES = 4096
REFINE_LIMIT = 200
REFINE_POINTS = 24
"""Sizes that a sweep may add, where only a wish to refine was given."""
REFINED_TESTS = ("latency", "pingpong", "collective")
"""Those whose curves over size are refined."""
BLOCKS = ("measure", "program")
MTU_LEAST_BYTES = 576
"""What every host must take over IPv4 (RFC 791)."""
MTU_LEAST_IPV6_BYTES = 1280
MTU_MOST_BYTES = 65521
"""What a device of a lab takes."""
MOST_KEPT = 1 << 26
"""Samples of a batch, of all ranks."""
PAIR_POINTS_LIMIT = 10_000
"""Points that one block may make of all pairs of ranks."""
PASSES_LIMIT = 100
NUMBER_BYTES = 8
"""Datagrams of so many bytes or more carry their number."""


Mtu = Annotated[int, Field(ge=MTU_LEAST_BYTES, le=MTU_MOST_BYTES)]
Transport = Literal["tcp", "udp", "icmp", "mpi"]
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
    "clock",
    "threads",
]


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

    ``hosts`` are those of patterns (incast and the like), in order. ``launcher`` is what starts
    processes on hosts: ``auto`` is the batch system's for nodes of the job that netsonde is in, and
    ssh for others.
    """

    kind: Literal["auto", "lab", "loopback", "hosts"] = "auto"
    origin: str = "local"
    target: str = "local"
    hosts: Annotated[list[str], BeforeValidator(as_hosts)] = Field([], max_length=HOSTS_LIMIT)
    family: Literal["ipv4", "ipv6"] = "ipv4"
    launcher: Literal["auto", "ssh", "slurm", "flux"] = "auto"


def _as_names(value: Any) -> Any:
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else value


def _as_other_work(value: Any) -> Any:
    if isinstance(value, str):
        try:
            parse_busy(value)
        except UsageError as error:
            raise ValueError(str(error)) from error
    return value


OtherWork = Annotated[str, BeforeValidator(_as_other_work)]


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
    depth: bool | None = None
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


ECHO_OPTIONS = ("traffic_class", "busy_poll_us", "wait", "placement", "origin_cpu")


class MeasureTable(MpiKeys):
    """One block of points: every combination of transports, operations, MTUs and sizes.

    ``root``, ``pattern`` and ``uneven`` are those of MPI operations (:mod:`netsonde.operations`),
    further ones are in :mod:`netsonde.study.mpi_keys`; ``start`` is how their ranks begin together;
    ``clocks = "apart"`` compares clocks also where ranks read the same one, and ``clock`` is the
    method. ``keep`` is how many repetitions of all ranks a batch keeps one by one. ``outstanding``
    is how many messages of an MPI stream may be on their way at once; without it every call blocks.
    ``mtu`` are those that the links of the lab are to have, one after the other, and ``busy`` the
    other work that hosts are given (:mod:`netsonde.busy`). ``perturb``
    measures so many bytes beside each size as well, ``refine`` adds up to so many sizes for each
    transport where the curve breaks (:mod:`netsonde.study.refine`). ``passes``: so often one launch
    measures each point of MPI.
    """

    transports: Annotated[list[Transport], BeforeValidator(_as_list), Field(min_length=1)]
    test: Test
    sizes: Sizes
    operations: Annotated[list[str], BeforeValidator(_as_list)] = Field([])
    root: Annotated[int, Field(ge=0, le=MOST_RANKS - 1)] | Literal["rotate"] | None = None
    pattern: str | None = None
    uneven: bool = False
    call: Size | None = None
    count: int | None = Field(None, ge=1, le=1 << 24)
    rate: Rate | None = None
    streams: int = Field(1, ge=1, le=64)
    outstanding: int | None = Field(None, ge=1, le=1024)
    label: str | None = Field(None, min_length=1, max_length=60)
    port: int | None = Field(None, ge=1, le=65535)
    loads: Annotated[list[Load], BeforeValidator(_as_loads)] = Field([])
    mtu: Annotated[list[Mtu], BeforeValidator(expand_sizes)] = Field([], max_length=64)
    busy: Annotated[list[OtherWork], BeforeValidator(_as_names)] = Field([], max_length=64)
    cap: Duration | None = None
    check_data: bool = False
    start: Literal["barrier", "window", "none"] = "barrier"
    clocks: Literal["known", "apart"] = "known"
    clock: Literal["tree", "offset", "wtime", "jones_koenig"] = "tree"
    keep: int | None = Field(None, ge=0, le=MOST_KEPT)
    perturb: Annotated[int, BeforeValidator(as_size), Field(ge=0, le=PERTURB_LIMIT_BYTES)] = 0
    refine: int = Field(0, ge=0, le=REFINE_LIMIT)
    passes: int = Field(1, ge=1, le=PASSES_LIMIT)
    like: Tool | MpiTool | None = None
    omit: Duration | None = None
    options: OptionsTable = OptionsTable()

    @model_validator(mode="after")
    def _possible(self) -> MeasureTable:
        if "icmp" in self.transports:
            self._require_echoes()
        if self.test == "collective":
            if self.transports != ["mpi"]:
                raise ValueError("test collective needs transports = ['mpi']")
            if not self.operations:
                raise ValueError("test collective needs operations, such as ['bcast']")
        else:
            self._without_operations()
        self._check_common_clock()
        for operation in self.operations:
            self._require_possible(operation)
        found = self.problem_with_keys(
            self.test,
            self.transports,
            self.operations,
            self.pattern,
            self.start,
            self.check_data,
        )
        if found is not None:
            raise ValueError(found)
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
        if self.refine and self.test not in REFINED_TESTS:
            raise ValueError(
                f"refine looks at round trips and operations: it goes with the tests "
                f"{', '.join(REFINED_TESTS)}, not with {self.test}"
            )
        if self.streams > 1 and (self.test != "stream" or "mpi" in self.transports):
            raise ValueError("streams of more than 1 are for test stream over tcp and udp")
        if self.outstanding is not None and (self.test != "stream" or self.transports != ["mpi"]):
            raise ValueError("outstanding goes with transports = ['mpi'] and test stream only")
        if self.test in PATTERNS and "mpi" in self.transports:
            raise ValueError(f"test {self.test} is for tcp and udp; MPI has collectives for it")
        if self.port is not None and self.test != "generate":
            raise ValueError("port is that of test generate's target; other tests find their own")
        if self.passes > 1 and self.transports != ["mpi"]:
            raise ValueError("passes go with transports = ['mpi']")
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
        if self.options.depth:
            self._require_pair()
        for size in self.sizes:
            for transport, what in (("udp", "a UDP datagram"), ("icmp", "an ICMP echo")):
                if transport in self.transports and size > UDP_PAYLOAD_LIMIT_BYTES:
                    raise ValueError(
                        f"size {size} does not fit {what}, which takes "
                        f"{UDP_PAYLOAD_LIMIT_BYTES} bytes at most"
                    )
            if size == 0 and "tcp" in self.transports:
                raise ValueError("size 0 cannot be sent over TCP; the least is 1 byte")
        return self

    def _require_echoes(self) -> None:
        """Raises ValueError for what the answering kernel cannot do. Options of other transports
        are left to those of the block; where there are none, they are refused."""
        if self.test != "latency":
            raise ValueError(
                f"transport icmp and test {self.test} do not go together: the other host's kernel "
                "sends back each echo, which is test latency, and does nothing else"
            )
        if self.like is not None:
            raise ValueError(f"like {self.like} and transport icmp do not go together")
        if self.options.kernel_times:
            raise ValueError("kernel_times and transport icmp do not go together")
        given = [
            name
            for name, field in OptionsTable.model_fields.items()
            if name not in ECHO_OPTIONS and getattr(self.options, name) != field.default
        ]
        given += [] if self.call is None else ["call"]
        if self.transports == ["icmp"] and given:
            raise ValueError(
                f"{given[0]} and transport icmp do not go together: of the options echoes take "
                f"{', '.join(ECHO_OPTIONS)}"
            )

    def _check_common_clock(self) -> None:
        if self.test == "clock":
            if self.transports != ["mpi"] or self.sizes != [0]:
                raise ValueError("test clock needs transports = ['mpi'] and sizes = [0]")
            if self.count == 1:
                raise ValueError("test clock needs a count of 2 or more comparisons")
        if self.start != "barrier" and self.test != "collective":
            raise ValueError(f"start = '{self.start}' goes with test collective only")
        if self.clock == "wtime" and self.start == "window":
            raise ValueError(
                "clock = 'wtime' and start = 'window' do not go together: windows begin by each "
                "rank's own clock"
            )
        if self.keep is not None and self.test != "collective":
            raise ValueError(f"keep = {self.keep} goes with test collective only")
        if self.clock != "tree" and self.test not in ("collective", "clock"):
            raise ValueError(f"clock = '{self.clock}' goes with tests collective and clock only")
        if self.clocks != "known" and self.test not in ("collective", "clock"):
            raise ValueError(f"clocks = '{self.clocks}' goes with tests collective and clock only")

    def _without_operations(self) -> None:
        if self.operations:
            raise ValueError(f"operations go with test collective, not with {self.test}")
        for name, value in (("root", self.root), ("pattern", self.pattern)):
            if value is not None:
                raise ValueError(f"{name} and test {self.test} do not go together")
        if self.uneven:
            raise ValueError(f"uneven and test {self.test} do not go together")

    def _require_possible(self, operation: str) -> None:
        found = problem(
            operation,
            sizes=self.sizes,
            root=self.root,
            pattern=self.pattern,
            uneven=self.uneven,
        )
        if found is not None:
            raise ValueError(found)
        if self.pattern is not None:
            try:
                parse_pattern(self.pattern)
            except UsageError as error:
                raise ValueError(str(error)) from error

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

    def _require_pair(self) -> None:
        """Raises ValueError where there are not two workers with one connection between them."""
        if not {"tcp", "udp"} & set(self.transports):
            raise ValueError("depth goes with the transports tcp and udp")
        if self.streams > 1:
            raise ValueError("depth and streams of more than 1 do not go together")
        if self.test in PATTERNS or self.test == "generate":
            raise ValueError(f"depth and test {self.test} do not go together: it is of two workers")

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
        if self.transports == ["mpi"]:
            self._as_the_mpi_tool_does()
            return
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

    def _as_the_mpi_tool_does(self) -> None:
        """Raises ValueError; windows are another way of ReproMPI's."""
        given = {
            "root": self.root is not None,
            "pattern": self.pattern,
            "uneven": self.uneven,
            "check_data": self.check_data,
            "outstanding": self.outstanding,
            "keep": self.keep is not None,
            f"cache = '{self.cache}'": self.cache != "warm",
            "overlap": self.overlap,
            f"start = '{self.start}'": self.start != "barrier"
            and (self.like, self.start) != ("reprompi", "window"),
        }
        problem = mpi_conflict(
            str(self.like),
            self.test,
            self.operations,
            given=[name for name, value in given.items() if value],
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
    program: list[ProgramTable] = Field([], max_length=1000)
    switch: list[SwitchPlace] = Field([], max_length=1024)
    uplink: list[UplinkPlace] = Field([], max_length=4096)

    @model_validator(mode="after")
    def _switches_possible(self) -> StudySpec:
        problem = problem_of_switches(self.switch, self.uplink)
        if problem is not None:
            raise ValueError(problem)
        return self

    @property
    def mtus(self) -> list[int]:
        """Every MTU that is asked for, bytes."""
        return sorted({mtu for block in self.measure for mtu in block.mtu})

    @model_validator(mode="after")
    def _mtu_possible(self) -> StudySpec:
        if not self.mtus:
            return self
        if not all(block.mtu for block in self.measure):
            raise ValueError(
                "mtu is given in some blocks only; give it in all, so that every point says which "
                "one it had"
            )
        named = (self.path.target, *self.path.hosts, *self.mpi.hosts)
        has_lab = any(text.startswith("lab:") for text in named)
        if self.path.kind == "loopback" or (self.path.kind == "hosts" and not has_lab):
            raise ValueError(
                "mtu goes with hosts of a lab only, such as lab:h1,h2: interfaces of real hosts "
                "are not changed"
            )
        if self.path.family == "ipv6" and self.mtus[0] < MTU_LEAST_IPV6_BYTES:
            raise ValueError(
                f"mtu {self.mtus[0]} is less than the {MTU_LEAST_IPV6_BYTES} bytes that family "
                "ipv6 asks of a link"
            )
        return self

    @model_validator(mode="after")
    def _threads_are_free(self) -> StudySpec:
        if self.mpi.pin != "none" and any(block.threads for block in self.measure):
            raise ValueError(
                "pin binds a rank with all its threads to one processor: leave it out with threads"
            )
        return self

    @model_validator(mode="after")
    def _enough_ranks(self) -> StudySpec:
        ranks = min(self.mpi.ranks)
        if self.mpi.ppn and not self.mpi.hosts:
            raise ValueError("ppn places ranks on hosts: it goes with hosts only")
        if len(set(self.mpi.ppn)) < len(self.mpi.ppn):
            raise ValueError("ppn has a number twice")
        for block in self.measure:
            if isinstance(block.root, int) and block.root >= ranks:
                raise ValueError(
                    f"root {block.root} is no rank of {ranks}; the last is {ranks - 1}"
                )
            for operation in block.operations:
                if known_operations()[operation].partnered != "none" and ranks < 2:
                    raise ValueError(f"{operation} is between two ranks, and ranks is {ranks}")
            if block.pattern is not None and parse_pattern(block.pattern)[1] >= ranks:
                raise ValueError(
                    f"pattern {block.pattern} leads past all of the {ranks} ranks; the largest "
                    f"distance is {ranks - 1}"
                )
            self._require_ranks(block)
        return self

    def _require_ranks(self, block: MeasureTable) -> None:
        """Raises ValueError where a block names ranks that are not there, or leaves one nothing."""
        ranks = min(self.mpi.ranks)
        own = block.pair if isinstance(block.pair, tuple) else ()
        named = [*(rank for pair in block.partners for rank in pair), *own]
        if isinstance(block.pair, str):
            self._require_pairs(block.pair, len(block.sizes))
        if named and max(named) >= ranks:
            key = "pair" if own else "partners"
            raise ValueError(f"{key}: {max(named)} is no rank of {ranks}; the last is {ranks - 1}")
        if block.size_of == "total":
            for operation, size, number in product(block.operations, block.sizes, self.mpi.ranks):
                part_bytes(size, number, known_operations()[operation])

    def _require_pairs(self, pair: str, sizes: int) -> None:
        """Raises ValueError where there is no pair, or there are too many of them."""
        if min(self.mpi.ranks) < 2:
            raise ValueError(f"pair = '{pair}' is between two ranks, and ranks is 1")
        ranks = max(self.mpi.ranks)
        points = sizes * (ranks * (ranks - 1) // 2 if pair == "all" else ranks - 1)
        if points > PAIR_POINTS_LIMIT:
            raise ValueError(
                f"pair = '{pair}' of {ranks} ranks makes {points} points; the limit is "
                f"{PAIR_POINTS_LIMIT}"
            )
        if pair == "slowest" and len(self.mpi.ranks) > 1:
            raise ValueError(
                "pair = 'slowest' and several numbers of ranks do not go together: each would find "
                "its own; measure pair = 'each'"
            )
        if pair == "slowest" and self.mpi.launch_count > 1:
            raise ValueError(
                "pair = 'slowest' and several launches do not go together: each would find its "
                "own; measure pair = 'each'"
            )


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
        if not isinstance(value, dict) and key not in BLOCKS
    ]
    for key, table in content.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]", *_toml_table(table)]
    for key in BLOCKS:
        for block in content[key]:
            options = block.pop("options", None)
            lines += ["", f"[[{key}]]", *_toml_table(block)]
            if options is not None:
                lines += [f"[{key}.options]", *_toml_table(options)]
    return "\n".join(lines) + "\n"


def _toml_table(table: dict[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in table.items()]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        # A string of JSON is one of TOML, but for one control character that JSON lets pass.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
