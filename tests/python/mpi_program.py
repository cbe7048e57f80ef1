"""sonde-mpi under mpiexec, spoken with as plainly as possible, and finding what a test left."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netsonde.launch.mpi_launchers import LOOPBACK_SETTINGS

Record = dict[str, Any]
MARK = "NETSONDE_TEST_MARK"
TIMEOUT_S = 60
SUPPRESSIONS = Path(__file__).parents[1] / "engine" / "mpi" / "lsan.supp"


def marked_processes(mark: str) -> dict[int, dict[str, str]]:
    """Living processes that carry the mark, with their environment. A zombie has none."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        environment = dict(word.split("=", 1) for word in words if "=" in word)
        if environment.get(MARK) == mark:
            found[int(entry.name)] = environment
    return found


def rank_pids(mark: str) -> dict[int, int]:
    """Process of each rank, as Hydra or Open MPI number them; not of who is beside it."""
    names = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")
    return {
        int(environment[name]): pid
        for pid, environment in marked_processes(mark).items()
        for name in names
        if name in environment and name_of(pid) == "sonde-mpi"
    }


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def wait_until(condition: Callable[[], bool], timeout_s: float = 20.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def converse(
    argv: Sequence[str], requests: Sequence[Mapping[str, Any]]
) -> tuple[list[Record], str, int]:
    """All records of a program that is asked everything at once, its standard error, its status.

    Its input stays open until it has ended, as a worker whose input closes gives up.
    """
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**LOOPBACK_SETTINGS, **os.environ},
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        for request in requests:
            process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        records = []
        for line in process.stdout:
            assert len(line) <= 1 << 20
            records.append(json.loads(line))
            if records[-1]["record"] == "bye":
                break
        # mpiexec ends with its ranks; an input that closes meanwhile it may still pass on to them.
        stderr = process.stderr.read().decode(errors="replace")
        return records, stderr, process.wait(TIMEOUT_S)
