"""What was not the same before and after: versions, hosts and their facts, options in effect, the
path, whether anything was real."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.compare.data import Circumstance
from netsonde.explain.unlike_hosts import DECISIVE, is_own
from netsonde.records.carried import carried_by, carried_in_words
from netsonde.records.data import Run
from netsonde.records.sessions import MEASURED_ANEW

_LONGEST_VALUE = 60
_SHOWN_VALUES = 3
_OWN_OF_CONNECTIONS = ("local_port", "peer_port", "local_address", "peer_address")
CARRIED_BY = "MPI on one node over"
_NOT_OF_PATHS = ("notice", "calibration", "within")
"""What is said of a path, what is measured of it before each run, and what was asked for where what
came of it is known."""


@dataclass(frozen=True)
class Facts:
    """Circumstances of a run: by (kind, name) the value of each host, end or of the run itself."""

    values: Mapping[tuple[str, str], Mapping[str, str]]
    hosts: tuple[str, ...]


def facts_of(run: Run) -> Facts:
    """Everything of a run that could be another in the next one."""
    manifest = run.manifest
    found: dict[tuple[str, str], dict[str, str]] = {}

    def note(kind: str, name: str, place: str, value: Any) -> None:
        if value is not None:
            found.setdefault((kind, name), {})[place] = _in_words(value)

    note("origin", "origin", "", run.origin)
    for name, value in (manifest.get("versions") or {}).items():
        note("version", name, "", value)
    for name, value in (manifest.get("path") or {}).items():
        if name not in _NOT_OF_PATHS:
            for leaf, place, own in _leaves(name, value):
                note("path", leaf, place, own)
    hosts: Mapping[str, Mapping[str, Any]] = manifest.get("hosts") or {}
    for host, facts in hosts.items():
        for name, value in facts.items():
            if not is_own(name) and name not in MEASURED_ANEW:
                note("fact", name, host, value)
    for mpi, facts in (manifest.get("mpis") or {}).items():
        for name, value in facts.items():
            note("fact", name, f"mpi {mpi}", value)
    note("path", CARRIED_BY, "", carried_in_words(carried_by(run.points)) or None)
    for (name, place), values in _obtained(run).items():
        note("option", name, place, ", ".join(sorted(values)))
    return Facts(found, tuple(sorted(hosts)))


def _leaves(name: str, value: Any, place: str = "") -> Iterator[tuple[str, str, Any]]:
    """Plain values of what may hold others: ``topology.links.up.delay_ns`` of every link."""
    if isinstance(value, dict):
        for key, own in value.items():
            yield from _leaves(f"{name}.{key}", own, place)
    elif isinstance(value, list) and any(isinstance(own, dict | list) for own in value):
        for number, own in enumerate(value):
            yield from _leaves(name, own, f"{place} {number}".strip())
    else:
        yield name, place, value


def _obtained(run: Run) -> dict[tuple[str, str], set[str]]:
    """What connections really had, by name and transport with its end."""
    found: dict[tuple[str, str], set[str]] = {}
    for point in run.points:
        for rank, values in point.opened.items():
            place = f"{point.transport} {'origin' if rank == 0 else 'target'}"
            for name, value in values.items():
                if name not in _OWN_OF_CONNECTIONS and rank < 2:
                    found.setdefault((name, place), set()).add(_in_words(value))
    return found


def differences(before: Sequence[Facts], after: Sequence[Facts]) -> tuple[Circumstance, ...]:
    """What changed between two sides, what matters most first.

    A fact that only one side has is none, unless it matters by itself: another kernel has other
    settings.
    """
    sides = _merged(before), _merged(after)
    found = []
    hosts = [tuple(sorted({h for f in side for h in f.hosts})) for side in (before, after)]
    if hosts[0] != hosts[1]:
        named = [_listed(h) for h in hosts]
        found.append(Circumstance("path", "hosts", named[0], named[1], decisive=True))
    for name in sorted(sides[0].keys() | sides[1].keys()):
        kind, fact = name
        old, new = (side.get(name, {}) for side in sides)
        decisive = (
            kind in ("origin", "version") or fact.endswith(DECISIVE) or fact in ("kind", CARRIED_BY)
        )
        if old == new or not ((old and new) or decisive):
            continue
        if hosts[0] != hosts[1] and kind == "fact" and _values(old) == _values(new):
            continue
        old_words, new_words = _in_pair(old, new)
        found.append(Circumstance(kind, fact, old_words, new_words, decisive))
    return tuple(sorted(found, key=lambda c: (not c.decisive, c.kind != "origin", c.kind, c.name)))


def _merged(side: Sequence[Facts]) -> dict[tuple[str, str], dict[str, tuple[str, ...]]]:
    """By fact and place, all values that the runs of a side have."""
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for facts in side:
        for name, places in facts.values.items():
            for place, value in places.items():
                found.setdefault(name, {}).setdefault(place, set()).add(value)
    return {
        name: {place: tuple(sorted(values)) for place, values in places.items()}
        for name, places in found.items()
    }


def _values(places: Mapping[str, tuple[str, ...]]) -> set[str]:
    return {value for values in places.values() for value in values}


def _in_pair(
    old: Mapping[str, tuple[str, ...]], new: Mapping[str, tuple[str, ...]]
) -> tuple[str, str]:
    """Both in words; where only some places changed, those are named."""
    if _values(old) != _values(new) or not (old and new):
        return _listed(sorted(_values(old))), _listed(sorted(_values(new)))
    changed = [place for place in old.keys() | new.keys() if old.get(place) != new.get(place)]
    words = [
        _listed([f"{p}: {_listed(side.get(p, ()))}" for p in sorted(changed)])
        for side in (old, new)
    ]
    return words[0], words[1]


def _listed(values: Sequence[str]) -> str:
    shown = ", ".join(values[:_SHOWN_VALUES])
    more = f" and {len(values) - _SHOWN_VALUES} more" if len(values) > _SHOWN_VALUES else ""
    return f"{shown}{more}" or "–"


def _in_words(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
