"""A worker for a stranger: without privileges, bounded, with nothing of this process but pipes."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import math
import os
import pwd
import resource
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.record_check import RECORD_LINE_LIMIT_BYTES

# The samples of 16 Mi messages (128 MiB a series) and a message of 256 MiB at each direction.
ADDRESS_SPACE_BYTES = 3 << 30
DESCRIPTORS = 64
END_GRACE_S = 1.0

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
# Loaded here, since nothing should be loaded between fork and exec.
_LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.asynccontextmanager
async def confined_worker(
    binary: Path, cpu_s: float | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs the worker with pipes for input and output; it is gone when the context is left.

    Root becomes nobody, without further groups. cpu_s is the CPU time that it may use, in whole
    seconds, after which SIGXCPU ends it. Raises HostError where it cannot be started.
    """
    # nobody may not be able to walk to the binary, so it is opened here and run through /proc.
    fd = os.open(binary, os.O_RDONLY)
    try:
        process = await _start(binary, fd, cpu_s)
    except OSError as error:
        raise HostError(f"cannot start {binary}: {error.strerror or error}") from error
    finally:
        os.close(fd)
    try:
        yield process
    finally:
        await _end(process)


async def _start(binary: Path, fd: int, cpu_s: float | None) -> asyncio.subprocess.Process:
    user, group = _unprivileged()
    return await asyncio.create_subprocess_exec(
        binary.name,
        executable=f"/proc/self/fd/{fd}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=2 * RECORD_LINE_LIMIT_BYTES,
        pass_fds=(fd,),
        env={},
        cwd="/",
        start_new_session=True,
        user=user,
        group=group,
        extra_groups=None if user is None else [],
        preexec_fn=partial(_confine, cpu_s),
    )


def _unprivileged() -> tuple[int | None, int | None]:
    """User and group to become, or None where this process already is somebody ordinary."""
    if os.geteuid() != 0:
        return None, None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return 65534, 65534
    return nobody.pw_uid, nobody.pw_gid


def cpu_time_s(pid: int) -> float:
    """What a process has used, all its threads; 0 where it is gone."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _confine(cpu_s: float | None) -> None:
    """In the child, after it became nobody and before the worker's first instruction."""
    cpu = [] if cpu_s is None else [(resource.RLIMIT_CPU, max(1, math.ceil(cpu_s)))]
    for what, most in (
        *cpu,
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES),
        (resource.RLIMIT_NOFILE, DESCRIPTORS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        bounded = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # Of CPU time the hard limit kills, and only the soft one says why.
        more = 1 if what == resource.RLIMIT_CPU and bounded != hard else 0
        resource.setrlimit(what, (bounded, bounded + more))
    for option, value in ((_PR_SET_NO_NEW_PRIVS, 1), (_PR_SET_PDEATHSIG, signal.SIGKILL)):
        if _LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Gone, at the latest after a second."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        async with asyncio.timeout(END_GRACE_S):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        # asyncio tells of an end only once the pipes are empty.
        while process.stdout is not None and await process.stdout.read(RECORD_LINE_LIMIT_BYTES):
            pass
        await process.wait()
