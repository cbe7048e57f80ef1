"""Programs that the bench runs to their end, each within a time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.host import printable

COMPILER_TIMEOUT_S = 60
Ended = subprocess.CompletedProcess[str]


def ended(
    command: Sequence[str], timeout_s: float, settings: Mapping[str, str] | None = None
) -> Ended:
    """A program's status and what it wrote. ``settings`` are of its environment, beside ours.
    Raises HostError where it does not start, or takes longer."""
    try:
        return subprocess.run(
            command,
            env={**os.environ, **(settings or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout_s,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"{command[0]}: {error}") from error


def said(
    command: Sequence[str], timeout_s: float, settings: Mapping[str, str] | None = None
) -> str:
    """Its standard output. Raises HostError also where it fails."""
    done = ended(command, timeout_s, settings)
    if done.returncode != 0:
        words = printable((done.stderr or done.stdout).strip()[-200:])
        raise HostError(f"{command[0]} ended with status {done.returncode}: {words}")
    return done.stdout


def compiled(source: Path, folder: Path) -> Path:
    """A C program. Raises HostError."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise HostError(f"{source.name} needs a C compiler (Debian: gcc)")
    program = folder / source.stem
    said(
        [compiler, "-std=c17", "-O2", str(source), "-o", str(program)],
        COMPILER_TIMEOUT_S,
    )
    return program
