"""Ranks that die or stand still: the run ends in bounded time, keeps what was measured, and says
which rank it was."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest
from marked import Marked

from mpi_needed import require_mpi
from netsonde.errors import HostError
from netsonde.launch.mpi import open_mpi
from netsonde.records.rundir import open_run

RANKS = 3
BATCH = b'"entry":"batch"'
STARTED = b'"entry":"point_started"'
STUDY = f"""
name = "deaths"
seed = 1
relative_precision = 0.0001
cap = "400ms"
[path]
kind = "loopback"
[mpi]
ranks = {RANKS}
[[measure]]
transports = ["mpi"]
test = "collective"
operations = ["bcast"]
sizes = "64,128"
"""
LONG = {"test": "collective", "operation": "allreduce", "message_bytes": 64, "count": 1_000_000,
        "keep_samples": 0}  # fmt: skip


@pytest.fixture(autouse=True)
def mpi_here() -> None:
    require_mpi()


def rank_process(candidates: list[int], rank: int) -> int | None:
    """Which of the processes is that rank of sonde-mpi."""
    for pid in candidates:
        with contextlib.suppress(OSError):
            folder = Path(f"/proc/{pid}")
            if (folder / "comm").read_text() != "sonde-mpi\n":  # not its witness
                continue
            if f"PMI_RANK={rank}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                return pid
    return None


def wait_for_points(folder: Path, finished: int, patience_s: float = 40) -> Path:
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        for journal in folder.glob("runs/*/journal.jsonl"):
            text = journal.read_bytes()
            done = text.count(b'"entry":"point_finished"')
            is_next = text.count(STARTED) > done >= finished
            if is_next and BATCH in text.rpartition(STARTED)[2]:
                return journal.parent
        time.sleep(0.02)
    raise AssertionError("nothing was measured")


def test_a_rank_killed_in_the_second_point_leaves_the_others_whole(netsonde_command, tmp_path):
    marked = Marked(tmp_path)
    (tmp_path / "x.toml").write_text(STUDY)
    process = marked.start([*netsonde_command, "study", "run", "x.toml"], cwd=tmp_path)
    directory = wait_for_points(tmp_path, finished=1)
    victim = rank_process(marked.processes(), 1)
    assert victim is not None
    begun = time.monotonic()
    marked.kill(victim, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - begun < 40
    assert process.returncode == 3, errors
    assert "Traceback" not in errors
    run = open_run(directory)
    assert sorted(p.status for p in run.points) == ["failed", "finished"]
    [failed] = [p for p in run.points if p.status == "failed"]
    assert failed.batches, "what was measured of the point is gone"
    assert failed.error is not None
    words = rf"lost rank 1: process {victim} on \S+ was killed by SIGKILL"
    assert re.search(words, failed.error), failed.error
    assert "lost rank 1" in (directory / "report.html").read_text()
    marked.expect_nothing_left()


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_stands_still_is_named_at_the_deadline(monkeypatch, victim):
    mark = f"stands-still-{os.getpid()}-{victim}"
    monkeypatch.setenv("NETSONDE_TEST_MARK", mark)
    with open_mpi(None, RANKS) as session:
        places = session.place()
        pid = places.processes[victim]
        timer = threading.Timer(0.3, os.kill, (pid, signal.SIGSTOP))
        timer.start()
        begun = time.monotonic()
        with pytest.raises(HostError) as caught:
            session.run(LONG, 1.0)
        assert time.monotonic() - begun < 12
    words = rf"rank {victim} on \S+ does not move: process {pid} is stopped"
    assert re.search(words, str(caught.value)), caught.value
    end = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < end, "the rank is still there"
        time.sleep(0.02)
