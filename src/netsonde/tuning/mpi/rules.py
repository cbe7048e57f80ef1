"""Rules: which algorithm does an operation of some ranks and sizes. The file that ``tune mpi``
writes, ``tune prove`` shortens, and other programs obey (docs/reference/rules.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from netsonde.errors import UsageError
from netsonde.operations import nearest, operations
from netsonde.schedules.algorithms import LIBRARY, NATIVE, frames_of, library_of, schedule_of
from netsonde.tables import read_json

FORMAT = "netsonde rules"
VERSION = 1
FILE_LIMIT_BYTES = 4 * 1024 * 1024
MOST_RULES = 10_000
_KEYS = {"operation", "ranks", "ranks_per_host", "from_bytes", "to_bytes", "algorithm"}
_MOST_BYTES = 2**53 - 1
_MOST_RANKS = 1_048_576


@dataclass(frozen=True, order=True)
class Rule:
    """``algorithm`` does ``operation`` of ``ranks`` for sizes from ``from_bytes`` to ``to_bytes``,
    both included, None without end; sizes as ``netsonde mpi`` has them for that operation.
    ``ranks_per_host`` is None where any number of them is meant."""

    operation: str
    ranks: int
    ranks_per_host: int | None
    from_bytes: int
    to_bytes: int | None
    algorithm: str

    @property
    def library_algorithm(self) -> str | None:
        """The library's own name of it; None where it is none of the library's."""
        return library_of(self.algorithm)

    @property
    def place(self) -> tuple[str, int, int]:
        """What rules must not overlap in."""
        return self.operation, self.ranks, self.ranks_per_host or 0

    def holds(self, size_bytes: int) -> bool:
        return self.from_bytes <= size_bytes and (
            self.to_bytes is None or size_bytes <= self.to_bytes
        )

    def as_json(self) -> dict[str, Any]:
        """As in the file: without what is left to be any."""
        found = {
            "operation": self.operation,
            "ranks": self.ranks,
            "ranks_per_host": self.ranks_per_host,
            "from_bytes": self.from_bytes,
            "to_bytes": self.to_bytes,
            "algorithm": self.algorithm,
        }
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class Rules:
    """``made`` are free facts: by which run, for which MPI, when."""

    rules: tuple[Rule, ...]
    made: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """In one step: whoever reads meanwhile has the old file or the new one."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "made": dict(self.made),
            "rules": [rule.as_json() for rule in sorted(self.rules, key=_order)],
        }
        written = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            written.write_text(json.dumps(document, indent=1) + "\n")
            written.replace(path)
        except OSError as error:
            written.unlink(missing_ok=True)
            raise UsageError(f"cannot write rules to {path}: {error.strerror}") from error


def _order(rule: Rule) -> tuple[Any, ...]:
    return (*rule.place, rule.from_bytes)


def read_rules(path: Path) -> Rules:
    """Raises UsageError with one sentence for a file that is none, or whose rules overlap."""
    document = read_json(path, FILE_LIMIT_BYTES, "rules")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageError(f'{path} holds no rules: its "format" is not "{FORMAT}"')
    if document.get("version") != VERSION:
        raise UsageError(
            f"{path} has rules of version {str(document.get('version'))[:20]}; this netsonde reads "
            f"version {VERSION}"
        )
    listed = document.get("rules")
    if not isinstance(listed, list) or len(listed) > MOST_RULES:
        raise UsageError(f'{path}: "rules" is no list of at most {MOST_RULES} rules')
    rules = tuple(_rule(entry, f"{path}: rule {i}") for i, entry in enumerate(listed, 1))
    require_apart(rules, str(path))
    made = document.get("made")
    return Rules(rules, made if isinstance(made, dict) else {})


def require_apart(rules: Sequence[Rule], where: str) -> None:
    """Raises UsageError where two rules of an operation and its ranks share a size."""
    for one, other in pairwise(sorted(rules, key=_order)):
        if one.place == other.place and one.holds(other.from_bytes):
            raise UsageError(
                f"{where}: two rules for {one.operation} of {one.ranks} ranks hold for "
                f"{other.from_bytes} bytes: {one.algorithm} and {other.algorithm}"
            )


def _rule(entry: Any, where: str) -> Rule:
    if not isinstance(entry, dict):
        raise UsageError(f"{where} is no object")
    if unknown := sorted(set(entry) - _KEYS):
        raise UsageError(
            f"{where} has {str(unknown[0])[:40]!r}{nearest(unknown[0], sorted(_KEYS))}"
        )
    name = entry.get("operation")
    operation = operations().get(name) if isinstance(name, str) else None
    if operation is None or not operation.is_collective_call:
        raise UsageError(f"{where} is for {str(name)[:40]!r}, which is no blocking collective")
    algorithm = entry.get("algorithm")
    if not isinstance(algorithm, str) or len(algorithm) > 200:
        raise UsageError(f"{where} names no algorithm")
    try:
        schedule_of(algorithm, operation)
        over_frames = frames_of(algorithm, operation) is not None
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if over_frames:
        raise UsageError(f"{where} is over frames; programs' messages are MPI's")
    to_bytes = entry.get("to_bytes")
    rule = Rule(
        operation.name,
        _whole(entry.get("ranks"), 1, _MOST_RANKS, f"{where}: ranks"),
        None
        if entry.get("ranks_per_host") is None
        else _whole(entry["ranks_per_host"], 1, _MOST_RANKS, f"{where}: ranks_per_host"),
        _whole(entry.get("from_bytes", 0), 0, _MOST_BYTES, f"{where}: from_bytes"),
        None if to_bytes is None else _whole(to_bytes, 0, _MOST_BYTES, f"{where}: to_bytes"),
        algorithm,
    )
    if rule.to_bytes is not None and rule.to_bytes < rule.from_bytes:
        raise UsageError(f"{where} ends at {rule.to_bytes} bytes, before it begins")
    return rule


def _whole(value: Any, least: int, most: int, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{where} is {str(value)[:20]!r}; expected {least} to {most}")
    return value


def is_of_library(rule: Rule) -> bool:
    """Whether a library can be told of it by a file of its own."""
    return rule.algorithm.startswith(LIBRARY)


def needs_drop_in(rule: Rule) -> bool:
    """Whether it takes netsonde's own library: one of our schedules."""
    return rule.algorithm != NATIVE and not is_of_library(rule)
