"""The journal: a run's only truth, append-only, one JSON entry per line.

Written through one object, by several threads if need be, synced to disk whenever a point ends.
Read line by line; a torn last line, which a killed run leaves, is ignored.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from netsonde.errors import StorageError, UsageError
from netsonde.records.lines import parse_line

JOURNAL_NAME = "journal.jsonl"
BLOCK_BYTES = 1 << 22
_SYNCED = frozenset({"point_finished", "point_failed", "session_ended", "run_finished"})


class Journal:
    """Appends entries to ``DIR/journal.jsonl``; one writer at a time, by a lock on the file."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / JOURNAL_NAME
        self._one_entry_at_a_time = threading.Lock()
        try:
            self._fd = os.open(
                self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644
            )
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            raise UsageError(
                f"{directory} is being written by another netsonde; wait for it or stop it first"
            ) from error
        self._cut_torn_line()

    def _cut_torn_line(self) -> None:
        size = os.fstat(self._fd).st_size
        end = size
        while end > 0:
            start = max(0, end - 65536)
            block = os.pread(self._fd, end - start, start)
            newline = block.rfind(b"\n")
            if newline >= 0:
                os.ftruncate(self._fd, start + newline + 1)
                return
            end = start
        os.ftruncate(self._fd, 0)

    def append(self, entry: str, **fields: Any) -> None:
        """Writes one entry whole, or leaves the journal as it was and raises StorageError."""
        line = json.dumps({"entry": entry, **fields}, separators=(",", ":")).encode() + b"\n"
        with self._one_entry_at_a_time:
            self._append(line, is_synced=entry in _SYNCED)

    def _append(self, line: bytes, *, is_synced: bool) -> None:
        before = os.fstat(self._fd).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._fd, line[written:])
            if is_synced:
                os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):  # else the torn line is cut when it is opened again
                os.ftruncate(self._fd, before)
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = "the disk is full" if full else error.strerror
            raise StorageError(
                f"cannot write {self.path}: {reason}; what was measured before is kept, and "
                f"`netsonde study resume {self.path.parent}` goes on once there is room"
            ) from error

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lines(file: io.FileIO) -> Iterator[bytes]:
    """As the file itself would give them; lines of megabytes with fewer copies."""
    parts: list[bytes] = []
    while block := file.read(BLOCK_BYTES):
        begin = 0
        while (end := block.find(b"\n", begin) + 1) > 0:
            yield b"".join([*parts, block[begin:end]])
            parts, begin = [], end
        if begin < len(block):
            parts.append(block[begin:])
    if parts:
        yield b"".join(parts)


def read_journal(directory: Path) -> Iterator[Mapping[str, Any]]:
    """Every whole entry in order. Raises UsageError where a line before the last is damaged."""
    path = directory / JOURNAL_NAME
    try:
        with path.open("rb", buffering=0) as file:
            for number, line in enumerate(_lines(file), 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    entry = parse_line(line)
                except ValueError as error:
                    raise UsageError(f"{path} is damaged in line {number}: {error}") from error
                yield entry
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
