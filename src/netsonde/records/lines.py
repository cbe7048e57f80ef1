"""A journal's line to its entry, without handing the samples through the JSON reader.

Nearly all of a large journal are samples, in base64. They hold nothing that JSON escapes, so they
are cut out of the line, the rest is read as JSON, and the decoder gets the bytes of the line.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

_BATCH = b'{"entry":"batch"'
_VALUES = b'"values":"'
"""It cannot stand inside a text of JSON, where each quotation mark has a backslash before it."""


def parse_line(line: bytes) -> dict[str, Any]:
    """The entry of one line; ``values`` of the series of a batch are base64 as bytes.

    Raises ValueError where the line is no JSON.
    """
    entry = _cut(line) if line.startswith(_BATCH) else None
    return _loads(line) if entry is None else entry


def _cut(line: bytes) -> dict[str, Any] | None:
    """The entry by the short way, or None where the line is not as netsonde writes it."""
    view = memoryview(line)
    rest: list[bytes | memoryview] = []
    texts: list[memoryview] = []
    at = 0
    while (found := line.find(_VALUES, at)) >= 0:
        begin = found + len(_VALUES)
        end = line.find(b'"', begin)
        if end < 0 or line.find(b"\\", begin, end) >= 0:
            return None
        rest += [view[at:begin], b"%d" % len(texts)]
        texts.append(view[begin:end])
        at = end
    entry = _loads(b"".join([*rest, view[at:]]))
    records = entry.get("records")
    if not isinstance(records, list):
        return None
    series = [r for r in records if isinstance(r, dict) and isinstance(r.get("values"), str)]
    if len(series) != len(texts):
        return None
    for record in series:
        record["values"] = texts[int(record["values"])]
    return entry


def _loads(text: bytes) -> dict[str, Any]:
    try:
        entry = orjson.loads(text)
    except ValueError:
        entry = json.loads(text)  # which knows NaN and integers of any length
    if not isinstance(entry, dict):
        raise ValueError("it holds no object")
    return entry
