"""Standard output and error that may be closed, full or of another encoding.

What cannot be written does not end a command in the middle: it goes on without output, so that
what it measures is kept and its verdict stands, and says at its end that its output is not whole.
Whoever closed a pipe has seen enough, and is told nothing.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TextIO

from netsonde.errors import NetsondeError

MOST_LOST_BYTES = 65_536
"""So much of an output that nobody gets is made and thrown away; then the command ends."""
OUTPUT, ERRORS = 1, 2


class OutputError(NetsondeError):
    """The output is not whole: exit code 3."""


class _Forgiving(io.FileIO):
    """A stream whose first failure is kept; all later output is dropped."""

    def __init__(self, fd: int, most_lost_bytes: int | None) -> None:
        super().__init__(fd, "w", closefd=False)
        self.failure: OSError | None = None
        self._most_lost_bytes = most_lost_bytes
        self._lost_bytes = 0

    def write(self, data: bytes | bytearray | memoryview) -> int | None:  # type: ignore[override]
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
        size = memoryview(data).nbytes
        self._lost_bytes += size
        if self._most_lost_bytes is not None and self._lost_bytes > self._most_lost_bytes:
            self._most_lost_bytes = None  # said once: what unwinds may print as well
            raise OutputError(_in_words(self.failure))
        return size


def guard_streams() -> None:
    """Takes the places of sys.stdout and sys.stderr, where they are still those of the process. A
    stream that was closed gets a file that nothing can be written to: else the next file that is
    opened would be the standard output of this process and of those that it starts."""
    _reserve()
    if sys.stdout is sys.__stdout__:
        sys.stdout = _guarded(OUTPUT, sys.stdout, MOST_LOST_BYTES)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _guarded(ERRORS, sys.stderr, None)


def failed_output() -> OSError | None:
    """Why the output is not whole; None where it is."""
    with contextlib.suppress(OutputError):
        sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.failure if isinstance(raw, _Forgiving) else None


def is_unread() -> bool:
    """Whether whoever read the output has seen enough."""
    failure = failed_output()
    return failure is not None and failure.errno == errno.EPIPE


def end_of(code: int) -> tuple[int, str]:
    """The exit code of a command that would end with this one, and what it has to say of its
    output; nothing of one that was closed by its reader."""
    failure = failed_output()
    if failure is None or is_unread():
        return code, ""
    return code or OutputError.exit_code, _in_words(failure)


def _in_words(failure: OSError) -> str:
    why = "it is closed" if failure.errno == errno.EBADF else failure.strerror
    return f"cannot write to standard output: {why}"


def _reserve() -> None:
    for fd in (0, OUTPUT, ERRORS):
        try:
            os.fstat(fd)
        except OSError:
            mode = os.O_WRONLY if fd == ERRORS else os.O_RDONLY
            made = os.open(os.devnull, mode)  # the lowest that is free, so this one
            if made != fd:
                os.dup2(made, fd)
                os.close(made)
            os.set_inheritable(fd, True)


def _guarded(fd: int, stream: TextIO | None, most_lost_bytes: int | None) -> TextIO:
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.flush()
    raw = _Forgiving(fd, most_lost_bytes)
    is_terminal = raw.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(raw),  # type: ignore[type-var]
        encoding=stream.encoding if stream is not None else "utf-8",
        # A name may hold bytes that are no text, and a terminal lack a letter.
        errors="backslashreplace",
        newline="\n",
        line_buffering=is_terminal or fd == ERRORS,
        write_through=fd == ERRORS,
    )
