"""A user's own program, run on a host: bounded in time and output, ended with all that it started.

A small script of sh starts the program on its host, whichever way leads there. It gives the program
a session of its own and ends that session's whole group when the program has ended, or when its own
standard input closes: at a timeout, and when netsonde or the connection is gone. The words of the
command are arguments of that script; no shell reads them. It waits for a line before it starts the
program, so that no delay on the way of its own first word shortens the time.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from netsonde.errors import HostError
from netsonde.launch.host import ChildProcess, Host
from netsonde.launch.lone import LoneSession
from netsonde.launch.session import Record, closing_on_failure
from netsonde.launch.worker import Worker, start_worker
from netsonde.limits import limit_s
from netsonde.records.data import PROGRAM

START_TIMEOUT_S = limit_s("program-start")
"""From the start of the script, or of ssh, to its first word."""
KILL_TIMEOUT_S = limit_s("program-end")
"""From the closing of its input to its last word."""
OUTPUT_KEPT_BYTES = 256 << 10
"""The end of a program's output in which figures are looked for."""
TAIL_KEPT_CHARACTERS = 4000
"""The end of the output that a run keeps."""
LINE_LIMIT_CHARACTERS = 4096
"""Of a longer line, only the beginning is searched: an expression may take the square of it."""
LAST_WORD_BYTES = 64

SCRIPT = r"""
token=$1
shift
exec 3<&0 </dev/null
echo "$token"
read -r _ <&3 || exit 1
setsid "$@" 2>&1 3<&- &
program=$!
end_all() { kill -s KILL -- "-$program" 2>/dev/null; }
{ read -r _ <&3; end_all || kill -s KILL "$program" 2>/dev/null; } &
watch=$!
wait "$program" 2>/dev/null
status=$?
kill "$watch" 2>/dev/null
end_all
printf '\n%s %s\n' "$token" "$status"
"""
"""Started in the background, setsid leads its session under the id that `$!` is."""


@dataclass(frozen=True)
class Ended:
    """How one run of a program ended.

    ``elapsed_ns`` is between the word to start the program, as it was sent, and that after its end,
    as it came. ``status`` is that of a shell, 128 and the signal's number where a signal ended
    it. ``output`` is the end of what it wrote, both its outputs in one.
    """

    elapsed_ns: int
    status: int
    timed_out: bool
    output: str
    output_bytes: int


class ProgramSession(LoneSession):
    """A host on which programs run, and a worker beside them that reads its counters. Made by
    open_program()."""

    transport = PROGRAM

    def __init__(self, host: Host, worker: Worker) -> None:
        super().__init__(worker)
        self._host = host

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        """One run of ``command`` with ``environment``; the counters before and after, and a
        ``done`` with how it ended and the ``figures`` (name: regular expression) in its output.

        A program that fails or is late is no failure of the session. Raises HostError where it
        cannot be started or does not end.
        """
        self._check_open()
        command, environment, patterns = (
            fields[name] for name in ("command", "environment", "figures")
        )
        assert isinstance(command, list)
        assert isinstance(environment, dict)
        assert isinstance(patterns, dict)
        with closing_on_failure(self):
            before = self._counters("before")
            ended = run_program(self._host, command, environment, timeout_s)
            after = self._counters("after")
        values: Record = {
            "elapsed_ns": ended.elapsed_ns,
            "exit_status": ended.status,
            "timed_out": ended.timed_out,
            "output_bytes": ended.output_bytes,
            "output_tail": ended.output[-TAIL_KEPT_CHARACTERS:],
        }
        for name, value in read_figures(ended.output, patterns).items():
            values[f"figure.{name}"] = value
        of = {name: after[-1][name] for name in ("request", "rank", "host")}
        return [*before, *after, {"record": "done", **of, "verb": "run", "values": values}]

    def _counters(self, phase: str) -> list[Record]:
        return [{**record, "phase": phase} for record in self.snapshots()]


def open_program(host: Host, family: str) -> ProgramSession:
    """Ready to run programs on a host. Raises HostError."""
    return ProgramSession(host, start_worker(host, family=family))


