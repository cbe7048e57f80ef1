"""Several ranks on a host against fewer: a known ratio, its verdict, and only like beside like."""

from __future__ import annotations

import io

import numpy as np
import pytest
from mpi_points import latency_point, made_run, operation_point
from rich.console import Console

from netsonde.figures.compute import figures_of
from netsonde.figures.headlines import Headlines
from netsonde.figures.ranks_per_host import RATIO, packed
from netsonde.records.data import Point
from netsonde.report.files import document
from netsonde.report.lookup import Study
from netsonde.report.ranks_per_host import against_fewest, print_ranks_per_host


def pair(size, few_us, several_us, first, ppn=(1, 2), **more):
    return [
        operation_point("bcast", size, us, number=first + place, ppn=each, **more)
        for place, (us, each) in enumerate(zip((few_us, several_us), ppn, strict=True))
    ]


def found_of(*points):
    run = made_run(*points)
    figures = figures_of(run)
    return packed(run.points, Headlines(run.points, figures)), Study(run, figures)


@pytest.mark.parametrize(
    ("several_us", "verdict"), [(180.0, "slower"), (60.0, "faster"), (101.0, "alike")]
)
def test_a_known_ratio_has_its_interval_and_verdict(several_us: float, verdict: str) -> None:
    [one], _ = found_of(*pair(1024, 100.0, several_us, 1))
    assert one.verdict == verdict
    low, high = one.ratio.over.low, one.ratio.over.high
    assert low is not None
    assert high is not None
    assert low < several_us / 100.0 < high
    assert (one.fewest, one.several, one.ratio.basis) == (1, 2, "within")


def test_launches_are_paired_and_decide() -> None:
    """Launches differ twofold and both numbers of ranks with them: within a launch it is 1.5."""
    random = np.random.default_rng(3)
    points: list[Point] = []
    for launch in range(1, 9):
        slow = float(random.uniform(1, 2))
        points += pair(64, 100 * slow, 150 * slow, len(points) + 1, mpi="a", launch=launch)
    [one], _ = found_of(*points)
    assert one.ratio.over.launches == 8
    assert one.ratio.basis == "launches"
    assert one.verdict == "slower"
    assert one.ratio.value == pytest.approx(1.5, rel=0.02)
    apart = (one.ratio.over.high or 0) - (one.ratio.over.low or 0)
    assert apart < 0.1  # as launch by launch, and not as far apart as launches are


def test_only_what_differs_in_nothing_else_is_compared() -> None:
    points = pair(64, 100, 150, 1) + pair(1024, 100, 150, 3)
    points += [operation_point("bcast", 64, 90, number=9, ppn=2, root=1)]  # another root
    points += [operation_point("bcast", 64, 90, number=10, ppn=2, ranks=2)]  # fewer ranks
    points += [operation_point("bcast", 64, 90, number=11)]  # nobody said how they are placed
    points += [operation_point("bcast", 64, 90, number=12, ppn=2, mpi="b", launch=1)]
    found, _ = found_of(*points)
    assert [(one.example.message_bytes, one.example.id) for one in found] == [
        (64, "p002"),
        (1024, "p004"),
    ]


def test_rates_are_turned_round_and_times_of_two_ranks_compared() -> None:
    points = [latency_point(64, us, number) for number, us in ((1, 40.0), (2, 10.0))]
    for point, ppn in zip(points, (1, 2), strict=True):
        point.parameters["ppn"] = ppn
    for number, (us, ppn) in enumerate(((40.0, 1), (10.0, 2)), 3):
        point = latency_point(65536, us, number)
        point.test = "pingpong"
        point.parameters["ppn"] = ppn
        points.append(point)
    found, _ = found_of(*points)
    assert [one.verdict for one in found] == ["faster", "faster"]
    assert [one.ratio.value for one in found] == pytest.approx([0.25, 0.25], rel=0.05)


def test_it_is_on_the_terminal_in_the_report_and_in_json() -> None:
    points = pair(64, 100, 180, 1) + pair(4096, 200, 202, 3)
    _, study = found_of(*points)
    out = io.StringIO()
    assert print_ranks_per_host(study, Console(file=out, width=80, highlight=False))
    text = out.getvalue()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "Of 2 tests with more ranks on a host, 1 slower and 1 alike." in text
    assert "2 against 1" in text
    assert "within one launch" in text
    plot = against_fewest(study)
    assert plot is not None
    [panel] = plot.panels
    [curve] = panel.curves
    assert curve.x == [64.0, 4096.0]
    assert curve.low is not None
    assert [row[-1] for row in plot.table.rows] == ["slower", "alike"]
    assert all("[" in str(cell) for row in plot.table.rows for cell in row[4:6])
    written = document(study, []).decode()
    assert RATIO in written
    assert '"ranks_per_host"' in written
    none, plain = found_of(points[0])
    assert not none
    assert against_fewest(plain) is None
    assert not print_ranks_per_host(plain, Console(file=out))
