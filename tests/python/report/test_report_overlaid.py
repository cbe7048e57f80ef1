"""One test in several ways over message size: in one run, and in two sets of runs."""

from __future__ import annotations

import numpy as np
import pytest
from compare_made import launch_values, read_as
from mpi_points import made_run, operation_point

from netsonde.compare.verdicts import compare
from netsonde.figures.compute import figures_of
from netsonde.records.data import Point
from netsonde.report.comparison_page import sections_of
from netsonde.report.lookup import Study
from netsonde.report.overlaid import (
    runs_over_each_other,
    short_names,
    ways_of_operations,
)

BINOMIAL = "mpich+MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial"
SIZES = (64, 4096)


def study_of(*points: Point) -> Study:
    run = made_run(*points)
    return Study(run, figures_of(run))


def test_libraries_settings_and_ranks_on_a_host_lie_over_each_other() -> None:
    points: list[Point] = []
    for us, mpi in enumerate(("mpich", BINOMIAL, "openmpi"), 1):
        for ppn in (1, 2):
            for size in SIZES:
                for launch in range(1, 7):
                    point = operation_point(
                        "bcast",
                        size,
                        100.0 * us * ppn,
                        number=len(points) + 1,
                        mpi=mpi,
                        ppn=ppn,
                        launch=launch,
                    )
                    points.append(point)
    plot = ways_of_operations(study_of(*points))
    assert plot is not None
    [panel] = plot.panels
    found = {curve.label: curve for curve in panel.curves}
    assert list(found) == [
        f"{mpi}, {ppn} a host" for mpi in ("mpich", "mpich binomial", "openmpi") for ppn in (1, 2)
    ]
    curve = found["mpich binomial, 2 a host"]
    assert curve.x == [64.0, 4096.0]
    assert curve.y == pytest.approx([400e3, 400e3], rel=0.02)
    assert curve.low is not None
    assert all(low is not None and low < 400e3 * 1.01 for low in curve.low)
    assert len(plot.table.rows) == 6 * len(SIZES)
    assert {row[7] for row in plot.table.rows} == {"median of 6 launches"}


def test_names_are_short_where_that_tells_them_apart() -> None:
    every = ["mpich", "/a/bin/mpicc", "/b/bin/mpicc", "mpich+X=1", "mpich+Y=1", "mpich+Y=2"]
    assert list(short_names(every).values()) == ["mpich", *every[1:5], "mpich 2"]


def test_only_what_differs_in_nothing_else_is_in_one_panel() -> None:
    points: list[Point] = []
    for mpi, ranks in (("a", 4), ("b", 4), ("a", 6), ("b", 6)):
        for size in SIZES:
            number = len(points) + 1
            points.append(operation_point("bcast", size, 100, number=number, ranks=ranks, mpi=mpi))
    plot = ways_of_operations(study_of(*points))
    assert plot is not None
    assert [panel.title for panel in plot.panels] == ["bcast, 4 ranks", "bcast, 6 ranks"]
    assert all([c.label for c in panel.curves] == ["a", "b"] for panel in plot.panels)
    alone = [p for p in points if p.parameters["mpi"] == "a"]
    assert ways_of_operations(study_of(*alone)) is None
    assert ways_of_operations(study_of(points[0], points[2])) is None  # one size each


def test_before_and_after_lie_over_each_other() -> None:
    random = np.random.default_rng(5)
    before_it = [read_as("before", launch_values(random, 1, 8, 3)[0])]
    after_it = [read_as("after", launch_values(random, 1, 8, 3, 0.5)[0])]
    comparison = compare(before_it, after_it)
    plot = runs_over_each_other(comparison)
    assert plot is not None
    [panel] = plot.panels
    before, after = panel.curves
    assert (before.label, after.label) == ("before", "after")
    assert len(before.x) == 3
    for low, high in zip(before.y, after.y, strict=True):
        assert low is not None
        assert high is not None
        assert high / low == pytest.approx(1.5, rel=0.05)
    assert before.low is not None
    drawn = [plot.id for section in sections_of(comparison) for plot in section.plots]
    assert drawn == ["changes", "runs-over-each-other"]
    x, y = (read_as(name, launch_values(random, 1, 8, 1)[0]) for name in ("x", "y"))
    assert runs_over_each_other(compare([x], [y])) is None
