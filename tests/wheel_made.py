"""The wheel that tests install: how it is built, once for all of them."""

from __future__ import annotations

import fcntl
import functools
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import wheels

ROOT = Path(__file__).parents[1]
MACHINE = platform.machine()


@functools.cache
def why_not(machine: str) -> str | None:
    """Why no wheel can be built here for a machine."""
    if not wheels.can_build(machine):
        return f"g++-{machine}-linux-gnu is not installed"
    compiler = "c++" if machine == MACHINE else str(wheels.cross_compiler(machine))
    asked = [compiler, "-print-file-name=libc.a"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return None if Path(found).is_absolute() else f"there is no static C library for {machine}"


def build(machine: str, folder: Path) -> Path:
    """A wheel, built where the last one was: one builder at a time."""
    if reason := why_not(machine):
        pytest.skip(reason)
    wheels.BUILD.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "scripts/wheels.py", machine, "--out", str(folder)]
    with (wheels.BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    [made] = folder.glob("*.whl")
    return made
