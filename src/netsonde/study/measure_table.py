"""The block ``[[measure]]`` of a study: what is measured, and what does not go together in it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from netsonde.busy import parse_busy
from netsonde.catalogue.options.sockets import STUDY_OPTIONS, options_of
from netsonde.catalogue.test import Test as TestRow
from netsonde.catalogue.test import names_of, test_row
from netsonde.catalogue.transport import Transport as TransportRow
from netsonde.catalogue.transport import only_ranks, some_ranks, transport_row
from netsonde.errors import UsageError
from netsonde.operations import parse_pattern, problem
from netsonde.peers.mpi_techniques import MpiTool, mpi_conflict
from netsonde.peers.techniques import Tool, conflict
from netsonde.study.mpi_keys import MOST_RANKS, MpiKeys
from netsonde.study.options_table import OptionsTable
from netsonde.study.values import (
    Duration,
    Listed,
    Names,
    Rate,
    Size,
    Sizes,
    Written,
    as_size,
    expand_sizes,
)
from netsonde.study.windows_table import WindowsTable

OPEN_LOOP_LEAST_BYTES = 8
PERTURB_LIMIT_BYTES = 4096
REFINE_LIMIT = 200
MTU_LEAST_BYTES = 576
"""What every host must take over IPv4 (RFC 791)."""
MTU_LEAST_IPV6_BYTES = 1280
MTU_MOST_BYTES = 65521
"""What a device of a lab takes."""
MOST_KEPT = 1 << 26
"""Samples of a batch, of all ranks."""
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
    "converge",
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


def _as_names(value: Any) -> Any:
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else value


def _as_other_work(value: Any) -> Any:
    if isinstance(value, str):
        try:
            parse_busy(value)
        except UsageError as error:
            raise ValueError(str(error)) from error
    return value


def _several(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


FactorValue = bool | int | float | str
OtherWork = Annotated[str, BeforeValidator(_as_other_work, json_schema_input_type=str)]


class MeasureTable(MpiKeys):
    """One block of points: every combination of transports, operations, MTUs and sizes.

    ``root``, ``pattern`` and ``uneven`` are those of MPI operations (:mod:`netsonde.operations`),
    further ones are in :mod:`netsonde.study.mpi_keys`; ``start`` is how their ranks begin together;
    ``clocks = "apart"`` compares clocks also where ranks read the same one, and ``clock`` is the
    method. ``keep`` is how many repetitions of all ranks a batch keeps one by one. ``outstanding``
    is how many messages of an MPI stream may be on their way at once; without it every call blocks.
    ``mtu`` are those that the links of the lab are to have, one after the other, and
    ``background_load`` the other work that hosts are given (:mod:`netsonde.busy`). ``perturb``
    measures so many bytes beside each size as well, ``refine`` adds up to so many sizes for each
    transport where the curve breaks (:mod:`netsonde.study.refine`). ``passes``: so often one launch
    measures each point of MPI.

    ``vary``, ``design`` and ``baseline`` make several blocks of one before it is checked
    (:mod:`netsonde.study.vary`), so that none has them afterwards. ``exclude`` leaves points out:
    those that meet all keys of one of its tables.
    """

    transports: Annotated[
        list[Transport],
        BeforeValidator(_as_list, json_schema_input_type=Transport | list[Transport]),
        Field(min_length=1),
    ]
    test: Test
    sizes: Sizes
    operations: Annotated[list[str], BeforeValidator(_as_list, json_schema_input_type=Names)] = (
        Field([])
    )
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
    loads: Annotated[
        list[Load], BeforeValidator(_as_loads, json_schema_input_type=str | list[float | str])
    ] = Field([])
    mtu: Annotated[list[Mtu], BeforeValidator(expand_sizes, json_schema_input_type=Listed)] = Field(
        [], max_length=64
    )
    background_load: Annotated[
        list[OtherWork], BeforeValidator(_as_names, json_schema_input_type=Names)
    ] = Field([], max_length=64)
    cap: Duration | None = None
    check_data: bool = False
    start: Literal["barrier", "window", "none"] = "barrier"
    windows: WindowsTable | None = None
    clocks: Literal["known", "apart"] = "known"
    clock: Literal["tree", "offset", "wtime", "jones_koenig"] = "tree"
    keep: int | None = Field(None, ge=0, le=MOST_KEPT)
    perturb: Annotated[
        int,
        BeforeValidator(as_size, json_schema_input_type=Written),
        Field(ge=0, le=PERTURB_LIMIT_BYTES),
    ] = 0
    refine: int = Field(0, ge=0, le=REFINE_LIMIT)
    passes: int = Field(1, ge=1, le=PASSES_LIMIT)
    like: Tool | MpiTool | None = None
    omit: Duration | None = None
    options: OptionsTable = OptionsTable()
    vary: dict[str, list[FactorValue]] | None = None
    design: Literal["factorial", "one-at-a-time"] | None = None
    baseline: dict[str, FactorValue] | None = None
    exclude: list[dict[str, FactorValue | list[FactorValue]]] = Field([], max_length=1000)

    @property
    def kind(self) -> TestRow:
        """The test's row."""
        return test_row(self.test)

    def excludes(self, transport: str, size: int, operation: str | None) -> bool:
        """Whether a point is left out."""
        own = {"transport": transport, "size": size, "operation": operation}
        return any(
            all(own[key] in _several(values) for key, values in rule.items())
            for rule in self.exclude
        )

    @model_validator(mode="after")
    def _possible(self) -> MeasureTable:
        if self.design is not None or self.baseline is not None:
            raise ValueError("design and baseline go with vary")
        for row in self._carriers():
            if row.is_echoed:
                self._require_echoes(row.name)
        if self.kind.is_operation:
            if not only_ranks(self.transports):
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
        counted = [row.counts_datagrams for row in self._carriers()]
        paced = self.kind.takes_rate and counted == [True]
        if self.rate is not None and not paced:
            raise ValueError(
                "rate (pacing) goes with transports = ['udp'] and tests stream and generate only"
            )
        if self.kind.is_unanswered and (self.rate is None or not paced or 0 in self.sizes):
            raise ValueError(
                "test generate needs transports = ['udp'], sizes of 1 or more and a rate: traffic "
                "that nobody asked for must be bounded"
            )
        if self.kind.is_open_loop != bool(self.loads):
            raise ValueError("test open_loop and loads go together: loads = '0,25,50,75,90%'")
        if self.kind.is_open_loop and (
            some_ranks(self.transports) or min(self.sizes) < OPEN_LOOP_LEAST_BYTES
        ):
            raise ValueError("test open_loop is for tcp and udp, with sizes of 8 bytes or more")
        if self.perturb and (self.kind.is_operation or self.kind.is_unanswered):
            raise ValueError(f"perturb and test {self.test} do not go together")
        if self.refine and not self.kind.is_refined:
            raise ValueError(
                f"refine looks at round trips and operations: it goes with the tests "
                f"{', '.join(names_of('is_refined'))}, not with {self.test}"
            )
        if self.streams > 1 and (not self.kind.is_one_way_stream or some_ranks(self.transports)):
            raise ValueError("streams of more than 1 are for test stream over tcp and udp")
        if self.outstanding is not None and (
            not self.kind.is_one_way_stream or not only_ranks(self.transports)
        ):
            raise ValueError("outstanding goes with transports = ['mpi'] and test stream only")
        if self.kind.is_pattern and some_ranks(self.transports):
            raise ValueError(f"test {self.test} is for tcp and udp; MPI has collectives for it")
        if self.port is not None and not self.kind.is_unanswered:
            raise ValueError("port is that of test generate's target; other tests find their own")
        if self.passes > 1 and not only_ranks(self.transports):
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
            if not self.kind.is_stream:
                raise ValueError(
                    f"datagrams_per_call and test {self.test} do not go together: there each "
                    "datagram waits for an answer"
                )
        if self.options.kernel_times:
            self._require_stamped()
        if self.options.kernel_trace:
            self._require_pair()
        for size in self.sizes:
            for row in sorted(self._carriers(), key=lambda row: row.layer, reverse=True):
                self._require_size(size, row)
        return self

    def _carriers(self) -> list[TransportRow]:
        """The transports' rows."""
        return [transport_row(name) for name in self.transports]

    def _require_size(self, size: int, row: TransportRow) -> None:
        if row.most_bytes is not None and size > row.most_bytes:
            raise ValueError(
                f"size {size} does not fit {row.message}, which takes {row.most_bytes} bytes at "
                "most"
            )
        if size < row.least_bytes:
            raise ValueError(
                f"size {size} cannot be sent over {row.title}; the least is {row.least_bytes} byte"
            )

    def _require_echoes(self, echoes: str) -> None:
        """Raises ValueError for what the answering kernel cannot do. Options of other transports
        are left to those of the block; where there are none, they are refused."""
        if not self.kind.asks_round_trip:
            raise ValueError(
                f"transport {echoes} and test {self.test} do not go together: the other host's "
                "kernel sends back each echo, which is test latency, and does nothing else"
            )
        if self.like is not None:
            raise ValueError(f"like {self.like} and transport {echoes} do not go together")
        if self.options.kernel_times:
            raise ValueError(f"kernel_times and transport {echoes} do not go together")
        given = [
            key
            for key, row in STUDY_OPTIONS.items()
            if echoes not in row.of and getattr(self.options, key) != row.default
        ]
        given += [] if self.call is None else ["call"]
        if self.transports == [echoes] and given:
            raise ValueError(
                f"{given[0]} and transport {echoes} do not go together: of the options echoes take "
                f"{', '.join(options_of(echoes))}"
            )

    def _check_common_clock(self) -> None:
        if self.kind.compares_clocks:
            if not only_ranks(self.transports) or self.sizes != [0]:
                raise ValueError("test clock needs transports = ['mpi'] and sizes = [0]")
            if self.count == 1:
                raise ValueError("test clock needs a count of 2 or more comparisons")
        if self.start != "barrier" and not self.kind.is_operation:
            raise ValueError(f"start = '{self.start}' goes with test collective only")
        if self.windows is not None and self.start != "window":
            raise ValueError("windows go with start = 'window' only")
        if self.clock == "wtime" and self.start == "window":
            raise ValueError(
                "clock = 'wtime' and start = 'window' do not go together: windows begin by each "
                "rank's own clock"
            )
        if self.keep is not None and not self.kind.is_operation:
            raise ValueError(f"keep = {self.keep} goes with test collective only")
        if self.clock != "tree" and not self._takes_clock():
            raise ValueError(
                f"clock = '{self.clock}' goes with tests collective and clock only"
                + (f", and MPI's {', '.join(names_of('wtime'))}" if self.clock == "wtime" else "")
            )
        if self.clock == "wtime" and self.both_timers:
            raise ValueError(
                "clock = 'wtime' and both_timers do not go together: MPI_Wtime is read beside the "
                "clock"
            )
        if self.clocks != "known" and not self.kind.has_common_clock:
            raise ValueError(f"clocks = '{self.clocks}' goes with tests collective and clock only")

    def _takes_clock(self) -> bool:
        between_two = self.kind.wtime and only_ranks(self.transports)
        return self.kind.has_common_clock or (self.clock == "wtime" and between_two)

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
        if not self.kind.is_round_trip:
            raise ValueError(
                f"kernel_times and test {self.test} do not go together: they are for latency and "
                "pingpong"
            )
        if any(row.counts_datagrams for row in self._carriers()) and min(self.sizes) < NUMBER_BYTES:
            raise ValueError(
                f"kernel_times need datagrams of at least {NUMBER_BYTES} bytes, the room of a "
                f"number; size {min(self.sizes)} has none"
            )

    def _require_pair(self) -> None:
        """Raises ValueError where there are not two workers with one connection between them."""
        if not any(row.has_sockets for row in self._carriers()):
            raise ValueError("kernel_trace goes with the transports tcp and udp")
        if self.streams > 1:
            raise ValueError("kernel_trace and streams of more than 1 do not go together")
        if self.kind.is_pattern or self.kind.is_unanswered:
            raise ValueError(
                f"kernel_trace and test {self.test} do not go together: it is of two workers"
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
        if only_ranks(self.transports):
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
