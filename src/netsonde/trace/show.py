"""``netsonde trace summary`` and ``netsonde trace status``: read, and say."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from netsonde.errors import UsageError
from netsonde.trace.place import TABLES, find_trace, writer_of
from netsonde.trace.progress import progress_of
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

        draw_summary(traces, request.plot)
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
