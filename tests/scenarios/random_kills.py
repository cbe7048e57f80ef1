"""Kills processes of a study at random moments and resumes it, until every point is measured."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from marked import Marked

from netsonde.launch.mpi_leftovers import remove_in
from netsonde.limits import limit_s
from netsonde.records.rundir import finished_points, open_run

PROGRAMS = {
    "sonde-worker": "worker",
    "sonde-mpi": "rank",
    **dict.fromkeys(("mpiexec", "mpirun", "mpiexec.hydra", "orterun", "prterun"), "mpiexec"),
    **dict.fromkeys(("hydra_pmi_proxy", "hydra_bstrap_proxy", "orted", "prted"), "proxy"),
    "nsenter": "way",  # into a lab's host
}
VICTIMS = frozenset({"netsonde", "server", "lab", *PROGRAMS.values()})
BACK_S = limit_s("killed")
CLEANED_S = 5.0
PATIENCE_S = 300.0
ROUNDS_MOST = 400
BEGIN_S = 60.0


def kind_of(pid: int, command: int, server: int | None = None) -> str | None:
    """What a process of a study is: the command itself, a server, a worker, a rank, one that was
    started to start others, or what holds a lab's host. A rank's witness is none of them: it does
    nothing but tell, and clean."""
    if pid in (command, server):
        return "netsonde" if pid == command else "server"
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None
    if name.startswith(("netsonde-", "sonde-switch")):
        return "lab"
    if name in ("sonde-witness", "sonde-cleaner"):
        return None
    return PROGRAMS.get(Path(words[0].decode(errors="replace")).name)


def shared_memory() -> set[str]:
    """What MPIs have in shared memory now."""
    names = {path.name for path in Path("/dev/shm").iterdir()}
    return {n for n in names if n.startswith(("mpich_shm_", "vader_segment.", "sm_segment."))}


class Server:
    """A ``netsonde serve`` on this machine, for one command after the other; ``code`` is its
    pairing code, which stays."""

    def __init__(self, marked: Marked, command: Sequence[str], code_file: Path, port: int) -> None:
        words = f"serve --bind 127.0.0.1 --port {port} --code-file {code_file} --time 2h"
        self._marked = marked
        self._command = [*command, *words.split()]
        self._process: subprocess.Popen[str] | None = None
        self.code = ""

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def begin(self) -> None:
        self._process = self._marked.start(self._command)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"NETSONDE_PAIR=(\S+)", line):
                self.code = found[1]
                return
        raise AssertionError(self._process.communicate()[1])

    def end(self) -> None:
        assert self._process is not None
        self._process.terminate()
        _, errors = self._process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in errors, errors


@dataclass
class Killed:
    """A study that is killed again and again; ``killed`` counts by kind of victim. ``early`` is the
    share of kills that may fall into netsonde's start, in which there is nothing else to kill.
    ``longest_s``: from a kill to the end of the command where no other kill came between;
    ``next_starts``: how often shared memory was left to the next start."""

    marked: Marked
    command: Sequence[str]
    study: Path
    runs: Path
    chance: random.Random
    early: float = 0.25
    server: Server | None = None
    longest_s: float = 0.0
    next_starts: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    torn: int = 0

    def until_done(self, kills: int, gap_s: tuple[float, float]) -> Path:
        """Kills so many, or as many as there is time for, and resumes until all is measured; the
        run directory."""
        before = shared_memory()
        process = self._start("run", str(self.study), "--out", str(self.runs))
        for _ in range(ROUNDS_MOST):
            at = None
            while kills and process.poll() is None:
                self._wait_for_a_point(process)
                time.sleep(self.chance.uniform(*gap_s))
                if self._kill_one(process):
                    kills, at = kills - 1, time.monotonic()
            _, errors = process.communicate(timeout=PATIENCE_S)
            if at is not None and process.returncode:
                self.longest_s = max(self.longest_s, time.monotonic() - at)
            assert "Traceback" not in errors, errors
            assert process.returncode in (0, 3, -signal.SIGKILL), (process.returncode, errors)
            if self.server is not None:
                self.server.end()
            self._expect_nothing_left(before)
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

    def _expect_nothing_left(self, before: set[str]) -> None:
        """What launchers leave is made old: netsonde's next start removes it."""
        end = time.monotonic() + BACK_S
        while self.marked.processes() and time.monotonic() < end:
            time.sleep(0.05)
        for path in self.marked.temporary.rglob("*"):
            os.utime(path, (0, 0), follow_symlinks=False)
        remove_in(self.marked.temporary)
        self.marked.expect_nothing_left()
        end = time.monotonic() + CLEANED_S
        while (left := shared_memory() - before) and time.monotonic() < end:
            time.sleep(0.05)
        if left:
            self._start_again(left)
            assert not shared_memory() & left

    def _start_again(self, left: set[str]) -> None:
        """A rank that was killed while MPI started has told nobody what it had made: the next start
        of ranks removes that, once it is old."""
        self.next_starts += 1
        for name in left:
            os.utime(Path("/dev/shm", name), (0, 0))
        words = ["mpi", "barrier", "-n", "2", "--count", "1", "--out", str(self.marked.temporary)]
        done = self.marked.start([*self.command, *words])
        _, errors = done.communicate(timeout=PATIENCE_S)
        assert done.returncode == 0, errors
        for run in self.marked.temporary.iterdir():
            shutil.rmtree(run)

    def _start(self, verb: str, *arguments: str) -> subprocess.Popen[str]:
        command = [*self.command, "study", verb, *arguments, "--quiet"]
        if self.server is not None:
            self.server.begin()
            command += ["--pairing-code", self.server.code]
        process: subprocess.Popen[str] = self.marked.start(command)
        return process

    def _directories(self) -> list[Path]:
        return sorted(self.runs.iterdir()) if self.runs.exists() else []

    def _wait_for_a_point(self, process: subprocess.Popen[str]) -> None:
        if self.chance.random() < self.early:
            return
        end = time.monotonic() + BEGIN_S
        while process.poll() is None and time.monotonic() < end:
            kinds = {kind_of(p, process.pid) for p in self.marked.processes()}
            if kinds & {"worker", "rank"}:
                return
            time.sleep(0.02)

    def _kill_one(self, process: subprocess.Popen[str]) -> int:
        """1 where something was killed: a kind by chance, then one of that kind."""
        kinds: dict[str, list[int]] = {}
        for pid in self.marked.processes():
            kind = kind_of(pid, process.pid, self.server.pid if self.server else None)
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
