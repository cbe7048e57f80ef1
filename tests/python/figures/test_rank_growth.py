"""Times and timeouts against the number of ranks: figures, findings, plots, the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from mpi_points import made_run, operation_point
from rich.console import Console

from netsonde.explain.data import Seen
from netsonde.explain.rank_growth import grows_with_ranks, time_outs_with_ranks
from netsonde.figures.compute import figures_of
from netsonde.figures.rank_growth import (
    first_with_waits,
    hosts_at_a_switch,
    is_crowded,
    processors,
    scalings,
    waits_by_ranks,
)
from netsonde.figures.time_outs import TAIL_PROBES, TIME_OUTS
from netsonde.records.data import Point, Run, Snapshot
from netsonde.report.growth_plots import (
    CROWDED,
    against_ranks,
    print_growth,
    time_outs_against_ranks,
)
from netsonde.report.lookup import Study, point_label
from netsonde.report.plots import all_plots

MS = 1_000_000
NUMBERS = (2, 4, 8, 16)
POINTS = iter(range(1, 10**6))


def at(operation: str, size: int, ranks: int, median_us: float, **more: object) -> Point:
    made: Point = operation_point(
        operation, size, median_us, ranks=ranks, number=next(POINTS), ranks_vary=True, **more
    )
    return made


def run_of(*points: Point, count: int = 64) -> Run:
    """On hosts of a lab, which is one machine with so many CPUs."""
    run: Run = made_run(*points)
    names = {end.host for p in points for b in p.batches for end in b.ends.values()}
    run.manifest["hosts"] = {name: {"cpu.count": count} for name in names}
    return run


def tree(size: int = 8, **more: object) -> list[Point]:
    return [at("bcast", size, n, 10 * np.log2(n), **more) for n in NUMBERS]


def test_a_tree_and_one_after_the_other() -> None:
    linear = [at("gather", 1024, n, 5.0 + 4 * n) for n in NUMBERS]
    run = run_of(*tree(), *linear)
    figures = figures_of(run)
    first, second = scalings(run, figures)
    assert first.growth is not None
    assert second.growth is not None
    assert (first.growth.verdict, first.growth.best.formula) == ("decided", "log2 p")
    assert (second.growth.verdict, second.growth.best.law) == ("decided", "linear")
    slopes = {f.operation: f for f in figures if f.name == "growth_slope_ns"}
    assert slopes["bcast"].value == pytest.approx(10_000, rel=0.02)
    assert slopes["gather"].value == pytest.approx(4_000, rel=0.05)
    for name, truth in (("bcast", 10_000), ("gather", 4_000)):
        low, high = slopes[name].low, slopes[name].high
        assert low is not None
        assert high is not None
        assert low < truth < high
    claims = [f.claim for f in grows_with_ranks(Seen(run, figures))]
    assert claims[0] == (
        "MPI bcast: from 2 to 16 ranks the time grows as log2 p (or ceil(log2 p), which is the "
        "same here)."
    )
    assert claims[1].startswith("MPI gather: from 2 to 16 ranks the time grows as ")


def test_sizes_with_one_outcome_are_said_together() -> None:
    points = [*tree(8), *tree(64), *(at("bcast", 4096, n, 3.0 * n) for n in NUMBERS)]
    run = run_of(*points)
    (finding,) = grows_with_ranks(Seen(run, figures_of(run)))
    assert "log2 p (or ceil(log2 p), which is the same here) (8 to 64 bytes)" in finding.claim
    assert "; grows as p (4k bytes)" in finding.claim


def test_ranks_beyond_the_processors_are_marked_and_left_out() -> None:
    crowded = [at("bcast", 8, n, 5000.0 * n) for n in (32, 64)]
    run = run_of(*tree(), *crowded, count=16)
    figures = figures_of(run)
    (scaling,) = scalings(run, figures)
    assert [(each.ranks, each.is_crowded) for each in scaling.at] == [
        (2, False), (4, False), (8, False), (16, False), (32, True), (64, True),
    ]  # fmt: skip
    assert [each.ranks for each in scaling.fitted] == list(NUMBERS)
    assert scaling.growth is not None
    assert scaling.growth.best.formula == "log2 p"
    (finding,) = grows_with_ranks(Seen(run, figures))
    assert "With 32, 64 ranks there were more of them than CPUs; they are left out." in (
        finding.evidence
    )
    plot = against_ranks(Study(run, figures))
    assert plot is not None
    (mark,) = plot.panels[0].marks
    assert mark.label == CROWDED
    assert 16 < mark.value < 32
    column = [c.name for c in plot.table.columns].index("crowded")
    assert [row[column] for row in plot.table.rows] == ["enough"] * 4 + [CROWDED] * 2
    text = printed(run)
    assert "ms*" in text
    assert "*: more ranks than CPUs, left out of the law unless all have" in text


def test_where_all_are_crowded_the_law_is_theirs() -> None:
    run = run_of(*tree(), count=1)
    figures = figures_of(run)
    (scaling,) = scalings(run, figures)
    assert scaling.fits_crowded
    assert scaling.growth is not None
    assert scaling.growth.best.formula == "log2 p"
    (finding,) = grows_with_ranks(Seen(run, figures))
    assert "All had more ranks than CPUs" in finding.evidence


def test_one_rank_is_shown_and_not_fitted() -> None:
    run = run_of(at("bcast", 8, 1, 0.1), *tree())
    (scaling,) = scalings(run, figures_of(run))
    assert [each.ranks for each in scaling.at] == [1, *NUMBERS]
    assert [each.ranks for each in scaling.fitted] == list(NUMBERS)


def test_too_few_numbers_say_so() -> None:
    run = run_of(*tree()[:3])
    (finding,) = grows_with_ranks(Seen(run, figures_of(run)))
    assert finding.claim.startswith("How the time of MPI bcast grows with the number of ranks is")
    assert "3 were measured" in finding.evidence
    assert "–" in printed(run)


def test_launches_give_the_median_and_the_interval() -> None:
    points = [
        at("bcast", 8, n, 10 * np.log2(n) * share, mpi="mpich", launch=launch)
        for n in NUMBERS
        for launch, share in enumerate((0.97, 0.98, 1.0, 1.0, 1.01, 1.02, 2.0), 1)
    ]
    (scaling,) = scalings(run_of(*points), figures_of(run_of(*points)))
    assert [each.launches for each in scaling.at] == [7] * 4
    assert scaling.at[0].time_ns == pytest.approx(10_000, rel=0.01)
    assert scaling.at[0].low == pytest.approx(9_700, rel=0.01)
    assert scaling.at[0].high == pytest.approx(20_000, rel=0.01)


def test_sizes_in_total_belong_together() -> None:
    points = [
        at("alltoall", 4096 // n, n, 3.0 * n, total_bytes=4096) for n in NUMBERS
    ]  # fmt: skip
    run = run_of(*points)
    (scaling,) = scalings(run, figures_of(run))
    assert scaling.message_bytes == 4096
    assert "alltoall 4k" in printed(run)


def test_a_run_of_one_number_has_nothing_of_it() -> None:
    run = made_run(operation_point("bcast", 8, 10.0))
    study = Study(run, figures_of(run))
    assert scalings(run, study.figures) == []
    assert against_ranks(study) is None
    assert grows_with_ranks(Seen(run, study.figures)) == []
    assert not print_growth(study, Console(file=io.StringIO()))
    assert "ranks" not in point_label(run.points[0])
    assert point_label(tree()[1]) == "MPI bcast 8 B, 4 ranks"


def printed(run: Run) -> str:
    out = io.StringIO()
    assert print_growth(Study(run, figures_of(run)), Console(file=out, width=80))
    assert all(len(line) <= 80 for line in out.getvalue().splitlines())
    return out.getvalue()


def test_the_table_fits_80_columns() -> None:
    numbers = (2, 3, 4, 6, 8, 12, 16, 24, 32)
    points = [at("reduce_scatter_block", 65536, n, 1234.5 * n) for n in numbers]
    text = printed(run_of(*points))
    assert "n = 2" in text
    assert "n = 32" in text
    assert "ranks are in the report" in text


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        ({"cpu.allowed": "0-3,8", "cpu.count": 64}, 5),
        ({"cpu.allowed": "7", "cpu.count": 64}, 1),
        ({"cpu.count": 12}, 12),
        ({"cpu.allowed": "all of them", "cpu.count": 2}, 2),
        ({}, None),
    ],
)
def test_processors_of_a_host(facts: dict[str, object], count: int | None) -> None:
    assert processors(facts) == count


def test_hosts_are_counted_by_themselves_unless_they_are_a_labs() -> None:
    point = tree()[2]  # 8 ranks on 8 hosts
    run = run_of(point, count=2)
    assert is_crowded(run, point)
    real = replace(run, manifest={**run.manifest, "origin": "real"})
    assert not is_crowded(real, point)
    facts = {**run.manifest["hosts"]["h0"], "host.name": "h0"}
    ends = {r: replace(end, host="h0") for r, end in point.batches[0].ends.items()}
    one = replace(point, batches=[replace(point.batches[0], ends=ends)])
    reached = replace(real, manifest={**real.manifest, "hosts": {"node1.example": facts}})
    assert is_crowded(reached, one)  # a host has another name for itself
    unknown = replace(run, manifest={**run.manifest, "hosts": {}})
    assert not is_crowded(unknown, point)


def waiting(ranks: int, slow: int) -> Point:
    """So many of 400 repetitions lasted longer by a timeout, and rank 0's host counted it."""
    point = at("alltoall", 65536, ranks, 2000.0)
    for rank, end in point.batches[0].ends.items():
        stays = end.series["duration_ns"]
        stays[:slow] += 204 * MS
        end.before = Snapshot("before", 1, 1, {TIME_OUTS: 7, TAIL_PROBES: 0})
        counted = slow if rank == 0 else 0
        end.after = Snapshot("after", 2, 1, {TIME_OUTS: 7 + counted, TAIL_PROBES: 0})
    return point


