"""The files of a test: OUTPUT, OUTPUT.c_log, OUTPUT.s_log, .plot, .json and .csv.

Files of an earlier test are moved out of the way as a set, to OUTPUT.1 and so on, never replaced.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Self, TextIO

from netsonde.errors import HostError, UsageError

SUFFIXES = ("", ".c_log", ".s_log", ".plot", ".json", ".csv")
MOST_EARLIER = 10_000


class OutputFiles:
    """The names of a test's files, and the result file as it grows. A context manager."""

    def __init__(self, output: str) -> None:
        check_place(output, SUFFIXES)
        self.output = output
        self._file: TextIO | None = None

    def beside(self, suffix: str) -> str:
        """The name of a file beside the result file, by one of SUFFIXES."""
        return self.output + suffix

    def begin(self) -> str | None:
        """Opens the result file. Returns where earlier files went, if there were any."""
        moved = move_earlier(self.output, SUFFIXES)
        try:
            self._file = Path(self.output).open("x")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise HostError(cannot_write(self.output, error)) from error
        return moved

    def append(self, text: str) -> None:
        """Adds to the result file; what was written before is kept where it fails."""
        if self._file is None:
            raise HostError(f"{self.output} is not open")
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise HostError(cannot_write(self.output, error)) from error

    def write(self, suffix: str, text: str) -> None:
        """A whole file beside it."""
        name = self.beside(suffix)
        try:
            Path(name).write_text(text)
        except OSError as error:
            raise HostError(cannot_write(name, error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as error:
                raise HostError(cannot_write(self.output, error)) from error


def move_earlier(output: str, suffixes: Sequence[str]) -> str | None:
    """Moves OUTPUT with these suffixes to OUTPUT.1 or the next that is free, as a set. Returns
    where they went, None where there were none. Raises HostError."""
    present = [suffix for suffix in suffixes if os.path.lexists(output + suffix)]
    if not present:
        return None
    for number in range(1, MOST_EARLIER):
        earlier = f"{output}.{number}"
        if any(os.path.lexists(earlier + suffix) for suffix in suffixes):
            continue
        try:
            for suffix in present:
                Path(output + suffix).rename(earlier + suffix)
        except OSError as error:
            raise HostError(cannot_write(earlier, error)) from error
        return earlier
    raise HostError(f"{output} has {MOST_EARLIER} earlier versions; choose another name")


def check_place(output: str, suffixes: Sequence[str], option: str = "-o") -> None:
    """Before anything starts: could the files be written? Raises UsageError, naming the option."""
    if not output or not output.isprintable():
        raise UsageError(f"{option} {output!r} is not the name of a file")
    parent = Path(output).parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError(f"{option} {output}: {parent} is not a folder that can be written to")
    for name in (output + suffix for suffix in suffixes):
        if os.path.lexists(name) and not stat.S_ISREG(os.lstat(name).st_mode):
            raise UsageError(f"{option} {output}: {name} is there and is no regular file")


def cannot_write(name: str, error: OSError) -> str:
    """A sentence for a file that could not be written."""
    reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror
    return f"cannot write {name}: {reason}; what was written before is kept"
