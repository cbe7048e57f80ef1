"""Requests of a stranger, checked strictly: schema/request.schema.json restated.

The tests hold both against each other. Where they differ, this is the stricter one (an integer
written as 1.0 is refused here).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

# pydantic accepts typing.TypedDict only from Python 3.12 on.
from typing_extensions import TypedDict

from netsonde.catalogue import option
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.test import engine_names, test_row
from netsonde.catalogue.transport import names_with
from netsonde.tables import in_our_words

REQUEST_LINE_LIMIT_BYTES = 65536

_STRICT = ConfigDict(extra="forbid", strict=True)

Request = dict[str, Any]
Number = Annotated[int, Field(ge=1, le=9007199254740991)]
TimeoutNs = Annotated[int, Field(ge=1_000_000, le=86_400_000_000_000)]
Cookie = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Address = Annotated[str, Field(min_length=2, max_length=64)]
Port = Annotated[int, Field(ge=0, le=65535)]


def _wire_type(kind: option.Kind) -> Any:
    """What a request has for a kind: plain numbers, words and switches."""
    match kind:
        case option.Number(least, most):
            return Annotated[int, Field(ge=least, le=most)]
        case option.Choice(words):
            return Literal[words]
        case option.Text(pattern):
            return Annotated[str, Field(pattern=pattern)]
        case option.Switch():
            return bool


def _options_of(*transports: str) -> Any:
    """The table of what can be asked of the sockets of some transports."""
    fields = {
        name: _wire_type(row.kind)
        for row in SOCKETS.values()
        for name in row.wire
        if set(transports) & set(row.of)
    }
    table = TypedDict("Options", fields, total=False)  # type: ignore[misc]
    table.__pydantic_config__ = _STRICT  # type: ignore[attr-defined]
    return table


if TYPE_CHECKING:
    Options = dict[str, Any]
    EchoOptions = dict[str, Any]
    PairTransport = str
    EchoTransport = str
    RunTest = str
else:
    Options = _options_of(*names_with("has_sockets"))
    EchoOptions = _options_of(*names_with("is_echoed"))
    PairTransport = Literal[tuple(sorted(names_with("has_sockets")))]
    EchoTransport = Literal[names_with("is_echoed")]
    # Threads are of one MPI program, which no stranger starts.
    RunTest = Literal[
        tuple(
            name
            for name in engine_names("has_sockets", "has_ranks")
            if not test_row(name).has_threads
        )
    ]


class Plain(TypedDict):
    """facts, snapshot, sync, rest, offers, close and quit."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["facts", "snapshot", "sync", "rest", "offers", "close", "quit"]
    request: Number


class Listen(TypedDict):
    """The target listens for the origin."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["listen"]
    request: Number
    transport: PairTransport
    family: Literal["ipv4", "ipv6"]
    cookie: Cookie
    address: NotRequired[Address]
    port: NotRequired[Port]
    allow_address: NotRequired[Address]
    options: NotRequired[Options]
    timeout_ns: TimeoutNs


class OpenTarget(TypedDict):
    """The target accepts the origin."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["open"]
    request: Number
    role: Literal["target"]
    timeout_ns: TimeoutNs


class OpenOrigin(TypedDict):
    """The origin connects. Well formed, and never allowed to a stranger."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["open"]
    request: Number
    role: Literal["origin"]
    transport: PairTransport
    family: Literal["ipv4", "ipv6"]
    cookie: Cookie
    address: Address
    port: Port
    options: NotRequired[Options]
    timeout_ns: TimeoutNs


class OpenAlone(TypedDict):
    """Echoes to somebody else. Well formed, and never allowed to a stranger."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["open"]
    request: Number
    role: Literal["alone"]
    transport: EchoTransport
    family: Literal["ipv4", "ipv6"]
    address: Address
    options: NotRequired[EchoOptions]


