"""Whether an entry of a journal has what its kind must have, of the kind that it is read as. What
records hold is checked where they are decoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KINDS: Mapping[str, Mapping[str, type]] = {
    "point_started": {"point": str, "attempt": int},
    "opened": {"point": str, "ends": dict},
    "batch": {"point": str, "batch": int, "records": list},
    "imported": {"point": str},
    "point_finished": {"point": str},
    "point_failed": {"point": str, "error": str},
}
_WORDS = {dict: "a table", list: "a list", str: "a text", int: "a whole number"}


def check_entry(entry: Mapping[str, Any]) -> None:
    """Raises ValueError that says what is wrong with it."""
    kind = entry.get("entry")
    if not isinstance(kind, str):
        raise ValueError("it has no kind of entry")
    for key, wanted in _KINDS.get(kind, {}).items():
        value = entry.get(key)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(f"the {key} of its {kind} is not {_WORDS[wanted]}")
    if not isinstance(entry.get("time_utc"), str | None):
        raise ValueError("its time is not a text")
    parts = {"opened": "ends", "batch": "records"}.get(kind)
    held = entry[parts] if parts else ()
    if isinstance(held, dict):
        held = held.values()
    if not all(isinstance(part, dict) for part in held):
        raise ValueError(f"one of the {parts} of its {kind} is not a table")
