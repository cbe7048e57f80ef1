"""How far a trace is, without reading all of it: a week may be a gigabyte."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netsonde.errors import UsageError
from netsonde.trace.journal import HEAD, LINE_LIMIT_CHARACTERS, trace_files

PIECE_BYTES = 1 << 20
FIRST_LINES = 20_000
"""Of a file, in which the names and what is missing stand."""


@dataclass
class Progress:
    """begun_unix_ns and last_unix_ns are times of day; ended is the reason, None without one."""

    about: dict[str, Any]
    samples: int = 0
    missed: int = 0
    last_unix_ns: int | None = None
    ended: str | None = None
    missing: dict[str, str] = field(default_factory=dict)
    size_bytes: int = 0


def progress_of(folder: Path) -> Progress:
    """Counts samples by their lines, and reads the first lines and the last. Raises UsageError."""
    files = trace_files(folder)
    try:
        first, last = _first_lines(files[0]), _first_lines(files[-1])
        about = _about(last or first)
        found = Progress(about, size_bytes=sum(path.stat().st_size for path in files))
        numbered = 0
        for path in files:
            grid, others = _count(path)
            numbered += grid
            found.samples += grid + others
        ending = [*_last_lines(files[-1])]
        if not any(line.startswith(("S ", "B ")) for line in ending) and len(files) > 1:
            ending = [*_last_lines(files[-2]), *ending]
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}") from error
    except (ValueError, KeyError) as error:
        raise UsageError(f"{folder} holds no trace that is understood: {error}") from error
    for line in (*first, *last):
        if line.startswith("M "):
            part, _, why = line[2:].partition(" ")
            found.missing[part] = why
    _read_end(found, ending, first, numbered)
    return found


def _read_end(found: Progress, ending: list[str], first: list[str], numbered: int) -> None:
    interval_ns, begun_ns = (int(found.about[n]) for n in ("interval_ns", "begin_unix_ns"))
    begin = next((int(line.split(" ", 2)[1]) for line in first if line.startswith("S ")), None)
    for line in reversed(ending):
        words = line.split(" ", 4)
        if words[0] == "E" and found.ended is None:
            found.ended = words[4]
        elif words[0] == "S":
            number = int(words[1])
            if found.last_unix_ns is None:
                found.last_unix_ns = begun_ns + number * interval_ns + int(words[2])
            if begin is not None:
                # A trace whose first files were removed begins later.
                earliest = begin if begin > 1 and not _has_start(first) else min(1, begin)
                found.missed = number - earliest + 1 - numbered
            return
        elif words[0] == "B" and found.last_unix_ns is None:
            found.last_unix_ns = begun_ns + int(words[2])


def _has_start(first: list[str]) -> bool:
    return any(line.startswith("B start ") for line in first)


def _about(lines: list[str]) -> dict[str, Any]:
    kind, _, text = (lines[0] if lines else "").split(" ", 2)
    about = json.loads(text)
    if kind != HEAD or not isinstance(about, dict):
        raise ValueError("it has no head")
    return about


def _first_lines(path: Path) -> list[str]:
    """Up to its first sample on the grid, and that."""
    found = []
    with path.open("rb") as file:
        for _ in range(FIRST_LINES):
            raw = file.readline(LINE_LIMIT_CHARACTERS)
            if not raw.endswith(b"\n"):
                break
            found.append(raw[:-1].decode(errors="replace"))
            if raw.startswith(b"S "):
                break
    return found


def _count(path: Path) -> tuple[int, int]:
    """Whole samples on the grid, and others."""
    grid = others = 0
    before = b""
    with path.open("rb") as file:
        while content := file.read(PIECE_BYTES):
            whole, end, rest = (before + content).rpartition(b"\n")
            whole = b"\n" + whole if end else b""
            grid += whole.count(b"\nS ")
            others += whole.count(b"\nB ")
            before = rest
    return grid, others


def _last_lines(path: Path) -> list[str]:
    """Whole lines of its end."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - PIECE_BYTES))
        content = file.read()
    lines = content.split(b"\n")[:-1]
    return [line.decode(errors="replace") for line in (lines if size <= PIECE_BYTES else lines[1:])]
