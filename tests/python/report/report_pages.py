"""The report's other pages, of data whose answer is known: all pairs, a comparison, a history."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from report_synthetic import synthetic_figures, synthetic_run

from netsonde.compare.data import (
    Circumstance,
    Comparison,
    FigureVerdict,
    Launch,
    RunInfo,
    Side,
    Verdict,
)
from netsonde.figures.keys import FigureKey
from netsonde.figures.pair_matrix import Mark, PairMatrix
from netsonde.history.data import ChangePoint, History, HistoryRun, Trend, TrendPoint
from netsonde.report.comparison_page import write_comparison_page
from netsonde.report.history_page import write_history_page
from netsonde.report.lookup import Study
from netsonde.report.overlay_page import write_overlay
from netsonde.report.page import Section, write_sections_page
from netsonde.report.pair_plots import plot_of

SLOW = 3
"""The host of :func:`matrix` whose pairs take twice as long."""


def matrix(hosts: int = 8, name: str = "round_trip_ns") -> PairMatrix:
    random = np.random.default_rng(3)
    values = 20_000 * (1 + 0.02 * random.random((hosts, hosts)))
    values[SLOW, :] *= 2
    values[:, SLOW] *= 2
    np.fill_diagonal(values, np.nan)
    names = tuple(f"node{number + 1}" for number in range(hosts))
    half = hosts // 2
    cells = tuple((SLOW, other) for other in range(hosts) if other != SLOW)
    return PairMatrix(
        name,
        names,
        values,
        switches={"s1": names[:half], "s2": names[half:]},
        marks=(Mark("node4", "node4 answers late.", cells),),
    )


def key(size: int) -> FigureKey:
    return FigureKey("tcp", "latency", None, size, (), "round_trip_median_ns")


def comparison() -> Comparison:
    ratios: dict[Verdict, float | None] = {
        **{"worse": 1.08, "better": 0.94, "equal": 1.002, "unknown": None}
    }
    figures = tuple(_verdict(n, v, r) for n, (v, r) in enumerate(ratios.items()))
    info = RunInfo("runs/a", "acceptance", "2026-01-01T00:00:00+00:00", "real", 8)
    return Comparison(
        (info,),
        (info,),
        0.03,
        0.05,
        "launch",
        6,
        figures,
        (Circumstance("fact", "os.kernel", "6.1.0", "6.6.1", decisive=True),),
        ("UDP latency 64 B",),
        (),
        ("Launches were taken as independent.",),
    )


def _verdict(number: int, verdict: Verdict, ratio: float | None) -> FigureVerdict:
    before = Side(tuple(Launch("a", n, 20e3, None, None, ("p1",)) for n in range(8)), 20e3)
    after = Side(before.launches, 20e3 * (ratio or 1.0))
    low, high = (ratio - 0.02, ratio + 0.02) if ratio else (None, None)
    p = 0.01 if ratio else None
    return FigureVerdict(
        key=key(64 << number),
        label=f"TCP latency {64 << number} B",
        better="less",
        before=before,
        after=after,
        ratio=ratio,
        low=low,
        high=high,
        confidence=0.9875,
        equal_low=low,
        equal_high=high,
        p=p,
        p_adjusted=p,
        verdict=verdict,
        beyond_margin=False,
        reason="too few launches" * (not ratio),
    )


def history(runs: int = 12) -> History:
    stamps = [f"2026-{1 + n:02d}-01T00:00:00+00:00" for n in range(runs)]
    points = tuple(
        TrendPoint(f"r{n}", f"run {n}", stamp, (value,), value, value * 0.99, value * 1.01)
        for n, stamp in enumerate(stamps)
        for value in [20e3 * (1.1 if n >= 7 else 1.0) * (1 + 0.002 * (n % 3))]
    )
    kernel = Circumstance("fact", "os.kernel", "6.1.0", "6.6.1", decisive=True)
    change = ChangePoint(*(7, 7, 7, "r7", stamps[7], 20e3, 22e3, 1.1, 0.001, "worse", (kernel,)))
    told = tuple(
        HistoryRun(f"r{n}", f"run {n}", f"runs/{n}", s, "real", "0.1.0", 8, 20)
        for n, s in enumerate(stamps)
    )
    trends = (
        Trend(key(64), "TCP latency 64 B", "less", points, (change,)),
        Trend(key(1024), "TCP latency 1k", "less", points[:7], ()),
    )
    return History("cluster.duckdb", told, trends)


def write_all(directory: Path) -> dict[str, Path]:
    """Each page by its name."""
    paths = {
        name: directory / f"{name}.html" for name in ("pairs", "comparison", "history", "overlay")
    }
    plots = [plot_of(matrix()), plot_of(matrix(40, "round_trip_min_ns"))]
    write_sections_page(
        paths["pairs"], "All pairs", "8 hosts", [Section("pairs", "All pairs", (), None, plots)]
    )
    write_comparison_page(comparison(), paths["comparison"])
    write_history_page(history(), paths["history"])
    write_overlay([_small_study(directory / name) for name in ("a", "b")], paths["overlay"])
    return paths


def _small_study(directory: Path) -> Study:
    run = synthetic_run(directory, samples=300, with_mpi=False)
    return Study(run, synthetic_figures(run))