class Run(TypedDict):
    """One batch of a test."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["run"]
    request: Number
    test: RunTest
    start: NotRequired[Literal["barrier", "window", "none"]]
    clocks: NotRequired[Literal["known", "apart"]]
    operation: NotRequired[Annotated[str, Field(pattern="^[a-z_]{1,32}$")]]
    root: NotRequired[Annotated[int, Field(ge=0, le=1048575)]]
    rotate_root: NotRequired[bool]
    uneven: NotRequired[bool]
    pattern: NotRequired[Literal["half", "pairs", "ring"]]
    distance: NotRequired[Annotated[int, Field(ge=1, le=1048576)]]
    message_bytes: Annotated[int, Field(ge=0, le=1 << 32)]
    call_bytes: NotRequired[Annotated[int, Field(ge=1, le=1 << 30)]]
    count: NotRequired[Annotated[int, Field(ge=1, le=1 << 24)]]
    duration_ns: NotRequired[Annotated[int, Field(ge=1_000_000, le=3_600_000_000_000)]]
    least_count: NotRequired[Annotated[int, Field(ge=1, le=1 << 24)]]
    rate_bit_per_s: NotRequired[Annotated[int, Field(ge=1000, le=10**12)]]
    interval_ns: NotRequired[Annotated[int, Field(ge=1_000_000, le=60_000_000_000)]]
    record_messages: NotRequired[bool]
    system_counters: NotRequired[bool]
    check_data: NotRequired[bool]
    seed: NotRequired[Annotated[int, Field(ge=0, le=9007199254740991)]]
    settle_ns: NotRequired[Annotated[int, Field(ge=0, le=1_000_000_000)]]
    start_at_ns: NotRequired[Annotated[int, Field(ge=1, le=(1 << 63) - 1)]]
    timeout_ns: TimeoutNs


class Generate(TypedDict):
    """Traffic to somebody else. Well formed, and never allowed to a stranger."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["generate"]
    request: Number
    test: Literal["stream"]
    family: Literal["ipv4", "ipv6"]
    address: Address
    port: Annotated[int, Field(ge=1, le=65535)]
    options: NotRequired[Options]
    message_bytes: Annotated[int, Field(ge=1, le=65527)]
    count: NotRequired[Annotated[int, Field(ge=1, le=1 << 24)]]
    duration_ns: NotRequired[Annotated[int, Field(ge=1_000_000, le=3_600_000_000_000)]]
    rate_bit_per_s: Annotated[int, Field(ge=1000, le=10**12)]
    record_messages: NotRequired[bool]
    system_counters: NotRequired[bool]
    seed: NotRequired[Annotated[int, Field(ge=0, le=9007199254740991)]]
    timeout_ns: TimeoutNs


class ReadClock(TypedDict):
    """A clock of the host is read. Well formed, and never allowed to a stranger."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["read_clock"]
    request: Number
    clock: Literal[
        "nothing",
        "counter",
        "realtime",
        "monotonic",
        "monotonic_raw",
        "realtime_coarse",
        "monotonic_coarse",
        "process_cputime",
        "thread_cputime",
        "gettimeofday",
        "system_call",
    ]
    count: Annotated[int, Field(ge=1, le=1_000_000)]
    timeout_ns: TimeoutNs


Measurements = Annotated[int, Field(ge=1, le=1_000_000)]
Processor = Annotated[int, Field(ge=0, le=65536)]


class Sleep(TypedDict):
    """The host sleeps. Well formed, and never allowed to a stranger."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["sleep"]
    request: Number
    call: Literal["nanosleep", "usleep", "clock_nanosleep", "select", "poll"]
    asked_ns: Annotated[int, Field(ge=0, le=10**9)]
    count: Annotated[int, Field(ge=1, le=10_000)]
    timeout_ns: TimeoutNs