def run_program(
    host: Host, command: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> Ended:
    """Runs a command on a host to its end, or kills it after timeout_s with all that it started.

    Raises HostError where it cannot be started, or cannot be ended.
    """
    token = secrets.token_hex(8)
    argv = ["/bin/sh", "-c", SCRIPT, "sh", token, *command]
    with host.start(argv, env=environment) as process:
        output = _Output(process, token)
        with _after(START_TIMEOUT_S, process.stop) as late:
            if not output.read_beginning():
                raise HostError(f"{host.name}: {_no_beginning(process, late.is_set())}")
            begin_ns = time.monotonic_ns()
            try:
                process.write(b"\n", START_TIMEOUT_S)
            except OSError:
                raise HostError(f"{host.name}: {_no_end(process, command[0], False)}") from None
        with (
            _after(timeout_s + KILL_TIMEOUT_S, process.stop),
            _after(timeout_s, process.finish) as late,
        ):
            status = output.read_to_end()
        elapsed_ns = time.monotonic_ns() - begin_ns
        if status is None:
            raise HostError(f"{host.name}: {_no_end(process, command[0], late.is_set())}")
        return Ended(elapsed_ns, status, late.is_set(), output.text(), output.total_bytes)


def read_figures(output: str, patterns: Mapping[str, str]) -> dict[str, float]:
    """The number that each pattern's group matches in the last line that has one; none of what no
    line has, or has without a finite number."""
    found: dict[str, float] = {}
    compiled = {name: re.compile(pattern) for name, pattern in patterns.items()}
    for line in output.splitlines():
        for name, pattern in compiled.items():
            match = pattern.search(line[:LINE_LIMIT_CHARACTERS])
            number = _number(match[1]) if match else None
            if number is not None:
                found[name] = number
    return found


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if isfinite(value) else None


class _Output:
    """What the script writes: its first word, the program's output, its last word."""

    def __init__(self, process: ChildProcess, token: str) -> None:
        self._process = process
        self._first = f"{token}\n".encode()
        self._last = re.compile(rb"\n" + token.encode() + rb" ([0-9]{1,3})\n\Z")
        self._kept = bytearray()
        self.total_bytes = 0

    def read_beginning(self) -> bool:
        """Reads up to the first word, over what a login shell may say before it; False where the
        output ends, or is too long, without it."""
        while self._first not in self._kept:
            content = self._process.read()
            if not content or len(self._kept) > OUTPUT_KEPT_BYTES:
                return False
            self._kept += content
        del self._kept[: self._kept.index(self._first) + len(self._first)]
        self.total_bytes = len(self._kept)
        return True

    def read_to_end(self) -> int | None:
        """Reads up to the last word; the program's status, or None where the output ends before."""
        while not (match := self._last.search(bytes(self._kept[-LAST_WORD_BYTES:]))):
            content = self._process.read()
            if not content:
                return None
            self._kept += content
            self.total_bytes += len(content)
            del self._kept[: -OUTPUT_KEPT_BYTES - LAST_WORD_BYTES]
        length = len(match[0])
        del self._kept[-length:]
        self.total_bytes -= length
        return int(match[1])

    def text(self) -> str:
        return bytes(self._kept[-OUTPUT_KEPT_BYTES:]).decode(errors="replace")


@contextlib.contextmanager
def _after(seconds: float, action: Callable[[], object]) -> Iterator[threading.Event]:
    """Does something if the block lasts longer; the event says whether it did."""
    happened = threading.Event()

    def act() -> None:
        happened.set()
        action()

    timer = threading.Timer(seconds, act)
    timer.start()
    try:
        yield happened
    finally:
        timer.cancel()
        timer.join()


def _no_beginning(process: ChildProcess, late: bool) -> str:
    if late:
        return f"no program could be started within {START_TIMEOUT_S:.0f} s"
    return f"no program can be run there: sh {process.ending(KILL_TIMEOUT_S)}"


def _no_end(process: ChildProcess, program: str, late: bool) -> str:
    if late:
        return f"{program} could not be ended within {KILL_TIMEOUT_S:.0f} s after its timeout"
    return f"the connection to {program} was lost: sh {process.ending(KILL_TIMEOUT_S)}"
