"""Which points of a run go into one set of files: those of a routine that differ in size only."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.figures.keys import key_of
from netsonde.mpibench.options import name_of
from netsonde.records.data import Point

_OF_THE_SIZE = frozenset({"total_bytes", "perturbed_bytes", "call_bytes", "warm_up"})
"""Parameters that go with a size. A warm-up does where a tool is followed."""
_APART_TOO = ("launch", "pass")
"""What other pages put together is apart here: a table of one launch is not one of several."""
_SHORT = {"ranks": "n", "ppn": "ppn", "launch": "launch", "pass": "pass", "mpi": "", "label": ""}
_WORDS = {"ranks": "{} processes", "ppn": "{} on a host", "mpi": "{}", "label": "{}"}
MOST_LETTERS = 40


@dataclass(frozen=True)
class FileSet:
    """Points of one routine by size. ``apart``: what tells them from other sets of the routine in
    the same run, by name of the parameter."""

    operation: str
    points: tuple[Point, ...]
    apart: tuple[tuple[str, Any], ...] = ()

    @property
    def suffix(self) -> str:
        """For names of files: ``-n4-launch2``, or nothing where there is one set only."""
        return "".join(f"-{_SHORT.get(k, k)}{_short(v)}" for k, v in self.apart)

    @property
    def in_words(self) -> str:
        """``4 processes, launch 2``."""
        return ", ".join(_WORDS.get(k, f"{k} {{}}").format(_plain(v)) for k, v in self.apart)


def sets_of(points: Sequence[Point]) -> list[FileSet]:
    """The sets of a run's measured points of MPI operations, in the order of the run's routines."""
    routines: dict[str, dict[str, list[Point]]] = {}
    for point in points:
        conditions = json.dumps(_conditions(point), sort_keys=True)
        routines.setdefault(str(point.operation), {}).setdefault(conditions, []).append(point)
    found = list[FileSet]()
    for operation, groups in routines.items():
        every = [json.loads(text) for text in groups]
        for own, members in zip(every, groups.values(), strict=True):
            apart = tuple((k, v) for k, v in own.items() if any(o.get(k) != v for o in every))
            apart = tuple(sorted(apart, key=_place))
            by_size = tuple(sorted(_once(members), key=lambda p: p.message_bytes))
            found.append(FileSet(operation, by_size, apart))
    return sorted(found, key=lambda each: (list(routines).index(each.operation), each.in_words))


def _once(members: Sequence[Point]) -> list[Point]:
    """Without sizes that were measured again, to see whether a finding comes again."""
    asked = {p.message_bytes for p in members if not p.spec.refined}
    return [p for p in members if not p.spec.refined or p.message_bytes not in asked]


def names_of(base: str, sets: Sequence[FileSet]) -> list[str]:
    """BASE, BASE-ROUTINE where there are several, and what tells several sets of one apart; all
    different."""
    several = len({each.operation for each in sets}) > 1
    names = list[str]()
    for each in sets:
        plain = name = (f"{base}-{name_of(each.operation)}" if several else base) + each.suffix
        number = 1
        while name in names:
            number += 1
            name = f"{plain}-{number}"
        names.append(name)
    return names


def _conditions(point: Point) -> dict[str, Any]:
    key = {name: json.loads(text) for name, text in key_of(point, "").parameters}
    given = {name: v for name, v in point.parameters.items() if name in _APART_TOO}
    return {name: v for name, v in (key | given).items() if name not in _OF_THE_SIZE}


def _place(item: tuple[str, Any]) -> tuple[int, str]:
    """What is in most names comes first."""
    known = list(_SHORT)
    return known.index(item[0]) if item[0] in known else len(known), item[0]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):  # pairs of ranks
        return " ".join(_plain(each).replace(" ", "-") for each in value)[:MOST_LETTERS]
    return f"{value}"


def _short(value: Any) -> str:
    """A value within a name of a file: of a path the last letters, which tell paths apart."""
    return re.sub(r"[^A-Za-z0-9.+=]+", "_", _plain(value)).strip("_")[-MOST_LETTERS:]
