"""Runs with several options or loads: a curve for each, and a line each on the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
from report_made import Made
from report_synthetic import Laboratory
from rich.console import Console

from netsonde.figures.compute import figures_of
from netsonde.records.data import Batch, EndData, Point
from netsonde.report.lookup import Study
from netsonde.report.plots import all_plots
from netsonde.report.terminal import print_summary

PILOT_RATE_PER_S = 100_000


def study_of(made: Made, points: list[Point]) -> Study:
    run = replace(made.run, points=points)
    return Study(run, figures_of(run))


def printed(study: Study) -> str:
    out = io.StringIO()
    print_summary(study.run, study.figures, [], Console(file=out, width=80, highlight=False))
    return out.getvalue()


def labelled(number: int, point: Point, label: str) -> Point:
    return replace(point, id=f"p{number}", parameters={**point.parameters, "label": label})


def test_each_combination_of_options_has_a_curve(made: Made) -> None:
    laboratory = Laboratory(3, 2000)
    points = [
        labelled(10 * i + j, laboratory.stream("tcp", size), f"buffer {buffer}")
        for i, buffer in enumerate(("64k", "1M", "4M", "8M", "16M"))
        for j, size in enumerate((1024, 65536))
    ]
    study = study_of(made, points)
    plots = {plot.id: plot for plot in all_plots(study)}
    (panel,) = plots["by-option"].panels
    assert [curve.label for curve in panel.curves] == [
        *("buffer 64k", "buffer 1M", "buffer 4M", "buffer 8M", "buffer 16M")
    ]
    assert len({(curve.colour, curve.dash) for curve in panel.curves}) == 5
    assert all(curve.x == [1024.0, 65536.0] for curve in panel.curves)
    assert len(plots["by-option"].table.rows) == 10
    assert "is best with buffer" in plots["by-option"].summary
    assert "throughput-size" not in plots  # it would mix them on one line
    text = printed(study)
    head = next(line for line in text.splitlines() if line.startswith("buffer "))
    below = text.split(head)[1].split("\n\n")[0].splitlines()[2:]
    rows = [line.split()[:2] for line in below]
    assert [row[0] for row in rows if row[1] == "64k"] == ["64k", "1M", "4M", "8M", "16M"]
    assert len(rows) == 10
    assert max(map(len, text.splitlines())) <= 80


def open_loop(load: float, response_ns: int) -> Point:
    def end(count: int, interval_ns: int, responses: np.ndarray, last_ns: int) -> EndData:
        counters = {
            **{"start_ns": 0, "interval_ps": 1000 * interval_ns, "last_answer_ns": last_ns},
            **{"messages_sent": count, "messages_received": count, "unanswered": 0},
        }
        sent = np.arange(count) * interval_ns
        return EndData(0, "h1", {"response_ns": responses, "sent_ns": sent}, counters)

    pilot_ns = 1000 * 10**9 // PILOT_RATE_PER_S
    pilots = [end(1000, 1, np.full(1000, 10**6), pilot_ns) for _ in range(3)]
    interval_ns = round(1e9 / (load * PILOT_RATE_PER_S))
    responses = np.random.default_rng(round(100 * load)).normal(response_ns, 100, 2000)
    measured = end(2000, interval_ns, responses.astype(np.int64), 10**9)
    return Point(
        f"p{round(100 * load)}",
        "udp",
        "open_loop",
        {"message_bytes": 64, "cap_ns": 10**9, "interval": 0.01, "load_ratio": load},
        status="finished",
        ended_by="time",
        batches=[Batch(i, {0: e}) for i, e in enumerate([*pilots, measured])],
    )


def test_response_times_are_drawn_against_load_with_their_knee(made: Made) -> None:
    """Responses of 1 / (1 - load), measured at five loads: twice the first at about a half."""
    loads = (0.01, 0.25, 0.5, 0.75, 0.9)
    study = study_of(made, [open_loop(load, round(20_000 / (1 - load))) for load in loads])
    (plot,) = [plot for plot in all_plots(study) if plot.id == "response-load"]
    (panel,) = plot.panels
    assert [curve.label for curve in panel.curves] == ["median", "p99", "p999"]
    assert panel.curves[0].x == list(loads)
    (knee,) = panel.marks
    assert 0.48 <= knee.value <= 0.55
    assert "the knee is at" in plot.summary
    assert [row[2] for row in plot.table.rows] == list(loads)
    text = printed(study)
    head = next(line for line in text.splitlines() if line.startswith("at "))
    below = text.split(head)[1].split("\n\n")[0].splitlines()[2:]
    assert [line.split()[0] for line in below] == ["1%", "25%", "50%", "75%", "90%"]
    assert "offered/s" in text
    assert "50 000" in text.replace("\u2009", " ").replace("\u202f", " ")
    assert max(map(len, text.splitlines())) <= 80


def test_launches_of_sockets_are_one_value_each(made: Made) -> None:
    laboratory = Laboratory(5, 2000)
    points = [
        replace(point, id=f"p{10 * i + launch}", parameters={**point.parameters, "launch": launch})
        for launch in range(1, 7)
        for i, point in enumerate((laboratory.stream("tcp", 1024), laboratory.stream("tcp", 65536)))
    ]
    study = study_of(made, points)
    plots = {plot.id: plot for plot in all_plots(study)}
    (panel,) = plots["launches"].panels
    assert [curve.x for curve in panel.curves] == [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]] * 2
    rows = plots["launches"].table.rows
    assert [row[0] for row in rows] == ["TCP stream 1k", "TCP stream 64k"]
    for row, curve in zip(rows, panel.curves, strict=True):
        values = np.array(curve.y, dtype=float)
        assert row[1] == 6
        assert row[5:] == (np.median(values), values.min(), values.max())
    text = printed(study)
    assert max(map(len, text.splitlines())) <= 80
