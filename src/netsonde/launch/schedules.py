"""``sonde-sim schedule`` as a process: one request, records until it ends."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.launch.binaries import find_worker
from netsonde.limits import limit_s

PROGRAM = "sonde-sim"
TIMEOUT_S = limit_s("schedules")
"""For all of an answer. A check of every algorithm at 2 to 64 ranks takes less than a minute."""

Record = dict[str, Any]


def ask_schedules(request: Mapping[str, Any], timeout_s: float = TIMEOUT_S) -> Iterator[Record]:
    """The records of an answer as they come, without the last one of kind ``error``.

    Raises UsageError for a request that is refused, HostError where sonde-sim is missing or fails.
    """
    process = _start()
    assert process.stdin is not None
    assert process.stdout is not None
    late = threading.Timer(timeout_s, process.kill)
    late.start()
    try:
        # Of a broken pipe it says the reason itself: it refused before it had read all.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request, allow_nan=False).encode())
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        for line in process.stdout:
            record = _record(line)
            if record.get("record") == "error":
                kind = UsageError if record.get("code") == "bad_request" else HostError
                raise kind(str(record.get("message")).removeprefix("request: "))
            yield record
        status = process.wait()
        if not late.is_alive():
            raise HostError(f"{PROGRAM} took more than {timeout_s:.0f} s; ask for fewer ranks")
        if status != 0:
            raise HostError(f"{PROGRAM} ended with status {status} and said nothing of it")
    finally:
        late.cancel()
        process.kill()
        process.stdout.close()
        process.wait()


def _start() -> subprocess.Popen[bytes]:
    program = find_worker(PROGRAM)
    try:
        return subprocess.Popen(
            [program, "schedule"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    except OSError as error:
        raise HostError(f"cannot start {program}: {error.strerror}") from error


def _record(line: bytes) -> Record:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise HostError(f"{PROGRAM} says what is not understood: {line[:80]!r}")
    return record
