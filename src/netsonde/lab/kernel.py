"""The few calls of the kernel that Python 3.11 does not offer. Each raises OSError, named."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
HOST_NAMESPACES = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_SLAVE = 1 << 19

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_CAP_NET_ADMIN = 12
_CAP_SYS_ADMIN = 21

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int, what: str) -> None:
    """Moves this process into new namespaces; what names them in the error."""
    _check(_libc.unshare(ctypes.c_int(flags)), f"cannot make {what}")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """mount(2)."""
    result = _libc.mount(
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    _check(result, f"cannot mount {kind or source} on {target}")


def set_host_name(name: str) -> None:
    encoded = name.encode()
    _check(_libc.sethostname(encoded, ctypes.c_size_t(len(encoded))), "cannot set the host name")


def die_with_parent() -> None:
    """The kernel kills this process when its parent ends, however it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, "cannot tie a process to its parent")


def allow_inspection() -> None:
    """Lets processes of the same user enter this one's namespaces after it changed its own."""
    _prctl(_PR_SET_DUMPABLE, 1, "cannot let others enter the namespaces")


def set_process_name(name: str) -> None:
    buffer = ctypes.create_string_buffer(name.encode()[:15])
    _libc.prctl(ctypes.c_int(_PR_SET_NAME), buffer, 0, 0, 0)


def become_root_of_a_user_namespace() -> None:
    """A new user namespace in which this user, and nobody else, is root."""
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER, "a user namespace")
    own = Path("/proc/self")
    # Without this the kernel lets nobody without privileges map a group.
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"0 {user} 1")
    (own / "gid_map").write_text(f"0 {group} 1")


def may_make_namespaces() -> bool:
    """Whether this process has the two capabilities that namespaces and links need."""
    needed = 1 << _CAP_SYS_ADMIN | 1 << _CAP_NET_ADMIN
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16) & needed == needed
    return False


def start_time_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since the machine did; None where it has ended.

    With the pid it names a process for good: pids are used again, pairs are not.
    """
    try:
        content = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field is the program's name and may hold anything; it ends at the last bracket.
    fields = content[content.rindex(")") + 2 :].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def _prctl(option: int, value: int, message: str) -> None:
    result = _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), 0, 0, 0)
    _check(result, message)


def _check(result: int, message: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{message}: {os.strerror(number)}")
