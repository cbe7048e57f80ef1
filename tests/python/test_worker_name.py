"""What ps and top show of a worker that was started by way of a descriptor, as a copy is on a bare
host."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from netsonde.launch.binaries import find_worker


@pytest.mark.worker
def test_a_copy_says_what_it_is() -> None:
    copy = os.open(find_worker("sonde-worker"), os.O_RDONLY)
    try:
        path = f"/proc/{os.getpid()}/fd/{copy}"
        with subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
            assert worker.stdout is not None
            assert b'"record":"hello"' in worker.stdout.readline().replace(b" ", b"")
            folder = Path("/proc", str(worker.pid))
            assert (folder / "comm").read_text() == "sonde-worker\n"
            assert (folder / "cmdline").read_bytes().split(b"\0")[0] == b"sonde-worker"
    finally:
        os.close(copy)
