"""The block ``[[measure]]`` of a study: what is measured, and what does not go together in it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from netsonde.busy import parse_busy
from netsonde.catalogue.options.block_rules import BLOCK_RULES, LAST_RULES
from netsonde.catalogue.options.commands import BLOCK
from netsonde.catalogue.options.frames import RELIABLE
from netsonde.catalogue.options.mpi import AS_THEY_ARE, MOST_RANKS
from netsonde.catalogue.rule import check
from netsonde.catalogue.test import Test as TestRow
from netsonde.catalogue.test import test_row
from netsonde.catalogue.transport import names_with, only_ranks
from netsonde.operations import PAIRS_LIMIT
from netsonde.patterns import MOST_OF_ALL_PAIRS
from netsonde.peers.mpi_techniques import MPI_TOOL_RULES, MpiTool
from netsonde.peers.techniques import TOOL_RULES, Tool
from netsonde.study.options_table import OptionsTable
from netsonde.study.values import (
    Duration,
    Listed,
    Names,
    Rate,
    Size,
    Sizes,
    Test,
    Transport,
    Written,
    as_names,
    as_size,
    expand_ranks,
    expand_sizes,
    of,
)
from netsonde.study.windows_table import WindowsTable
from netsonde.tables import Strict, text_by

MOST_THREADS = 128
PERTURB_LIMIT_BYTES = 4096
REFINE_LIMIT = 200
MTU_LEAST_BYTES = 576
"""What every host must take over IPv4 (RFC 791)."""
MTU_MOST_BYTES = 65521
"""What a device of a lab takes."""


Rank = Annotated[int, Field(ge=0, le=MOST_RANKS - 1)]
Threads = Annotated[int, Field(ge=1, le=MOST_THREADS)]
Hosts = Annotated[int, Field(ge=2, le=MOST_OF_ALL_PAIRS)]
Mtu = Annotated[int, Field(ge=MTU_LEAST_BYTES, le=MTU_MOST_BYTES)]


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


@text_by
def _as_other_work(value: str) -> str:
    parse_busy(value)
    return value


def _several(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


FactorValue = bool | int | float | str
OtherWork = Annotated[str, BeforeValidator(_as_other_work, json_schema_input_type=str)]


class MeasureTable(Strict):
    """One block of points: every combination of transports, operations, MTUs and sizes.

    ``partners``: pairs of ranks in place of a pattern. ``rank_pair``: the ranks of a test between
    two; ``each`` is rank 0 with every other one, ``all`` every two ranks, one pair after the other,
    and ``slowest`` rank 0 with the one that a short search finds to be slowest. ``cache``:
    ``flush`` walks through a buffer larger than the last-level cache before every repetition,
    ``rotate`` takes other buffers in every one, and with ``fresh`` each rank writes new data.
    ``threads``: each number is a measurement of its own beside that of one thread.
    ``background_load`` is the other work that hosts are given (:mod:`netsonde.busy`), ``refine``
    adds up to so many sizes for each transport where the curve breaks
    (:mod:`netsonde.study.refine`).

    ``vary``, ``design`` and ``baseline`` make several blocks of one before it is checked
    (:mod:`netsonde.study.vary`), so that none has them afterwards. ``exclude`` leaves points out:
    those that meet all keys of one of its tables.
    """

    transports: Annotated[
        list[Transport],
        BeforeValidator(_as_list, json_schema_input_type=Transport | list[Transport]),
        Field(min_length=1),
    ] = Field(description="The transports: tcp, udp, icmp, mpi; one or a list.")
    test: Test = Field(description="What is measured.")
    sizes: Sizes = Field(description=BLOCK["sizes"].words)
    operations: Annotated[list[str], BeforeValidator(_as_list, json_schema_input_type=Names)] = of(
        BLOCK["operations"], []
    )
    root: Rank | Literal["rotate"] | None = of(BLOCK["root"])
    pattern: str | None = of(BLOCK["pattern"])
    partners: list[tuple[Rank, Rank]] = of(BLOCK["partners"], [], max_length=PAIRS_LIMIT)
    rank_pair: tuple[Rank, Rank] | Literal["each", "all", "slowest"] | None = of(BLOCK["rank_pair"])
    uneven: bool = of(BLOCK["uneven"])
    window: int | None = of(BLOCK["window"])
    algorithm: str | None = of(BLOCK["algorithm"])
    reduction: str | None = of(BLOCK["reduction"])
    datatype: str | None = of(BLOCK["datatype"])
    cache: str = of(BLOCK["cache"])
    cache_bytes: int | None = of(BLOCK["cache_bytes"])
    align: int | None = of(BLOCK["align"])
    overlap: bool = of(BLOCK["overlap"])
    polls: int | None = of(BLOCK["polls"])
    size_of: str = of(BLOCK["size_of"])
    threads: list[Threads] = of(BLOCK["threads"], [], max_length=16)
    both_timers: bool = of(BLOCK["both_timers"])
    timer_overhead: str = of(BLOCK["timer_overhead"])
    call: Size | None = of(BLOCK["call"])
    count: int | None = of(BLOCK["count"])
    rate: Rate | None = of(BLOCK["rate"])
    streams: int = of(BLOCK["streams"])
    outstanding: int | None = of(BLOCK["outstanding"])
    echo: str = of(BLOCK["echo"])
    label: str | None = Field(
        None, min_length=1, max_length=160, description="What the report calls these points."
    )
    port: int | None = of(BLOCK["port"])
    pairs: str | None = of(BLOCK["pairs"])
    among: Annotated[list[Hosts], BeforeValidator(expand_ranks, json_schema_input_type=Listed)] = (
        of(BLOCK["among"], [], max_length=16)
    )
    loads: Annotated[
        list[Load], BeforeValidator(_as_loads, json_schema_input_type=str | list[float | str])
    ] = of(BLOCK["loads"], [])
    mtu: Annotated[list[Mtu], BeforeValidator(expand_sizes, json_schema_input_type=Listed)] = of(
        BLOCK["mtu"], [], max_length=64
    )
    background_load: Annotated[
        list[OtherWork], BeforeValidator(as_names, json_schema_input_type=Names)
    ] = of(BLOCK["background_load"], [], max_length=64)
    cap: Duration | None = Field(
        None, description="The most time for a point, in place of the study's."
    )
    check_data: bool = of(BLOCK["check_data"])
    start: str = of(BLOCK["start"])
    windows: WindowsTable | None = of(BLOCK["windows"])
    compare_clocks: str = of(BLOCK["compare_clocks"])
    clock_method: str = of(BLOCK["clock_method"])
    keep: int | None = of(BLOCK["keep"])
    perturb: Annotated[
        int,
        BeforeValidator(as_size, json_schema_input_type=Written),
        Field(ge=0, le=PERTURB_LIMIT_BYTES),
    ] = of(BLOCK["perturb"], 0)
    refine: int = Field(0, ge=0, le=REFINE_LIMIT, description=BLOCK["refine"].words)
    passes: int = of(BLOCK["passes"])
    like: Tool | MpiTool | None = of(BLOCK["like"])
    omit: Duration | None = of(BLOCK["omit"])
    options: OptionsTable = Field(
        OptionsTable(), description="Options of the connection that is measured."
    )
    vary: dict[str, list[FactorValue]] | None = Field(
        None, description="Factors: keys of the block or of options, each with a list of values."
    )
    design: Literal["factorial", "one-at-a-time"] | None = Field(
        None, description="Every combination of the factors, or one at a time."
    )
    baseline: dict[str, FactorValue] | None = Field(
        None,
        description="Values of the other factors, one at a time; else their first ones.",
    )
    exclude: list[dict[str, FactorValue | list[FactorValue]]] = Field(
        [],
        max_length=1000,
        description="Points to leave out: those that meet all keys of a table.",
    )

    @model_validator(mode="before")
    @classmethod
    def _whole_is_reliable(cls, content: Any) -> Any:
        """What is to come whole is asked for so, of transports that have a choice."""
        if not isinstance(content, dict) or not test_row(str(content.get("test"))).is_whole:
            return content
        names, options = as_names(content.get("transports")), content.get("options") or {}
        if {*names_with("has_frames")}.isdisjoint(names) or not isinstance(options, dict):
            return content
        return {**content, "options": {RELIABLE: True, **options}}

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

    @property
    def of_ranks(self) -> dict[str, Any]:
        """What was chosen of MPI's options, by the names of a point; of several pairs of ranks none
        is chosen yet."""
        chosen: dict[str, Any] = {
            row.wire[0]: value
            for row in AS_THEY_ARE
            if (value := getattr(self, row.key)) not in (None, row.default)
        }
        if self.timer_overhead != "kept":
            chosen["timer_overhead"] = self.timer_overhead
        if isinstance(self.rank_pair, tuple):
            chosen["pair"] = self.rank_pair
        if self.partners:
            chosen |= {"pattern": "list", "partners": tuple(self.partners)}
        return chosen

    @model_validator(mode="after")
    def _possible(self) -> MeasureTable:
        facts = {**vars(self.options), **vars(self), "kind": self.kind}
        of_tools = MPI_TOOL_RULES if only_ranks(self.transports) else TOOL_RULES
        check((*BLOCK_RULES, *(of_tools if self.like else ()), *LAST_RULES), facts)
        return self
