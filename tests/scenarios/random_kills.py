"""Kills processes of a study at random moments and resumes it, until every point is measured."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from marked import Marked

from netsonde.records.rundir import finished_points, open_run

VICTIMS = ("netsonde", "worker", "launcher", "host")
PATIENCE_S = 300.0
ROUNDS_MOST = 400
BEGIN_S = 60.0


def kind_of(pid: int, command: int) -> str | None:
    """What a process of a study is: the command itself, a worker, one that was started to start
    others (of an MPI job, or the way into a lab's host), or what holds a lab's host."""
    if pid == command:
        return "netsonde"
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None
    program = Path(words[0].decode(errors="replace")).name
    if program.startswith("sonde-") and program != "sonde-switch":
        return "worker"
    if program in ("nsenter", "mpiexec", "hydra_pmi_proxy", "hydra_bstrap_proxy"):
        return "launcher"
    if name.startswith(("netsonde-", "sonde-switch")):
        return "host"
    return None


@dataclass
class Killed:
    """A study that is killed again and again; ``killed`` counts by kind of victim."""

    marked: Marked
    command: Sequence[str]
    study: Path
    runs: Path
    chance: random.Random
    killed: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    torn: int = 0

    def until_done(self, kills: int, gap_s: tuple[float, float]) -> Path:
        """Kills so many, or as many as there is time for, and resumes until all is measured; the
        run directory."""
        process = self._start("run", str(self.study), "--out", str(self.runs))
        for _ in range(ROUNDS_MOST):
            while kills and process.poll() is None:
                self._wait_for_a_point(process)
                time.sleep(self.chance.uniform(*gap_s))
                kills -= self._kill_one(process)
            _, errors = process.communicate(timeout=PATIENCE_S)
            assert "Traceback" not in errors, errors
            assert process.returncode in (0, 3, -signal.SIGKILL), (process.returncode, errors)
            self.marked.expect_nothing_left()
            found = [d for d in self._directories() if (d / "manifest.json").exists()]
            if not found:  # killed before there was anything to resume
                process = self._start("run", str(self.study), "--out", str(self.runs))
                continue
            [directory] = found
            if process.returncode == 0:
                return directory
            self._tear(directory)
            self.resumes += 1
            process = self._start("resume", str(directory))
        raise AssertionError(f"not done after {ROUNDS_MOST} starts")

    def _start(self, verb: str, *arguments: str) -> subprocess.Popen[str]:
        command = [*self.command, "study", verb, *arguments, "--quiet"]
        process: subprocess.Popen[str] = self.marked.start(command)
        return process

    def _directories(self) -> list[Path]:
        return sorted(self.runs.iterdir()) if self.runs.exists() else []

    def _wait_for_a_point(self, process: subprocess.Popen[str]) -> None:
        """Imports take a second or more, in which there is nothing to kill but the command; only
        every fourth kill falls in there."""
        if self.chance.random() < 0.25:
            return
        end = time.monotonic() + BEGIN_S
        while process.poll() is None and time.monotonic() < end:
            if any(kind_of(p, process.pid) == "worker" for p in self.marked.processes()):
                return
            time.sleep(0.02)

    def _kill_one(self, process: subprocess.Popen[str]) -> int:
        """1 where something was killed: a kind by chance, then one of that kind."""
        kinds: dict[str, list[int]] = {}
        for pid in self.marked.processes():
            kind = kind_of(pid, process.pid)
            if kind is not None:
                kinds.setdefault(kind, []).append(pid)
        if not kinds:
            return 0
        kind = self.chance.choice(sorted(kinds))
        self.marked.kill(self.chance.choice(kinds[kind]), signal.SIGKILL)
        self.killed[kind] += 1
        return 1

    def _tear(self, directory: Path) -> None:
        """As a power cut may: half an entry at the end of the journal, every other time."""
        if self.chance.random() < 0.5:
            with (
                contextlib.suppress(FileNotFoundError),
                (directory / "journal.jsonl").open("ab") as file,
            ):
                file.write(b'{"entry":"batch","point":"p001","attempt":1,"batch":0,"reco')
                self.torn += 1

    def expect_every_point_once(self, directory: Path, points: int) -> None:
        entries = [
            json.loads(line) for line in (directory / "journal.jsonl").read_bytes().splitlines()
        ]
        ended = Counter(e["point"] for e in entries if e["entry"] == "point_finished")
        assert len(ended) == points
        assert set(ended.values()) == {1}
        assert len(finished_points(directory)) == points
        run = open_run(directory)
        assert run.finished
        assert [p.status for p in run.points] == ["finished"] * points
        assert all(p.checks["samples"]["equal"] for p in run.points)
        assert not list(directory.glob("**/*.part"))
        self.marked.expect_nothing_left()
