"""The cost model held against a run whose alpha, beta, gamma and algorithms are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from compare_made import write_run
from mpi_points import latency_point, made_run, operation_point
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.figures.compute import figures_of
from netsonde.figures.headlines import Headlines
from netsonde.figures.predicted import FAMILIES, SETTINGS, Against, against_the_model
from netsonde.model.collectives import FORMULAS, PRINTED, counts_of
from netsonde.model.predict import total_bytes
from netsonde.records.data import Point, Run
from netsonde.report.lookup import Study
from netsonde.report.predicted import document_of, lines_of, model_against_measured

ALPHA, BETA, GAMMA = 20_000.0, 8.0, 3.0
SIZES = (64, 1024, 16384, 131072)


class Points:
    """Points whose times are those of formulas, numbered in turn."""

    def __init__(self) -> None:
        self.made: list[Point] = []

    def messages(self, factor: float = 1.0, **more: object) -> None:
        for size in SIZES:
            point = latency_point(size, 2e-3 * (ALPHA + BETA * size) * factor, self.number)
            self.add(point, more)

    def operation(self, name: str, size: int, time_ns: float, **more: object) -> None:
        ranks = more.pop("ranks", 4)
        self.add(operation_point(name, size, time_ns / 1e3, ranks=ranks, number=self.number), more)

    def algorithm(self, name: str, operation: str, size: int, ranks: int, **more: object) -> None:
        counts = counts_of(name, total_bytes(name, ranks, size), ranks)
        time = counts.time_ns(ALPHA, BETA, GAMMA)
        self.operation(operation, size, time, ranks=ranks, **more)

    def joins(self) -> None:
        """Between two ranks: sendrecv carries a part, reduce_scatter_block joins it too."""
        for size in SIZES:
            self.operation("sendrecv", size, ALPHA + BETA * size, ranks=2)
            time = ALPHA + (BETA + GAMMA) * size
            self.operation("reduce_scatter_block", size, time, ranks=2)

    @property
    def number(self) -> int:
        return len(self.made) + 1

    def add(self, point: Point, more: dict[str, object]) -> None:
        point.parameters |= more
        self.made.append(point)


def against(points: Points, gamma: float | None = None, mpis: object = None) -> Against:
    run = run_of(points, mpis)
    return against_the_model(run, Headlines(run.points, figures_of(run)), gamma)


def run_of(points: Points, mpis: object = None) -> Run:
    run: Run = made_run(*points.made)
    run.manifest["mpis"] = mpis or {}
    return run


def test_alpha_beta_and_gamma_are_those_of_the_run() -> None:
    points = Points()
    points.messages()
    points.joins()
    points.algorithm("allreduce/recursive-doubling", "allreduce", 65536, 4)
    [line] = {held.line for held in against(points).held}
    assert line.alpha == pytest.approx(ALPHA, rel=0.03)
    assert line.beta == pytest.approx(BETA, rel=0.03)
    assert line.gamma == pytest.approx(GAMMA, rel=0.05)
    assert line.alpha_interval.low < ALPHA < line.alpha_interval.high
    assert line.beta_interval.low < BETA < line.beta_interval.high
    assert line.gamma_interval is not None
    assert line.gamma_interval.low < GAMMA < line.gamma_interval.high


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_every_formula_foretells_a_run_made_by_it(name: str) -> None:
    """Measured over predicted is 1 by its interval, for powers of two and others."""
    operation = next(op for op, family in FAMILIES.items() if family == name.split("/")[0])
    points = Points()
    points.messages()
    points.joins()
    sizes = (0,) if operation == "barrier" else (64, 131072)
    for ranks in (4, 6):
        for size in sizes:
            points.algorithm(name, operation, size, ranks)
    held = [h for h in against(points).held if h.example.parameters["ranks"] > 2]
    assert len(held) == 2 * len(sizes)
    for one in held:
        [own] = [p for p in one.predicted if p.algorithm == name and not p.is_printed]
        ratio = one.ratio(own)
        assert ratio.value == pytest.approx(1.0, rel=0.05)
        assert ratio.low is not None
        assert ratio.high is not None
        assert ratio.low < 1.0 < ratio.high


def test_both_forms_of_a_formula_are_held_against_it() -> None:
    points = Points()
    points.messages()
    points.algorithm("broadcast/scatter-recursive-doubling", "bcast", 131072, 8)
    [held] = against(points).held
    forms = [p for p in held.predicted if p.algorithm == "broadcast/scatter-recursive-doubling"]
    assert [p.is_printed for p in forms] == [False, True]
    assert held.ratio(forms[0]).value == pytest.approx(1.0, rel=0.05)
    assert held.ratio(forms[1]).value == pytest.approx(2.0, rel=0.05)  # of one phase only
    assert forms[1].formula == PRINTED["broadcast/scatter-recursive-doubling"].formula
    assert held.nearest is forms[0]


def test_without_messages_or_gamma_it_says_what_to_measure() -> None:
    points = Points()
    points.operation("bcast", 64, 50_000)
    found = against(points)
    assert not found.held
    assert "3 sizes or more" in found.notes[0]
    points.messages()
    points.operation("allreduce", 64, 50_000)
    found = against(points)
    assert [h.example.operation for h in found.held] == ["bcast"]
    assert "gamma is not known" in found.notes[0]
    found = against(points, gamma=0.5)
    assert [h.example.operation for h in found.held] == ["bcast", "allreduce"]
    assert found.held[1].line.gamma_interval is None


def test_lines_are_of_the_same_mpi_and_of_messages_between_hosts() -> None:
    """Messages inside a host or of another MPI make no line; several ranks on a host are held
    against that of one."""
    points = Points()
    points.messages(ppn=1, mpi="a", launch=1)
    points.messages(factor=0.1, ppn=2, mpi="a", launch=1)
    points.messages(factor=3.0, ppn=1, mpi="b", launch=1)
    for mpi in ("a", "b"):
        for ppn in (1, 2):
            points.operation("bcast", 64, 50_000, ppn=ppn, mpi=mpi, launch=1)
    points.operation("bcast", 64, 50_000, mpi="c", launch=1)
    found = against(points)
    alphas = {
        (h.example.parameters["mpi"], h.ppn): round(h.line.alpha / ALPHA, 1) for h in found.held
    }
    assert alphas == {("a", 1): 1.0, ("a", 2): 1.0, ("b", 1): 3.0, ("b", 2): 3.0}
    assert "share its card" in " ".join(lines_of(found))


def test_a_setting_that_was_seen_in_effect_names_the_algorithm() -> None:
    name = "mpich+MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial"
    points = Points()
    points.messages(mpi=name, launch=1)
    points.operation("bcast", 131072, 9e6, mpi=name, launch=1)
    points.operation("scatter", 64, 9e4, mpi=name, launch=1)
    seen = {name: {"mpi.in_effect.MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial"}}
    broadcast, scatter = against(points, mpis=seen).held
    assert broadcast.nearest.algorithm == broadcast.forced == "broadcast/binomial"
    assert scatter.forced is None
    assert against(points).held[0].forced is None  # nobody saw it
    known = {algorithm for values in SETTINGS.values() for algorithm in values.values()}
    assert known <= FORMULAS.keys()


def test_the_terminal_json_and_plot_have_every_prediction() -> None:
    points = Points()
    points.messages(ppn=1)
    for size in SIZES:
        for ppn in (1, 2):
            points.algorithm("broadcast/binomial", "bcast", size, 4, ppn=ppn)
    found = against(points)
    lines = lines_of(found)
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("  * binomial") for line in lines) == 2 * len(SIZES)
    document = document_of(found)
    assert len(document["predictions"]) == sum(len(h.predicted) for h in found.held)
    assert {"alpha_ns", "beta_ns", "gamma_ns", "sizes"} <= document["lines"][0].keys()
    run = run_of(points)
    plot = model_against_measured(Study(run, figures_of(run)))
    assert plot is not None
    [panel] = plot.panels
    assert [c.label for c in panel.curves[:2]] == ["measured, 1 a host", "measured, 2 a host"]
    assert panel.curves[0].x == [float(size) for size in SIZES]
    assert panel.curves[0].low is not None
    assert len(panel.curves) > 3
    assert len(plot.table.rows) == len(document["predictions"])


def test_the_command_says_what_it_cannot_hold_against_a_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {64: [20_000.0], 1024: [25_000.0]})
    for words, said in (
        ([str(run)], "none of the operations"),
        ([str(run), "--gamma", "-1"], "no time in ns"),
        ([str(tmp_path / "none")], "none"),
    ):
        result = CliRunner().invoke(app, ["model", "check", *words])
        assert isinstance(result.exception, UsageError)
        assert said in str(result.exception)
