"""Who measures is alone; the others share; and nobody waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import machine_lock

PROGRAM = """
import os, sys, time
from pathlib import Path
os.environ.pop("NETSONDE_TESTS_HAVE_THE_MACHINE", None)
sys.path.insert(0, sys.argv[1])
from machine_lock import machine
with machine(Path(sys.argv[2]), sys.argv[3] == "alone"):
    print("in", time.monotonic_ns(), flush=True)
    sys.stdin.readline()
    print("out", time.monotonic_ns(), flush=True)
"""


class Holder:
    """A process that holds the machine until it is told to leave."""

    def __init__(self, folder: Path, how: str) -> None:
        tests = str(Path(machine_lock.__file__).parent)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, tests, str(folder), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def entered_ns(self) -> int:
        return int(self.process.stdout.readline().split()[1])

    def leave(self) -> int:
        said, _ = self.process.communicate("leave\n", timeout=30)
        return int(said.split()[-1])


@pytest.mark.timeout(60)
def test_one_that_measures_waits_for_those_who_share(tmp_path: Path) -> None:
    first, second = Holder(tmp_path, "shared"), Holder(tmp_path, "shared")
    first.entered_ns()
    second.entered_ns()  # both are in
    alone = Holder(tmp_path, "alone")
    time.sleep(0.3)  # it stands at the door, so that the next one waits behind it
    late = Holder(tmp_path, "shared")
    left_ns = max(first.leave(), second.leave())
    entered_ns = alone.entered_ns()
    assert entered_ns > left_ns
    left_ns = alone.leave()
    assert late.entered_ns() > left_ns
    late.leave()


def test_what_a_test_starts_has_the_machine_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(machine_lock.HELD, raising=False)
    with machine_lock.machine(tmp_path, alone=True):
        assert machine_lock.HELD in os.environ
        with machine_lock.machine(tmp_path, alone=True):
            pass
    assert machine_lock.HELD not in os.environ
