"""How a pairing code is given: by a file, the environment, or the command line, where every user of
the host reads it with ps."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from netsonde.errors import UsageError
from netsonde.launch.pairing import PairingCode

PAIR_VARIABLE = "NETSONDE_PAIR"
MOST_FILE_BYTES = 16_384


def given_code(typed: str | None, file: str | Path | None) -> str | None:
    """The code that a command was given; None where it was not. Raises UsageError where it was
    given twice, and for a file that others can read or that begins with no code."""
    if file is None:
        return typed
    if typed is not None:
        raise UsageError("--code-file and --pairing-code do not go together: both give the code")
    first = secret_text(Path(file)).partition("\n")[0]
    try:
        return PairingCode.parse(first).text()
    except UsageError as error:
        raise UsageError(f"{file} does not begin with a pairing code: {error}") from error


def code_of_environment(environ: Mapping[str, str] | None = None) -> str | None:
    """The code that is set for commands; None where none is."""
    return (os.environ if environ is None else environ).get(PAIR_VARIABLE) or None


def secret_text(path: Path) -> str:
    """What is in a small file that nobody else may read. Raises UsageError."""
    try:
        # A pipe that nobody writes to would be waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            facts = os.fstat(fd)
            if not stat.S_ISREG(facts.st_mode):
                raise UsageError(f"{path} is no file with a pairing code: it is no plain file")
            if facts.st_size > MOST_FILE_BYTES:
                raise UsageError(
                    f"{path} is no file with a pairing code: it has {facts.st_size} bytes"
                )
            if facts.st_mode & 0o077 or facts.st_uid not in (0, os.geteuid()):
                raise UsageError(
                    f"others can read or change {path}, and whoever has the code can use the "
                    f"server: chmod 600 {path}"
                )
            return file.read(MOST_FILE_BYTES).decode("ascii", "replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
