"""No text of another machine is a formula in a spreadsheet, whichever CSV file it is in."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from compare_made import write_run

import netsonde
from netsonde.csv_rows import harmless, write_rows
from netsonde.export import export_run
from netsonde.figures import Figure
from netsonde.records.data import Run
from netsonde.report.files import export
from netsonde.report.plot import plain_table
from netsonde.trace.convert import _harmless

FORMULAS = [
    *('=HYPERLINK("x","y")', "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"),
    *(" =1+1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff201", "-", "=", "--rate 5M", "-5 ms"),
]
KEPT = ["", "h1", "a=b", "5-3", "-5", "+5", "-1.5e-9", ".5", "-3.", -5, -1.5e-9, 0, None, True]


@pytest.mark.parametrize("text", FORMULAS)
def test_text_that_begins_a_formula_is_marked(text: str) -> None:
    assert harmless(text) == "'" + text.replace("\r", "\n")


def test_no_row_begins_inside_of_a_cell() -> None:
    """The library quotes no lone CR, which readers take for the end of a row."""
    file = io.StringIO()
    write_rows(file, [["a\r=1+1", "b\r\nc"]])
    assert [*csv.reader(io.StringIO(file.getvalue(), newline=""))] == [["a\n=1+1", "b\nc"]]


@pytest.mark.parametrize("cell", KEPT)
def test_numbers_and_other_text_stay(cell: object) -> None:
    assert harmless(cell) is cell


def test_cells_come_back_whole() -> None:
    file = io.StringIO()
    write_rows(file, [["name", "value"], *([text, -1.5] for text in FORMULAS), [None, -7]])
    rows = list(csv.reader(io.StringIO(file.getvalue(), newline="")))
    marked = [["'" + text.replace("\r", "\n"), "-1.5"] for text in FORMULAS]
    assert rows == [["name", "value"], *marked, ["", "-7"]]


def test_an_export_of_a_run_with_such_names(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "=1+1", {64: [20e3, 21e3]})
    [path] = export_run(directory, "csv", tmp_path / "f.csv")
    rows = list(csv.DictReader(path.open(newline="")))
    assert {row["run"] for row in rows} == {"'=1+1"}


def test_the_tables_of_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = plain_table("figures", "Figures", ["=1+1", "-5"], name=str, value=lambda _: -5)
    monkeypatch.setattr("netsonde.report.files.all_tables", lambda *_: [table])
    figures: list[Figure] = []
    [path] = export(Run(tmp_path, {}, [], True), figures, [], "csv", tmp_path)
    assert path.read_text() == "name,value\n'=1+1,-5\n-5,-5\n"


def test_a_trace(tmp_path: Path) -> None:
    table = pl.DataFrame({"host": ["@h1", None, "h2"], "=counter": [-1, None, 2]})
    _harmless(table.lazy()).sink_csv(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "host,'=counter\n'@h1,-1\n,\nh2,2\n"


def test_nothing_else_writes_csv() -> None:
    """Of all modules, one has the library's writer, and one another writer behind `harmless`."""
    found = {
        path.name: re.findall(r"csv\.writer|DictWriter|write_csv\(|sink_csv", path.read_text())
        for path in Path(netsonde.__file__).parent.rglob("*.py")
    }
    writers = {name: words for name, words in found.items() if words}
    ours = {"rows.py": ["write_csv("]}  # the function that calls write_rows
    assert writers == {"csv_rows.py": ["csv.writer"], "convert.py": ["sink_csv"], **ours}
