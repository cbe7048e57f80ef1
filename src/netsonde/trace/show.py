"""``netsonde trace summary`` and ``netsonde trace status``: read, and say."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from netsonde.errors import UsageError
from netsonde.trace.journal import HEAD, LINE_LIMIT_CHARACTERS, trace_files
from netsonde.trace.place import TABLES, find_trace, writer_of
from netsonde.trace.summary import By, by_day
from netsonde.trace.summary_text import summary_document, summary_lines
from netsonde.trace.windows import Windows, load_windows

Say = Callable[[str], None]
WIDTH = 80


@dataclass(frozen=True)
class SummaryRequest:
    """by: rows for what; day: this one only."""

    paths: tuple[Path, ...]
    interfaces: tuple[str, ...]
    by: By | None
    day: str | None
    above_bit_per_s: float | None
    plot: Path | None
    as_json: bool


def show_summary(request: SummaryRequest, show: Say) -> None:
    """Raises UsageError."""
    day = None if request.day is None else _day(request.day)
    traces = []
    for path in request.paths:
        windows = load_windows(_source(path), request.interfaces)
        traces.append(windows if day is None else _of_day(windows, day))
    if request.as_json:
        document = summary_document(traces, request.by, request.above_bit_per_s)
        show(json.dumps(document, indent=1))
    else:
        show("\n".join(summary_lines(traces, request.by, request.above_bit_per_s)))
    if request.plot is not None:
        from netsonde.trace.plots import draw_summary  # the libraries of plots take seconds to load

        draw_summary(traces, request.plot, request.by, request.above_bit_per_s)
        if not request.as_json:
            show(f"\nplots: {request.plot}")


def show_status(given: Path, as_json: bool, show: Say) -> None:
    """Raises UsageError, HostError."""
    folder = find_trace(given)
    pid = writer_of(folder)
    progress = progress_of(folder)
    begun_ns = int(progress.about["begin_unix_ns"])
    found: dict[str, Any] = {
        "folder": str(folder),
        "process": pid,
        "host": progress.about.get("host"),
        "interval_s": int(progress.about["interval_ns"]) / 1e9,
        "begun": _time(begun_ns),
        "samples": progress.samples,
        "last_sample": None if progress.last_unix_ns is None else _time(progress.last_unix_ns),
        "missed": progress.missed,
        "size_bytes": progress.size_bytes,
        "missing": progress.missing,
        "ended": progress.ended,
        **_cost(pid),
    }
    show(json.dumps(found, indent=1) if as_json else "\n".join(_status_lines(found)))


def _status_lines(found: dict[str, Any]) -> list[str]:
    if found["process"] is not None:
        state = f"being written by process {found['process']}"
    elif found["ended"] is not None:
        state = f"ended: {found['ended']}"
    else:
        state = "cut off: its process is gone and wrote no end"
    lines = [
        f"trace     {found['folder']}",
        f"state     {state}",
        f"host      {found['host']}, every {found['interval_s']:g} s since {found['begun']}",
        f"samples   {found['samples']}, the last at {found['last_sample']}; "
        f"{found['missed']} missed",
        f"on disk   {found['size_bytes'] / 1e6:.1f} MB",
    ]
    if found["processor_share"] is not None:
        memory = found["resident_bytes"] / 1e6
        lines.append(f"cost      {found['processor_share']:.3%} of a CPU, {memory:.1f} MB")
    for part, why in found["missing"].items():
        lines += textwrap.wrap(
            f"without   {part}: {why}", WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False
        )
    return lines


def _cost(pid: int | None) -> dict[str, float | None]:
    """What the kernel says that a process has used since it was started."""
    nothing: dict[str, float | None] = {"processor_share": None, "resident_bytes": None}
    if pid is None:
        return nothing
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return nothing
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    elapsed_s = uptime_s - int(words[19]) / ticks_per_s
    used_s = (int(words[11]) + int(words[12])) / ticks_per_s
    return {
        "processor_share": used_s / elapsed_s if elapsed_s > 0 else None,
        "resident_bytes": float(int(words[21]) * os.sysconf("SC_PAGESIZE")),
    }


def _source(path: Path) -> Path:
    """The table where it is there, else the folder that it is to be made of."""
    if path.suffix == ".csv":
        raise UsageError(
            f"{path} does not say what its columns mean; give the folder of the trace, or Parquet"
        )
    return find_trace(path) if path.suffix in TABLES and not path.exists() else path


def _of_day(windows: Windows, day: date) -> Windows:
    return by_day(windows).get(day) or windows.part(np.zeros(len(windows), np.bool_))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--day {text!r} is not a day; write it like 2026-07-30") from error


def _time(unix: int) -> str:
    return datetime.fromtimestamp(unix / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


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
