"""Hosts, and the processes started on them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from netsonde.catalogue.launcher import LAUNCHERS, Launcher
from netsonde.errors import HostError, UsageError

STDERR_LIMIT_BYTES = 16384  # what is kept of a process's standard error: its last words
LAST_WORDS_LIMIT_CHARACTERS = 400
READ_BYTES = 1 << 16


class Channel(Protocol):
    """What a worker is spoken with: bytes in, bytes out, and how it ended."""

    def read(self) -> bytes:
        """The next bytes of the worker's output; blocks; empty at its end and after stop()."""

    def write(self, content: bytes, timeout_s: float) -> None:
        """Hands over all of content. Raises OSError where the worker does not take it in time."""

    def finish(self) -> None:
        """Says that nothing more will be written."""

    def ending(self, timeout_s: float) -> str:
        """How it ended, for a sentence that begins with "the worker": `was killed by SIGKILL`."""

    def stop(self, grace_s: float) -> None:
        """Ends it, gently first, and makes read() return. Idempotent."""

    def release(self) -> None:
        """Gives its descriptors back, after stop() and when nobody reads any more. Idempotent."""


class Host(Protocol):
    """A place where processes can be started."""

    @property
    def name(self) -> str:
        """The name that the user gave it."""

    @property
    def kind(self) -> str:
        """The name of its launcher, by which processes get there."""

    def address(self, family: str) -> str:
        """Where the other end reaches this host. family: ``ipv4`` or ``ipv6``.

        Raises HostError where it has no such address.
        """

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> ChildProcess:
        """Starts a process there; env is added to the environment it would have anyway.

        Raises HostError where it cannot be started.
        """


def launcher_row(host: Host) -> Launcher:
    """What is known of that by which processes get to a host."""
    return LAUNCHERS[host.kind]


def check_origin(host: Host) -> None:
    """Raises UsageError where a test cannot be started from the host."""
    if launcher_row(host).is_served:
        raise UsageError(
            f"{host.name} runs netsonde serve and can only be the target; "
            "start the test from the other host"
        )


class ChildProcess:
    """A process of ours with pipes to its standard input and output.

    Its standard error is kept, bounded, for error sentences. It has a session of its own, so that
    Ctrl-C reaches netsonde alone and netsonde ends it in order. ``explain`` may turn an exit status
    and the standard error into a better sentence than the general one. ``env`` is added to our
    environment, of which it does not get the variables ``without``.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        without: Sequence[str] = (),
        explain: Callable[[int, str], str | None] | None = None,
    ) -> None:
        self.argv = tuple(argv)
        self._explain = explain
        self._tail = bytearray()
        self._stopped = False
        try:
            self._process = subprocess.Popen(
                self.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env={k: v for k, v in os.environ.items() if k not in without} | dict(env or {}),
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise HostError(f"cannot start {argv[0]}: {reason}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin = self._process.stdin
        self._stdout = self._process.stdout
        self._stderr = self._process.stderr
        # Readers also watch this pipe: a grandchild that holds an output open (a persistent ssh
        # master does) must not keep them waiting for ever.
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._stdin.fileno(), False)
        self._stderr_thread = threading.Thread(target=self._keep_stderr, daemon=True)
        self._stderr_thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """The exit status, minus the signal's number where one killed it, None while it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> int | None:
        """poll() after waiting for the end for at most timeout_s."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stderr_text(self) -> str:
        """The last 16 KiB that it wrote to its standard error."""
        return bytes(self._tail).decode(errors="replace")

    def read(self) -> bytes:
        return self._read(self._stdout.fileno())

    def write(self, content: bytes, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        view = memoryview(content)
        poller = select.poll()
        poller.register(self._stdin.fileno(), select.POLLOUT)
        while view:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not poller.poll(left_s * 1000):
                raise TimeoutError("it does not read its standard input")
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(self._stdin.fileno(), view) :]

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()

    def ending(self, timeout_s: float) -> str:
        status = self.wait(timeout_s)
        if status is None:
            return "closed its output but still runs"
        # The last words may still be on their way through the pipe.
        self._stderr_thread.join(timeout_s)
        if self._explain is not None:
            sentence = self._explain(status, self.stderr_text())
            if sentence:
                return sentence
        return how_it_ended(status, self.stderr_text())

    def terminate(self) -> None:
        """SIGTERM to the process."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """SIGKILL to the process and to all that it started in its session's group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def stop(self, grace_s: float = 1.0) -> None:
        """Closes its input, waits, then terminates it, then kills it. Idempotent."""
        if self._stopped:
            return
        self._stopped = True
        try:
            self.finish()
            if self.wait(grace_s) is None:
                self.terminate()
                self.wait(grace_s)
        finally:
            if self._process.poll() is None:
                self.kill()
                self._process.wait()
            os.write(self._wake_write, b"x")
            self._stderr_thread.join()

    def release(self) -> None:
        """Closes the pipes, after stop() and when nobody reads any more. Idempotent."""
        self._stdout.close()
        self._stderr.close()
        for fd in (self._wake_read, self._wake_write):
            if fd >= 0:
                os.close(fd)
        self._wake_read = self._wake_write = -1

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.release()

    def _read(self, fd: int) -> bytes:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        poller.register(self._wake_read, select.POLLIN)
        ready = {ready_fd for ready_fd, _ in poller.poll()}
        return b"" if self._wake_read in ready else os.read(fd, READ_BYTES)

    def _keep_stderr(self) -> None:
        while content := self._read(self._stderr.fileno()):
            self._tail += content
            del self._tail[:-STDERR_LIMIT_BYTES]


def how_it_ended(status: int, stderr_text: str) -> str:
    """`ended with status 1: LAST LINE OF STDERR` or `was killed by SIGSEGV`."""
    if status < 0:
        try:
            how = f"was killed by {signal.Signals(-status).name}"
        except ValueError:
            how = f"was killed by signal {-status}"
    else:
        how = f"ended with status {status}"
    words = last_words(stderr_text)
    return f"{how}: {words}" if words else how


def last_words(text: str) -> str:
    """The last line with content, made printable and bounded."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    return printable(lines[-1])


def printable(text: str) -> str:
    """What another host says, bounded and without what would steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text[:LAST_WORDS_LIMIT_CHARACTERS])
