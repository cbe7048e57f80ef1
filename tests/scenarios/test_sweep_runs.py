"""A real sweep over this machine's own network stack: measured, refined, killed, resumed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time

import pytest
from marked import Marked

import warm
from netsonde.records.rundir import finished_points, open_run

SWEEP = ("tcp", "local", "sweep", "--sizes", "64..64k", "--time", "20ms", "--seed", "5")
MOMENTS = 3
LONGEST_S = 4.0


@pytest.mark.timeout(100)
@pytest.mark.parametrize("transport", [pytest.param("tcp", marks=pytest.mark.soak), "udp"])
def test_a_sweep_over_this_machine(tmp_path, netsonde_command, transport):
    sizes = "64..32k"
    done = subprocess.run(
        [
            *(*netsonde_command, transport, "local", "sweep", "--refine", "--json"),
            *("--sizes", sizes, "--time", "30ms", "--out", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    points = document["points"]
    asked = [p for p in points if "refined" not in p["parameters"]]
    shifts = [p["parameters"].get("perturbed_bytes", 0) for p in asked]
    assert (shifts.count(0), shifts.count(-3), shifts.count(3)) == (10, 10, 10)
    assert len(points) - len(asked) <= 24
    assert all(p["checks"]["samples"]["equal"] for p in points)
    assert all(p["parameters"]["options"]["placement"] == "apart" for p in points)
    own = {f["name"]: f for f in document["figures"] if f["point"] == f"{transport}-latency"}
    # Where a busy machine leaves no line through the smallest sizes, there is no start-up time.
    assert {"half_round_trip_ns", "peak_bit_per_s"} <= own.keys()
    assert own["half_round_trip_ns"]["message_bytes"] == 64
    claims = [f["claim"] for f in document["findings"]]
    assert any(f"{transport.upper()} latency by size, one way" in claim for claim in claims)


@pytest.mark.slow
@pytest.mark.timeout(150)
@pytest.mark.parametrize(
    "moment", [pytest.param(m, marks=[pytest.mark.soak] * (m > 0)) for m in range(MOMENTS)]
)
def test_a_killed_sweep_goes_on_and_ends(tmp_path, netsonde_command, moment):
    rng = random.Random(moment)
    marked = Marked(tmp_path)
    runs = tmp_path / "runs"
    command = [*netsonde_command, *SWEEP, "--refine", "--quiet", "--out", str(runs)]
    process = marked.start(command)
    time.sleep(rng.uniform(1.0, LONGEST_S))
    marked.kill(rng.choice(marked.processes() or [process.pid]), signal.SIGKILL)
    process.wait(60)
    marked.expect_nothing_left()
    directories = list(runs.iterdir()) if runs.exists() else []
    if not directories or not (directories[0] / "manifest.json").exists():
        return  # killed before there was anything to resume
    (directory,) = directories
    resumed = marked.start([*netsonde_command, "study", "resume", str(directory), "--quiet"])
    _, errors = resumed.communicate(timeout=90)
    assert resumed.returncode == 0, errors
    marked.expect_nothing_left()
    run = open_run(directory)
    assert run.finished
    assert {p.id for p in run.points} == finished_points(directory)
    numbers = [p.parameters.get("refined", 0) for p in run.points]
    assert numbers == sorted(numbers)
    assert sum(number > 0 for number in numbers) <= 24


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tcp", "local", "latency", "--perturb", "3"], "go with the test sweep"),
        (["udp", "local", "stream", "--refine"], "go with the test sweep"),
        (["tcp", "local", "sweep", "--perturb", "1M"], "perturb"),
        (["tcp", "local", "sweep", "--sizes", "1..8:0.7"], "no range of sizes"),
        (["tcp", "local", "sweep", "--sizes", "64,1k", "--load", "50%", "--refine"], "refine"),
        (["mpi", "latency", "--refine"], "go with the test sweep"),
    ],
)
def test_what_cannot_be_swept_is_said(tmp_path, words, said):
    done = warm.run([*words, "--out", str(tmp_path)])
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
