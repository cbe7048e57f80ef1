"""Several runs over each other: known curves end up in the panels, and every run can be told."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_synthetic import Laboratory, synthetic_figures, synthetic_run
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.records.data import Run
from netsonde.report.lookup import Study
from netsonde.report.overlay_page import (
    RUNS_MOST,
    laid_over,
    over_size,
    over_time,
    sections_of,
    tails,
    write_overlay,
)

STEP_NS = 10_000
SIZE = 64


def steady_run(directory: Path, trip_ns: int) -> Run:
    """Round trips that all last alike, and a stream with a message each STEP_NS."""
    lab = Laboratory(3, 400)
    run = synthetic_run(directory, samples=300, with_mpi=False, odd=False)
    trips = [lab.latency("tcp", size) for size in (SIZE, 1024)]
    for point in trips:
        for batch in point.batches:
            batch.ends[0].series["round_trip_ns"][:] = trip_ns
    stream = lab.stream("tcp", 4096)
    for batch in stream.batches:
        received = batch.ends[1].series["received_ns"]
        received[:] = STEP_NS * np.arange(len(received))
    made: Run = replace(run, directory=directory, points=[*trips, stream])
    return made


def study(run: Run) -> Study:
    return Study(run, synthetic_figures(run))


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> list[Study]:
    folder = tmp_path_factory.mktemp("runs")
    return [study(steady_run(folder / f"run-{n}", 20_000 * n)) for n in (1, 2, 3)]


def test_known_curves_end_up_in_the_panels(studies: list[Study]) -> None:
    plot = over_time(laid_over(studies), "tcp")
    assert plot is not None
    rates, trips = plot.panels
    assert rates.x == trips.x
    assert [c.label for c in trips.curves] == ["run-1", "run-2", "run-3"]
    for number, made in enumerate(trips.curves, start=1):
        assert set(made.y) == {20_000.0 * number}
        assert made.x[:3] == [0.0, 20_000.0 * number, 40_000.0 * number]
    for made in rates.curves:
        known = [y for y in made.y if y is not None]
        assert known == pytest.approx([4096 * 8e9 / STEP_NS] * len(known))
    ends = [x for c in (*rates.curves, *trips.curves) for x in c.x if x is not None]
    assert rates.x.high == max(ends)


def test_sizes_and_tails_have_each_run_once(studies: list[Study]) -> None:
    runs = laid_over(studies)
    sizes, tail = over_size(runs, "tcp"), tails(runs, "tcp")
    assert sizes is not None
    assert tail is not None
    (trips,) = sizes.panels  # a stream of one size is no curve
    assert [c.x for c in trips.curves] == [[64.0, 1024.0]] * 3
    assert [c.y for c in trips.curves] == [[2e4, 2e4], [4e4, 4e4], [6e4, 6e4]]
    assert [set(c.x) for c in tail.panels[0].curves] == [{2e4}, {4e4}, {6e4}]
    assert [row[0] for row in tail.table.rows] == ["run-1", "run-2", "run-3"]


def test_runs_differ_in_colour_dash_and_symbol(studies: list[Study]) -> None:
    looks = [run.look for run in laid_over(studies)]
    for name in ("colour", "dash", "symbol"):
        assert len({getattr(look, name) for look in looks}) == 3


def test_medians_stand_in_a_table_and_left_out_transports_in_words(
    studies: list[Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netsonde.report.overlay_page.TRANSPORTS_DRAWN", 1)
    whole = study(replace(synthetic_run(tmp_path, samples=300), directory=tmp_path / "whole"))
    *drawn, medians = sections_of(laid_over([studies[0], whole]))
    assert [section.id for section in drawn] == ["udp"]
    assert drawn[0].words == ["Without UDP: run-1."]
    assert medians.words[0] == "Not drawn, as a page has 1 transport at most: TCP, MPI."
    assert medians.table is not None
    own = [row for row in medians.table.rows if row[0] == "run-1"]
    assert own[0][2:5] == ("TCP latency 64 B", "round trip median", "20.00 µs")
    assert own[1][2:4] == ("TCP stream 4k", "throughput")


def test_sizes_that_differ_are_named(studies: list[Study], tmp_path: Path) -> None:
    other = steady_run(tmp_path / "other", 50_000)
    other = replace(other, points=other.points[1:])
    plot = tails(laid_over([studies[0], study(other)]), "tcp")
    assert plot is not None
    assert [c.label for c in plot.panels[0].curves] == ["run-1, 64 B", "other, 1k"]


def test_the_page_is_sound(studies: list[Study], tmp_path: Path) -> None:
    text = write_overlay(studies, tmp_path / "overlay.html").read_text(encoding="utf-8")
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(ids)
    assert "docs/methods" not in text


def test_too_many_runs_and_one_named_twice_are_refused(studies: list[Study]) -> None:
    with pytest.raises(UsageError, match="name 12 at most"):
        write_overlay([studies[0]] * (RUNS_MOST + 1), Path("nowhere"))
    with pytest.raises(UsageError, match="named twice"):
        laid_over([studies[0], studies[0]])


def test_the_command_takes_several_runs_as_a_page_only(tmp_path: Path) -> None:
    names = [str(tmp_path / "a"), str(tmp_path / "b")]
    done = CliRunner().invoke(app, ["report", *names, "--format", "svg"])
    assert isinstance(done.exception, UsageError)
    assert "svg is of a single run" in str(done.exception)