def test_time_outs_begin_where_they_were_put_in() -> None:
    run = run_of(waiting(2, 0), waiting(4, 0), waiting(8, 12), waiting(16, 60))
    figures = figures_of(run)
    (scaling,) = scalings(run, figures)
    found = waits_by_ranks(run, scaling)
    assert [(each.ranks, each.slow, each.repetitions) for each in found] == [
        (2, 0, 400), (4, 0, 400), (8, 12, 400), (16, 60, 400),
    ]  # fmt: skip
    assert [each.share for each in found] == [0, 0, 0.03, 0.15]
    first = first_with_waits(found)
    assert first is not None
    assert first.ranks == 8
    run.manifest["path"] |= {"hosts": 16, "buffer_bytes": 256 * 1024}
    (finding,) = time_outs_with_ranks(Seen(run, figures))
    assert finding.claim == (
        "MPI alltoall of 64k bytes: TCP's timeouts begin between 4 and 8 ranks."
    )
    assert "2 ranks none of 400" in finding.evidence
    assert "8 ranks 3.0% of 400 (1.7% to 5.2%)" in finding.evidence
    assert "One switch has room for 16 of the ranks." in finding.evidence
    assert "holds 256k bytes" in finding.evidence
    assert "448k meet there with 8 ranks" in finding.evidence
    plot = time_outs_against_ranks(Study(run, figures))
    assert plot is not None
    assert plot.panels[0].curves[0].y == [0, 0, 0.03, 0.15]
    assert len(plot.table.rows) == 4


