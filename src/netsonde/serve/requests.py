"""Requests of a stranger, checked strictly: schema/request.schema.json restated.

The tests hold both against each other. Where they differ, this is the stricter one (an integer
written as 1.0 is refused here).
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

# pydantic accepts typing.TypedDict only from Python 3.12 on.
from typing_extensions import TypedDict

from netsonde.catalogue import option
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.test import engine_names, test_row
from netsonde.catalogue.transport import names_with
from netsonde.tables import in_our_words

REQUEST_LINE_LIMIT_BYTES = 65536

Request = dict[str, Any]


def _whole(least: int, most: int) -> Any:
    return Annotated[int, Field(ge=least, le=most)]


def _word(*words: str) -> Any:
    return Literal.__getitem__(words)


def _text(pattern: str) -> Any:
    return Annotated[str, Field(pattern=pattern)]


def _table(fields: dict[str, Any], *, total: bool = True) -> Any:
    """A type of requests or of a part of one: these keys and no others, each of just its type."""
    made = TypedDict("Table", fields, total=total)  # type: ignore[misc]
    made.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[attr-defined]
    return made


def _wire_type(kind: option.Kind) -> Any:
    """What a request has for a kind: plain numbers, words and switches."""
    match kind:
        case option.Number(least, most):
            return _whole(least, most)
        case option.Choice(words):
            return _word(*words)
        case option.Text(pattern):
            return _text(pattern)
        case option.Switch():
            return bool


def _options_of(*transports: str) -> Any:
    """The table of what can be asked of the sockets of some transports."""
    return _table(
        {
            name: _wire_type(row.kind)
            for row in SOCKETS.values()
            for name in row.wire
            if set(transports) & set(row.of)
        },
        total=False,
    )


_NUMBER = _whole(1, 9007199254740991)
_SEED = _whole(0, 9007199254740991)
_TIMEOUT_NS = _whole(1_000_000, 86_400_000_000_000)
_DURATION_NS = _whole(1_000_000, 3_600_000_000_000)
_RATE = _whole(1000, 10**12)
_MESSAGES = _whole(1, 1 << 24)
_MEASUREMENTS = _whole(1, 1_000_000)
_Processor = Annotated[int, Field(ge=0, le=65536)]
_PORT = _whole(0, 65535)
_FAMILY = _word("ipv4", "ipv6")
_COOKIE = _text(r"^[0-9a-f]{32}$")
_KEY = _text(r"^[0-9a-f]{64}$")
_ADDRESS = Annotated[str, Field(min_length=2, max_length=64)]
_OPTIONS = _options_of(*names_with("has_sockets"))
_PAIR_TRANSPORT = _word(*sorted(names_with("has_sockets")))
# Threads and all pairs of ranks are of one MPI program, which no stranger starts.
_RUN_TEST = _word(
    *(
        name
        for name in engine_names("has_sockets", "has_ranks")
        if not (test_row(name).has_threads or test_row(name).is_all_pairs)
    )
)
_FIELDS: dict[str, dict[str, Any]] = {
    **{verb: {} for verb in ("facts", "snapshot", "sync", "rest", "offers", "close", "quit")},
    "listen": {
        "transport": _PAIR_TRANSPORT,
        "family": _FAMILY,
        "cookie": _COOKIE,
        "key": NotRequired[_KEY],
        "address": NotRequired[_ADDRESS],
        "port": NotRequired[_PORT],
        "allow_address": NotRequired[_ADDRESS],
        "options": NotRequired[_OPTIONS],
        "timeout_ns": _TIMEOUT_NS,
    },
    "run": {
        "test": _RUN_TEST,
        "start": NotRequired[_word("barrier", "window", "none")],
        "clocks": NotRequired[_word("known", "apart")],
        "operation": NotRequired[_text("^[a-z_]{1,32}$")],
        "root": NotRequired[_whole(0, 1048575)],
        "rotate_root": NotRequired[bool],
        "uneven": NotRequired[bool],
        "pattern": NotRequired[_word("half", "pairs", "ring")],
        "distance": NotRequired[_whole(1, 1048576)],
        "message_bytes": _whole(0, 1 << 32),
        "call_bytes": NotRequired[_whole(1, 1 << 30)],
        "count": NotRequired[_MESSAGES],
        "duration_ns": NotRequired[_DURATION_NS],
        "least_count": NotRequired[_MESSAGES],
        "rate_bit_per_s": NotRequired[_RATE],
        "interval_ns": NotRequired[_whole(1_000_000, 60_000_000_000)],
        "record_messages": NotRequired[bool],
        "system_counters": NotRequired[bool],
        "check_data": NotRequired[bool],
        "seed": NotRequired[_SEED],
        "settle_ns": NotRequired[_whole(0, 1_000_000_000)],
        "start_at_ns": NotRequired[_whole(1, (1 << 63) - 1)],
        "timeout_ns": _TIMEOUT_NS,
    },
    # From here on well formed, and never allowed to a stranger.
    "claim": {
        "what": _text("^[ -~]{1,300}$"),
        "folder": NotRequired[Annotated[str, Field(min_length=1, max_length=4096)]],
        "beside": NotRequired[bool],
    },
    "release": {},
    "generate": {
        "test": _word("stream"),
        "family": _FAMILY,
        "address": _ADDRESS,
        "port": _whole(1, 65535),
        "options": NotRequired[_OPTIONS],
        "message_bytes": _whole(1, 65527),
        "count": NotRequired[_MESSAGES],
        "duration_ns": NotRequired[_DURATION_NS],
        "rate_bit_per_s": _RATE,
        "record_messages": NotRequired[bool],
        "system_counters": NotRequired[bool],
        "seed": NotRequired[_SEED],
        "timeout_ns": _TIMEOUT_NS,
    },
    "read_clock": {
        "clock": _word(
            *("nothing", "counter", "realtime", "monotonic", "monotonic_raw", "realtime_coarse"),
            *("monotonic_coarse", "process_cputime", "thread_cputime", "gettimeofday"),
            "system_call",
        ),
        "count": _MEASUREMENTS,
        "timeout_ns": _TIMEOUT_NS,
    },
    "sleep": {
        "call": _word("nanosleep", "usleep", "clock_nanosleep", "select", "poll"),
        "asked_ns": _whole(0, 10**9),
        "count": _whole(1, 10_000),
        "timeout_ns": _TIMEOUT_NS,
    },
    "work": {
        "quantum_ns": _whole(1000, 10**8),
        "count": _MEASUREMENTS,
        "timeout_ns": _TIMEOUT_NS,
    },
    "copy": {
        "bytes": _whole(1, 1 << 28),
        "source": _word("warm", "cold"),
        "destination": _word("warm", "cold"),
        "arena_bytes": _whole(0, 1 << 31),
        "count": _MEASUREMENTS,
        "timeout_ns": _TIMEOUT_NS,
    },
    "hand_over": {
        "count": _MEASUREMENTS,
        "cpu": _Processor,
        "other_cpu": NotRequired[_Processor],
        "timeout_ns": _TIMEOUT_NS,
    },
    "burn": {
        "cpus": NotRequired[Annotated[list[_Processor], Field(max_length=65536)]],
        "share_permille": _whole(1, 1000),
        "nice": _whole(0, 19),
        "longest_ns": _whole(1, 86_400 * 10**9),
    },
    "hint": {
        "number": _word("double", "float", "int64"),
        "subintervals": _whole(2, 1 << 24),
        "threads": _whole(1, 1024),
        "timeout_ns": _TIMEOUT_NS,
    },
}
"""What each verb takes besides its name and the request's number."""
_FIELDS_BY_ROLE: dict[str, dict[str, Any]] = {
    "target": {"timeout_ns": _TIMEOUT_NS},
    # These two are well formed, and never allowed to a stranger.
    "origin": {
        "transport": _PAIR_TRANSPORT,
        "family": _FAMILY,
        "cookie": _COOKIE,
        "key": NotRequired[_KEY],
        "address": _ADDRESS,
        "port": _PORT,
        "options": NotRequired[_OPTIONS],
        "timeout_ns": _TIMEOUT_NS,
    },
    "alone": {
        "transport": _word(*names_with("is_echoed")),
        "family": _FAMILY,
        "address": _ADDRESS,
        "options": NotRequired[_options_of(*names_with("is_echoed"))],
    },
}
"""Of the verb open."""


def _check(verb: str, fields: dict[str, Any]) -> TypeAdapter[Any]:
    return TypeAdapter(_table({"verb": _word(verb), "request": _NUMBER, **fields}))


_CHECKS = {verb: _check(verb, fields) for verb, fields in _FIELDS.items()}
_OPEN = {
    role: _check("open", {"role": _word(role), **fields})
    for role, fields in _FIELDS_BY_ROLE.items()
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
