"""A process in the background that outlives its terminal, and the one record of it.

The record is a locked file with the process's number; the lock is gone with the process, so that a
number that another process has by now is never taken for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from netsonde.errors import HostError, NetsondeError, UsageError

READY_S = 60.0
RECORD_BYTES = 2048
"""The record is made as large at once: what is said in it later needs no room on a full disk."""
_PID_BYTES = 32
ENDING_S = 40.0  # longer than a sample may take


class PidFile:
    """The record of the background sysmon of this host and user."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or _state_folder()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make {folder}: {error.strerror}") from error
        # A home may be shared by many hosts.
        self.path = folder / f"sysmon-{socket.gethostname()}.pid"
        self._fd: int | None = None

    def hold(self) -> None:
        """Locks the record, for this process and those it forks. Raises UsageError where another
        holds it."""
        self._fd = self._open()
        if not _locked(self._fd):
            pid = self._read(self._fd)
            self.release()
            raise UsageError(
                f"sysmon runs in the background already (process {pid}); end it with sysmon -k"
            )

    def write(self, pid: int) -> None:
        if self._fd is None:
            raise HostError(f"{self.path} is not held")
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{pid}\n".encode().ljust(RECORD_BYTES), 0)
        except OSError as error:
            raise HostError(f"cannot write {self.path}: {error.strerror}") from error

    def say(self, sentence: str) -> None:
        """Leaves a sentence for whoever asks; the one before is forgotten."""
        if self._fd is not None:
            text = sentence.encode()[: RECORD_BYTES - _PID_BYTES].ljust(RECORD_BYTES - _PID_BYTES)
            with contextlib.suppress(OSError):  # nobody is left to tell
                os.pwrite(self._fd, text, _PID_BYTES)

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def kill(self) -> tuple[int, str]:
        """Ends the process of the record and waits for its end; returns its number and what it
        said last. Raises UsageError where there is none, with what the last one said; HostError
        where it does not end."""
        fd = self._open()
        try:
            if _locked(fd):
                said = self._said(fd)
                raise UsageError(
                    "no sysmon of yours runs in the background of this host"
                    + (f"; the last one said: {said}" if said else "")
                )
            pid = self._read(fd)
            if pid is None:
                raise HostError("sysmon is just being started; try again")
            os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + ENDING_S
            while not _locked(fd):
                if time.monotonic() > end:
                    raise HostError(f"sysmon (process {pid}) has not ended in {ENDING_S:.0f} s")
                time.sleep(0.05)
            return pid, self._said(fd)
        except OSError as error:
            raise HostError(f"cannot end sysmon: {error.strerror}") from error
        finally:
            os.close(fd)

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"cannot open {self.path}: {error.strerror}") from error

    @staticmethod
    def _read(fd: int) -> int | None:
        text = os.pread(fd, _PID_BYTES, 0).strip()
        return int(text) if text.isdigit() and int(text) > 1 else None

    @staticmethod
    def _said(fd: int) -> str:
        text = os.pread(fd, RECORD_BYTES, _PID_BYTES).decode(errors="replace").strip()
        return "".join(c if c.isprintable() else "?" for c in text)


def start_in_background(body: Callable[[Callable[[str], None]], int]) -> tuple[int, str]:
    """Runs body in a process without a terminal, whose parent is not this one.

    body gets a function to say in one line that it is at work, and returns its exit status; what it
    raises before that is raised here. Returns the number of the process and the line.
    """
    if threading.active_count() > 1:
        raise HostError("a process with several threads cannot go to the background")
    reading, writing = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(reading)
        _become_daemon(writing, body)  # never returns
    os.close(writing)
    os.waitpid(first, 0)
    try:
        return _await_ready(reading)
    finally:
        os.close(reading)


def _become_daemon(writing: int, body: Callable[[Callable[[str], None]], int]) -> None:
    """In the child: a session of its own, then a child that can never get a terminal again."""
    status = 3
    try:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)
        try:
            status = body(lambda line: _say(writing, f"ready {os.getpid()} {line}"))
        except NetsondeError as error:
            _say(writing, f"{'usage' if isinstance(error, UsageError) else 'failed'} 0 {error}")
            status = error.exit_code
    finally:
        os._exit(status)


def _say(writing: int, line: str) -> None:
    try:
        os.write(writing, line.encode()[:2000] + b"\n")
    except OSError:
        return  # the one who started it is gone


def _await_ready(reading: int) -> tuple[int, str]:
    text = b""
    end = time.monotonic() + READY_S
    while b"\n" not in text:
        left_s = max(0.0, end - time.monotonic())
        if not select.select([reading], [], [], left_s)[0]:
            raise HostError(f"sysmon has not begun in {READY_S:.0f} s")
        piece = os.read(reading, 4096)
        if not piece:
            raise HostError("sysmon ended before it began")
        text += piece
    kind, pid, line = text.decode(errors="replace").split("\n")[0].split(" ", 2)
    if kind == "usage":
        raise UsageError(line)
    if kind == "failed":
        raise HostError(line)
    return int(pid), line


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _state_folder() -> Path:
    """Where state of a user lies that outlives a login (XDG base directories)."""
    given = os.environ.get("XDG_STATE_HOME", "")
    try:
        base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise UsageError("there is no home folder; set XDG_STATE_HOME to a folder") from error
    return base / "netsonde"
