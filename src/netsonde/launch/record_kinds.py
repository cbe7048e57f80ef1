"""Records of workers as types: what schema/record.schema.json says, for msgspec to check."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.json import Decoder

VALUES_LIMIT = 100_000  # names in a snapshot, facts or counters record
SERIES_PIECE_LIMIT_VALUES = 90_000
COUNTER_LIMIT = 1 << 64  # kernel counters are unsigned 64-bit numbers

Integer = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
FromZero = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Rank = Annotated[int, Meta(ge=0, le=1_048_575)]
Host = Annotated[str, Meta(min_length=1, max_length=255)]
Text = Annotated[str, Meta(max_length=65_536)]
Scalars = Annotated[dict[str, int | float | str | bool], Meta(max_length=VALUES_LIMIT)]
Integers = Annotated[dict[str, int], Meta(max_length=VALUES_LIMIT)]


class _Record(Struct, tag_field="record", forbid_unknown_fields=True):
    rank: Rank
    host: Host


class _OfRequest(_Record):
    request: FromZero


class Clock(Struct, forbid_unknown_fields=True):
    """What two CPUs' counters are apart is told where both were seen beside each other."""

    source: Literal["cycle_counter", "monotonic"]
    tick_ns: float
    resolution_ns: float
    cost_ns: float
    reason: Text
    processors: Text | None = None
    apart_least_ns: float | None = None
    apart_most_ns: float | None = None

    def __post_init__(self) -> None:
        told = {self.processors is None, self.apart_least_ns is None, self.apart_most_ns is None}
        if len(told) > 1:
            raise ValueError("`processors` goes with how far they are apart")


class Hello(_Record, tag="hello"):
    protocol: Literal[1]
    worker: Annotated[str, Meta(pattern=r"^sonde-[a-z]+\Z", max_length=32)]
    version: Text
    ranks: Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
    pid: Integer
    clock: Clock


class Facts(_OfRequest, tag="facts"):
    values: Scalars


class Series(_OfRequest, tag="series"):
    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*\Z", max_length=64)]
    unit: Literal["ns", "bytes", "count", "bit_per_s"]
    offset: FromZero
    count: Annotated[int, Meta(ge=0, le=SERIES_PIECE_LIMIT_VALUES)]
    total: FromZero
    values: str

    def __post_init__(self) -> None:
        if len(self.values) != 4 * -(-8 * self.count // 3):
            raise ValueError(f"{len(self.values)} characters are not {self.count} values")


class Counters(_OfRequest, tag="counters"):
    values: Integers

    def __post_init__(self) -> None:
        _check_counters(self.values)


class Snapshot(_OfRequest, tag="snapshot"):
    phase: Literal["before", "after", "now"]
    time_ns: Integer
    cost_ns: Integer
    values: Integers

    def __post_init__(self) -> None:
        _check_counters(self.values)


class Done(_OfRequest, tag="done"):
    verb: Text
    values: Scalars


class Error(_OfRequest, tag="error"):
    code: Literal[
        "bad_request", "refused", "timeout", "peer_lost", "limit", "no_memory", "data_corrupt",
        "unsupported", "system",
    ]  # fmt: skip
    message: Text


class Bye(_Record, tag="bye"):
    reason: Literal["quit", "stdin_closed", "deadline", "signal"]


KINDS: dict[str, type[Struct]] = {
    "hello": Hello,
    "facts": Facts,
    "series": Series,
    "counters": Counters,
    "snapshot": Snapshot,
    "done": Done,
    "error": Error,
    "bye": Bye,
}


def _check_counters(values: dict[str, int]) -> None:
    most, least = max(values.values(), default=0), min(values.values(), default=0)
    if most > COUNTER_LIMIT or least < -COUNTER_LIMIT:
        raise ValueError("a counter is beyond 64 bits")


# What msgspec knows of a type it finds out when the type is first used, and a thread that uses it
# meanwhile crashes: two workers greet at once. The import is one thread's.
for _kind in KINDS.values():
    Decoder(_kind)
