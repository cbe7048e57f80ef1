"""A run in Python: ``netsonde.open``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.large_run import Shape, write_large_run

import netsonde
from netsonde.errors import UsageError


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    directory = tmp_path_factory.mktemp("open") / "run"
    write_large_run(directory, Shape(points=6, batches=2, values=400))
    return netsonde.open(directory)


def test_every_sample_is_a_row(opened):
    samples = opened.samples()
    assert samples.columns == ["point", "batch", "rank", "series", "index", "value"]
    assert samples.height == 6 * 2 * 400
    first = opened.run.points[0]
    own = opened.samples(series="round_trip_ns", point=first.id)
    assert own["value"].to_list() == first.series("round_trip_ns").tolist()
    assert set(own["point"].to_list()) == {first.id}
    assert opened.samples(series="nothing").is_empty()


def test_figures_points_and_findings_are_tables(opened):
    points, figures = opened.points(), opened.figures()
    assert points["point"].to_list() == [p.id for p in opened.run.points]
    own = figures.filter(figures["point"] == "p00001", figures["name"] == "round_trip_median_ns")
    (median,) = own.to_dicts()
    assert median["low"] <= median["value"] <= median["high"]
    assert "#" in median["method"]
    assert {"level", "claim", "advice", "points"} <= set(opened.findings().columns)


def test_goes_on_to_pandas(opened):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    assert len(opened.points().to_pandas()) == 6


def test_a_notebook_shows_the_findings_and_runs_nothing_of_them(opened):
    opened.run.manifest["name"] = "<script>alert(1)</script>"
    shown = opened._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "6 of 6 points measured" in repr(opened)
    assert opened.findings()["claim"][0].split("<")[0][:20] in shown.replace("&#x27;", "'")


def test_no_run_is_said(tmp_path: Path):
    with pytest.raises(UsageError, match="is not a run directory"):
        netsonde.open(tmp_path)


def test_the_libraries_are_not_loaded_before_they_are_needed():
    names = "('numpy', 'polars', 'scipy')"
    code = f"import sys, netsonde; print([m for m in {names} if m in sys.modules])"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert printed.stdout.strip() == "[]"
