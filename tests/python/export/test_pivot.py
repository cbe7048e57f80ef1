"""All pairs as a pivot and as rows: the same numbers in CSV, HTML and XLSX."""

import csv
import io
import re
import tomllib
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from every_pair_made import ranks_point, run_of

from netsonde.errors import UsageError
from netsonde.export.pivot import PAIR_COLUMNS, write_pairs, write_pivot
from netsonde.export.source import Source
from netsonde.records.data import Point

PUBLISHED = Path(__file__).parents[1] / "published" / "dasgupta_2001.toml"
PIVOT = tomllib.loads(PUBLISHED.read_text())["pivot"]
GRAND_TOTAL = 3.173269746
XMLNS = "{*}"
"""Whatever the names of a workbook's parts belong to."""


class MadeSource(Source):
    """A run that no directory has."""

    def __init__(self, run):
        self.directory = run.directory
        self.manifest = run.manifest | {"started_utc": "2001-05-01T00:00:00+00:00"}
        self.__dict__["run"] = run


def printed(names=None):
    """The round trips of figure 4.1 as a run; ``names`` in the place of its hosts'."""
    hosts = PIVOT["hosts"]
    points: list[Point] = []
    for length in dict.fromkeys(row[1] for row in PIVOT["rows"]):
        own = {row[0]: row[2:6] for row in PIVOT["rows"] if row[1] == length}

        def trips(_company, a, b, own=own):
            return [own[hosts[a]][b] * 1e9] * 2

        size = length * PIVOT["item_bytes"]
        id_ = f"p{len(points) + 1:03d}"
        points.append(ranks_point(trips, names or hosts, size, id_=id_, pairs="together"))
    return MadeSource(run_of(*points))


def written(source, folder, name):
    write_pivot(source, folder / name, folder / "part")
    return folder / "part"


def test_csv_has_rows_and_totals(tmp_path):
    heading, *rows = csv.reader(io.StringIO(written(printed(), tmp_path, "p.csv").read_text()))
    hosts = PIVOT["hosts"]
    assert heading == ["way", "hosts", "company", "from", "length_bytes", *hosts, "total"]
    assert len(rows) == 4 * 8 + 1
    assert rows[0][3:5] == ["torc1", "40"]
    assert [float(cell) for cell in rows[0][5:]] == pytest.approx(PIVOT["rows"][0][2:], abs=1e-9)
    assert rows[-1][3:5] == ["grand total", ""]
    assert float(rows[-1][-1]) == pytest.approx(GRAND_TOTAL, abs=1e-9)


def test_html_has_them_for_people(tmp_path):
    text = written(printed(), tmp_path, "p.html").read_text()
    assert "MPI, 4 hosts, all at once" in text
    assert "grand total" in text
    assert "3.173 s" in re.sub(r"[\u202f\xa0]", " ", text)


def sheets_of(path):
    """The cells of each sheet by its name, as text and numbers."""
    with zipfile.ZipFile(path) as book:
        words = [
            "".join(part.text or "" for part in item.findall(f".//{XMLNS}t"))
            for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        ]
        names = [
            str(sheet.get("name"))
            for sheet in ElementTree.fromstring(book.read("xl/workbook.xml")).findall(
                f".//{XMLNS}sheet"
            )
        ]
        found = {}
        for number, name in enumerate(names, 1):
            text = book.read(f"xl/worksheets/sheet{number}.xml")
            assert b"<f>" not in text
            found[name] = [
                [_cell(cell, words) for cell in row.findall(f".//{XMLNS}c")]
                for row in ElementTree.fromstring(text).findall(f".//{XMLNS}row")
            ]
    return found


def _cell(cell, words):
    value = cell.find(f"{XMLNS}v").text
    return words[int(value)] if cell.get("t") == "s" else float(value)


def test_a_workbook_has_a_sheet_for_each_pivot_and_one_of_pairs(tmp_path):
    pytest.importorskip("xlsxwriter")
    sheets = sheets_of(written(printed(), tmp_path, "p.xlsx"))
    assert list(sheets) == ["1 MPI 4 together", "pairs"]
    pivot = sheets["1 MPI 4 together"]
    assert pivot[0] == ["from", "length, bytes", *PIVOT["hosts"], "total"]
    assert pivot[1][:2] == ["torc1", 40.0]
    assert pivot[-1][0] == "grand total"
    assert pivot[-1][-1] == pytest.approx(GRAND_TOTAL, abs=1e-9)
    assert sheets["pairs"][0] == list(PAIR_COLUMNS)
    assert len(sheets["pairs"]) == 1 + 7 * 16


def test_names_of_hosts_are_no_formulas(tmp_path):
    pytest.importorskip("xlsxwriter")
    evil = ["=1+1", "@b", "http://localhost/c", "4"]
    sheets = sheets_of(written(printed(evil), tmp_path, "p.xlsx"))
    assert sheets["1 MPI 4 together"][0][2:6] == evil
    rows = list(csv.reader(io.StringIO(written(printed(evil), tmp_path, "p.csv").read_text())))
    assert rows[0][5:7] == ["'=1+1", "'@b"]


def test_a_row_of_each_pair_says_what_it_was():
    file = io.BytesIO()
    write_pairs(printed(), file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue().decode())))
    assert len(rows) == 7 * 16
    first = rows[2]
    assert (first["from"], first["to"], first["message_bytes"]) == ("torc1", "torc3", "40")
    assert (first["items"], first["count"], first["hosts"]) == ("10", "2", "4")
    assert (first["company"], first["origin"], first["way"]) == ("together", "emulated", "MPI")
    for column in ("average_s", "least_s", "most_s"):
        assert float(first[column]) == pytest.approx(0.00377245)


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"\.csv, \.html, \.xlsx"):
        written(printed(), tmp_path, "p.ods")


def test_a_run_without_all_pairs_is_refused(tmp_path):
    with pytest.raises(UsageError, match="has no all pairs"):
        written(MadeSource(run_of()), tmp_path, "p.csv")
