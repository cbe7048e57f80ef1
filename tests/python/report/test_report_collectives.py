"""What the report shows of MPI operations: spread, late ranks, guidelines."""

from __future__ import annotations

import pytest
from mpi_points import made_run, operation_point

from netsonde.figures.compute import figures_of
from netsonde.records.data import Point
from netsonde.report.guideline_plots import guidelines
from netsonde.report.lookup import Study
from netsonde.report.rank_plots import SLOWEST_SHOWN, late_ranks
from netsonde.report.spread_plots import spread

US = 1_000


def study_of(*points):
    run = made_run(*points)
    return Study(run, figures_of(run))


def late_point():
    """Rank 2 enters repetition 77 late by 80 us, and the others stay longer by as much."""
    point = operation_point("allreduce", 8, 20.0)
    for rank, end in point.batches[0].ends.items():
        end.counters["clock_group"] = 0
        end.series["begin_ns"] = end.series["begin_ns"] + rank * US
        if rank == 2:
            end.series["begin_ns"][77] += 80 * US
        else:
            end.series["duration_ns"][77] += 80 * US
    return point


def test_bands_sum_to_one_and_ranks_have_their_peaks():
    plot = spread(study_of(operation_point("bcast", 64, 20.0, spread=0.6)))
    (row,) = plot.table.rows
    cells = dict(zip((column.name for column in plot.table.columns), row, strict=True))
    multiples = [cells[f"multiple_{n}_ratio"] for n in range(1, 7)]
    assert sum(multiples) == pytest.approx(1)
    assert sum(cells[f"deviation_{n}_ratio"] for n in range(5)) == pytest.approx(1)
    assert cells["distribution"] in ("log-normal", "shifted log-normal")
    assert cells["distribution_p"] > 0.05
    assert "all ranks" in cells["peaks"]
    assert [lengths for _, _, lengths in plot.panels[0].stack.parts] == [[m] for m in multiples]


def test_a_rank_that_came_late_is_in_the_map_in_the_slowest_and_in_the_table():
    plot = late_ranks(study_of(late_point()))
    over_all, slowest = (panel.heat for panel in plot.panels)
    column = next(i for i, name in enumerate(over_all.columns) if int(name) > 78) - 1
    shares = [row[column] or 0.0 for row in over_all.shares]
    assert shares[2] == 1 == max(shares)
    assert max(shares[:2] + shares[3:]) < 0.1
    assert slowest.columns[0] == "0/77"
    assert len(slowest.columns) == SLOWEST_SHOWN
    late, grown = slowest.words[2][0].split(", ")[0], slowest.words[0][0].split(", ")[1]
    assert [float(text.removesuffix(" µs")) for text in (late, grown)] == pytest.approx(
        [80, 80], abs=2
    )
    assert plot.table.rows[0][2:6] == (0, 77, "2", "h2")
    assert plot.table.rows[0][8] == "0 (h0), 1 (h1), 3 (h3)"
    assert over_all.rows == slowest.rows == [f"rank {n} (h{n})" for n in range(4)]


def test_where_nobody_was_late_there_is_no_map():
    point = late_point()
    for end in point.batches[0].ends.values():
        end.counters.pop("clock_group")
    assert late_ranks(study_of(point)) is None


def test_a_violated_guideline_is_coloured():
    plot = guidelines(
        study_of(
            operation_point("gather", 1024, 30.0, number=1),
            operation_point("allgather", 1024, 10.0, number=2),
            operation_point("alltoall", 1024, 20.0, number=3),
        )
    )
    heat = plot.panels[0].heat
    cells = dict(zip(heat.rows, zip(heat.shares, heat.words, strict=True), strict=True))
    shares, words = cells["gather ≤ allgather"]
    assert shares[0] > 0.5
    value, low, high = (float(x.strip("[],")) for x in words[0].split())
    assert value == pytest.approx(3, abs=0.1)
    assert low < value < high
    assert cells["allgather ≤ alltoall"][0] == [0]
    assert plot.table.rows[0][1] == "gather ≤ allgather"
    assert plot.table.rows[0][-1] == "yes"
    assert guidelines(study_of(operation_point("gather", 1024, 30.0))) is None


def test_each_mpi_and_number_of_ranks_has_its_own_line_of_guidelines():
    """Launches are judged together; what differs in more stands in lines of its own."""
    points: list[Point] = []
    for mpi, gather_us in (("mpich", 30.0), ("openmpi", 5.0)):
        for ranks in (4, 6):
            for launch in (1, 2):
                for operation, us in (("gather", gather_us), ("allgather", 10.0)):
                    number = len(points) + 1
                    point = operation_point(
                        operation, 1024, us, number=number, ranks=ranks, mpi=mpi, launch=launch
                    )
                    points.append(point)
    plot = guidelines(study_of(*points))
    heat = plot.panels[0].heat
    assert len(heat.rows) == 4
    coloured = {row: shares[0] > 0 for row, shares in zip(heat.rows, heat.shares, strict=True)}
    assert coloured == {
        f"gather ≤ allgather, mpi {mpi}, ranks {ranks}": mpi == "mpich"
        for mpi in ("mpich", "openmpi")
        for ranks in (4, 6)
    }
    assert {row[2] for row in plot.table.rows} >= {"mpi mpich, ranks 4", "mpi openmpi, ranks 6"}
