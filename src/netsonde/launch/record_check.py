"""Whether a line of a worker is a record of schema/record.schema.json."""

from __future__ import annotations

from typing import Any

RECORD_LINE_LIMIT_BYTES = 1 << 20


class BadRecordError(ValueError):
    """What is wrong with a line, as the end of a sentence."""


def parse_record(line: bytes) -> dict[str, Any]:
    """The record on a line (with or without its newline). Raises BadRecordError."""
    # Late: who only asks for --help reads no record, and the library is a part of each start.
    import msgspec

    if len(line) > RECORD_LINE_LIMIT_BYTES:
        raise BadRecordError(f"wrote a line over the limit of {RECORD_LINE_LIMIT_BYTES} bytes")
    try:
        record = msgspec.json.decode(line)
    except (ValueError, RecursionError, msgspec.DecodeError):
        raise BadRecordError(f"wrote a line that is not JSON: {excerpt(line)}") from None
    check_record(record)
    return record  # type: ignore[no-any-return]


def check_record(record: object) -> None:
    """Raises BadRecordError where record is not one of schema/record.schema.json."""
    import msgspec

    from netsonde.launch.record_kinds import KINDS

    if type(record) is not dict:
        raise BadRecordError(f"wrote a line that is no JSON object: {excerpt(record)}")
    kind = record.get("record")
    if type(kind) is not str or kind not in KINDS:
        raise BadRecordError(f"wrote a record of the unknown kind {excerpt(kind)}")
    try:
        msgspec.convert(record, KINDS[kind])
    except msgspec.ValidationError as error:
        raise BadRecordError(f"wrote a {kind} record with a fault: {excerpt(str(error))}") from None


def excerpt(content: object, limit_characters: int = 80) -> str:
    """The beginning of something untrusted, safe to show."""
    text = content.decode(errors="replace") if isinstance(content, bytes) else str(content)
    printable = "".join(c if c.isprintable() else "?" for c in text[: limit_characters + 1].strip())
    shortened = printable[:limit_characters]
    return repr(shortened + "...") if len(text) > limit_characters else repr(shortened)
