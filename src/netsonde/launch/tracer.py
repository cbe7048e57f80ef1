"""sonde-trace as a process: started, listened to, and with a command of the user's in its care."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.launch.binaries import find_worker

READY_S = 30.0
ENDING_S = 60.0
LINE_LIMIT_BYTES = 1 << 20
ENDING = (signal.SIGINT, signal.SIGTERM)
HELD = (*ENDING, signal.SIGCHLD)
LOOK_EVERY_S = 0.5
_SENT_BY_PROCESS = 0  # and below; what a terminal sends comes from the kernel

Message = dict[str, Any]


class Tracer:
    """A sonde-trace that was started; says what it says, line by line, until it ends."""

    def __init__(self, process: subprocess.Popen[bytes], reading: int) -> None:
        self._process = process
        self._reading = reading
        self._text = b""
        self.is_ready = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def messages(self, timeout_s: float | None) -> Iterator[Message]:
        """Until it ends, or, of one that says nothing for so long, until then.

        Raises UsageError, HostError where it failed.
        """
        while True:
            while b"\n" in self._text:
                line, _, self._text = self._text.partition(b"\n")
                yield self._message(line)
            if not select.select([self._reading], [], [], timeout_s)[0]:
                return
            content = os.read(self._reading, 65536)
            if not content:
                return
            self._text += content
            if len(self._text) > LINE_LIMIT_BYTES:
                raise HostError("sonde-trace says more than it should")

    def _message(self, line: bytes) -> Message:
        message = json.loads(line)
        if not isinstance(message, dict):
            raise HostError("sonde-trace says what is not understood")
        if "failed" in message:
            error = UsageError if message.get("is_usage") else HostError
            raise error(str(message["failed"]))
        self.is_ready = self.is_ready or "ready" in message
        return message

    def wait_ready(self) -> list[Message]:
        """What it says until it is at work. Raises UsageError, HostError."""
        said: list[Message] = []
        deadline = time.monotonic() + READY_S
        while not self.is_ready:
            left_s = deadline - time.monotonic()
            before = len(said)
            for message in self.messages(max(0.0, left_s)):
                said.append(message)
                if self.is_ready:
                    return said
            if len(said) == before:
                self.end()
                raise HostError(f"sonde-trace {self._how()} before it began")
        return said

    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout_s: float | None = None) -> int:
        """Its exit status. Raises HostError where it does not end in time."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise HostError(f"sonde-trace did not end within {timeout_s:.0f} s") from error

    def end(self) -> None:
        """Tells it to end; kills it where it does not. Idempotent."""
        self.signal(signal.SIGTERM)
        try:
            self._process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """Ends it, if it still runs."""
        if self._process.poll() is None:
            self.end()
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1

    def leave(self) -> None:
        """Lets it go on by itself."""
        os.close(self._reading)
        self._reading = -1
        self._process.returncode = 0  # nobody waits for it here

    def _how(self) -> str:
        status = self._process.poll()
        if status is None:
            return f"was silent for {READY_S:.0f} s"
        return f"ended with status {status}"

    def __enter__(self) -> Tracer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._reading >= 0:
            self.close()


def start_tracer(
    settings: Mapping[str, Any], command: Sequence[str] = (), log: Path | None = None
) -> Tracer:
    """Starts sonde-trace with these settings. With a log it gets a session of its own, without a
    terminal, and what it says goes there; otherwise it ends when this process does.

    Raises HostError.
    """
    reading, writing = os.pipe()
    is_alone = log is not None
    words = json.dumps({**settings, "status_fd": writing, "tied": not is_alone})
    argv = [str(find_worker("sonde-trace")), words, *(["--", *command] if command else [])]
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, writing)
        try:
            output = stack.enter_context(log.open("ab")) if log is not None else None
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if is_alone else None,
                stdout=output,
                stderr=output,
                pass_fds=(writing,),
                start_new_session=is_alone,
            )
        except OSError as error:
            os.close(reading)
            what = log if error.filename == str(log) else "sonde-trace"
            raise HostError(f"cannot start {what}: {error.strerror}") from error
    return Tracer(process, reading)


def start_beside(argv: Sequence[str], log: Path) -> int:
    """A process with a session of its own, without a terminal; its number. Raises HostError."""
    try:
        with log.open("ab") as output:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
    except OSError as error:
        raise HostError(f"cannot start {argv[0]}: {error.strerror}") from error
    process.returncode = 0  # nobody waits for it here
    return process.pid


@contextlib.contextmanager
def holding_signals() -> Iterator[list[int]]:
    """Ctrl-C, SIGTERM and the end of a child wait while the block runs, for attend().

    They wait for this thread. A library may have threads of its own, and one of these may be given
    a signal at a moment when this one does not wait; its number is then in the list.
    """
    taken: list[int] = []
    handlers = {
        number: signal.signal(number, lambda caught, _: taken.append(caught)) for number in ENDING
    }
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield taken
    finally:
        while signal.sigtimedwait(HELD, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def attend(tracer: Tracer, taken: list[int]) -> tuple[list[Message], int | None]:
    """Sleeps until sonde-trace ends; what it said, and the last signal that was to end it or None.

    A terminal sends its signals to everyone in front of it, so that only those that a process sent
    are passed on. To be called within holding_signals(), whose list is ``taken``. Raises
    UsageError, HostError.
    """
    caught = None
    while tracer.is_running():
        got = signal.sigtimedwait(HELD, LOOK_EVERY_S)
        if got is not None and got.si_signo in ENDING:
            caught = got.si_signo
            if got.si_code <= _SENT_BY_PROCESS or caught != signal.SIGINT:
                tracer.signal(caught)
        while taken:
            caught = taken.pop(0)
            tracer.signal(caught)
    said = list(tracer.messages(0.0))
    tracer.wait(ENDING_S)
    return said, caught
