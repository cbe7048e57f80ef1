"""What a journal and a manifest say of a run that went on: its sessions, and what changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netsonde.errors import HostError, InterruptedByUserError
from netsonde.explain.data import Seen
from netsonde.explain.unlike_hosts import changed_facts, facts_changed
from netsonde.records.journal import Journal
from netsonde.records.rundir import open_run, write_manifest
from netsonde.report.session_table import session_lines, session_rows
from netsonde.study.sessions import begin_session, note_facts, why_ended

HOSTS = {"h1": {"host.name": "h1", "os.kernel": "6.2.0"}}


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-02T03:{minute:02d}:{second:02d}.000+00:00"


def a_run(folder: Path, **manifest: Any) -> Path:
    """Two sessions: the first was killed with p002 in flight, or says how it ended."""
    end = manifest.pop("end", None)
    points = [
        {"id": f"p00{n}", "transport": "tcp", "test": "latency", "parameters": {"message_bytes": n}}
        for n in (1, 2, 3)
    ]
    content = {"format": 1, "name": "x", "origin": "real", "hosts": HOSTS, "points": points}
    write_manifest(folder, {**content, **manifest})
    with Journal(folder) as journal:
        journal.append("session_started", time_utc=at(0))
        _point(journal, "p001", 1)
        journal.append("point_started", point="p002", attempt=1, time_utc=at(2))
        if end:
            journal.append("session_ended", **end, time_utc=at(2, 30))
        journal.append("session_started", time_utc=at(10))
        _point(journal, "p002", 11)
        _point(journal, "p003", 12)
        journal.append("session_ended", ended_by="finished", time_utc=at(13))
        journal.append("run_finished")
    return folder


def _point(journal: Journal, name: str, minute: int) -> None:
    mark = {"point": name, "attempt": 1}
    journal.append("point_started", **mark, time_utc=at(minute))
    journal.append("batch", **mark, batch=0, records=[])
    ended = {"ended_by": "time", "batches": 1, "checks": {}}
    journal.append("point_finished", **mark, **ended, time_utc=at(minute, 40))


def test_a_session_without_an_end_was_killed_and_names_what_it_lost(tmp_path: Path) -> None:
    run = open_run(a_run(tmp_path))
    first, second = run.sessions
    assert (first.ended_by, first.lost, first.finished, first.lasted_s) == (None, ("p002",), 1, 120)
    assert (second.ended_by, second.lost, second.finished) == ("finished", (), 2)
    assert session_lines(run) == [
        "Session 1: 2026-01-02 03:00, 2 min 0 s, without an end: killed; 1 point measured; "
        "lost in flight: p002, measured again since",
        "Session 2: 2026-01-02 03:10, 3 min 0 s, went to its end; 2 points measured",
    ]


def test_another_boot_explains_a_session_without_an_end(tmp_path: Path) -> None:
    sessions = [{"host": "n", "boot_id": boot, "netsonde": "1"} for boot in "ab"]
    rows = session_rows(open_run(a_run(tmp_path, sessions=sessions)))
    assert rows[0].ended == "cut off: the machine stopped or was restarted"
    assert rows[0].where == "n, netsonde 1"


def test_ends_are_told_by_whom(tmp_path: Path) -> None:
    interrupted = InterruptedByUserError("interrupted")
    interrupted.signal = "SIGTERM"
    rows = session_rows(open_run(a_run(tmp_path, end=why_ended(interrupted))))
    assert rows[0].ended == "ended by SIGTERM: a batch system, kill or a shutdown"
    assert why_ended(HostError("h2 is gone")) == {"ended_by": "error", "why": "h2 is gone"}


def test_a_run_of_one_session_that_went_to_its_end_has_nothing_to_say(tmp_path: Path) -> None:
    write_manifest(tmp_path, {"format": 1, "origin": "real", "points": []})
    with Journal(tmp_path) as journal:
        journal.append("session_started", time_utc=at(0))
        journal.append("session_ended", ended_by="finished", time_utc=at(1))
        journal.append("run_finished")
    assert session_rows(open_run(tmp_path)) == []


def test_facts_that_changed_name_the_points_measured_since(tmp_path: Path) -> None:
    about = {"session": 2, "host": "h1", "time_utc": at(11, 5)}
    changed = [
        {**about, "fact": "interface.v0.tx_ring", "before": 256, "now": 512},
        {**about, "fact": "os.kernel", "before": "6.1.0", "now": "6.2.0"},
    ]
    run = open_run(a_run(tmp_path, changed=changed))
    kernel, ring = changed_facts(run)
    assert (kernel.fact, kernel.points) == ("os.kernel", ("p002", "p003"))
    assert not ring.is_decisive
    (finding,) = facts_changed(Seen(run, []))
    assert finding.level == "warning"
    assert finding.claim == (
        "A host changed during the run: os.kernel of h1 is 6.2.0, and was 6.1.0 from session 2 on, "
        "and 1 more."
    )
    assert finding.points == ("p002", "p003")
    assert "2 of 3 measured points" in finding.evidence


def test_a_fact_that_changed_before_every_point_is_only_noted(tmp_path: Path) -> None:
    change = {"session": 1, "host": "h1", "time_utc": at(0, 1), "fact": "os.kernel"}
    run = open_run(a_run(tmp_path, changed=[{**change, "before": "6.1.0", "now": "6.2.0"}]))
    assert [f.level for f in facts_changed(Seen(run, []))] == ["note"]


def test_a_change_lasts_until_the_next_one(tmp_path: Path) -> None:
    about = {"host": "h1", "fact": "cpu.governor"}
    changed = [
        {**about, "session": 1, "time_utc": at(0, 30), "before": "performance", "now": "powersave"},
        {**about, "session": 2, "time_utc": at(12, 1), "before": "powersave", "now": "performance"},
    ]
    run = open_run(a_run(tmp_path, changed=changed))
    assert [change.points for change in changed_facts(run)] == [("p001", "p002"), ("p003",)]


def test_facts_are_held_beside_those_of_the_same_way() -> None:
    manifest: dict[str, Any] = {"hosts": {}}
    begin_session(manifest)
    first = {"os.kernel": "6.1.0", "clock_cost_ns": 20, "mpi.binding": "0"}
    assert note_facts(manifest, "h1", first, None, at(0)) == []
    later = {"os.kernel": "6.1.0", "clock_cost_ns": 21, "mpi.binding": "0,1"}
    assert note_facts(manifest, "h1", later, first, at(1)) == []
    assert "changed" not in manifest
    assert note_facts(manifest, "h1", {"os.kernel": "6.2.0"}, later, at(2)) == ["os.kernel"]
    begin_session(manifest)
    assert note_facts(manifest, "h1", {"os.kernel": "6.3.0"}, None, at(3)) == ["os.kernel"]
    assert [(c["session"], c["time_utc"]) for c in manifest["changed"]] == [(1, at(2)), (2, at(3))]
