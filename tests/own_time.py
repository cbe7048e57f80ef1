"""CPU time of a run of these tests: of its processes and all that they have started.

Where the kernel lets it, the run is a group of processes (cgroups, version 2), and the kernel
counts: also of what ended without anybody waiting for it, as a lab's processes do with their
namespace, and of what lost its environment on the way, as a shell of sshd. Elsewhere processes are
known by a mark in their environment, and what was lost so counts as somebody else's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

MARK = "NETSONDE_TESTS_OF"
"""In the environment of all that these tests start: the process id of who started it."""
GROUP = "NETSONDE_TESTS_GROUP"
"""In the same: the folder of the group, where there is one."""
MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def counted() -> Iterator[None]:
    """This process and what it starts meanwhile belong together, several runners of tests too."""
    if MARK in os.environ:
        yield
        return
    os.environ[MARK] = str(os.getpid())
    above = next((path for mount in MOUNTS if (path := group_below(Path(mount)))), None)
    with contextlib.ExitStack() as room:
        room.callback(os.environ.pop, MARK)
        if above is not None:
            with contextlib.suppress(OSError):
                os.environ[GROUP] = str(room.enter_context(own_group(above)))
                room.callback(os.environ.pop, GROUP)
        yield


def group_below(mount: Path) -> Path | None:
    """The group that this process is in; None where that is no place of cgroups, version 2."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, _, path = line.split(":", 2)
        folder = mount / path.lstrip("/")
        if number == "0" and (folder / "cgroup.procs").exists() and (mount / "cpu.stat").exists():
            return folder
    return None


@contextlib.contextmanager
def own_group(above: Path) -> Iterator[Path]:
    """A group that this process is in until the end. Raises OSError where none can be made."""
    for left in above.glob("netsonde-tests-*"):
        with contextlib.suppress(OSError):  # of one that was killed; else it is not empty
            left.rmdir()
    group = above / f"netsonde-tests-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield group
    finally:
        with contextlib.suppress(OSError):
            (above / "cgroup.procs").write_text(str(os.getpid()))
            group.rmdir()


def own_s() -> float:
    """CPU time of this run until now; only differences mean something."""
    group = os.environ.get(GROUP)
    return marked_s() if group is None else group_s(Path(group))


def group_s(group: Path) -> float:
    words = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(words["usage_usec"]) / 1e6


def marked_s() -> float:
    """Of all that carry the mark, and of what these have waited for."""
    ticks = 0
    mark = f"{MARK}={os.environ[MARK]}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            is_first = entry.name == os.environ[MARK]
            if is_first or mark in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "stat").read_text().rpartition(")")[2].split()
                ticks += sum(int(word) for word in words[11:15])
    return ticks / TICKS_PER_S