class Work(TypedDict):
    """A fixed amount of work, again and again. Never allowed to a stranger, as the next three."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["work"]
    request: Number
    quantum_ns: Annotated[int, Field(ge=1000, le=10**8)]
    count: Measurements
    timeout_ns: TimeoutNs


class Copy(TypedDict):
    """Memory is copied."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["copy"]
    request: Number
    bytes: Annotated[int, Field(ge=1, le=1 << 28)]
    source: Literal["warm", "cold"]
    destination: Literal["warm", "cold"]
    arena_bytes: Annotated[int, Field(ge=0, le=1 << 31)]
    count: Measurements
    timeout_ns: TimeoutNs


class HandOver(TypedDict):
    """A byte goes round between two threads."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["hand_over"]
    request: Number
    count: Measurements
    cpu: Processor
    other_cpu: NotRequired[Processor]
    timeout_ns: TimeoutNs


class Burn(TypedDict):
    """Other work begins."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["burn"]
    request: Number
    cpus: NotRequired[Annotated[list[Processor], Field(max_length=65536)]]
    share_permille: Annotated[int, Field(ge=1, le=1000)]
    nice: Annotated[int, Field(ge=0, le=19)]
    longest_ns: Annotated[int, Field(ge=1, le=86_400 * 10**9)]


class Hint(TypedDict):
    """HINT runs."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    verb: Literal["hint"]
    request: Number
    number: Literal["double", "float", "int64"]
    subintervals: Annotated[int, Field(ge=2, le=1 << 24)]
    threads: Annotated[int, Field(ge=1, le=1024)]
    timeout_ns: TimeoutNs


_PLAIN: TypeAdapter[Any] = TypeAdapter(Plain)
_CHECKS: dict[str, TypeAdapter[Any]] = {
    "facts": _PLAIN,
    "snapshot": _PLAIN,
    "sync": _PLAIN,
    "close": _PLAIN,
    "quit": _PLAIN,
    "listen": TypeAdapter(Listen),
    "run": TypeAdapter(Run),
    "generate": TypeAdapter(Generate),
    "read_clock": TypeAdapter(ReadClock),
    "sleep": TypeAdapter(Sleep),
    "work": TypeAdapter(Work),
    "copy": TypeAdapter(Copy),
    "hand_over": TypeAdapter(HandOver),
    "hint": TypeAdapter(Hint),
    "burn": TypeAdapter(Burn),
    "rest": _PLAIN,
    "offers": _PLAIN,
}
_OPEN: dict[str, TypeAdapter[Any]] = {
    "target": TypeAdapter(OpenTarget),
    "origin": TypeAdapter(OpenOrigin),
    "alone": TypeAdapter(OpenAlone),
}


class BadRequestError(ValueError):
    """Why a line is no request, as a sentence; request is its number where it is known, else 0."""

    def __init__(self, message: str, request: int = 0) -> None:
        super().__init__(message)
        self.request = request


def parse_request(line: bytes) -> Request:
    """The request on a line. Raises BadRequestError."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise BadRequestError("the line is not a JSON object") from None
    return check_request(content)


def check_request(content: object) -> Request:
    """The request that a JSON value is. Raises BadRequestError."""
    if not isinstance(content, dict):
        raise BadRequestError("the line is not a JSON object")
    given = content.get("request")
    number = given if type(given) is int and 0 < given <= 9007199254740991 else 0
    verb = content.get("verb")
    checks, key = (_OPEN, content.get("role")) if verb == "open" else (_CHECKS, verb)
    check = checks.get(key) if isinstance(key, str) else None
    if check is None:
        what = "role" if checks is _OPEN else "verb"
        raise BadRequestError(f"the {what} {_shown(key)} is unknown", number)
    try:
        request: Request = check.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part)[:40] for part in first["loc"])
        raise BadRequestError(f"{where}: {in_our_words(first['msg'])}", number) from None
    if verb in ("run", "generate") and ("count" in request) == ("duration_ns" in request):
        raise BadRequestError("exactly one of count and duration_ns is needed", number)
    if "least_count" in request and "duration_ns" not in request:
        raise BadRequestError("least_count goes with duration_ns", number)
    return request


def _shown(value: object) -> str:
    return repr(value[:40]) if isinstance(value, str) else "that is no text"
