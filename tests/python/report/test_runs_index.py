"""The page of a folder of runs: in which order, with which ways, and what is read again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compare_made import write_run
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.report import runs_index
from netsonde.report.runs_index import write_index

NAMES = ("monday", "tuesday", "friday")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three runs, written in another order than they began; only Tuesday's has a report."""
    folder = tmp_path / "runs"
    for name, day in (("friday", 9), ("monday", 5), ("tuesday", 6)):
        started = f"2026-01-{day:02d}T03:04:05+00:00"
        write_run(folder / name, {64: [20e3]}, seed=day, started=started, messages=60)
    (folder / "tuesday" / "report.html").write_text("a page")
    return folder


def rows_of(page: Path) -> list[list[str]]:
    text = page.read_text()
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]


def test_runs_stand_newest_first_with_their_ways(runs: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(runs)])
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(runs / "index.html")
    rows = [row for row in rows_of(runs / "index.html") if row]
    assert [row[1] for row in rows] == [
        "friday",
        '<a href="tuesday/report.html">tuesday</a>',
        "monday",
    ]
    began, _, what, network, figures, worst, _ = rows[0]
    assert began == "2026-01-09 03:04 UTC"
    assert what.startswith("friday: MPI between h1 and h2 over an emulated link of 1 Gbit/s")
    assert (network, figures) == ("emulated", "MPI latency, 64 B 20.00 µs")
    assert worst in ("Bad", "Warning", "Good", "Note")


def test_ways_lead_there_from_another_folder(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    page = write_index(runs, tmp_path / "pages")
    assert 'href="../runs/tuesday/report.html"' in page.read_text()


def test_what_is_wrong_is_in_the_line(runs: Path) -> None:
    (runs / "monday" / "journal.jsonl").write_text("no journal\n")
    (runs / "tuesday" / "manifest.json").write_text("{}")
    rows = {re.sub("<.*?>", "", row[1]): row for row in rows_of(write_index(runs, runs)) if row}
    assert set(rows) == set(NAMES)
    assert "monday" in rows["monday"][-1]
    assert "has a format that this version of netsonde does not read" in rows["tuesday"][-1]


def test_only_what_changed_is_read_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows_of(write_index(runs, runs))
    read: list[str] = []
    original = runs_index._read

    def noted(run: Path) -> runs_index.IndexRow:
        read.append(run.name)
        return original(run)

    monkeypatch.setattr(runs_index, "_read", noted)
    assert rows_of(write_index(runs, runs)) == before
    assert read == []
    with (runs / "friday" / "journal.jsonl").open("a") as journal:
        journal.write('{"entry":"run_finished"}\n')
    write_index(runs, runs)
    assert read == ["friday"]
    for damaged in ("{", "[]", '{"format": 1, "runs": {"friday": {"state": 3, "row": []}}}'):
        read.clear()
        (runs / "index.json").write_text(damaged)
        assert rows_of(write_index(runs, runs)) == before
        assert sorted(read) == sorted(NAMES)


def test_older_runs_are_counted_in_words(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_index, "RUNS_MOST", 2)
    page = write_index(runs, runs)
    assert len([row for row in rows_of(page) if row]) == 2
    assert "The newest 2 of 3 runs" in page.read_text()


def test_more_rows_are_shown_than_of_other_tables(tmp_path: Path) -> None:
    for number in range(160):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "manifest.json").write_text("{}")
    assert len([row for row in rows_of(write_index(tmp_path, tmp_path)) if row]) == 160


def test_other_formats_are_of_a_run(runs: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(runs), "--format", "csv"])
    assert isinstance(result.exception, UsageError)
    assert "is of a single run" in str(result.exception)
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(app, ["report", str(tmp_path / "empty")])
    assert "is not a run directory" in str(result.exception)
