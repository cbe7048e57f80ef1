"""Clocks by each method, where the truth is made: offsets, drifts, residuals, uncertainties."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from netsonde.clock import OffsetBounds, line_of
from netsonde.explain.table import explain
from netsonde.figures.clock_quality import clock_quality
from netsonde.figures.compute import figures_of_point, find
from netsonde.ranks.clocks import CLOCK_METHODS, clock_method, rank_leads
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.report.clock_table import LINES_SHOWN, clock_lines, clocks_plot
from netsonde.report.lookup import Study
from netsonde.report.terminal import print_summary

S = 1_000_000_000
DRIFT = 50e-6
OFFSET_NS = 700_000_000


def batch(method, ranks=2, scatter_ns=0, one_clock=False, comparisons=21):
    """Rank r is r times OFFSET_NS ahead of rank 0 and drifts; every way took 1 us and a little."""
    draw = np.random.default_rng(8)
    at = np.linspace(10 * S, 12 * S, comparisons).astype(np.int64)
    ends = {}
    for rank in range(ranks):
        counters = {
            "clock_method": CLOCK_METHODS.index(method),
            "clock_group": rank,
            "clock_name": 7 if one_clock else rank,
            "start_ns": int(at[0]),
            "end_ns": int(at[-1]),
        }
        series = {}
        if rank:
            drift = 0.0 if one_clock else DRIFT
            lead = (0 if one_clock else rank * OFFSET_NS) + drift * (at - at[0])
            lead = np.round(lead + draw.normal(0, scatter_ns, len(at))).astype(np.int64)
            counters["clock_parent"] = 0
            series = {"clock_at_ns": at, "clock_low_ns": lead - 1000 * rank,
                      "clock_high_ns": lead + 1000 * rank,
                      "clock_round_trip_ns": np.full(len(at), 2000 * rank)}  # fmt: skip
        ends[rank] = EndData(rank, f"h{rank}", series, counters)
    return Batch(0, ends)


def point(found, label="tree"):
    return Point("p001", "mpi", "clock", {"message_bytes": 0, "label": label}, batches=[found])


def test_a_fit_goes_through_the_middle_of_scattered_comparisons():
    bounds = OffsetBounds(*(batch("jones_koenig", scatter_ns=300).ends[1].series[f"clock_{n}_ns"]
                            for n in ("at", "low", "high")))  # fmt: skip
    fit, ends = line_of(bounds, "fit"), line_of(bounds, "ends")
    for at in bounds.at_ns[[0, 10, 20]]:
        truth = OFFSET_NS + DRIFT * float(at - bounds.at_ns[0])
        assert fit.at(int(at)) == pytest.approx(truth, abs=400)
    assert fit.drift == pytest.approx(DRIFT, abs=4e-7)
    assert abs(fit.distances(bounds).mean()) < 1e-3
    assert np.abs(fit.distances(bounds)).mean() < np.abs(ends.distances(bounds)).mean() + 1
    assert line_of(OffsetBounds(*([a[:1] for a in (bounds.at_ns, bounds.low_ns, bounds.high_ns)])),
                   "fit").drift == 0.0  # fmt: skip


def test_an_offset_alone_does_not_follow_a_drift():
    found = batch("offset")
    lead = rank_leads(found)[1]
    assert (lead.first_ns, lead.drift) == (pytest.approx(OFFSET_NS, abs=1), 0.0)
    quality = clock_quality(found)
    assert np.abs(quality.residual_ns).max() == pytest.approx(DRIFT * 2 * S, rel=0.01)
    assert np.abs(clock_quality(batch("tree")).residual_ns).max() <= 2


@pytest.mark.parametrize("method", ["tree", "jones_koenig"])
def test_every_rank_has_offset_drift_residual_and_uncertainty(method):
    quality = clock_quality(batch(method, ranks=3, scatter_ns=5))
    assert [(clock.rank, clock.host, clock.parent) for clock in quality.ranks] == [
        (0, "h0", 0), (1, "h1", 0), (2, "h2", 0)]  # fmt: skip
    zero, *others = quality.ranks
    assert (zero.offset_ns, zero.drift_ppb, zero.residual_ns, zero.uncertainty_ns) == (
        0,
        0,
        None,
        0,
    )
    for clock in others:
        assert clock.offset_ns == pytest.approx(clock.rank * OFFSET_NS, abs=20)
        assert clock.drift_ppb == pytest.approx(DRIFT * 1e9, abs=20)
        assert clock.residual_ns < 30
        assert clock.uncertainty_ns == pytest.approx(1000 * clock.rank, rel=0.05)


def test_wtime_is_judged_by_what_it_is_ahead_of_each_clock_beside_rank_0s():
    found = batch("wtime", one_clock=True)
    for rank, end in found.ends.items():
        end.series = {"wtime_at_ns": np.arange(5) * S + 10 * S,
                      "wtime_ahead_ns": np.full(5, -300) + 40 * rank,
                      "wtime_bracket_ns": np.full(5, 60)}  # fmt: skip
        end.counters["clock_group"] = 0
    assert clock_method(found) == "wtime"
    quality = clock_quality(found)
    assert quality.error_ns.tolist() == [40] * 5
    assert quality.residual_ns.tolist() == [0] * 3
    assert (quality.uncertainty_ns, quality.round_trip_ns) == (60, None)
    figures = figures_of_point(point(found, "wtime"))
    assert find(figures, "clock_error_max_ns", "p001").value == 40
    assert find(figures, "clock_error_p99_ns", "p001") is None  # of 20 values
    assert find(figures, "clock_round_trip_ns", "p001") is None
    assert all(lead.uncertainty_ns == 0 for lead in rank_leads(found).values())


def test_the_table_is_in_the_terminal_and_the_report(tmp_path):
    points = [
        point(batch(m, ranks=3, one_clock=True, scatter_ns=20), m) for m in ("tree", "offset")
    ]
    run = Run(tmp_path, {"origin": "real", "hosts": {}}, points, finished=True)
    figures = [figure for p in points for figure in figures_of_point(p)]
    plot = clocks_plot(Study(run, figures))
    assert [row[:3] for row in plot.table.rows[:3]] == [
        ("tree", "0", "h0"), ("tree", "1", "h1"), ("tree", "2", "h2")]  # fmt: skip
    assert [curve.label for curve in plot.panels[0].curves] == ["tree", "offset"]
    output = io.StringIO()
    print_summary(run, figures, [], Console(file=output, width=80))
    text = output.getvalue()
    assert "Clocks over rank 0's, offset" in text
    assert "h2" in text


def test_of_many_ranks_the_terminal_has_those_known_worst():
    quality = clock_quality(batch("tree", ranks=40))
    lines = clock_lines(quality.ranks)
    assert len(lines) == LINES_SHOWN + 2
    assert lines[1].split()[0] == "24"
    assert lines[-2].split()[0] == "39"
    assert all(len(line) < 80 for line in lines)
    assert lines[-1] == "  and 23 ranks that are known better"
    assert clock_lines(quality.ranks[:1]) == []


def without_comparisons(ranks=3, hosts=3):
    """As ranks that read one clock: they have nothing to compare."""
    found = batch("tree", ranks=ranks)
    for rank, end in found.ends.items():
        end.series.clear()
        end.counters.update(clock_group=7, clock_name=7)
        end.host = f"h{rank % hosts + 1}"
    return found


@pytest.mark.parametrize(
    ("made", "why", "advice"),
    [
        (
            without_comparisons(),
            "3 ranks read one clock, that of 3 hosts of one",
            "--compare-clocks apart",
        ),
        (
            without_comparisons(hosts=1),
            "3 ranks read one clock, that of h1",
            "--compare-clocks apart",
        ),
        (without_comparisons(ranks=1), "There is one rank", "-n 2"),
        (batch("tree"), None, None),
    ],
)
def test_clocks_without_values_say_why(tmp_path, made, why, advice):
    points = [point(made, label) for label in ("tree", "offset")]
    run = Run(
        tmp_path, {"origin": "real", "hosts": {}, "path": {"kind": "lab"}}, points, finished=True
    )
    figures = [figure for p in points for figure in figures_of_point(p)]
    assert bool(figures) == (why is None)
    found = [f for f in explain(run, figures) if f.kind == "clocks-without-values"]
    if why is None:
        assert not found
        return
    (finding,) = found
    assert why in finding.evidence
    assert advice in finding.advice
    assert finding.points == ("p001",) * 2
    output = io.StringIO()
    print_summary(run, figures, found, Console(file=output, width=80))
    assert "no clocks were compared" in output.getvalue()