def test_without_time_outs_nothing_is_said_of_them() -> None:
    run = run_of(waiting(2, 0), waiting(4, 0))
    figures = figures_of(run)
    (scaling,) = scalings(run, figures)
    assert waits_by_ranks(run, scaling) == []
    assert time_outs_with_ranks(Seen(run, figures)) == []
    assert time_outs_against_ranks(Study(run, figures)) is None


def test_a_beginning_is_not_claimed_where_a_smaller_number_is_not_decided() -> None:
    uncounted = waiting(4, 9)
    for end in uncounted.batches[0].ends.values():
        end.before = end.after = None
    run = run_of(waiting(2, 0), uncounted, waiting(8, 12))
    figures = figures_of(run)
    (scaling,) = scalings(run, figures)
    found = waits_by_ranks(run, scaling)
    assert [each.share for each in found] == [0, None, 0.03]
    assert first_with_waits(found) is None
    assert time_outs_with_ranks(Seen(run, figures)) == []


def test_hosts_at_a_switch() -> None:
    run = run_of(*tree())
    assert hosts_at_a_switch(run) is None
    links = [{"lower": f"h{i}", "upper": "s1" if i < 4 else "s2"} for i in range(1, 6)]
    uplink = {"lower": "s1", "upper": "s2"}
    hosts = [f"h{i}" for i in range(1, 6)]
    run.manifest["path"]["topology"] = {"hosts": hosts, "links": [*links, uplink]}
    assert hosts_at_a_switch(run) == 3


def test_plots_of_one_report_have_names_of_their_own() -> None:
    """A file and an anchor each: what is drawn against ranks, and what each rank took."""
    run = run_of(*tree())
    plots = all_plots(Study(run, figures_of(run)))
    assert {"collectives-ranks", "collectives-each-rank"} <= {plot.id for plot in plots}
    assert len({plot.id for plot in plots}) == len(plots)
    assert len({plot.table.id for plot in plots}) == len(plots)
