"""The journal: whole entries or none, one writer, torn ends ignored."""

import errno
import os

import pytest

from netsonde.errors import HostError, UsageError
from netsonde.records.journal import Journal, read_journal
from netsonde.records.rundir import finished_points, new_run_directory, open_run, write_manifest

MANIFEST = {
    "format": 1,
    "origin": "real",
    "seed": 1,
    "path": {},
    "points": [
        {"id": p, "transport": "tcp", "test": "latency", "parameters": {"message_bytes": 1}}
        for p in ("p001", "p002")
    ],
}


def test_entries_come_back_in_order(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("point_started", point="p001", attempt=1)
        journal.append("point_finished", point="p001", attempt=1)
    assert [e["entry"] for e in read_journal(tmp_path)] == ["point_started", "point_finished"]


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_torn_end_is_ignored_and_cut_before_going_on(tmp_path, cut):
    with Journal(tmp_path) as journal:
        journal.append("point_started", point="p001", attempt=1)
        journal.append("point_finished", point="p001", attempt=1, ended_by="time")
    path = tmp_path / "journal.jsonl"
    os.truncate(path, path.stat().st_size - cut)
    assert [e["entry"] for e in read_journal(tmp_path)] == ["point_started"]
    with Journal(tmp_path) as journal:
        journal.append("run_finished")
    assert [e["entry"] for e in read_journal(tmp_path)] == ["point_started", "run_finished"]


def test_two_writers_are_one_too_many(tmp_path):
    with Journal(tmp_path), pytest.raises(UsageError, match="another netsonde"):
        Journal(tmp_path)


def test_a_damaged_line_before_the_end_is_said(tmp_path):
    (tmp_path / "journal.jsonl").write_text('{"entry":"facts"}\n{"entry":\n{"entry":"x"}\n')
    with pytest.raises(UsageError, match="damaged in line 2"):
        list(read_journal(tmp_path))


def test_a_full_disk_leaves_the_journal_whole(tmp_path, monkeypatch):
    with Journal(tmp_path) as journal:
        journal.append("point_started", point="p001", attempt=1)
        real_write = os.write
        calls = []

        def write_some_then_fail(fd, content):
            calls.append(fd)
            if len(calls) == 1:
                return real_write(fd, content[:10])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "write", write_some_then_fail)
        with pytest.raises(HostError, match="disk is full"):
            journal.append("batch", point="p001", records=[])
        monkeypatch.undo()
        assert [e["entry"] for e in read_journal(tmp_path)] == ["point_started"]


def test_the_last_finished_attempt_is_the_result(tmp_path):
    write_manifest(tmp_path, MANIFEST)
    with Journal(tmp_path) as journal:
        journal.append("point_started", point="p001", attempt=1)
        journal.append("point_failed", point="p001", attempt=1, code="host", error="gone")
        journal.append("point_started", point="p001", attempt=2)
        journal.append(
            "point_finished", point="p001", attempt=2, ended_by="time", batches=0, checks={}
        )
        journal.append("point_started", point="p002", attempt=1)
    run = open_run(tmp_path)
    assert [(p.id, p.status) for p in run.points] == [("p001", "finished"), ("p002", "partial")]
    assert run.points[0].error is None
    assert finished_points(tmp_path) == {"p001"}
    assert not run.finished


def test_directories_that_are_no_runs_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"not a run directory: it has no manifest\.json"):
        open_run(tmp_path)
    with pytest.raises(UsageError, match="not a run directory: there is nothing of that name"):
        open_run(tmp_path / "mistyped")
    file = tmp_path / "report.html"
    file.touch()
    with pytest.raises(UsageError, match="not a run directory: it is a file"):
        open_run(file)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(UsageError, match="damaged"):
        open_run(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(UsageError, match="does not read"):
        open_run(tmp_path)


def test_run_directories_do_not_collide(tmp_path):
    assert new_run_directory(tmp_path, "x") != new_run_directory(tmp_path, "x")


def test_an_impossible_run_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--out"):
        new_run_directory(tmp_path / "file", "x")
