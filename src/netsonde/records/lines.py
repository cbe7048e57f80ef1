"""A journal's line to its entry, without handing what is large through the JSON reader.

Nearly all of a large journal are samples, in base64, and snapshots of counters. Samples hold
nothing that JSON escapes, so they are cut out of the line, the rest is read as JSON, and the
decoder gets the bytes of the line. A snapshot's counters are cut out likewise; they stay in the
file until somebody asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson

from netsonde.names import only_text

BATCH = b'{"entry":"batch"'
"""How the line of a batch begins."""
Later = Callable[[int, int], object]
"""Given where the values of a snapshot begin and end in the text, what to put in their place."""
_VALUES = b'"values":'
"""It cannot stand inside a text of JSON, where each quotation mark has a backslash before it."""
_QUOTE, _BRACE = b'"{'
_LEAST_LEFT_BYTES = 1024
"""Fewer counters are sooner read than left."""


def parse_line(
    text: bytes, begin: int = 0, end: int | None = None, later: Later | None = None
) -> dict[str, Any]:
    """The entry of the line text[begin:end]; ``values`` of the series of a batch are base64 as
    bytes, and those of its snapshots what ``later`` makes, if given and they are many.

    Raises ValueError where the line is no JSON.
    """
    end = len(text) if end is None else end
    entry = _cut(text, begin, end, later) if text.startswith(BATCH, begin, end) else None
    return _loads(memoryview(text)[begin:end]) if entry is None else entry


def _cut(text: bytes, begin: int, end: int, later: Later | None) -> dict[str, Any] | None:
    """The entry by the short way, or None where the line is not as netsonde writes it."""
    view = memoryview(text)
    rest: list[bytes | memoryview] = []
    cut: list[object] = []
    at = search = begin
    while (found := text.find(_VALUES, search, end)) >= 0:
        first = found + len(_VALUES)
        if text[first] == _QUOTE:
            last = text.find(b'"', first + 1, end)
            if last < 0 or text.find(b"\\", first, last) >= 0:
                return None
            rest += [view[at:first], b'"%d"' % len(cut)]
            cut.append(view[first + 1 : last])
            at = search = last + 1
        elif text[first] != _BRACE:
            return None
        elif later is None or not (last := _end_of_counters(text, first, end)):
            search = first
        else:
            rest += [view[at:first], b"%d" % len(cut)]
            cut.append((first, last))
            at = search = last
    entry = _put_back(b"".join([*rest, view[at:end]]), cut)
    if entry is None or later is None:
        return entry
    for record in entry["records"]:
        if isinstance(record, dict) and isinstance(place := record.get("values"), tuple):
            is_snapshot = record.get("record") == "snapshot"
            record["values"] = later(*place) if is_snapshot else _loads(view[slice(*place)])
    return entry


def _end_of_counters(text: bytes, first: int, end: int) -> int:
    """Behind the brace that closes an object, if it is large, flat and without escapes; else 0."""
    last = text.find(b"}", first, end) + 1
    if last - first < _LEAST_LEFT_BYTES or text.find(b"{", first + 1, last) >= 0:
        return 0
    return 0 if text.find(b"\\", first, last) >= 0 else last


def _put_back(rest: bytes, cut: list[object]) -> dict[str, Any] | None:
    """The entry with what was cut out of it; None where that does not belong to its records."""
    if b"\\" in rest:
        return None  # else a brace within a name would leave an odd number of quotation marks
    try:
        entry = _loads(rest)
    except ValueError:
        return None
    records = entry.get("records")
    if not isinstance(records, list):
        return None
    held = [r for r in records if isinstance(r, dict) and isinstance(r.get("values"), str | int)]
    if len(held) != len(cut):
        return None
    for record in held:
        record["values"] = cut[int(record["values"])]
    return entry


def _loads(text: bytes | memoryview) -> dict[str, Any]:
    try:
        entry = orjson.loads(text)
    except ValueError:
        try:  # this reader knows NaN and integers of any length
            entry = only_text(json.loads(bytes(text)))
        except RecursionError as error:
            raise ValueError("it nests too deep") from error
    if not isinstance(entry, dict):
        raise ValueError("it holds no object")
    return entry
