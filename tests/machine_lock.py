"""Who measures has the machine alone; all other tests share it.

Tests of several processes run side by side. Each holds the machine while it runs: one that
measures for itself alone, every other one together with its like. Nobody starves: who waits for
the machine keeps the door shut behind those who have it. Other checkouts have locks of their own;
what they do is seen by machine_control.py.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

HELD = "NETSONDE_TESTS_HAVE_THE_MACHINE"
"""In the environment of what a test starts: tests of its own have the machine already."""


@contextlib.contextmanager
def machine(folder: Path, alone: bool) -> Iterator[None]:
    """Waits for the machine, and keeps it."""
    if HELD in os.environ:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as room:
        with held(folder / "door.lock", alone=True):
            room.enter_context(held(folder / "machine.lock", alone))
        os.environ[HELD] = "yes"
        room.callback(os.environ.pop, HELD, None)
        yield


@contextlib.contextmanager
def held(path: Path, alone: bool) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # also where a fork has it as well
        os.close(descriptor)
