"""Where a trace is written, which table is made of it, who writes it, and how that is ended."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from pathlib import Path

from netsonde.errors import HostError, UsageError

PID_NAME = "pid"
LOG_NAME = "log"
ENDING_S = 60.0
"""The reading of the last sample, and the conversion that may follow, take a while."""


def find_trace(given: Path) -> Path:
    """The folder of a trace, from itself or from the file that is made of it. Raises UsageError."""
    for folder in (given, journal_of(given)):
        if (folder / PID_NAME).is_file():
            return folder
    raise UsageError(f"{given} is neither the folder of a trace nor a file that is made of one")


def writer_of(folder: Path) -> int | None:
    """The process that writes the trace, None where nobody does. Raises HostError."""
    try:
        with (folder / PID_NAME).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                text = file.read(32).strip()
                return int(text) if text.isdigit() and int(text) > 1 else None
            return None
    except OSError as error:
        raise HostError(f"cannot read {folder / PID_NAME}: {error.strerror}") from error


def end_trace(folder: Path, patience_s: float = ENDING_S) -> int:
    """Tells the process that writes the trace to end, and waits for it; returns its number.

    Raises UsageError where there is none, HostError where it does not end.
    """
    pid = writer_of(folder)
    if pid is None:
        raise UsageError(f"no trace is being written in {folder}")
    try:
        os.kill(pid, signal.SIGTERM)
    except OSError as error:
        raise HostError(f"cannot end process {pid}: {error.strerror}") from error
    deadline = time.monotonic() + patience_s
    while writer_of(folder) is not None:
        if time.monotonic() > deadline:
            raise HostError(f"the trace (process {pid}) has not ended in {patience_s:.0f} s")
        time.sleep(0.02)
    return pid


TABLES = (".parquet", ".csv")


def is_table(path: Path) -> bool:
    return path.suffix in TABLES


def journal_of(path: Path) -> Path:
    """The folder in which the trace lies that becomes a table: ``net.parquet.trace``."""
    return path.with_name(path.name + ".trace") if is_table(path) else path
