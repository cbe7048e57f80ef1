"""Users' own programs in the report, the terminal and the exports."""

import csv
import html
import io
import re

from program_points import latency_point, program_point, run_of
from rich.console import Console

from netsonde.figures.compute import figures_of
from netsonde.report.files import export
from netsonde.report.lookup import Study
from netsonde.report.page import write_report
from netsonde.report.program_table import program_rows, relation_rows
from netsonde.report.terminal import print_summary


def sized_points():
    points = []
    for i in range(5):
        rates = [100.0 - 10 * i + 0.1 * n for n in range(6)]
        points.append(program_point(2 * i + 1, rates, size=1024 << i))
        points.append(latency_point(2 * i + 2, 1024 << i, 10 + i))
    return points


def study_of(points):
    run = run_of(points)
    return Study(run, figures_of(run))


def page_of(points, folder):
    run = run_of(points, folder)
    text = write_report(run, figures_of(run), [], folder).read_text()
    return html.unescape(re.sub(r"<[^>]+>", " ", text.partition("<main>")[2]))


def summary_of(points):
    out, study = io.StringIO(), study_of(points)
    print_summary(study.run, study.figures, [], Console(file=out, width=80, highlight=False))
    return out.getvalue()


def test_a_program_and_the_network_beside_it():
    first = program_rows(study_of(sized_points()))[0]
    assert (first.label, first.host) == ("mg at the origin, 1k bytes", "h1")
    elapsed, rate = first.rows
    assert (elapsed.name, elapsed.value, elapsed.better) == ("elapsed", "1.00000 s", "lower")
    assert (rate.name, rate.better, rate.runs) == ("rate", "higher", 6)
    assert rate.value == "100.25 Mop/s"
    assert rate.interval == "100.00 – 100.50"
    assert first.network[0].startswith("TCP round trip 10.0")
    assert len(first.network) == 1
    assert first.output == "rate 100.5"


def test_relations_in_words():
    rows = {row.figure: row for row in relation_rows(study_of(sized_points()))}
    assert rows["rate"].network == "TCP round trip"
    assert (rows["rate"].pairs, rows["rate"].value) == (5, "1.00")
    assert rows["rate"].interval == "-0.17 to 1.00"
    assert (rows["elapsed"].value, rows["elapsed"].interval) == (
        "–",
        "one of the two is the same in all",
    )
    few = relation_rows(study_of(sized_points()[:4]))
    assert {(row.value, row.interval) for row in few} == {("–", "too few points")}
    three = {row.figure: row for row in relation_rows(study_of(sized_points()[:6]))}
    assert three["rate"].value == "1.00"
    assert "too few points" in three["rate"].interval


def test_the_page_has_the_section(tmp_path):
    text = page_of(sized_points(), tmp_path)
    for words in ("Programs", "mg at the origin, 1k bytes", "100.25 Mop/s", "rate 100.5", "-0.17"):
        assert words in text, words
    assert "The end of the last output" in text


def test_one_condition_says_that_it_is_one(tmp_path):
    text = page_of(sized_points()[:2], tmp_path)
    assert "cannot be said of one condition" in text


def test_a_run_without_programs_has_no_section(tmp_path):
    text = page_of([latency_point(1, 64, 10)], tmp_path)
    assert "Programs" not in text


def test_output_cannot_write_into_the_page(tmp_path):
    points = [program_point(1, [1.0] * 6, output_tail="<script>alert(1)</script>")]
    run = run_of(points, tmp_path)
    assert "<script>alert(1)" not in write_report(run, figures_of(run), [], tmp_path).read_text()


def test_the_terminal_names_the_figures():
    few = summary_of(sized_points()[:2])
    assert "mg at the origin, 1k bytes" in few
    assert "rate 100.25 Mop/s [100.00 – 100.50]" in few
    many = summary_of(sized_points())
    assert many.count("mg at the origin") == 5
    assert "60.25 Mop/s" in many
    assert all(len(line) <= 80 for line in many.splitlines())


def test_the_export_has_every_pair(tmp_path):
    run = run_of(sized_points(), tmp_path)
    export(run, figures_of(run), [], "csv", tmp_path)
    with (tmp_path / "csv" / "programs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    rate = [row for row in rows if row["figure"] == "program_rate"]
    assert [row["network_value"] for row in rate] == [str(1000.0 * (10 + i)) for i in range(5)]
    assert {round(float(row["rank_correlation"]), 9) for row in rate} == {1.0}
