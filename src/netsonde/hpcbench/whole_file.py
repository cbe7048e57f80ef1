"""A file that takes pieces of text whole or not at all: no line of it is ever torn."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from netsonde.errors import HostError
from netsonde.hpcbench.files import cannot_write


class WholeFile:
    """A new file. Where a piece does not fit, none of it stays, and later pieces may fit again.

    Raises HostError where the file cannot be made.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.missing = 0
        """Pieces since the last one that was written, which were not."""
        self.missed = 0
        """All pieces that were not written."""
        self.reason = ""
        self.whole = True
        """Whether everything is in it, the last line too."""
        self._bytes = 0
        try:
            self._fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise HostError(cannot_write(name, error)) from error

    def write(self, text: str) -> bool:
        """Whether all of it was written; else ``reason`` says why not."""
        if self._put(text):
            self.missing = 0
            return True
        self.missing += 1
        self.missed += 1
        return False

    def end(self, text: str) -> None:
        """The last line, which is no sample; then close()."""
        self._put(text)
        self.close()

    def close(self) -> None:
        """Idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            try:
                os.close(fd)
            except OSError as error:  # a file server may say so as late as this
                self._failed(error)

    def discard(self) -> None:
        """Removes what was begun."""
        self.close()
        Path(self.name).unlink(missing_ok=True)

    def _put(self, text: str) -> bool:
        if self.missing:
            text = f"# {self.missing} samples are missing here: {self.reason}\n{text}"
        content = text.encode()
        try:
            done = 0
            while done < len(content):
                done += os.pwrite(self._fd, content[done:], self._bytes + done)
        except OSError as error:
            self._failed(error)
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._bytes)
            return False
        self._bytes += len(content)
        return True

    def _failed(self, error: OSError) -> None:
        self.whole = False
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        self.reason = "the disk was full" if full else str(error.strerror)
