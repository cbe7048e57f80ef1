"""A trace from beginning to end: for so long, in the background, or while a command runs."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from netsonde.endpoint import Endpoint, Listen
from netsonde.errors import HostError, InterruptedByUserError, UsageError
from netsonde.launch.tracer import (
    Message,
    attend,
    holding_signals,
    start_beside,
    start_tracer,
)
from netsonde.names import require_text
from netsonde.trace.endpoint import Values
from netsonde.trace.place import LOG_NAME, is_table, writer_of
from netsonde.trace.request import CommandUse, TraceRequest, folder_of

SIGNAL_INTERRUPT = 2
CANNOT_START = 126
NOT_FOUND = 127
ENDPOINT_READY_S = 30.0
LOOK_EVERY_S = 2.0
VALUES_AT = "values of the moment:"
Say = Callable[[str], None]


def run_trace(request: TraceRequest, show: Say, warn: Say) -> None:
    """Watches this host for so long, or until it is told to end. Raises UsageError, HostError;
    InterruptedByUserError where Ctrl-C ended it before its time."""
    folder = _new_folder(request)
    settings = request.settings(folder)
    with ExitStack() as stack:
        taken = stack.enter_context(holding_signals())
        tracer = stack.enter_context(start_tracer(settings))
        said = tracer.wait_ready()
        _warn_missing(said, warn)
        if request.listen is not None:
            endpoint = stack.enter_context(Endpoint(Values(folder).document, request.listen))
            show(f"{VALUES_AT} {endpoint.url}")
        show(f"tracing into {folder}; Ctrl-C ends it")
        told, caught = attend(tracer, taken)
        _warn_missing(told, warn)
    _show_end(told, show, warn)
    if request.output is not None and is_table(request.output):
        _convert(folder, request.output, show, warn)
    if caught == SIGNAL_INTERRUPT and request.duration_ns is not None:
        raise InterruptedByUserError("interrupted; the samples until then are kept")


def run_in_background(request: TraceRequest, show: Say, warn: Say) -> None:
    """Starts a trace that outlives this process, its terminal and the login. Raises UsageError,
    HostError."""
    folder = _new_folder(request).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {folder}: {error.strerror}") from error
    netsonde = [sys.executable, "-m", "netsonde", "trace"]
    then: list[str] = []
    if request.output is not None and is_table(request.output):
        then = [*netsonde, "convert", str(folder), "-o", str(request.output.absolute())]
    log = folder / LOG_NAME
    tracer = start_tracer({**request.settings(folder), "then": then}, log=log)
    try:
        _warn_missing(tracer.wait_ready(), warn)
        if request.listen is not None:
            where = f"{_bracketed(request.listen)}:{request.listen.port}"
            start_beside([*netsonde, "endpoint", str(folder), "--listen", where], log)
            show(_beginning_of_endpoint(log))
    except BaseException:
        tracer.close()
        raise
    pid = tracer.pid
    tracer.leave()
    show(f"tracing in the background (process {pid}) into {folder}")
    show(f"netsonde trace status {folder} says how far it is, netsonde trace stop {folder} ends it")


def trace_command(request: TraceRequest, show: Say, warn: Say) -> int:
    """Runs a command with samples around and during it, shows a table of what happened, and returns
    the command's exit code. Raises UsageError, HostError."""
    with ExitStack() as stack:
        if request.output is None:
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="netsonde-trace-"))
            )
        else:
            folder = _new_folder(request)
        taken = stack.enter_context(holding_signals())
        tracer = stack.enter_context(start_tracer(request.settings(folder), request.command))
        said = tracer.wait_ready()
        if request.listen is not None:
            endpoint = stack.enter_context(Endpoint(Values(folder).document, request.listen))
            warn(f"{VALUES_AT} {endpoint.url}")
        told, _ = attend(tracer, taken)
        said += told
        use = _use_of(said)
        if use is None:
            raise HostError("sonde-trace ended before the command did")
        problem = next((m for m in said if "cannot_start" in m), None)
        if problem is not None:
            warn(f"cannot start {request.command[0]}: {problem['cannot_start']}")
            return NOT_FOUND if problem.get("is_missing") else CANNOT_START
        # Only now: the library of numbers starts threads, which would take the signals.
        from netsonde.trace.command_table import command_table

        show(command_table(folder, use))
        if request.output is not None and is_table(request.output):
            _convert(folder, request.output, show, warn)
        elif request.output is not None:
            show(f"trace: {folder}")
        return use.exit_code


def run_endpoint(folder: Path, listen: Listen, show: Say) -> None:
    """Gives the values of a trace to whoever asks, as long as it is written. Raises UsageError,
    HostError."""
    if writer_of(folder) is None:
        raise UsageError(f"no trace is being written in {folder}")
    with Endpoint(Values(folder).document, listen) as endpoint:
        show(f"{VALUES_AT} {endpoint.url}")
        while writer_of(folder) is not None:
            time.sleep(LOOK_EVERY_S)


def convert_trace(folder: Path, target: Path, show: Say, warn: Say) -> None:
    """Raises UsageError."""
    if not is_table(target):
        raise UsageError(f"-o {target} ends neither in .parquet nor in .csv")
    _convert(folder, target, show, warn)


def _beginning_of_endpoint(log: Path) -> str:
    """Its first line. Raises HostError with its complaint, or where none comes."""
    deadline = time.monotonic() + ENDPOINT_READY_S
    while time.monotonic() < deadline:
        lines = log.read_text(errors="replace").splitlines()
        for line in lines:
            if line.startswith(VALUES_AT):
                return line
            if line.startswith("netsonde: cannot listen"):
                raise HostError(line.removeprefix("netsonde: "))
        time.sleep(0.05)
    raise HostError(f"the endpoint has not begun in {ENDPOINT_READY_S:.0f} s; {log} may say why")


def _new_folder(request: TraceRequest) -> Path:
    folder = folder_of(request)
    assert folder is not None
    require_text(folder, "a trace needs")
    if request.output is not None and is_table(request.output) and request.output.exists():
        raise UsageError(f"{request.output} exists; choose another name with -o")
    return folder


def _convert(folder: Path, target: Path, show: Say, warn: Say) -> None:
    from netsonde.trace.convert import convert  # the library of tables takes a moment to load

    for problem in convert(folder, target):
        warn(problem)
    show(f"{target} ({target.stat().st_size / 1e6:.1f} MB); the trace itself is in {folder}")


def _show_end(said: Sequence[Message], show: Say, warn: Say) -> None:
    ended = next((message["ended"] for message in said if "ended" in message), None)
    if ended is None:
        raise HostError("sonde-trace was killed; what it had written is kept")
    show(f"{ended['samples']} samples, {ended['reason']}")
    if ended["missed"]:
        warn(f"{ended['missed']} samples were missed: this host had no time for them")
    if ended["lost"]:
        warn(f"{ended['lost']} samples could not be written")


def _warn_missing(said: Sequence[Message], warn: Say) -> None:
    for message in said:
        if "missing" in message:
            warn(f"without {message['missing']}: {message['why']}")


def _use_of(said: Sequence[Message]) -> CommandUse | None:
    for message in said:
        if "ended" in message and "command" in message["ended"]:
            return CommandUse(**message["ended"]["command"])
    return None


def _bracketed(listen: Listen) -> str:
    return f"[{listen.address}]" if ":" in listen.address else listen.address
