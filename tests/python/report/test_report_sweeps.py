"""The report of sweeps: graphs with the axes that NetPIPE's users know, and matrices of options."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_browser import Browser
from rich.console import Console
from sweep_points import OCTAVES, hockney, swept_point, swept_points

from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.records.data import Batch, Point, Run
from netsonde.report.files import export
from netsonde.report.lookup import Study
from netsonde.report.option_plots import FACETS_SHOWN, matrices
from netsonde.report.page import write_report
from netsonde.report.sweep_plots import swept
from netsonde.report.terminal import print_summary

LINE = hockney(bit_per_s=1e8)
NAMES = {"versions": {}, "started_utc": "", "hosts": {}, "command": [], "name": "x", "seed": 1}


def run_of(folder, points):
    return Run(folder, {"origin": "real", "path": {}, **NAMES}, points, True)


def study_of(points, folder=Path("runs/x")):
    run = run_of(folder, points)
    return Study(run, figures_of(run))


def dipped_points():
    """A dip at 4 KiB, a size that was added, and sizes beside 64 KiB."""
    curve = lambda size: LINE(size) * (2 if size == 4096 else 1)  # noqa: E731
    return [
        *swept_points(curve),
        swept_point(60, 3000, LINE(3000), refined=1),
        swept_point(61, 65533, LINE(65533), perturbed_bytes=-3),
        swept_point(62, 65539, LINE(65539), perturbed_bytes=3),
    ]


def grid_points(sizes=OCTAVES):
    """Two options with three and two values; segments decide, buffers matter a little."""
    points: list[Point] = []
    for segment in (536, 1000, 1448):
        for buffer in (65536, 1 << 20):
            rate = 1e8 * segment / 1448 * (1 if buffer > 65536 else 0.9)
            points += swept_points(
                hockney(bit_per_s=rate),
                sizes,
                noise=0.0,
                first=len(points) + 1,
                label=f"buffer {buffer}, MSS {segment}",
                options={"max_segment": segment, "buffer": buffer, "wait": "block"},
            )
    return points


def test_the_three_graphs_have_their_axes():
    plot = swept(study_of(dipped_points()))
    titles = [panel.title for panel in plot.panels]
    assert titles == ["Signature graph", "Throughput against size", "Saturation graph"]
    signature, throughput, saturation = plot.panels
    assert (signature.x.kind, signature.x.log, signature.y.kind) == ("time_ns", True, "bit_per_s")
    assert (throughput.x.kind, throughput.x.log, throughput.y.log) == ("size", True, False)
    assert (saturation.x.log, saturation.y.log, saturation.y.kind) == (True, True, "time_ns")
    curve = signature.curves[0]
    assert curve.x[-1] == pytest.approx(LINE(1 << 20), rel=0.01)
    assert curve.y[-1] == pytest.approx(8e9 * (1 << 20) / LINE(1 << 20), rel=0.01)
    assert throughput.curves[0].x == sorted(throughput.curves[0].x)
    assert saturation.marks[0].label.startswith("saturated")
    (r_inf,) = [mark for mark in signature.marks if mark.along == "y"]
    assert r_inf.value == pytest.approx(1e8, rel=0.02)


def test_dips_and_sizes_beside_are_drawn_and_in_the_table():
    plot = swept(study_of(dipped_points()))
    crosses = [c for c in plot.panels[1].curves if c.symbol == "cross"]
    assert [c.x for c in crosses] == [[4096.0]]
    pale = next(c for c in plot.panels[1].curves if c.opacity < 1 and c.symbol != "cross")
    assert pale.x == [65533.0, 65539.0]
    kinds = {row[1]: row[-1] for row in plot.table.rows}
    assert kinds[4096] == "asked for, a dip"
    assert kinds[3000] == "added"
    assert kinds[65539] == "beside"
    assert len(plot.table.rows) == len(OCTAVES) + 3


def test_no_sweep_no_plot():
    assert swept(study_of(swept_points(LINE, OCTAVES[:4]))) is None


def test_the_matrix_has_the_best_of_each_pair():
    plot = matrices(study_of(grid_points()))
    (panel,) = plot.panels
    assert panel.heat.rows == ["536", "1000", "1448"]
    assert panel.heat.columns == ["64k", "1M"]
    assert panel.heat.shares[2][1] == 1.0
    assert panel.heat.shares[0][0] == pytest.approx(536 / 1448 * 0.9, rel=0.03)
    assert panel.heat.words[2][1].endswith("Mbit/s")
    assert len(plot.table.rows) == 6
    assert "best with MSS 1448 and buffer 1M" in plot.summary


def test_the_mtu_is_the_matrix_rows_before_the_segment():
    points = [
        replace(
            point,
            parameters={
                **point.parameters,
                "options": {"mtu": 9000 if i % 2 else 1500, **point.parameters["options"]},
            },
        )
        for i, point in enumerate(grid_points())
    ]
    panels = matrices(study_of(points)).panels
    assert [panel.heat.rows for panel in panels] == [["1500", "9000"]] * 2
    assert panels[0].y.label == "MTU"
    assert panels[0].x.label == "MSS"


def three_options(classes: Sequence[int]) -> list[Point]:
    """Each pair of :func:`grid_points` for every value of a third option, which makes it faster."""
    points: list[Point] = []
    for value in classes:
        for point in grid_points(OCTAVES[:2]):
            options = {**point.parameters["options"], "traffic_class": value}
            batches = [quicker(batch, 1 + value / 16) for batch in point.batches]
            name = f"p{len(points) + 1:03d}"
            parameters = {**point.parameters, "options": options}
            points.append(replace(point, id=name, parameters=parameters, batches=batches))
    return points


def quicker(batch: Batch, times: float) -> Batch:
    origin = batch.ends[0]
    trips = (origin.series["round_trip_ns"] / times).astype(np.int64)
    own = replace(origin, series={**origin.series, "round_trip_ns": trips})
    return replace(batch, ends={**batch.ends, 0: own})


def test_a_third_option_has_a_matrix_for_each_of_its_values_in_the_same_colours():
    plot = matrices(study_of(three_options([16, 0, 8])))
    titles = [panel.title.partition(", ")[2] for panel in plot.panels]
    assert titles == ["traffic class 0", "traffic class 8", "traffic class 16"]
    best = [max(share or 0.0 for row in p.heat.shares for share in row) for p in plot.panels]
    assert best == pytest.approx([0.5, 0.75, 1.0], rel=0.01)
    assert len({p.heat.least for p in plot.panels}) == 1
    assert all(
        (p.heat.rows, p.heat.columns) == (plot.panels[0].heat.rows, ["64k", "1M"])
        for p in plot.panels
    )
    assert "traffic class 16 is best with MSS 1448 and buffer 1M" in plot.summary
    assert "matrices are drawn" not in plot.caption


def test_of_many_values_of_a_third_option_some_are_drawn_and_the_table_has_all():
    plot = matrices(study_of(three_options(range(0, FACETS_SHOWN * 8 + 8, 8))))
    assert len(plot.panels) == FACETS_SHOWN
    assert plot.panels[-1].title.endswith("traffic class 48")
    assert "6 of 7 matrices are drawn." in plot.caption
    assert len(plot.table.rows) == 7 * 6


def test_one_option_over_a_few_sizes_is_a_matrix_too():
    points = [p for p in grid_points(OCTAVES[10:14]) if p.parameters["options"]["buffer"] > 65536]
    (panel,) = matrices(study_of(points)).panels
    assert panel.heat.rows == ["1k", "2k", "4k", "8k"]
    assert panel.heat.columns == ["536", "1000", "1448"]


def test_a_pair_that_was_not_measured_is_empty():
    points = [p for p in grid_points() if p.label != "buffer 65536, MSS 536"]
    (panel,) = matrices(study_of(points)).panels
    assert panel.heat.shares[0][0] is None
    assert panel.heat.words[0][0] == ""


def test_no_options_no_matrix():
    assert matrices(study_of(swept_points(LINE))) is None


def test_the_summary_has_a_row_for_each_size_and_tells_sweeps_in_a_few_lines():
    study = study_of(grid_points())
    out = io.StringIO()
    findings = explain(study.run, study.figures)
    print_summary(study.run, study.figures, findings, Console(file=out, width=80, highlight=False))
    text = out.getvalue()
    assert "6 sweeps" in text
    rows = [line for line in text.splitlines() if line.startswith("buffer ")]
    assert len(rows) == len(study.conditions)
    assert len(text.splitlines()) - len(rows) < 48


@pytest.mark.parametrize("points", [dipped_points, grid_points])
def test_the_page_and_the_images_draw_them(tmp_path, browser: Browser, points):
    run = run_of(tmp_path, points())
    figures = figures_of(run)
    page = write_report(run, figures, explain(run, figures), tmp_path)
    browser.show(1200)
    browser.open(page)
    assert browser.complaints() == []
    assert browser.value("document.querySelectorAll('#plot-sweep-1 path.line').length") > 0
    cells = browser.value("document.querySelectorAll('#plot-matrix-1 .cell').length")
    assert (cells > 0) == (points is grid_points)
    words = browser.value("document.getElementById('methods').parentElement.innerText")
    for name in ("asymptotic_bit_per_s", "half_performance_bytes", "saturation_bytes"):
        assert name in words
    names = {path.stem for path in export(run, figures, [], "png", tmp_path)}
    assert "sweep" in names
    assert ("matrix" in names) == (points is grid_points)


def summary_of(study) -> str:
    out = io.StringIO()
    print_summary(study.run, study.figures, [], Console(file=out, width=80, highlight=False))
    return out.getvalue()


def test_the_terminal_has_a_line_for_each_segment():
    """The line of 2004, round trips of 54.7 us and 53.6 ns a byte, and another from 1501 bytes on,
    where a datagram takes a second packet."""
    sizes = (*range(64, 1500, 120), *range(1501, 6000, 450))
    one_way = lambda size: (54_700 + 53.6 * size + 30_000 * (size > 1472)) / 2  # noqa: E731
    points = swept_points(one_way, sizes, noise=0.001, transport="udp")
    lines = summary_of(study_of(points)).splitlines()
    at = lines.index("Round trip by size, UDP latency")
    found = [m for line in lines[at + 1 : at + 3] if (m := re.fullmatch(LINE_PATTERN, line))]
    assert len(found) == 2, lines
    assert [match["sizes"] for match in found] == ["64..1384", "1501..5551"]
    assert [float(m["start"]) for m in found] == pytest.approx([54.7, 84.7], rel=0.01)
    assert [float(m["slope"]) for m in found] == pytest.approx([53.6, 53.6], rel=0.02)
    assert all(float(match["r2"]) > 0.99 for match in found)
    assert max(len(line) for line in lines) <= 80


def test_a_line_prints_no_cost_that_it_does_not_know_and_says_how_far_off_it_is():
    sizes = tuple(range(64, 1400, 64))
    flat = lambda size: 30_000.0 - 0.4 * size  # noqa: E731
    lines = summary_of(study_of(swept_points(flat, sizes, noise=0.08))).splitlines()
    (line,) = [line for line in lines if " bytes: " in line]
    assert " - " not in line
    assert "cost of a byte not resolved" in line
    assert "off by" in line
    good = summary_of(study_of(swept_points(LINE, OCTAVES, noise=0.001)))
    assert "off by" not in good
    assert "not resolved" not in good


def test_no_segments_are_printed_without_a_sweep():
    assert "Round trip by size" not in summary_of(study_of(swept_points(LINE, OCTAVES[:4])))


def test_many_sweeps_are_left_to_the_report():
    text = summary_of(study_of(grid_points(OCTAVES[4:12])))
    assert text.count("Round trip by size") == 4
    assert "and 2 more sweeps" in text


LINE_PATTERN = (
    r"  (?P<sizes>\S+) bytes: (?P<start>[\d.]+) µs \+ (?P<slope>[\d.]+) ns/byte \* size, "
    r"r\^2 (?P<r2>[01]\.\d{4})"
)
