"""Whether a line of a worker is a record of schema/record.schema.json, checked by hand.

A general validator takes longer over a long series than its measurement took; a series' values
are checked by length here and decoded later, in netsonde.records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

RECORD_LINE_LIMIT_BYTES = 1 << 20
VALUES_LIMIT = 100_000  # names in a snapshot, facts or counters record
SERIES_PIECE_LIMIT_VALUES = 90_000
INTEGER_LIMIT = 1 << 64  # kernel counters are unsigned 64-bit numbers

Check = Callable[[object], bool]

_SERIES_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_ERROR_CODES = frozenset(
    (
        "bad_request",
        "refused",
        "timeout",
        "peer_lost",
        "limit",
        "no_memory",
        "data_corrupt",
        "unsupported",
        "system",
    )
)


class BadRecordError(ValueError):
    """What is wrong with a line, as the end of a sentence."""


def parse_record(line: bytes) -> dict[str, Any]:
    """The record on a line (with or without its newline). Raises BadRecordError."""
    if len(line) > RECORD_LINE_LIMIT_BYTES:
        raise BadRecordError(f"wrote a line over the limit of {RECORD_LINE_LIMIT_BYTES} bytes")
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise BadRecordError(f"wrote a line that is not JSON: {excerpt(line)}") from None
    check_record(record)
    return record  # type: ignore[no-any-return]


def check_record(record: object) -> None:
    """Raises BadRecordError where record is not one of schema/record.schema.json."""
    if type(record) is not dict:
        raise BadRecordError(f"wrote a line that is no JSON object: {excerpt(record)}")
    kind = record.get("record")
    checks = _KINDS.get(kind) if type(kind) is str else None
    if checks is None:
        raise BadRecordError(f"wrote a record of the unknown kind {excerpt(kind)}")
    _check_fields(f"a {kind} record", record, checks)
    if kind == "hello":
        clock = record["clock"]
        compared = _COUNTERS if "processors" in clock else {}
        _check_fields("a hello record's clock", clock, _CLOCK | compared)
    elif kind == "series":
        encoded_length = 4 * -(-8 * record["count"] // 3)
        if len(record["values"]) != encoded_length:
            raise BadRecordError(
                f"wrote a series record whose {len(record['values'])} characters are not "
                f"{record['count']} values"
            )


def excerpt(content: object, limit_characters: int = 80) -> str:
    """The beginning of something untrusted, safe to show."""
    text = content.decode(errors="replace") if isinstance(content, bytes) else str(content)
    printable = "".join(c if c.isprintable() else "?" for c in text[: limit_characters + 1].strip())
    shortened = printable[:limit_characters]
    return repr(shortened + "...") if len(text) > limit_characters else repr(shortened)


def _check_fields(what: str, fields: dict[str, Any], checks: dict[str, Check]) -> None:
    if fields.keys() != checks.keys():
        missing = sorted(checks.keys() - fields.keys())
        unknown = sorted(fields.keys() - checks.keys())
        wrong = f"without {', '.join(missing)}" if missing else f"with unknown {excerpt(unknown)}"
        raise BadRecordError(f"wrote {what} {wrong}")
    for name, check in checks.items():
        if not check(fields[name]):
            raise BadRecordError(f"wrote {what} whose {name} is {excerpt(fields[name])}")


def _refuse_constant(text: str) -> object:
    raise ValueError(text)


def _integer(least: int = -INTEGER_LIMIT, most: int = INTEGER_LIMIT) -> Check:
    def check(value: object) -> bool:
        return type(value) is int and least <= value <= most

    return check


def _text(least: int = 0, most: int = 65536) -> Check:
    def check(value: object) -> bool:
        return type(value) is str and least <= len(value) <= most

    return check


def _one_of(*allowed: object) -> Check:
    def check(value: object) -> bool:
        return type(value) in (str, int) and value in allowed

    return check


def _number(value: object) -> bool:
    return type(value) in (int, float)


def _integers(value: object) -> bool:
    return (
        type(value) is dict
        and len(value) <= VALUES_LIMIT
        and all(type(v) is int and -INTEGER_LIMIT <= v <= INTEGER_LIMIT for v in value.values())
    )


def _scalars(value: object) -> bool:
    return (
        type(value) is dict
        and len(value) <= VALUES_LIMIT
        and all(type(v) in (int, float, str, bool) for v in value.values())
    )


def _series_name(value: object) -> bool:
    return type(value) is str and len(value) <= 64 and _SERIES_NAME.match(value) is not None


_HOST = _text(1, 255)
_RANK = _integer(0, 1048575)
_FROM_ZERO = _integer(0)
_OF_REQUEST: dict[str, Check] = {
    "record": _text(),
    "request": _FROM_ZERO,
    "rank": _RANK,
    "host": _HOST,
}
_CLOCK: dict[str, Check] = {
    "source": _one_of("cycle_counter", "monotonic"),
    "tick_ns": _number,
    "resolution_ns": _number,
    "cost_ns": _number,
    "reason": _text(),
}
_COUNTERS: dict[str, Check] = {
    "processors": _text(),
    "apart_least_ns": _number,
    "apart_most_ns": _number,
}
"""Of the counters of two processors, where both were seen beside each other."""
_KINDS: dict[str, dict[str, Check]] = {
    "hello": {
        "record": _text(),
        "protocol": _one_of(1),
        "worker": _one_of("sonde-worker", "sonde-mpi"),
        "version": _text(),
        "host": _HOST,
        "rank": _RANK,
        "ranks": _integer(1),
        "pid": _integer(),
        "clock": lambda value: type(value) is dict,
    },
    "facts": {**_OF_REQUEST, "values": _scalars},
    "series": {
        **_OF_REQUEST,
        "name": _series_name,
        "unit": _one_of("ns", "bytes", "count", "bit_per_s"),
        "offset": _FROM_ZERO,
        "count": _integer(0, SERIES_PIECE_LIMIT_VALUES),
        "total": _FROM_ZERO,
        "values": _text(most=RECORD_LINE_LIMIT_BYTES),
    },
    "counters": {**_OF_REQUEST, "values": _integers},
    "snapshot": {
        **_OF_REQUEST,
        "phase": _one_of("before", "after", "now"),
        "time_ns": _integer(),
        "cost_ns": _integer(),
        "values": _integers,
    },
    "done": {**_OF_REQUEST, "verb": _text(), "values": _scalars},
    "error": {
        **_OF_REQUEST,
        "code": lambda value: type(value) is str and value in _ERROR_CODES,
        "message": _text(),
    },
    "bye": {
        "record": _text(),
        "rank": _RANK,
        "host": _HOST,
        "reason": _one_of("quit", "stdin_closed", "deadline", "signal"),
    },
}
