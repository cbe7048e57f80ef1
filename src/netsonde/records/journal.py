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
from functools import partial
from pathlib import Path
from typing import Any, Self

from netsonde.errors import StorageError, UsageError
from netsonde.records.entry_checks import check_entry
from netsonde.records.later import Left
from netsonde.records.lines import BATCH, parse_line

JOURNAL_NAME = "journal.jsonl"
BLOCK_BYTES = 1 << 22
_NEWLINE = ord("\n")
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

    def __exit__(self, *_: object) -> None:
        self.close()


def _lines(file: io.FileIO) -> Iterator[tuple[bytes, int, int, int]]:
    """Each line as a text, where it begins and ends in the text, and where the text begins in the
    file. A line within a block is not copied."""
    parts: list[bytes] = []
    offset = whole = 0
    while block := file.read(BLOCK_BYTES):
        begin = 0
        while (end := block.find(b"\n", begin) + 1) > 0:
            if parts:
                text = b"".join([*parts, block[:end]])
                yield text, 0, len(text), whole
                parts = []
            else:
                yield block, begin, end, offset
            begin = end
        if begin < len(block):
            whole = whole if parts else offset + begin
            parts.append(block[begin:])
        offset += len(block)
    if parts:
        text = b"".join(parts)
        yield text, 0, len(text), whole


def read_journal(directory: Path, *, batches: bool = True) -> Iterator[Mapping[str, Any]]:
    """Every whole entry in order, or those that are no batches. Raises UsageError where a line
    before the last is damaged; a batch that is left out is not looked at.

    Large snapshots of a batch stay in the file: their values are :class:`Later`.
    """
    path = directory / JOURNAL_NAME
    try:
        with path.open("rb", buffering=0) as file:
            left = Left(path)
            for number, (text, begin, end, offset) in enumerate(_lines(file), 1):
                if text[end - 1] != _NEWLINE:
                    return
                if not batches and text.startswith(BATCH, begin, end):
                    continue
                try:
                    entry = parse_line(text, begin, end, partial(left.later, offset))
                    check_entry(entry)
                except ValueError as error:
                    raise UsageError(f"{path} is damaged in line {number}: {error}") from error
                yield entry
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
