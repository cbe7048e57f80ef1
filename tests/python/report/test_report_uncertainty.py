"""Each figure that is printed has an interval, or says that it has none."""

from __future__ import annotations

import ast
import io
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from all_pairs_made import made_run
from report_synthetic import synthetic_run
from rich.console import Console
from study_made import drawn_study
from sweep_points import hockney, swept_points

import netsonde.report
from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure
from netsonde.records.data import Run
from netsonde.report.lookup import Study
from netsonde.report.pdf import _table
from netsonde.report.point_table import point_rows
from netsonde.report.quantity import format_figure, format_value_and_interval
from netsonde.report.terminal import print_summary


def runs(directory: Path) -> Iterator[Run]:
    yield synthetic_run(directory, samples=1200)
    yield made_run(5)
    yield from (drawn_study(seed)[0] for seed in range(12))
    manifest = {"origin": "emulated", "path": {"kind": "network"}, "started_utc": ""}
    manifest |= {"name": "swept", "hosts": {}, "command": []}
    yield Run(directory, manifest, swept_points(hockney()), True)


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> list[Study]:
    made = list(runs(tmp_path_factory.mktemp("uncertain")))
    return [Study(run, figures_of(run)) for run in made]


def test_every_figure_has_an_interval_that_holds_it_or_a_reason(studies: list[Study]) -> None:
    names = set()
    for study in studies:
        for figure in [*study.figures, *(h.figure for h in study.headlines.all)]:
            names.add(figure.name)
            if figure.low is None or figure.high is None:
                assert figure.low is figure.high
                assert figure.why_no_interval.startswith("no interval: ")
            else:
                assert not figure.why_no_interval
                near = 1e-9 * abs(figure.value)
                assert figure.low - near <= figure.value <= figure.high + near, figure
            assert format_figure(figure).endswith("]")
    assert len(names) > 50


@pytest.mark.parametrize("tick_ns", [1, 1_000, 20_000, 1_000_000])
def test_no_interval_is_narrower_than_what_the_clock_can_tell(tick_ns: int) -> None:
    """Of equal values there is no certainty: at least the clock's tick, or the words for why."""
    seen = {"ticks": 0, "alike": 0}
    for seed in range(12):
        run, _ = drawn_study(seed)
        for end in (end for p in run.points for b in p.batches for end in b.ends.values()):
            for name, series in end.series.items():
                end.series[name] = np.maximum(series // tick_ns, 1) * tick_ns
        study = Study(run, figures_of(run))
        for figure in [*study.figures, *(h.figure for h in study.headlines.all)]:
            if figure.low is None or figure.high is None:
                assert figure.why_no_interval
                seen["alike"] += "_median_" in figure.name
            elif figure.confidence < 1.0:  # what follows from counters is certain
                assert figure.low < figure.high, figure
                low, _, high = format_value_and_interval(figure)[1].partition(" – ")
                assert low != high, figure
                if "round_trip_median" in figure.name and figure.point.startswith("p"):
                    assert figure.high - figure.low >= tick_ns, figure
                    seen["ticks"] += figure.high - figure.low <= 2 * tick_ns
    assert seen["ticks" if 1 < tick_ns < 1_000_000 else "alike"] > 0 or tick_ns == 1


def test_a_mean_has_an_interval(studies: list[Study]) -> None:
    means = [f for s in studies for f in s.figures if f.name.endswith("_mean_ns")]
    long_ones = [f for f in means if f.samples >= 500]
    assert long_ones
    assert all(f.low is not None and f.low < f.value for f in long_ones)
    assert all(f.low is None for f in means if f.samples < 500)


def test_points_of_the_page_and_the_pages_state_it(studies: list[Study]) -> None:
    for study in studies:
        for row in point_rows(study):
            assert all("[" in words for words in row.figures), row.figures
        lines = [line for line in _table(study) if line.strip()][1:]
        assert all(" – " in line or line.endswith(("no interval", "count")) for line in lines)


def test_the_terminal_states_it_in_each_line_of_points(studies: list[Study]) -> None:
    for study in studies:
        few = Run(study.run.directory, study.run.manifest, study.run.points[:2], True)
        out = io.StringIO()
        print_summary(few, figures_of(few), [], Console(file=out, width=200, highlight=False))
        lines = out.getvalue().splitlines()
        shown = [line for line in lines if re.match(r"  [a-z].*\d", line)]
        assert all("[" in line for line in shown), shown


def test_no_view_throws_an_interval_away() -> None:
    """``format_value_and_interval(figure)[0]`` is a figure without what it is worth."""
    for path in Path(netsonde.report.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
                called = node.value.func
                assert getattr(called, "id", "") != "format_value_and_interval", path.name


def test_rounding_hides_neither_a_value_nor_that_an_interval_begins_above_zero() -> None:
    random = np.random.default_rng(4)
    for name in ("jitter_ns", "wire_bit_per_s", "late_ratio"):
        for _ in range(2000):
            least, most = (-6, 0) if name == "late_ratio" else (0, 9)
            value = float(10 ** random.uniform(least, most))
            low = value * float(10 ** -random.uniform(0, 3))
            high = value * float(10 ** random.uniform(0, 4))
            figure = Figure("p", "tcp", "latency", None, 0, name, value, low, high, 9, 9.0, "")
            text, interval = format_value_and_interval(figure)
            shown = [float(t.replace("\u202f", "")) for t in interval.split(" – ")]
            said = float(text.split()[0].replace("\u202f", ""))
            assert said > 0
            assert shown[0] > 0
            assert shown[0] <= said <= shown[1]
            assert math.isclose(said / shown[1], value / high, rel_tol=0.11)


@pytest.mark.parametrize("value", [40e6, 20_000.0, 999_999_999.0, 7.0])
def test_ends_that_would_look_alike_are_rounded_outwards(value: float) -> None:
    figure = Figure(
        "p1", "tcp", "latency", None, 1, "jitter_ns", value, value - 1e-4, value + 1e-4, 9, 9, ""
    )
    texts = format_value_and_interval(figure)[1].split(" – ")
    low, high = (float(text.replace("\u202f", "")) for text in texts)
    assert low < high
    scale = next(s for s in (1e9, 1e6, 1e3, 1.0) if value >= s * 0.99995)
    assert low * scale <= value - 1e-4 < value + 1e-4 <= high * scale
