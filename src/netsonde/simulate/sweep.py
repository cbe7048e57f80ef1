"""Keys of a scenario that take other values: one by one, or in a sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from netsonde.catalogue.swept import KEYS
from netsonde.errors import UsageError
from netsonde.simulate.tables import MOST_SWEEP

Change = int | float | str | bool | None
"""None: the key is left out."""

NAMES: dict[str, str] = {row.name: row.key for row in KEYS}
"""What may be swept by a short name; every other key is written in full, with dots."""
INSTEAD = {
    "timeout": "timeout_slots",
    "timeout_slots": "timeout",
    "block": "block_packets",
    "block_packets": "block",
}
"""A key that takes the place of another one."""
TOGETHER = "+"
"""Between keys that change together, and between their values."""
LEFT_OUT = "none"
_KEY = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9][a-z0-9_]*)*")
_NUMBER = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True)
class Sweep:
    """Keys that change together, mostly one, and the rows of values that they take one after the
    other."""

    names: tuple[str, ...]
    rows: tuple[tuple[Change, ...], ...]

    def choices(self) -> list[dict[str, Change]]:
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]


def parse_sweep(text: str) -> Sweep:
    """``window=8..96:8`` (8, 16, ... 96), ``packets=1..64`` (1, 2, 3 ...), ``block=1..1024:x2``
    (times two), ``algorithm=alltoall/shift,alltoall/pairwise``; ``window+senders=24+7,12+15``
    changes both together. ``none``, or nothing, leaves a key out; in quotes it is the word.
    Raises UsageError."""
    name, equals, values = text.partition("=")
    if not equals:
        raise UsageError(f"--sweep {text[:60]!r} is no sweep; write it like window=8..96:8")
    names = tuple(part.strip() for part in name.split(TOGETHER))
    for each in names:
        full_name(each)
    found: list[tuple[Change, ...]] = []
    for part in values.split(","):
        if ".." in part and len(names) == 1:
            found += [(value,) for value in _range(part.strip(), text)]
        else:
            found.append(_row(part, len(names), text))
        if len(found) > MOST_SWEEP:
            raise UsageError(f"--sweep {name.strip()} has more than {MOST_SWEEP} values")
    return Sweep(names, tuple(found))


def _row(text: str, count: int, whole: str) -> tuple[Change, ...]:
    parts = text.split(TOGETHER) if count > 1 else [text]
    if len(parts) != count:
        raise UsageError(
            f"--sweep {whole[:60]!r}: {text.strip()[:30]!r} has not a value for each of {count} "
            "keys; write it like window+senders=24+7,12+15"
        )
    return tuple(_value(part.strip()) for part in parts)


def full_name(name: str) -> str:
    """``simulation.transport.window`` for ``window``. Raises UsageError."""
    if name in NAMES:
        return NAMES[name]
    if "." in name and _KEY.fullmatch(name):
        return name
    raise UsageError(
        f"no key is called {name[:60]!r} in a sweep; there are {', '.join(NAMES)}, and every key "
        "of the scenario written in full, such as simulation.host.send_gap"
    )


def _range(text: str, whole: str) -> list[Change]:
    bounds, _, step_text = text.partition(":")
    first_text, _, last_text = bounds.partition("..")
    numbers = [first_text.strip(), last_text.strip(), step_text.strip().removeprefix("x") or "1"]
    if not all(_NUMBER.fullmatch(number) for number in numbers):
        raise UsageError(
            f"--sweep {whole[:60]!r} is no range; write it like 8..96:8 (in steps of 8) or "
            "1..1024:x2 (times two)"
        )
    first, last, step = (int(number) for number in numbers)
    times = step_text.strip().startswith("x")
    if last < first or step < (2 if times else 1) or (times and first < 1):
        raise UsageError(f"--sweep {whole[:60]!r} has no value in its range")
    if not times and (last - first) // step >= MOST_SWEEP:
        raise UsageError(f"--sweep {whole[:60]!r} has more than {MOST_SWEEP} values")
    found: list[Change] = []
    while first <= last:
        found.append(first)
        first = first * step if times else first + step
    return found


def _value(text: str) -> Change:
    """A number or truth where it is one, as TOML would have it; else the text."""
    if text in ("", LEFT_OUT):
        return None
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return int(text)
    try:
        return float(text) if re.fullmatch(r"-?\d{1,18}\.\d{1,18}", text) else text
    except ValueError:
        return text


def combinations(sweeps: Sequence[Sweep]) -> list[dict[str, Change]]:
    """Every combination, the last sweep's values one after the other. Raises UsageError where there
    are too many, or a key is swept twice."""
    names = [name for sweep in sweeps for name in sweep.names]
    if len(set(map(full_name, names))) < len(names):
        raise UsageError(f"--sweep names a key twice: {', '.join(names)}")
    count = prod(len(sweep.rows) for sweep in sweeps)
    if count > MOST_SWEEP:
        raise UsageError(f"the sweeps make {count} points; {MOST_SWEEP} at once are the most")
    chosen = product(*(sweep.choices() for sweep in sweeps))
    return [{key: value for part in parts for key, value in part.items()} for parts in chosen]


def said(changes: Mapping[str, Change]) -> dict[str, int | float | str | bool]:
    """The changes as they are kept and shown: a key that is left out is ``none``."""
    return {key: LEFT_OUT if value is None else value for key, value in changes.items()}


def with_changes(tables: dict[str, Any], changes: Mapping[str, Change]) -> dict[str, Any]:
    """The tables, changed in place, with these keys set. Raises UsageError where the way to a key
    leads through something that is no table."""
    for name, value in changes.items():
        *way, key = full_name(name).split(".")
        place: Any = tables
        for step in way:
            place = _step(place, step, name)
        if isinstance(place, list):
            if value is None:
                raise UsageError(f"{name} is an entry of a list, and cannot be left out")
            place[_index(place, key, name)] = value
        elif isinstance(place, dict):
            place[key] = value
            place.pop(key if value is None else INSTEAD.get(key, ""), None)
        else:
            raise UsageError(f"{name} leads to no table of the scenario")
    return tables


def _step(place: Any, step: str, name: str) -> Any:
    if isinstance(place, list):
        return place[_index(place, step, name)]
    if not isinstance(place, dict):
        raise UsageError(f"{name} leads to no table of the scenario")
    if step not in place:
        place[step] = [{"name": "s1"}] if step == "switch" else {}
    return place[step]


def _index(place: list[Any], step: str, name: str) -> int:
    if not step.isdecimal() or int(step[:9]) >= len(place):
        raise UsageError(f"{name}: there is no {step} in a list of {len(place)}")
    return int(step[:9])
