"""A study killed at any moment and resumed ends with every point once, and leaves nothing behind.

Each case starts a small study on a lab link, kills one of its processes at a random moment (the
command itself, a worker, the lab's keeper, MPI's launcher or a rank), and resumes it until it is
done.
"""

from __future__ import annotations

import random
import signal
import time

import pytest
from marked import Marked, needs_lab

from netsonde.records.rundir import finished_points, open_run

STUDY = """
name = "killed"
seed = {seed}
relative_precision = 0.5
cap = "40ms"
[path]
kind = "lab"
[lab]
rate = "1G"
[[measure]]
transports = ["tcp", "udp", "mpi"]
test = "latency"
sizes = "64,1k"
[[measure]]
transports = ["tcp", "udp"]
test = "stream"
sizes = "1k"
cap = "300ms"
"""
POINTS = 8
MOMENTS = 50
USUAL_MOMENTS = 1  # the rest by `make soak`
LONGEST_S = 6.0
RESUMES = 4


@needs_lab
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "moment",
    [pytest.param(m, marks=[pytest.mark.soak] * (m >= USUAL_MOMENTS)) for m in range(MOMENTS)],
)
def test_a_killed_study_resumes_to_the_same_points(tmp_path, netsonde_command, moment):
    rng = random.Random(moment)
    marked = Marked(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY.format(seed=moment))
    runs = tmp_path / "runs"
    process = marked.start(
        [
            *netsonde_command,
            "study",
            "run",
            str(tmp_path / "study.toml"),
            "--out",
            str(runs),
            "--quiet",
        ]
    )
    time.sleep(rng.uniform(0.2, LONGEST_S))
    victim = rng.choice(marked.processes() or [process.pid])
    marked.kill(victim, signal.SIGKILL)
    process.wait(60)
    marked.expect_nothing_left()

    directories = list(runs.iterdir()) if runs.exists() else []
    if not directories or not (directories[0] / "manifest.json").exists():
        return  # killed before there was anything to resume
    for _ in range(RESUMES):
        resumed = marked.start(
            [*netsonde_command, "study", "resume", str(directories[0]), "--quiet"]
        )
        _, errors = resumed.communicate(timeout=60)
        assert resumed.returncode == 0, errors
        marked.expect_nothing_left()
        if len(finished_points(directories[0])) == POINTS:
            break
    run = open_run(directories[0])
    assert [p.status for p in run.points] == ["finished"] * POINTS
    assert all(p.checks["samples"]["equal"] for p in run.points)
    assert not list(directories[0].glob("*.part"))


def test_the_mark_finds_what_is_left(tmp_path):
    """The check itself can fail: a process that stays is found."""
    marked = Marked(tmp_path)
    process = marked.start(["sleep", "60"])
    assert process.pid in marked.processes()
    with pytest.raises(AssertionError, match="still there"):
        marked.expect_nothing_left(patience_s=0.2)
    marked.kill(process.pid, signal.SIGKILL)
    process.wait(5)
    marked.expect_nothing_left()
