"""Whether this machine can be trusted to measure at the moment, by nothing of netsonde's.

A control is begun before an attempt and asked behind it. It says in words what was wrong with the
machine meanwhile: a hypervisor that gave CPUs to others, somebody else's processes, or a
CPU that stood still while a loop did nothing but read the clock on it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from own_time import own_s

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
STOLEN_MOST = 0.005
"""Of the CPUs' time; with more given away, timers and links of this machine are late."""
OTHERS_MOST = 0.2
"""Of one CPU, used by processes that these tests have not started."""
PAUSE_MOST_S = 0.003
SPIN_S = 0.01
LOOK_S = 0.5


@dataclass(frozen=True)
class Look:
    """At the machine, in seconds since something: time, all CPUs' work, ours, and what the
    hypervisor gave to others."""

    at_s: float
    busy_s: float
    own_s: float
    stolen_s: float


class Control:
    """Begun when it is made; ``verdict`` is empty where the machine could be trusted since."""

    def __init__(self) -> None:
        self._pause_s = longest_pause_s()
        self._before = look()

    def verdict(self) -> str:
        after = look()
        return judged(self._before, after, max(self._pause_s, longest_pause_s()))


def judged(before: Look, after: Look, pause_s: float) -> str:
    """What was wrong between two looks, in words; empty where nothing was."""
    seconds = max(after.at_s - before.at_s, 1 / TICKS_PER_S)
    stolen = (after.stolen_s - before.stolen_s) / seconds / (os.cpu_count() or 1)
    busy, own = after.busy_s - before.busy_s, after.own_s - before.own_s
    others = max(0.0, busy - own - 2 / TICKS_PER_S) / seconds
    wrong = []
    if stolen > STOLEN_MOST:
        wrong.append(f"the hypervisor gave {stolen:.1%} of the CPUs' time to others")
    if others > OTHERS_MOST:
        wrong.append(f"other processes used {others:.2f} CPUs")
    if pause_s > PAUSE_MOST_S:
        wrong.append(f"a CPU stood still for {1e3 * pause_s:.1f} ms")
    return "; ".join(wrong)


def wait_until_quiet(timeout_s: float) -> None:
    """Returns when nobody else uses the machine, or at the timeout."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        before = look()
        time.sleep(LOOK_S)
        if not judged(before, look(), 0.0):
            return


def look() -> Look:
    # user nice system idle iowait irq softirq steal
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    ticks = [int(word) for word in words]
    stolen = ticks[7] if len(ticks) == 8 else 0
    return Look(time.monotonic(), sum(ticks[:3]) / TICKS_PER_S, own_s(), stolen / TICKS_PER_S)


def longest_pause_s() -> float:
    """The longest time between two readings of the clock, on each CPU in turn and before
    every other process; 0 where this process may not go first."""
    allowed = os.sched_getaffinity(0)
    longest = 0.0
    with contextlib.suppress(PermissionError), first_in_line():
        for processor in allowed:
            os.sched_setaffinity(0, {processor})
            end = last = time.perf_counter()
            end += SPIN_S
            while last < end:
                now = time.perf_counter()
                longest, last = max(longest, now - last), now
    return longest


@contextlib.contextmanager
def first_in_line() -> Iterator[None]:
    """This thread before all others; afterwards where and how it ran before."""
    allowed, policy = os.sched_getaffinity(0), os.sched_getscheduler(0)
    parameter = os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameter)
        os.sched_setaffinity(0, allowed)
