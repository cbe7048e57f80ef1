"""mpitest, mpibench and ``--like`` as a user types them, between ranks of this machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from marked import Marked

import warm
from mpi_needed import require_mpi
from netsonde.records.rundir import open_run


class Commands:
    """Runs netsonde in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.marked = Marked(folder)

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        done = warm.run(arguments, folder=self.folder, environment=self.marked.environment())
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout, done.stderr

    def draw(self, script: str) -> None:
        if shutil.which("gnuplot"):
            subprocess.run(["gnuplot", script], cwd=self.folder, timeout=60, check=True)


@pytest.fixture
def commands(tmp_path) -> Commands:
    require_mpi()
    return Commands(tmp_path)


def test_a_stream_that_does_not_block_with_all_its_files(commands):
    output, _ = commands.run(
        "hpcbench", "mpitest", "-n", "-r", "2", "-t", "0.1", "-m", "10k", "-cPo", "out"
    )
    lines = output.splitlines()
    assert lines[1] == "MPI stream to the server, messages of 10240 bytes, non-blocking"
    assert all(
        re.fullmatch(r" \(\d\) : \d+\.\d{6} Mbps of payload \(client\)", line)
        for line in lines[2:4]
    )
    assert "of 2 repetitions" in lines[4]
    assert "Test done." in lines[5:]
    text = (commands.folder / "out").read_text().splitlines()
    rows = [line.split() for line in text if "#" not in line]
    assert [int(row[3]) for row in rows] == [10240 * int(row[2]) for row in rows]
    for log in ("out.c_log", "out.s_log"):
        assert "CPU 0" in (commands.folder / log).read_text()
    commands.draw("out.plot")
    commands.marked.expect_nothing_left()


@pytest.mark.parametrize("ways", ["-i", "-in", "-a"])
def test_each_way_of_mpitest_writes_its_file(commands, ways):
    commands.run("hpcbench", "mpitest", ways, "-r", "2", "-t", "0.1", "-o", "out")
    text = (commands.folder / "out").read_text().splitlines()
    (heading,) = (line for line in text if "#No" in line)
    rows = [line.split() for line in text if "#" not in line]
    assert len(rows) == 2
    assert {len(row) for row in rows} == {len(heading.split())}
    commands.marked.expect_nothing_left()


def test_mpibench_and_the_same_run_summed_up_again(commands):
    output, _ = commands.run(
        *("mpibench", "isend", "bcast", "--max", "16", "--repetitions", "30", "-o", "m"),
        *("--outliers", "2"),
    )
    assert "Files: " in output
    # What the run's own report finds: two ranks of a machine that others use are never without.
    assert re.search(r"^(Good|Note|Warning|Bad): ", output, re.MULTILINE)
    values = {}
    for routine in ("isend", "bcast"):
        text = (commands.folder / f"m-{routine}.summary").read_text().splitlines()
        rows = [line.split() for line in text if not line.lstrip().startswith("#")]
        assert [row[0] for row in rows] == ["1", "4", "16"]
        listed = (commands.folder / f"m-{routine}.outliers").read_text().splitlines()
        values[routine] = [int(row[1]) + int(row[2]) for row in rows]
        assert sum(not line.lstrip().startswith("#") for line in listed) == sum(
            int(row[2]) for row in rows
        )
        commands.draw(f"m-{routine}.gnu")
    assert values == {"isend": [30] * 3, "bcast": [30] * 3}  # of two ranks one message each time
    (run,) = (commands.folder / "runs").iterdir()
    again, _ = commands.run("mpibench", "--from", str(run), "--ranks", "1", "-o", "again")
    assert "again-bcast.summary" in again
    assert "again-isend.summary" in again
    silent, _ = commands.run("mpibench", "--from", str(run), "-q", "-o", "silent")
    assert silent == ""
    assert (commands.folder / "silent-isend.summary").exists()
    assert "processes: 1;" in (commands.folder / "again-bcast.processes").read_text()
    _, errors = commands.run("mpibench", "bcast", "--from", str(run), code=2)
    assert "--from and a routine do not go together" in errors
    commands.marked.expect_nothing_left()


def as_a_tool_measures_it(commands, tool):
    words = ("mpi", "bcast", "--sizes", "16k", "--like", tool, "--count", "20", "--json")
    (point,) = json.loads(commands.run(*words)[0])["points"]
    assert point["ended_by"] == "count"
    return point["told"]


def test_a_broadcast_as_osu_and_skampi_measure_it(commands, attempts):
    """SKaMPI begins in windows; every rank may be late for all of a few."""
    for attempt in attempts(2, of=3):
        told = {tool: as_a_tool_measures_it(commands, tool) for tool in ("osu", "skampi")}
        assert any(each["name"].startswith("osu_completion_mean_ns") for each in told["osu"])
        with attempt:
            assert any(each["name"].startswith("skampi_completion") for each in told["skampi"])
    output, _ = commands.run("mpi", "stream", "--sizes", "4k", "--like", "osu", "--json")
    (point,) = json.loads(output)["points"]
    assert point["parameters"]["outstanding"] == 64
    assert [told["name"] for told in point["told"]] == ["osu_bandwidth_bit_per_s"]
    assert point["checks"]["samples"]["equal"]
    commands.marked.expect_nothing_left()


def test_techniques_beside_each_other(commands):
    """On a busy machine SKaMPI's windows may all be missed, so it is not among them."""
    words = (
        "mpi",
        "bcast",
        "--sizes",
        "64",
        "--like",
        "osu,mpptest",
        "--count",
        "30",
        "--time",
        "1s",
    )
    output, _ = commands.run(*words)
    assert all(len(line) <= 80 for line in output.splitlines() if "/" not in line)
    for tool in ("osu", "mpptest"):
        line = next(line for line in output.splitlines() if line.startswith(f"  {tool} "))
        assert re.search(r"× \[[\d.]+, [\d.]+\]", line), line
        assert any(word in line for word in ("agrees", "differs", "not decided"))
    [directory] = (commands.folder / "runs").iterdir()
    assert len(open_run(directory).points) == 3 * 6
    commands.run("report", str(directory))
    _, errors = commands.run("mpi", "stream", "--like", "osu,imb", code=2)
    assert "not stream" in errors
    _, errors = commands.run("mpi", "bcast", "--like", "osu,nobody", code=2)
    assert "'nobody' is not known" in errors
    commands.marked.expect_nothing_left()


def test_pairs_from_the_command_line(commands):
    words = ("mpi", "latency", "-n", "3", "--sizes", "8", "--time", "0.2s")
    output, _ = commands.run(*words, "--rank-pair", "all")
    assert "Round trips by pair, MPI latency 8" in output
    assert sum(bool(re.match(r"  \d–\d ", line)) for line in output.splitlines()) == 3
    output, _ = commands.run(*words, "--rank-pair", "slowest", "--json")
    points = json.loads(output)["points"]
    assert [("scout" in p["parameters"], "sought" in p["parameters"]) for p in points] == [
        *[(True, False)] * 2,
        (False, True),
    ]
    _, errors = commands.run(*words, "--rank-pair", "fastest", code=2)
    assert "each, all or slowest" in errors
    commands.marked.expect_nothing_left()
