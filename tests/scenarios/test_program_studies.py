"""Studies that run a user's own program, as a user runs them: over loopback, killed and resumed."""

from __future__ import annotations

import json
import signal
import sys
import time

import pytest
from marked import Marked

import warm
from netsonde.records.rundir import open_run

PROGRAM = """
import os, sys, time
print(os.environ["GREETING"])
time.sleep(0.02)
print(f"rate {1000 + int(sys.argv[1]) % 7} units")
"""
STUDY = """
name = "programs"
relative_precision = 0.9
cap = "50ms"
[path]
kind = "loopback"
[[measure]]
transports = "tcp"
test = "latency"
sizes = "64,1k,4k"
[[program]]
name = "fake"
command = ['{python}', '{program}', "{{size}}"]
sizes = "64,1k,4k"
where = "{where}"
timeout = "{timeout}"
count = 2
environment = {{ GREETING = "hello" }}
[program.figures.rate]
pattern = "rate ([0-9]+) units"
unit = "units"
"""


@pytest.fixture
def marked(tmp_path):
    """What is started can be found again."""
    return Marked(tmp_path)


def run_words(folder, code=PROGRAM, where="both", timeout="20s"):
    """What follows `netsonde` to run a study with a program; its runs are in `runs`."""
    program, study = folder / "program.py", folder / "study.toml"
    program.write_text(code)
    names = {"python": sys.executable, "program": program}
    study.write_text(STUDY.format(where=where, timeout=timeout, **names))
    return ["study", "run", str(study), "--out", str(folder / "runs"), "--json"]


def run(marked, words):
    done = warm.run(words, environment=marked.environment(), timeout_s=60)
    marked.expect_nothing_left()
    return done


def test_a_study_with_a_program(marked, tmp_path):
    done = run(marked, run_words(tmp_path))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    programs = [p for p in document["points"] if p["test"] == "program"]
    assert [p["parameters"]["where"] for p in programs] == ["origin", "target"] * 3
    assert {p["status"] for p in document["points"]} == {"finished"}
    found = [f for f in document["figures"] if f["name"] == "program_rate"]
    rates = {figure["message_bytes"]: figure["value"] for figure in found}
    assert rates == {size: 1000 + size % 7 for size in (64, 1024, 4096)}
    times = [f["value"] for f in document["figures"] if f["name"] == "elapsed_median_ns"]
    assert len(times) == 6
    assert min(times) > 20e6
    (directory,) = (tmp_path / "runs").iterdir()
    assert "fake at the target, 4k bytes" in (directory / "report.html").read_text()
    (end,) = open_run(directory).points[-1].batches[0].ends.values()
    assert end.done["output_tail"].startswith("hello")
    assert end.difference("system.processes") > 0


def test_a_program_that_fails_is_one_point(marked, tmp_path):
    code = PROGRAM + "\nif sys.argv[1] == '64': sys.exit('no such mesh')\n"
    done = run(marked, run_words(tmp_path, code, where="origin"))
    assert done.returncode != 0
    assert "ended with status 1: no such mesh" in done.stderr
    failed = [p for p in json.loads(done.stdout)["points"] if p["status"] == "failed"]
    assert [p["parameters"]["message_bytes"] for p in failed] == [64]
    (directory,) = (tmp_path / "runs").iterdir()
    point = next(p for p in open_run(directory).points if p.status == "failed")
    assert "no such mesh" in point.batches[-1].ends[0].done["output_tail"]


HANGS_ONCE = """
import pathlib, subprocess, sys, time
here = pathlib.Path(sys.argv[0]).parent
if not (here / "hung").exists():
    child = subprocess.Popen(["sleep", "600"])
    (here / "hung").write_text("yes")
    time.sleep(600)
print("rate 5 units")
"""


def test_killed_while_the_program_runs_and_resumed(marked, tmp_path, netsonde_command):
    words = run_words(tmp_path, HANGS_ONCE, where="origin", timeout="10m")
    process = marked.start([*netsonde_command, *words])
    deadline = time.monotonic() + 60
    while not (tmp_path / "hung").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    marked.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    marked.expect_nothing_left()
    (directory,) = (tmp_path / "runs").iterdir()
    resumed = run(marked, ["study", "resume", str(directory), "--quiet"])
    assert resumed.returncode == 0, resumed.stderr
    points = open_run(directory).points
    assert [p.status for p in points] == ["finished"] * 6
    assert [p.test for p in points] == ["latency"] * 3 + ["program"] * 3
