"""Studies whose hosts, disks or allocations fail: what was measured is kept, the rest goes on."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from marked import Marked, needs_lab

import warm
from netsonde.records.journal import read_journal
from netsonde.records.rundir import finished_points, open_run
from netsonde.study.spec import read_study

ROOT = Path(__file__).resolve().parents[2]
STUDY = """
name = "goes-on"
seed = 1
relative_precision = 0.0001
cap = "{cap}"
[path]
{path}
[[measure]]
transports = ["tcp"]
test = "latency"
sizes = "64,128,256,512"
"""


def wait_for(directory: Path, entry: str, times: int, patience_s: float = 90) -> Path:
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        for journal in directory.glob("*/journal.jsonl"):
            if journal.read_bytes().count(f'"entry":"{entry}"'.encode()) >= times:
                return journal.parent
        time.sleep(0.05)
    raise AssertionError(f"no {times} entries {entry}")


def study(folder: Path, path: str, cap: str) -> str:
    (folder / "study.toml").write_text(STUDY.format(path=path, cap=cap))
    return str(folder / "study.toml")


def finish(marked: Marked, *words: str, timeout_s: float = 110) -> None:
    done = warm.run(words, environment=marked.environment(), timeout_s=timeout_s)
    # A study that requires something of this machine may find it too slow for that.
    missed = done.returncode == 1 and done.stderr.startswith("netsonde: Requirement missed")
    assert done.returncode == 0 or missed, done.stderr
    assert "Traceback" not in done.stderr
    marked.expect_nothing_left()


@needs_lab
@pytest.mark.timeout(240)
def test_a_host_that_dies_is_dropped_and_the_others_go_on(tmp_path, netsonde_command):
    """Two labs of two hosts each; one of them ends in the middle of the study."""
    labs = [f"{name}{os.getpid()}" for name in ("stays", "ends")]

    def lab(verb: str, name: str) -> None:
        warm.run(["lab", verb, "--name", name], timeout_s=30).check_returncode()

    marked = Marked(tmp_path)
    up = []
    try:
        for name in labs:
            lab("up", name)
            up.append(name)
        pairs = ", ".join(f'"lab:{name}/h1,h2"' for name in labs)
        path = study(tmp_path, f'kind = "hosts"\nbetween = [{pairs}]', "300ms")
        runs = tmp_path / "runs"
        process = marked.start([*netsonde_command, "study", "run", path, "--out", str(runs)])
        directory = wait_for(runs, "point_finished", 1)
        lab("down", labs[1])
        up.remove(labs[1])
        _, errors = process.communicate(timeout=110)
        assert process.returncode == 3, errors
        assert "is dropped, its points are left out" in errors
        run = open_run(directory)
        stays = [p for p in run.points if labs[0] in p.parameters["between"][0]]
        ends = [p for p in run.points if p not in stays]
        assert {p.status for p in stays} == {"finished"}
        assert any(p.status == "failed" for p in ends)
        dropped = [e["host"] for e in read_journal(directory) if e["entry"] == "host_dropped"]
        assert dropped
        assert all(labs[1] in name for name in dropped)
        # The lab is there again: what was lost is measured, and nothing else.
        finished = finished_points(directory)
        lab("up", labs[1])
        up.append(labs[1])
        finish(marked, "study", "resume", str(directory), "--quiet")
        entries = [e for e in read_journal(directory) if e["entry"] == "point_finished"]
        assert len(entries) == len({e["point"] for e in entries}) == 8
        assert finished < {e["point"] for e in entries}
    finally:
        for name in up:
            lab("down", name)


@pytest.mark.timeout(240)
def test_the_end_of_an_allocation_is_an_interruption(tmp_path, netsonde_command):
    """A batch system sends SIGTERM to every process of a job at once, workers too."""
    runs = tmp_path / "runs"
    path = study(tmp_path, 'kind = "loopback"', "400ms")
    marked = Marked(tmp_path)
    process = marked.start([*netsonde_command, "study", "run", path, "--out", str(runs)])
    directory = wait_for(runs, "point_started", 2)
    batches = sum(entry["entry"] == "batch" for entry in read_journal(directory))
    wait_for(runs, "batch", batches + 1)  # in the middle of the second of four points
    for pid in sorted(marked.processes(), reverse=True):  # workers before the command
        marked.kill(pid, signal.SIGTERM)
    _, errors = process.communicate(timeout=110)
    assert process.returncode == 4, errors
    assert errors.splitlines()[-1] == (
        f"netsonde: interrupted; what was measured is kept, and `netsonde study resume "
        f"{directory}` goes on"
    )
    marked.expect_nothing_left()
    run = open_run(directory)
    assert {p.status for p in run.points} <= {"finished", "partial", "planned"}
    done = finished_points(directory)
    assert done
    finish(marked, "study", "resume", str(directory), "--quiet")
    run = open_run(directory)
    assert all(p.status == "finished" for p in run.points)
    assert len(run.manifest["sessions"]) == 2
    assert run.manifest["sessions"][0]["boot_id"] == run.manifest["sessions"][1]["boot_id"]


def mounted(script: str, *command: str) -> list[str]:
    """A command that runs a script of sh in a mount namespace of its own, with the rest as $@."""
    return ["unshare", "--mount", "--map-root-user", "--user", "sh", "-ec", script, "sh", *command]


CAN_MOUNT = (
    shutil.which("unshare") is not None
    and subprocess.run(
        mounted("mount -t tmpfs none /mnt"), capture_output=True, timeout=10, check=False
    ).returncode
    == 0
)


@pytest.mark.timeout(240)
@pytest.mark.skipif(not CAN_MOUNT, reason="a small file system cannot be mounted here")
def test_a_full_disk_loses_nothing_and_with_room_the_study_goes_on(tmp_path, netsonde_command):
    """On 1.2 MB with a file in the way: full; read only; then with room again."""
    path = study(tmp_path, 'kind = "loopback"', "300ms")
    small, keep = tmp_path / "small", tmp_path / "keep"
    small.mkdir()
    script = f"""
