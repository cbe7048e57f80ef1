"""Exports: files that open, and figures that come back equal."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from report_made import Made
from report_synthetic import hostile_run, synthetic_figures, synthetic_run

from netsonde.errors import UsageError
from netsonde.report.files import export
from netsonde.report.lookup import Study
from netsonde.report.plots import all_plots

SOCKETS = ("udp",)


def test_images_open(made: Made, tmp_path: Path) -> None:
    """Of sockets alone: every plot is drawn as a vector image below, and takes half a second."""
    points = [point for point in made.run.points if point.transport in SOCKETS]
    run = replace(made.run, points=points)
    names = {plot.id for plot in all_plots(Study(run, made.figures))}
    paths = export(run, made.figures, made.findings, "png", tmp_path)
    assert len(paths) > 5
    assert {p.stem for p in paths} == names
    for path in paths:
        with Image.open(path) as image:
            image.load()
            assert min(image.size) > 300
            assert image.convert("RGB").getcolors(20) is None  # more than 20 colours


def test_pdf_files_are_such(made: Made, tmp_path: Path) -> None:
    run = replace(made.run, points=made.run.select("tcp", "latency"))
    paths = export(run, made.figures, [], "pdf", tmp_path)
    assert paths
    assert all(p.read_bytes().startswith(b"%PDF") for p in paths)


def test_vector_images_hold_text_and_hostile_names_are_no_more_than_that(tmp_path: Path) -> None:
    """Both of the same images: each takes half a second to draw."""
    run = hostile_run(tmp_path)
    for point in run.points:
        for batch in point.batches:
            for end in batch.ends.values():
                end.host += "$\\frac{"
    figures = synthetic_figures(run)
    paths = export(run, figures, [], "svg", tmp_path)
    assert {path.stem for path in paths} == {plot.id for plot in all_plots(Study(run, figures))}
    for path in paths:
        root = ElementTree.parse(path).getroot()
        assert root.tag.endswith("svg")
        assert root.findall(".//{http://www.w3.org/2000/svg}text")
        assert not [e for e in root.iter() if e.tag.endswith("script")]


def test_csv_holds_every_figure_exactly(made: Made, tmp_path: Path) -> None:
    paths = {p.stem: p for p in export(made.run, made.figures, made.findings, "csv", tmp_path)}
    assert {"figures", "findings", "points", "counters", "facts", "latency_size"} <= set(paths)
    with paths["figures"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(made.figures)
    for row, figure in zip(rows, made.figures, strict=True):
        assert row["name"] == figure.name
        assert float(row["value"]) == figure.value
        assert (float(row["low"]) if row["low"] else None) == figure.low
        assert int(row["samples"]) == figure.samples


def test_every_csv_file_is_rectangular(made: Made, tmp_path: Path) -> None:
    for path in export(made.run, made.figures, made.findings, "csv", tmp_path):
        with path.open(newline="") as file:
            widths = {len(row) for row in csv.reader(file)}
        assert len(widths) == 1, path


def test_json_comes_back_equal(made: Made, tmp_path: Path) -> None:
    (path,) = export(made.run, made.figures, made.findings, "json", tmp_path)
    document = json.loads(path.read_text())
    assert document["format"] == 1
    assert document["figures"] == [asdict(f) for f in made.figures]
    assert document["manifest"] == made.run.manifest
    claims = [f["claim"] for f in document["findings"]]
    assert claims == [f.claim for f in made.findings]
    for table in document["tables"].values():
        assert all(len(row) == len(table["columns"]) for row in table["rows"])


def test_an_empty_run_exports_its_tables(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, samples=300)
    run.points.clear()
    assert export(run, [], [], "png", tmp_path) == []
    assert export(run, [], [], "csv", tmp_path)
    assert export(run, [], [], "json", tmp_path)


def test_an_unknown_format_is_refused(made: Made, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="choose one of png, svg, pdf, csv, json"):
        export(made.run, made.figures, [], "docx", tmp_path)


def test_a_directory_that_is_a_file_is_one_sentence(made: Made, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match="choose another directory"):
        export(made.run, made.figures, [], "csv", tmp_path / "taken")
