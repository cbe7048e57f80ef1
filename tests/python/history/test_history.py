"""Runs in one file: added once, read back as they were, and where their figures changed."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from compare_made import write_run
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.compare.values import ALL_FIGURES, read_values
from netsonde.errors import UsageError
from netsonde.history.store import add_runs, read_runs
from netsonde.history.text import history_lines
from netsonde.history.trends import read_history

RUNS = 12
CHANGED = 7


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Twelve days; from the eighth on, a new kernel makes 64 bytes slower by 6 %."""
    folder = tmp_path_factory.mktemp("days")
    random = np.random.default_rng(4)
    made = []
    for day in range(RUNS):
        shift = 1.06 if day >= CHANGED else 1.0
        noise = np.exp(0.01 * random.standard_t(4, (2, 4)))
        values = {64: list(20e3 * shift * noise[0]), 1024: list(30e3 * noise[1])}
        kernel = "6.1.0" if day < CHANGED else "6.2.0"
        started = f"2026-01-{day + 1:02d}T03:04:05+00:00"
        run = folder / f"day{day:02d}"
        made.append(write_run(run, values, seed=day, messages=60, kernel=kernel, started=started))
    return made


@pytest.fixture(scope="module")
def history(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("history") / "days.duckdb"
    add_runs(file, runs[::-1])
    return file


def test_runs_are_read_back_as_they_were(history: Path, runs: list[Path]) -> None:
    stored = read_runs(history)
    assert [s.run.name for s in stored] == [run.name for run in runs]
    found, expected = stored[3], read_values(runs[3], ALL_FIGURES)
    assert found.facts == expected.facts
    assert found.ways == expected.ways
    for key, launches in expected.values.items():
        own = [(x.number, x.value, x.low, x.high, x.points) for x in found.values[key]]
        assert own == [(x.number, x.value, x.low, x.high, x.points) for x in launches]


def test_the_change_is_found_with_what_changed_there(history: Path) -> None:
    found = read_history(history)
    slower, same = found.trends
    (change,) = slower.changes
    assert same.changes == ()
    assert change.index == CHANGED
    assert change.first <= CHANGED <= change.last
    assert change.verdict == "worse"
    assert change.ratio == pytest.approx(1.06, abs=0.02)
    assert change.p < 0.025
    assert ("os.kernel", "6.1.0", "6.2.0") in [(c.name, c.before, c.after) for c in change.changed]
    assert [len(t.points) for t in found.trends] == [RUNS, RUNS]
    assert slower.levels[0][:2] == (0, CHANGED - 1)
    assert slower.levels[1][2] == pytest.approx(change.after)


def test_adding_again_changes_nothing(runs: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "h.duckdb"
    assert set(add_runs(file, runs[:2]).values()) == {"added"}
    before = read_runs(file)
    assert list(add_runs(file, runs[:3]).values()) == ["unchanged", "unchanged", "added"]
    assert read_runs(file)[:2] == before
    journal = runs[0] / "journal.jsonl"
    text = journal.read_text()
    try:
        journal.write_text(text + '{"entry":"run_finished"}\n')
        assert list(add_runs(file, runs[:1]).values()) == ["updated"]
    finally:
        journal.write_text(text)
    assert len(read_runs(file)) == 3
    assert read_runs(file)[0].values == before[0].values


def test_all_runs_are_added_or_none(runs: list[Path], tmp_path: Path) -> None:
    empty = write_run(tmp_path / "empty", {})
    file = tmp_path / "h.duckdb"
    with pytest.raises(UsageError, match="holds no measurement"):
        add_runs(file, [runs[0], empty])
    assert not file.exists()
    add_runs(file, runs[:1])
    with pytest.raises(UsageError, match="holds no measurement"):
        add_runs(file, [runs[1], empty])
    assert len(read_runs(file)) == 1


def test_small_changes_are_left_out_where_asked(history: Path) -> None:
    assert read_history(history, least_change=0.2).trends[0].changes == ()


def test_figures_are_chosen_by_name_or_label(history: Path) -> None:
    assert {t.key.figure for t in read_history(history, ["p90_ns"]).trends} == {"round_trip_p90_ns"}
    assert {t.key.message_bytes for t in read_history(history, ["latency 1k"]).trends} == {1024}
    with pytest.raises(UsageError, match="no figure with nonsense"):
        read_history(history, ["nonsense"])


def test_few_runs_have_no_change(runs: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "h.duckdb"
    add_runs(file, runs[5:9])
    found = read_history(file)
    assert all(trend.changes == () for trend in found.trends)
    assert "fewer than 6 runs" in found.notes[0]


def test_it_is_told_in_80_columns(history: Path) -> None:
    lines = list(history_lines(read_history(history)))
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "worse from 2026-01-08T03:04, run 8" in text
    assert "changed there: os.kernel: 6.1.0 -> 6.2.0" in text


def test_the_commands(runs: list[Path], tmp_path: Path) -> None:
    file = str(tmp_path / "h.duckdb")
    runner = CliRunner()
    added = runner.invoke(app, ["history", "add", file, *map(str, runs), "--json"])
    assert set(json.loads(added.stdout)["runs"].values()) == {"added"}
    shown = json.loads(runner.invoke(app, ["history", "show", file, "--json"]).stdout)
    assert [len(trend["changes"]) for trend in shown["trends"]] == [1, 0]
    assert len(shown["runs"]) == RUNS


def foreign(path: Path, *commands: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for command in commands:
            connection.execute(command)
    return path


TABLES = (
    "CREATE TABLE launches (a INT)",
    "CREATE TABLE circumstances (a INT)",
    "CREATE TABLE netsonde_history (format INT)",
)


@pytest.mark.parametrize(
    ("commands", "sentence"),
    [
        (("CREATE TABLE a (b INT)",), "is a DuckDB file, but no history of netsonde"),
        (("CREATE VIEW runs AS SELECT 1", *TABLES), "no history of netsonde"),
        (("CREATE TABLE runs (a INT)", *TABLES), "has a format that this version"),
    ],
)
def test_other_files_are_refused(commands: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    file = foreign(tmp_path / "f.duckdb", *commands)
    with pytest.raises(UsageError, match=sentence):
        read_runs(file)


def test_what_is_no_file_of_duckdb_is_refused(runs: list[Path], tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database at all\n" * 500)
    with pytest.raises(UsageError, match="is no DuckDB file"):
        read_runs(text)
    with pytest.raises(UsageError, match=r"there is no .*; make it with"):
        read_runs(tmp_path / "missing.duckdb")
    with pytest.raises(UsageError, match="is no file"):
        add_runs(tmp_path, runs[:1])
    with pytest.raises(UsageError, match="no manifest"):
        add_runs(tmp_path / "new.duckdb", [tmp_path])
    assert not (tmp_path / "new.duckdb").exists()


def test_damaged_rows_are_one_sentence(runs: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "h.duckdb"
    add_runs(file, runs[:1])
    for damage, sentence in (
        ("UPDATE launches SET better = 'sideways'", "cannot be read"),
        ("UPDATE launches SET better = 'less', parameters = '[[1'", "cannot be read"),
        ("UPDATE launches SET parameters = repeat('x', 100000)", "the limits are"),
        ("ALTER TABLE runs DROP COLUMN name", r"cannot use|damaged"),
    ):
        foreign(file, damage)
        with pytest.raises(UsageError, match=sentence):
            read_runs(file)
