"""What a harness counts for itself while netsonde measures: who used this machine's CPUs.

netsonde's own processes are this one, the lab's, and what is started while it is watched. What this
one had started before is a fault's: with all other processes it counts as others'. A thread looks
several times a second, for the use of each CPU; the sums over all are exact to a tick.
"""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
LOOK_S = 0.25
WINDOW_LOOKS = 4
STEAL_FIELD = 7
WORKING = 3
"""user, nice and system of a CPU's line; interrupts come later."""


@dataclass
class Use:
    """CPUs that others used: on average, most over about a second, and of each CPU; the
    most that netsonde used of one; and what the hypervisor took, on average."""

    others: float = 0.0
    others_most: float = 0.0
    of_processor: dict[int, float] = field(default_factory=dict)
    own_most: float = 0.0
    stolen: float = 0.0


@dataclass(frozen=True)
class _Process:
    parent: int
    used_s: float
    processor: int


@dataclass(frozen=True)
class _Look:
    at_s: float
    busy_s: dict[int, float]
    own_s: dict[int, float]
    """By process."""
    processors: dict[int, int]
    """On which each of these ran last."""


@contextlib.contextmanager
def watched(lab_pid: int) -> Iterator[Use]:
    """Counts until the end of the block; what is given is complete then. ``lab_pid`` is the lab's
    first process."""
    strangers = {
        pid
        for pid, process in _processes().items()
        if process.parent == os.getpid() and pid != lab_pid
    }
    use, looks, ended = Use(), [_look(strangers)], threading.Event()

    def watch() -> None:
        while not ended.wait(LOOK_S):
            looks.append(_look(strangers))

    thread = threading.Thread(target=watch, daemon=True)
    begun, own, stolen = time.monotonic(), _own_s(looks[0]), _stolen_s()
    thread.start()
    try:
        yield use
    finally:
        ended.set()
        thread.join()
        looks.append(_look(strangers))
        seconds = time.monotonic() - begun
        _sum_up(use, looks, _own_s(looks[-1]) - own, seconds)
        use.stolen = (_stolen_s() - stolen) / seconds


def _sum_up(use: Use, looks: list[_Look], own_s: float, seconds: float) -> None:
    """From first to last look for the averages, over windows for what was most."""
    busy_s = sum(looks[-1].busy_s.values()) - sum(looks[0].busy_s.values())
    use.others = max(0.0, busy_s - own_s) / seconds
    use.others_most = use.others
    step = min(WINDOW_LOOKS, len(looks) - 1)
    for before, after in zip(looks, looks[step:], strict=False):
        lasted_s = max(after.at_s - before.at_s, 1 / TICKS_PER_S)
        own = _own_by_processor(before, after)
        total = 0.0
        for processor, busy in after.busy_s.items():
            mine = own.get(processor, 0.0)
            others = max(0.0, busy - before.busy_s[processor] - mine) / lasted_s
            use.of_processor[processor] = max(use.of_processor.get(processor, 0.0), others)
            use.own_most = max(use.own_most, mine / lasted_s)
            total += others
        use.others_most = max(use.others_most, total)


def _own_by_processor(before: _Look, after: _Look) -> dict[int, float]:
    found: dict[int, float] = {}
    for pid, used_s in after.own_s.items():
        grown = used_s - before.own_s.get(pid, 0.0)
        found[after.processors[pid]] = found.get(after.processors[pid], 0.0) + grown
    return found


def _look(strangers: set[int]) -> _Look:
    processes = _processes()
    own = {pid for pid in processes if _is_own(pid, processes, strangers)}
    busy = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name != "cpu":
            busy[int(name[3:])] = sum(int(word) for word in words[:WORKING]) / TICKS_PER_S
    return _Look(
        time.monotonic(),
        busy,
        {pid: processes[pid].used_s for pid in own},
        {pid: processes[pid].processor for pid in own},
    )


def _processes() -> dict[int, _Process]:
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            used_s = (int(words[11]) + int(words[12])) / TICKS_PER_S
            found[int(entry.name)] = _Process(int(words[1]), used_s, int(words[36]))
    return found


def _is_own(pid: int, processes: dict[int, _Process], strangers: set[int]) -> bool:
    seen = set()
    while pid in processes and pid not in seen:
        if pid in strangers:
            return False
        if pid == os.getpid():
            return True
        seen.add(pid)
        pid = processes[pid].parent
    return False


def _own_s(look: _Look) -> float:
    """Of what runs, and of what this process has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(look.own_s.values()) + usage.ru_utime + usage.ru_stime


def _stolen_s() -> float:
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return int(words[STEAL_FIELD]) / TICKS_PER_S