mount -t tmpfs -o size=1200k none {small}
head -c 500k /dev/zero > {small}/filler
say() {{
  code=0; "$@" --quiet 2> {tmp_path}/said || code=$?
  echo "$code $(tail -n 1 {tmp_path}/said)"
}}
say "$@" study run {path} --out {small}/runs
run=$(echo {small}/runs/*)
cp $run/journal.jsonl {tmp_path}/full.jsonl
mount -o remount,ro {small}
say "$@" study resume $run
mount -o remount,rw,size=200m {small}
rm {small}/filler
say "$@" study resume $run
cp -r $run {keep}
"""
    marked = Marked(tmp_path)
    process = marked.start(mounted(script, *netsonde_command))
    output, errors = process.communicate(timeout=230)
    assert process.returncode == 0, (output, errors)
    full, unwritable, done = output.splitlines()
    assert re.fullmatch(r"3 netsonde: cannot write .*: the disk is full; .*study resume.*", full)
    assert re.fullmatch(r"2 netsonde: cannot write .*: Read-only file system.*", unwritable)
    assert done == "0 "
    run = open_run(keep)
    assert all(p.status == "finished" for p in run.points)
    before = (tmp_path / "full.jsonl").read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    assert whole.count(b"\n") > 3
    assert (keep / "journal.jsonl").read_bytes().startswith(whole)
    assert not list(keep.glob("**/*.part"))
    marked.expect_nothing_left()


@needs_lab
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("acceptance", 8),
        pytest.param("before-after", 3, marks=pytest.mark.soak),
        pytest.param("hpcbench-protocols", 24, marks=pytest.mark.soak),
    ],
)
def test_a_ready_study_runs(tmp_path, name, points):
    """As it is, but on a lab and short."""
    text = (ROOT / "studies" / f"{name}.toml").read_text()
    text = re.sub(r'(?m)^cap = ".*"', 'cap = "30ms"', text)
    text = re.sub(r"(?m)^launches = .*", "", text)
    text = text.replace("[budget]", '[path]\nkind = "lab"\n[budget]')
    text = re.sub(r"(?m)^seed = .*", "", text)
    (tmp_path / "short.toml").write_text(text)
    assert read_study(tmp_path / "short.toml").name == name
    runs = tmp_path / "runs"
    words = ("study", "run", str(tmp_path / "short.toml"), "--out", str(runs), "--quiet")
    finish(Marked(tmp_path), *words, timeout_s=230)
    (directory,) = runs.iterdir()
    run = open_run(directory)
    assert [p.status for p in run.points] == ["finished"] * points
    assert (directory / "report.html").exists()
