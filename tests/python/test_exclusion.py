"""Measurements that know of each other: in turn, or both say that they were not alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from netsonde.errors import HostError
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.launch.exclusion import FOLDER, Exclusion, own_key, own_name
from netsonde.launch.local import LocalHost
from netsonde.launch.worker import Worker, start_worker
from netsonde.records.data import Run
from netsonde.records.rundir import open_run

HERE = LocalHost().name


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "locks"
    folder.mkdir()
    monkeypatch.setenv(FOLDER, str(folder))
    return folder


def elsewhere(name: str, kind: str) -> Any:
    """A host as far as its name and kind say: nothing can be started on it."""
    return SimpleNamespace(name=name, kind=kind)


def made_run(folder: Path) -> Run:
    (directory,) = folder.iterdir()
    return open_run(directory)


def exclusion(what: str, wait_s: float) -> Exclusion:
    return Exclusion(what, wait_s, lambda _sentence: None)


def test_one_that_waits_says_so_and_for_how_long() -> None:
    said: list[str] = []

    def free_at_once(sentence: str) -> None:
        said.append(sentence)
        assert first.end() == {}

    with exclusion("first", 0) as first, Exclusion("second", 60, free_at_once) as second:
        first.begin([LocalHost()])
        second.begin([LocalHost()])
        told = second.end()
    assert said == [f"{HERE}: another measurement has this host (first); waiting for at most 60 s"]
    assert list(told) == [HERE]
    assert list(told[HERE]) == ["waited_s"]


def test_two_that_did_not_wait_both_say_so() -> None:
    with exclusion("first", 0) as first, exclusion("second", 0) as second:
        first.begin([LocalHost()])
        second.begin([LocalHost()])
        assert second.end()[HERE]["beside"] == "first"
        assert first.end() == {HERE: {"meanwhile": "second"}}


def test_one_that_was_expected_starts_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Worker] = []

    def counted(host: Any) -> Worker:
        started.append(start_worker(host))
        return started[-1]

    monkeypatch.setattr("netsonde.launch.exclusion.start_worker", counted)
    with exclusion("first", 0) as first:
        first.expect([LocalHost()])
        first.begin([LocalHost()])
        first.end()
        first.begin([LocalHost()])
    with exclusion("for nothing", 0) as never_begun:
        never_begun.expect([LocalHost()])
    assert len(started) == 2
    for worker in started:  # whatever was expected is gone, and nobody has the host
        with pytest.raises(HostError):
            worker.submit("facts")


def test_the_hosts_of_one_that_was_killed_are_free() -> None:
    code = (
        "import sys; from netsonde.launch.exclusion import Exclusion\n"
        "from netsonde.launch.local import LocalHost\n"
        "Exclusion('killed', 0, print).begin([LocalHost()]); print('has it', flush=True)\n"
        "sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"has it\n"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert holder.stdin is not None
    holder.stdin.close()
    with exclusion("next", 30) as following:  # its worker notices within moments
        following.begin([LocalHost()])
        assert "beside" not in following.end().get(HERE, {})


def test_hosts_of_a_lab_are_this_machine_and_a_served_one_takes_itself() -> None:
    places = {"lab:h1": "lab", "lab:h2": "lab", "far:5959": "paired", "node3": "slurm"}
    hosts = [elsewhere(name, kind) for name, kind in places.items()]
    with exclusion("lab", 0) as first, exclusion("here", 0) as second:
        first.begin(hosts)
        second.begin([LocalHost()])
        assert second.end()[HERE]["beside"] == "lab"
        assert list(first.end()) == [HERE]


def test_what_others_are_told_is_plain_text() -> None:
    with exclusion("\x1b[31mfirst\n" + 400 * "é", 0) as first:
        first.begin([LocalHost()])
        with exclusion("second", 0) as second:
            second.begin([LocalHost()])
            holder = second.end()[HERE]["beside"]
        first.end()
    assert holder.startswith("?[31mfirst?")
    assert holder.isascii()
    assert len(holder) == 300


def test_a_name_tells_the_process_and_the_machine() -> None:
    assert f"process {os.getpid()} of " in own_name("netsonde study")


def command(out: Path, wait: str) -> subprocess.Popen[str]:
    words = f"tcp local stream --time 50ms --wait-for-others {wait}".split()
    return subprocess.Popen(
        [sys.executable, "-m", "netsonde", *words, "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def findings_of(run: Run) -> set[str]:
    return {finding.kind for finding in explain(run, figures_of(run))}


def test_a_command_beside_another_has_a_finding(tmp_path: Path) -> None:
    with exclusion("holder", 0) as holder:
        holder.begin([LocalHost()])
        beside = command(tmp_path / "out", "0")
        _, said = beside.communicate(timeout=100)
        told = holder.end()
    assert beside.returncode == 0, said
    run = made_run(tmp_path / "out")
    assert run.points[0].checks["exclusion"] == {HERE: {"beside": "holder"}}
    assert "beside-another" in findings_of(run)
    assert f"process {beside.pid} of " in told[HERE]["meanwhile"]


def test_a_command_that_waits_is_alone_then(tmp_path: Path) -> None:
    with exclusion("holder", 0) as holder:
        holder.begin([LocalHost()])
        waiting = command(tmp_path / "out", "100s")
        assert waiting.stderr is not None
        assert "another measurement has this host (holder)" in waiting.stderr.readline()
        assert holder.end() == {}
        _, said = waiting.communicate(timeout=100)
    assert waiting.returncode == 0, said
    run = made_run(tmp_path / "out")
    assert list(run.points[0].checks["exclusion"][HERE]) == ["waited_s"]
    assert "beside-another" not in findings_of(run)


def test_a_server_that_has_the_host_for_us_is_not_waited_for() -> None:
    with exclusion("", 0) as server, exclusion("ours", 100) as ours:
        assert server.begin_if_free(LocalHost(), f"netsonde serve for {own_key()}") == ""
        ours.begin([LocalHost()])
        assert ours.end() == {}
