"""Whether a manifest is one that the rest of netsonde can rely on: what it must have is there, and
of the kind that it is read as. What it may have, and what other versions know, is left alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MOST_POINTS = 1_000_000
LONGEST_ID = 200
_KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "origin": (str,),
    "started_utc": (str,),
    "command": (list,),
    "seed": (int,),
    "versions": (dict,),
    "path": (dict,),
    "hosts": (dict,),
    "mpis": (dict, list),
    "points": (list,),
    "left_out": (list,),
    "sessions": (list,),
}
_WORDS = {dict: "a table", list: "a list", str: "a text", int: "a whole number"}


def problem_of(manifest: Mapping[str, Any]) -> str | None:
    """What is wrong with it, as the end of a sentence; None where nothing is."""
    return next(_problems(manifest), None)


def _problems(manifest: Mapping[str, Any]) -> Iterator[str]:
    for key, kinds in _KINDS.items():
        value = manifest.get(key)
        if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
            yield f"its {key} is not {_WORDS[kinds[0]]}"
    for host, facts in (manifest.get("hosts") or {}).items():
        if not isinstance(facts, dict):
            yield f"what it says of the host {host[:80]!r} is not a table"
    points = manifest.get("points", [])
    if not isinstance(points, list) or len(points) > MOST_POINTS:
        yield f"its points are not a list of at most {MOST_POINTS}"
        return
    yield from _problems_of_points(points)


def _problems_of_points(points: list[Any]) -> Iterator[str]:
    seen: set[str] = set()
    for number, point in enumerate(points, 1):
        if not isinstance(point, dict):
            yield f"its point {number} is not a table"
            continue
        id_ = point.get("id")
        if not isinstance(id_, str) or not 0 < len(id_) <= LONGEST_ID:
            yield f"its point {number} has no id"
            continue
        if id_ in seen:
            yield f"it has two points {id_}"
        seen.add(id_)
        for key in ("transport", "test"):
            if not isinstance(point.get(key), str):
                yield f"the {key} of its point {id_} is not a text"
        if not isinstance(point.get("parameters"), dict):
            yield f"the parameters of its point {id_} are not a table"
