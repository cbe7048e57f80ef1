"""What ``netsonde trace`` was asked for: checked, defaults filled in."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from netsonde.endpoint import Listen, parse_listen
from netsonde.errors import UsageError
from netsonde.trace.place import journal_of
from netsonde.units import parse_duration_ns, parse_size_bytes

SECOND_NS = 10**9
LEAST_INTERVAL_NS = 10**6
MOST_INTERVAL_NS = 86400 * SECOND_NS
MOST_DURATION_NS = 3650 * 86400 * SECOND_NS
LEAST_MOST_BYTES = 1 << 20
_LONG = {"d": 86400 * SECOND_NS, "w": 7 * 86400 * SECOND_NS}


@dataclass(frozen=True)
class TraceRequest:
    """output: a folder, or a file that the trace becomes; None of a command whose trace is not
    kept."""

    interval_ns: int
    duration_ns: int | None
    interfaces: tuple[str, ...]
    parts: tuple[str, ...]
    output: Path | None
    most_bytes: int
    cpu: int | None
    command: tuple[str, ...]
    background: bool
    listen: Listen | None
    root: str | None

    def settings(self, folder: Path) -> dict[str, Any]:
        """For sonde-trace."""
        given = {
            "duration_ns": self.duration_ns,
            "cpu": self.cpu,
            "root": self.root,
        }
        return {
            "folder": str(folder),
            "interval_ns": self.interval_ns,
            "most_bytes": self.most_bytes,
            "interfaces": list(self.interfaces),
            "parts": list(self.parts),
            **{name: value for name, value in given.items() if value is not None},
        }


def trace_request(
    *,
    every: str,
    duration: str | None,
    interfaces: Sequence[str],
    parts: str | None,
    output: Path | None,
    most: str,
    cpu: int | None,
    command: Sequence[str],
    background: bool,
    listen: str | None,
    root: str | None,
) -> TraceRequest:
    """Raises UsageError, naming the options, where they do not go together."""
    interval_ns = _between(every, "--every", LEAST_INTERVAL_NS, MOST_INTERVAL_NS, "1ms and a day")
    duration_ns = None
    if duration is not None:
        duration_ns = _between(
            duration, "--for", LEAST_INTERVAL_NS, MOST_DURATION_NS, "1ms and 10 y"
        )
        if duration_ns < interval_ns:
            raise UsageError(f"--for {duration} is shorter than one interval, --every {every}")
    if command:
        for option, given in (("--for", duration), ("--background", background or None)):
            if given is not None:
                raise UsageError(f"{option} and a command do not go together: it says how long")
    elif output is None:
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        output = Path(f"trace-{socket.gethostname()}-{stamp}")
    most_bytes = parse_size_bytes(most)
    if most_bytes < LEAST_MOST_BYTES:
        raise UsageError(f"--most {most} is less than 1M, which a trace needs")
    return TraceRequest(
        interval_ns,
        duration_ns,
        tuple(name for one in interfaces for name in one.split(",") if name),
        tuple(part.strip() for part in parts.split(",")) if parts else (),
        output,
        most_bytes,
        cpu,
        tuple(command),
        background,
        None if listen is None else parse_listen(listen),
        root,
    )


def parse_long_duration_ns(text: str) -> int:
    """A duration as elsewhere, and days and weeks: ``90s``, ``1h``, ``2d``, ``1w``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([dw])", text.strip())
    if match:
        return round(float(match[1]) * _LONG[match[2]])
    try:
        return parse_duration_ns(text)
    except UsageError as error:
        raise UsageError(
            str(error).replace("500ms, 2s or 1m", "500ms, 2s, 1m, 1h, 1d or 1w")
        ) from error


def folder_of(request: TraceRequest) -> Path | None:
    """Where the trace itself is written; None where it is not kept."""
    return None if request.output is None else journal_of(request.output)


def _between(text: str, option: str, least_ns: int, most_ns: int, words: str) -> int:
    try:
        found = parse_long_duration_ns(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from error
    if not least_ns <= found <= most_ns:
        raise UsageError(f"{option} {text} is not between {words}")
    return found


@dataclass(frozen=True)
class CommandUse:
    """What the kernel says that the command and its children used, and how it ended."""

    exit_code: int
    user_us: int
    system_us: int
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    most_resident_bytes: int
