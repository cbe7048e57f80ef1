"""Counters of snapshots that stay in the journal until somebody asks for them.

A snapshot has some six hundred counters in 20 kB of text. In a run of many short batches, snapshots
take longer to read than all samples do, and most questions to a run need none of them.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from pathlib import Path

from netsonde.errors import UsageError
from netsonde.records.counted import counted_in


class Left:
    """A journal that is kept open for what was left in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._fd)

    def later(self, offset: int, begin: int, end: int) -> Later:
        """The object that stands at begin..end behind an offset in the file."""
        return Later(self, offset + begin, end - begin)

    def read(self, offset: int, length: int) -> bytes:
        """Raises UsageError where the file cannot be read."""
        try:
            return os.pread(self._fd, length, offset)
        except OSError as error:
            raise UsageError(f"cannot read {self.path}: {error.strerror}") from error


class Later:
    """Values of a snapshot that are still in the journal."""

    __slots__ = ("_left", "_length", "_offset")

    def __init__(self, left: Left, offset: int, length: int) -> None:
        self._left, self._offset, self._length = left, offset, length

    def values(self) -> Mapping[str, int]:
        """Raises UsageError where they are damaged."""
        try:
            return counted_in(self._left.read(self._offset, self._length))
        except ValueError as error:
            raise UsageError(
                f"{self._left.path} is damaged behind byte {self._offset}, "
                f"or was changed while it was read: {error}"
            ) from error
