"""Each format is read back by a reader of its own."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from compare_made import write_run
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.export import FORMATS, export_run
from netsonde.figures import Figure
from netsonde.figures.compute import figures_of
from netsonde.records.data import Run
from netsonde.records.journal import Journal
from netsonde.records.rundir import open_run
from netsonde.records.stream import stream_batches


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sizes in three launches."""
    folder = tmp_path_factory.mktemp("export")
    values = {64: [20e3, 21e3, 20.5e3], 4096: [30e3, 31e3, 29e3]}
    run: Path = write_run(folder / "run", values, messages=400)
    return run


@pytest.fixture(scope="module")
def run(directory: Path) -> Run:
    return open_run(directory)


@pytest.fixture(scope="module")
def figures(run: Run) -> list[Figure]:
    return figures_of(run)


def exported(directory: Path, format: str, out: Path, samples: bool = False) -> Path:
    assert export_run(directory, format, out, samples) == [out]
    assert sorted(p.name for p in out.parent.iterdir() if p.name.startswith(".parts")) == []
    return out


def test_csv(directory: Path, figures: list[Figure], tmp_path: Path) -> None:
    text = exported(directory, "csv", tmp_path / "f.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    several, rows = rows[len(figures) :], rows[: len(figures)]
    assert {(row["basis"], row["launches"], row["launch"]) for row in several} <= {
        ("span", "3", ""),
        ("none", "3", ""),
    }
    for row, figure in zip(rows, figures, strict=True):
        assert (row["point"], row["figure"]) == (figure.point, figure.name)
        assert float(row["value"]) == figure.value
        assert row["low"] == ("" if figure.low is None else str(figure.low))
    assert {row["launch"] for row in rows} == {"1", "2", "3"}


def test_jsonl(directory: Path, figures: list[Figure], tmp_path: Path) -> None:
    lines = exported(directory, "jsonl", tmp_path / "f.jsonl").read_text().splitlines()
    values = [json.loads(line) for line in lines]
    assert [v["value"] for v in values][: len(figures)] == [f.value for f in figures]


def test_json(directory: Path, figures: list[Figure], tmp_path: Path) -> None:
    document = json.loads(exported(directory, "json", tmp_path / "f.json").read_text())
    assert len(document["figures"]) == len(figures)
    assert document["manifest"]["name"] == "run"


def test_parquet(directory: Path, figures: list[Figure], tmp_path: Path) -> None:
    table = pl.read_parquet(exported(directory, "parquet", tmp_path / "f.parquet"))
    assert table["value"].to_list()[: len(figures)] == [f.value for f in figures]
    assert table["unit"].to_list()[: len(figures)] == [f.unit for f in figures]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_samples(
    format: str, directory: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, in order, though they are written in parts."""
    monkeypatch.setattr("netsonde.export.tables._ROWS_IN_A_PART", 700)
    path = exported(directory, format, tmp_path / f"s.{format}", samples=True)
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[format]
    table = read(path)
    assert table.columns == ["point", "batch", "rank", "host", "series", "index", "value"]
    expected = np.concatenate([point.series("round_trip_ns") for point in run.points])
    assert table["value"].to_list() == expected.tolist()
    assert set(table["series"]) == {"round_trip_ns"}


def test_only_the_last_attempt_is_streamed(directory: Path, tmp_path: Path) -> None:
    again = write_run(tmp_path / "again", {64: [20e3]})
    with Journal(again) as journal:
        journal.append("point_started", point="p001", attempt=2, time_utc="")
    assert list(stream_batches(again)) == []
    assert [point for point, _ in stream_batches(directory)] == [
        point.id for point in open_run(directory).points
    ]


def test_openmetrics(directory: Path, figures: list[Figure], tmp_path: Path) -> None:
    text = exported(directory, "openmetrics", tmp_path / "f.txt").read_text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    median = families["netsonde_round_trip_median_seconds"]
    assert (median.unit, median.type) == ("seconds", "gauge")
    assert "latency#quantiles" in median.documentation
    values = [f.value * 1e-9 for f in figures if f.name == "round_trip_median_ns"]
    own = [s for s in median.samples if "launch" in s.labels]
    assert [s.value for s in own] == pytest.approx(values)
    assert {s.labels["basis"] for s in median.samples[len(own) :]} == {"span"}
    assert median.samples[0].labels["launch"] == "1"
    low = families["netsonde_round_trip_median_low_seconds"]
    assert len(low.samples) == len(median.samples)
    assert families["netsonde_run"].samples[0].labels["origin"] == "emulated"


def test_openmetrics_of_odd_words(tmp_path: Path) -> None:
    odd = write_run(tmp_path / "odd", {64: [20e3]}, options={"interface": 'e"\\\n'})
    manifest = odd / "manifest.json"
    content = json.loads(manifest.read_text())
    content["points"][0]["parameters"]["label"] = 'quote " back \\ line \n end'
    manifest.write_text(json.dumps(content))
    text = exported(odd, "openmetrics", tmp_path / "f.txt").read_text()
    samples = [s for f in text_string_to_metric_families(text) for s in f.samples]
    assert any('quote " back \\ line \n end' in s.labels.get("label", "") for s in samples)


def test_junit(directory: Path, tmp_path: Path) -> None:
    broken = write_run(tmp_path / "broken", {64: [20e3], 128: [21e3]})
    with Journal(broken) as journal:
        journal.append("point_started", point="p002", attempt=2, time_utc="")
        journal.append("point_failed", point="p002", attempt=2, code="host", error="h2 is gone")
    suite = ElementTree.parse(exported(broken, "junit", tmp_path / "f.xml")).getroot()[0]
    assert suite.get("errors") == "1"
    (error,) = suite.findall("testcase/error")
    assert error.get("message") == "h2 is gone"
    assert any(c.get("classname", "").startswith("findings.") for c in suite.findall("testcase"))
    good = ElementTree.parse(exported(directory, "junit", tmp_path / "g.xml")).getroot()[0]
    assert good.get("errors") == "0"
    assert len(good.findall("testcase[@classname='points.mpi.latency']")) == 6


def test_histograms(directory: Path, run: Run, tmp_path: Path) -> None:
    paths = export_run(directory, "hdr", tmp_path / "hdr")
    assert {p.suffix for p in paths} == {".hgrm", ".hlog"}
    point = run.points[0]
    samples = point.series("round_trip_ns")
    reader = HistogramLogReader(
        str(tmp_path / "hdr" / f"{point.id}.hlog"), HdrHistogram(1, 10**9, 3)
    )
    read = reader.get_next_interval_histogram()
    assert read.get_total_count() == len(samples)
    for q in (50.0, 99.0):
        near = np.quantile(samples, q / 100, method="inverted_cdf")
        assert read.get_value_at_percentile(q) == pytest.approx(near, rel=0.002)
    lines = (tmp_path / "hdr" / f"{point.id}.hgrm").read_text().splitlines()
    rows = [line.split() for line in lines if line and line[0] == " " and "Value" not in line]
    half = next(float(value) for value, share, *_ in rows if float(share) >= 0.5)
    assert half == pytest.approx(float(np.median(samples)) / 1000, rel=0.02)
    assert lines[-3].startswith("#[Mean")


def test_points_of_strange_names_stay_in_the_folder(tmp_path: Path) -> None:
    odd = write_run(tmp_path / "odd", {64: [20e3]})
    for name in ("manifest.json", "journal.jsonl"):
        text = (odd / name).read_text()
        (odd / name).write_text(text.replace('"p001"', '"../../p"'))
    paths = export_run(odd, "hdr", tmp_path / "hdr")
    assert {p.parent for p in paths} == {tmp_path / "hdr"}


def test_pages(directory: Path, tmp_path: Path) -> None:
    pdf = exported(directory, "pdf", tmp_path / "r.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") >= 2
    again = exported(directory, "pdf", tmp_path / "r2.pdf").read_bytes()
    assert pdf == again
    html = exported(directory, "html", tmp_path / "r.html").read_text(encoding="utf-8")
    assert html.lstrip().lower().startswith("<!doctype html>")


def test_formats_that_stream_go_to_standard_output(directory: Path) -> None:
    found = CliRunner().invoke(app, ["export", str(directory), "-f", "csv"])
    assert found.exit_code == 0
    assert found.stdout.startswith("run,origin,point,label,transport,")


def test_others_go_into_the_run_directory(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {64: [20e3]})
    found = CliRunner().invoke(app, ["export", str(run), "--format", "parquet"])
    assert Path(found.stdout.strip()) == run / "export" / "figures.parquet"
    assert (run / "export" / "figures.parquet").is_file()


@pytest.mark.parametrize(
    ("format", "out", "samples", "sentence"),
    [
        ("xml", None, False, "format 'xml' is not known"),
        ("pdf", "-", False, "pdf does not go to standard output"),
        ("pdf", None, True, "samples go into csv, jsonl, parquet"),
        ("csv", "/proc/none/f.csv", False, "cannot write /proc/none/f.csv"),
        ("gnuplot", "/proc/none", False, "cannot write /proc/none"),
    ],
)
def test_what_cannot_be_exported(
    format: str, out: str | None, samples: bool, sentence: str, directory: Path
) -> None:
    with pytest.raises(UsageError, match=sentence):
        export_run(directory, format, None if out is None else Path(out), samples)


def test_no_run_is_refused_in_every_format(tmp_path: Path) -> None:
    for format in FORMATS:
        with pytest.raises(UsageError, match=r"no manifest\.json"):
            export_run(tmp_path, format, tmp_path / "out")
