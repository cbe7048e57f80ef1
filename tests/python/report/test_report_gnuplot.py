"""The plots of a report as gnuplot's scripts, which gnuplot draws as they are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from report_made import Made

from netsonde.export.gnuplot import write_gnuplot
from netsonde.report.lookup import Study
from netsonde.report.plots import all_plots


@pytest.fixture(scope="module")
def scripts(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gnuplot")
    paths = write_gnuplot(all_plots(Study(made.run, made.figures)), folder)
    assert len(paths) > 8
    return folder


def test_gnuplot_draws_every_script_unedited(scripts: Path) -> None:
    if shutil.which("gnuplot") is None:
        pytest.skip("no gnuplot on this machine; install the package gnuplot-nox")
    for script in sorted(scripts.glob("*.gp")):
        drawn = subprocess.run(
            ["gnuplot", script.name], cwd=scripts, capture_output=True, text=True, timeout=60
        )
        assert (drawn.returncode, drawn.stderr) == (0, ""), script.name
        ElementTree.parse(script.with_suffix(".svg"))


def test_data_are_in_base_units(scripts: Path, made: Made) -> None:
    plots = {plot.id: plot for plot in all_plots(Study(made.run, made.figures))}
    plot = plots["latency-order"]
    curve = next(c for c in plot.panels[0].curves if c.draw == "line")
    block = plot.panels[0].curves.index(curve)
    text = (scripts / "latency-order.dat").read_text().split("\n\n\n")[block]
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    x, y = curve.x[0], curve.y[0]
    assert x is not None
    assert y is not None
    assert [float(v) for v in rows[0][:2]] == pytest.approx([x, y * 1e-9])
