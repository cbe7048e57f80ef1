"""Histograms over each other, every rank's times, and who sends to whom."""

from __future__ import annotations

import pytest
from mpi_points import made_run, operation_point

from netsonde.figures.compute import figures_of
from netsonde.report.lookup import Study
from netsonde.report.rank_names import NAMED_MOST
from netsonde.report.repetition_plots import SIZES_SHOWN, histograms, ranks, who_with_whom


def study_of(*points):
    run = made_run(*points)
    return Study(run, figures_of(run))


def test_sizes_lie_over_each_other_and_one_has_its_moments():
    sizes = [8 << n for n in range(9)]
    points = [operation_point("bcast", size, 10.0 + i, number=i) for i, size in enumerate(sizes)]
    plot = histograms(study_of(*points, operation_point("barrier", 0, 5.0, number=20)))
    several = next(panel for panel in plot.panels if len(panel.curves) > 1)
    assert len(several.curves) == SIZES_SHOWN
    assert (several.curves[0].label, several.curves[-1].label) == ("8 B", "2k")
    alone = next(panel for panel in plot.panels if len(panel.curves) == 1)
    assert [mark.label for mark in alone.marks][:3] == ["least", "mean", "+ σ"]
    assert alone.marks[0].value < alone.marks[1].value < alone.marks[2].value
    assert len(plot.table.rows) == len(sizes) + 1


def test_every_rank_has_its_least_mean_and_largest():
    point = operation_point("bcast", 64, 20.0, ranks=3)
    plot = ranks(study_of(point))
    (curve,) = plot.panels[0].curves
    assert curve.x == [0, 1, 2]
    assert plot.panels[0].x.names == ["0 (h0)", "1 (h1)", "2 (h2)"]
    bounds = zip(curve.low or [], curve.y, curve.high or [], strict=True)
    for rank, (low, mean, high) in enumerate(bounds):
        times = point.series("duration_ns", rank)
        assert (low, high) == (times.min(), times.max())
        assert mean == pytest.approx(times.mean())
    assert [row[2:4] for row in plot.table.rows] == [(0, "h0"), (1, "h1"), (2, "h2")]


def test_of_many_ranks_the_axis_has_numbers():
    plot = ranks(study_of(operation_point("bcast", 64, 20.0, ranks=NAMED_MOST + 1)))
    assert plot.panels[0].x.names is None
    assert plot.panels[0].x.high == NAMED_MOST + 0.5


def test_who_sends_to_whom_is_a_matrix():
    point = operation_point("sendrecv", 64, 20.0, ranks=4, pattern="ring")
    for rank, end in point.batches[0].ends.items():
        end.counters["partner"] = (rank + 1) % 4
        end.host = "a" if rank < 2 else "b"
    plot = who_with_whom(study_of(point, operation_point("bcast", 64, 5.0, number=2)))
    heat = plot.panels[0].heat
    assert heat.rows == ["rank 0 (a)", "rank 1 (a)", "rank 2 (b)", "rank 3 (b)"]
    assert heat.columns == ["0 (a)", "1 (a)", "2 (b)", "3 (b)"]
    assert [row.index(max(row)) for row in heat.shares] == [1, 2, 3, 0]
    assert heat.shares[0][1] < heat.shares[1][2]  # on one host, and to another
    assert [row[4] for row in plot.table.rows] == [
        *("one host", "another host", "one host", "another host")
    ]


def test_collectives_alone_have_no_partners():
    assert who_with_whom(study_of(operation_point("bcast", 64, 5.0))) is None
