"""Processes that can be found again: everything they start inherits a mark in its environment."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from netsonde.lab import permission_problem

_PROBLEM = permission_problem()
needs_lab = pytest.mark.skipif(_PROBLEM is not None, reason=f"no lab here: {_PROBLEM}")


class Marked:
    """Starts commands with a mark and a temporary folder of their own, and finds what is left."""

    def __init__(self, folder: Path) -> None:
        self._mark = f"NETSONDE_TEST_MARK={uuid.uuid4().hex}"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()

    def environment(self) -> dict[str, str]:
        name, value = self._mark.split("=")
        return {**os.environ, name: value, "TMPDIR": str(self.temporary)}

    def start(self, command: list[str], **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
            command,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def processes(self) -> list[int]:
        """Ids of the living processes that carry the mark."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            with contextlib.suppress(OSError):
                if (
                    self._mark.encode() in (entry / "environ").read_bytes().split(b"\0")
                    and (entry / "stat").read_text().rpartition(") ")[2][0] != "Z"
                ):
                    found.append(int(entry.name))
        return sorted(found)

    def kill(self, pid: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def expect_nothing_left(self, patience_s: float = 10.0) -> None:
        """No process with the mark (and so no namespace of theirs) and no temporary file."""
        end = time.monotonic() + patience_s
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        assert not left, f"still there: {[_command(pid) for pid in left]}"
        files = [str(p) for p in self.temporary.rglob("*")]
        assert not files, f"still there: {files}"


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return str(pid)
