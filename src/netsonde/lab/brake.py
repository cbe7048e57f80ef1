"""Slowing a host down: its processes are stopped for a part of each period."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import NoReturn

# Shorter than what a person or a timeout notices, longer than what finding the processes costs.
PERIOD_S = 0.02


def hold_back(slow_down: float) -> NoReturn:
    """Lets the other processes of this process's host run for 1 / slow_down of the time.

    For the host's holder: /proc must be the lab's own, so that its numbers are those of kill(2).
    """
    running_s = PERIOD_S / slow_down
    while True:
        for pid in _neighbours():
            _send(pid, signal.SIGCONT)
        time.sleep(running_s)
        for pid in _neighbours():
            _send(pid, signal.SIGSTOP)
        time.sleep(PERIOD_S - running_s)


def _neighbours() -> list[int]:
    """Processes in this process's network namespace, without itself.

    Without those whose parent is outside the lab as well: it would take a stopped child for one
    that its user has stopped, and stop itself.
    """
    own = Path("/proc/self/ns/net").stat().st_ino
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if (entry / "ns/net").stat().st_ino == own and _parent(entry) != 0:
                found.append(int(entry.name))
    return found


def _parent(process: Path) -> int:
    content = (process / "stat").read_text()
    return int(content[content.rindex(")") + 2 :].split()[1])


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
