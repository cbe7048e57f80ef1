"""MPIs side by side: ratios of known truth, winners that are none, and what the reader gets."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from netsonde.catalogue.test import TESTS
from netsonde.figures import Figure
from netsonde.figures.side_by_side import Comparison, comparisons, mpis_of
from netsonde.records.data import Batch, EndData, Point, PointStatus, Run
from netsonde.report.lookup import Study
from netsonde.report.side_by_side import print_side_by_side, ratio_by_size, side_by_side

Value = Callable[[str, int, int], float | None]
"""By MPI, launch and size; None where the MPI lacks the operation."""


def made(
    mpis: list[str], launches: int, value: Value, test: str = "collective",
    sizes: tuple[int, ...] = (64,), operation: str | None = "bcast",
) -> tuple[Run, list[Figure]]:  # fmt: skip
    points, figures = list[Point](), list[Figure]()
    for size in sizes:
        for mpi in mpis:
            for launch in range(1, launches + 1):
                parameters = {"message_bytes": size, "mpi": mpi, "launch": launch, "ranks": 2}
                if operation:
                    parameters["operation"] = operation
                name = f"p{len(points) + 1:03d}"
                found = value(mpi, launch, size)
                batches = [] if found is None else [Batch(0, {0: EndData(0, "h1")})]
                status: PointStatus = "failed" if found is None else "finished"
                points.append(Point(name, "mpi", test, parameters, status, batches=batches))
                if found is not None:
                    name_of_figure = TESTS[test].main
                    known = (found, None, None, 100, None, "collectives")
                    figures.append(
                        Figure(name, "mpi", test, operation, size, name_of_figure, *known)
                    )
    facts = {m: {"mpi.library": f"{m} 1.0, of a test", "mpi.standard": "4.0"} for m in mpis}
    return Run(Path("x"), {"mpis": facts, "origin": "real", "path": {}}, points, True), figures


def compared(*args, **more) -> Comparison:
    [found] = comparisons(*made(*args, **more))
    return found


@pytest.mark.parametrize("test", ["collective", "stream"])
def test_a_known_ratio_is_in_its_interval_as_often_as_it_says(test: str) -> None:
    """Launches differ by a tenth and drift together; the second MPI is 1.25 times as fast."""
    generator = np.random.default_rng(4)
    truth, runs, hits, wins = 1.25, 300, 0, 0
    for _ in range(runs):
        drift = np.exp(np.cumsum(generator.normal(0, 0.2, 13)))
        noise = np.exp(generator.normal(0, 0.1, (2, 13)))

        def value(mpi: str, launch: int, _size: int, drift=drift, noise=noise) -> float:
            slower = 1.0 if mpi == "b" else truth
            time_ns = 1e5 * slower * drift[launch] * noise["ab".index(mpi), launch]
            return float(time_ns if test == "collective" else 1e15 / time_ns)

        found = compared(["a", "b"], 12, value, test, operation=None)
        advantage = found.advantage("b", "a")
        assert advantage is not None
        assert advantage.low is not None
        assert advantage.high is not None
        hits += advantage.low <= truth <= advantage.high
        wins += found.winner == "b"
        assert found.winner != "a"
    assert hits / runs > 0.93
    assert wins / runs > 0.9


def test_equal_mpis_have_no_winner_but_by_chance() -> None:
    generator = np.random.default_rng(5)
    noise = np.exp(generator.normal(0, 0.1, (300, 2, 9)))
    winners = [
        compared(["a", "b"], 8, lambda m, i, _, own=own: 1e5 * own["ab".index(m), i]).winner
        for own in noise
    ]
    assert sum(w is not None for w in winners) / len(winners) < 0.06


def test_a_winner_beats_every_other_one() -> None:
    times = {"a": 100.0, "b": 80.0, "c": 80.5}
    jitter = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0]

    def value(mpi: str, launch: int, _: int) -> float:
        order = jitter if mpi != "c" else jitter[::-1]
        return times[mpi] * order[launch - 1]

    found = compared(["a", "b", "c"], 6, value)
    assert found.ranking == ["b", "c", "a"]
    assert found.winner is None  # b and c cannot be told apart
    assert compared(["a", "b"], 6, value).winner == "b"
    assert compared(["a", "b"], 5, value).winner is None  # too few launches for an interval


def test_tests_of_other_sizes_and_shapes_are_kept_apart() -> None:
    run, figures = made(["a", "b"], 6, lambda *_: 10.0, sizes=(8, 64))
    first = run.points[0]
    run.points[0] = replace(first, parameters={**first.parameters, "root": 1})
    assert len(comparisons(run, figures)) == 3
    assert mpis_of(run) == ["a", "b"]
    plain = Run(Path("x"), {}, [Point("p001", "mpi", "latency", {"message_bytes": 8})], True)
    assert mpis_of(plain) == comparisons(plain, []) == []
    assert side_by_side(Study(plain, [])) is None
    assert not print_side_by_side(Study(plain, []), Console())


def times(mpi: str, launch: int, size: int) -> float | None:
    if mpi == "/opt/site/bin/mpicc" and size == 64:
        return None
    speed = {"mpich": 1.0, "openmpi": 1.4}.get(mpi, 0.5)
    return (20_000 + size) / speed * (1 + 0.01 * launch)


def test_the_table_says_who_wins_by_how_much_in_80_columns() -> None:
    mpis = ["mpich", "openmpi", "/opt/site/bin/mpicc"]
    run, figures = made(mpis, 6, times, sizes=(64, 65536))
    written = io.StringIO()
    assert print_side_by_side(Study(run, figures), Console(width=80, file=written))
    text = written.getvalue()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "Of 2 tests, openmpi is faster in 2." in text
    assert "openmpi: openmpi 1.0, MPI 4.0" in text
    assert "has none" in text
    assert "openmpi 1.40 ×" in text
    assert "mpicc" in text
    assert "medians of 6 launches each" in text


def test_the_cells_of_the_page_hold_speeds_and_what_is_lacking() -> None:
    run, figures = made(["mpich", "openmpi", "/opt/site/bin/mpicc"], 6, times)
    found = side_by_side(Study(run, figures))
    assert found is not None
    [row] = found.rows
    assert row.winner == "openmpi"
    assert [cell.is_best for cell in row.cells] == [False, True, False]
    assert [round(cell.share, 2) for cell in row.cells] == [0.71, 1.0, 0.0]
    assert row.cells[2].is_lacking
    assert found.names == ("mpich", "openmpi", "mpicc")
    assert row.cells[0].interval == "20.26 – 21.27"


def test_the_plot_has_the_ratio_at_every_size() -> None:
    run, figures = made(["mpich", "openmpi"], 6, times, sizes=(8, 1024))
    plot = ratio_by_size(Study(run, figures))
    assert plot is not None
    [panel] = plot.panels
    [curve] = panel.curves
    assert curve.x == [8.0, 1024.0]
    assert [round(float(y or 0), 3) for y in curve.y] == [1.4, 1.4]
    assert curve.low is not None
    columns = [column.name for column in plot.table.columns]
    rows: list[Mapping[str, object]] = [dict(zip(columns, r, strict=True)) for r in plot.table.rows]
    assert [row["mpi"] for row in rows] == ["mpich", "openmpi"] * 2
    assert rows[0]["times_as_fast"] == 1.0
    assert rows[0]["launches"] == 6


def test_paths_are_told_apart_by_their_last_parts() -> None:
    run, figures = made(["/a/x/bin/mpicc", "/b/x/bin/mpicc"], 1, lambda *_: 10.0)
    found = side_by_side(Study(run, figures))
    assert found is not None
    assert found.names == ("a/x/bin/mpicc", "b/x/bin/mpicc")
    assert "no interval of 1" in found.rows[0].verdict


def test_a_run_of_which_nothing_is_measured_yet_is_no_comparison() -> None:
    run, figures = made(["mpich", "openmpi"], 3, lambda *_: None)
    failed = side_by_side(Study(run, figures))
    assert failed is not None
    assert failed.launches == 0
    for point in run.points:
        point.status = "planned"
    assert side_by_side(Study(run, figures)) is None


@given(st.lists(st.tuples(st.floats(10.0, 30.0), st.floats(10.0, 30.0)), min_size=2, max_size=9))
def test_who_is_named_faster_is_never_slower(launches: list[tuple[float, float]]) -> None:
    """A ratio launch by launch may say the other one than the two medians do."""

    def times_of(mpi: str, launch: int, _: int) -> float:
        return 1e3 * launches[launch - 1][mpi == "openmpi"]

    run, figures = made(["mpich", "openmpi"], len(launches), times_of)
    found = side_by_side(Study(run, figures))
    assert found is not None
    said = re.search(r"([\d.]+) ×", found.rows[0].verdict)
    assert said is not None
    assert float(said[1]) >= 1.0
