"""Figures of users' own programs, and which of the network's belong to them."""

import pytest
from program_points import latency_point, program_point, run_of

from netsonde.explain.setting_rules import others_use
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.figures.programs import network_beside, relations_of
from netsonde.records.data import Batch


def test_figures_are_medians_of_the_runs():
    point = program_point(1, [5.0, 1.0, 3.0, 2.0, 4.0, 6.0, 3.0])
    elapsed, rate = figures_of(run_of([point]))
    assert (elapsed.name, elapsed.unit) == ("elapsed_median_ns", "ns")
    assert elapsed.value == 10**9 + 3
    assert (rate.name, rate.value, rate.samples) == ("program_rate", 3.0, 7)
    assert (rate.low, rate.high) == (1.0, 6.0)


@pytest.mark.parametrize("bad", [{"exit_status": 1}, {"timed_out": True}])
def test_a_failed_run_is_no_figure(bad):
    good, failed = program_point(1, [5.0]), program_point(1, [9.0], **bad)
    good.batches.append(Batch(1, failed.batches[0].ends))
    elapsed, rate = figures_of(run_of([good]))
    assert (rate.value, rate.samples, elapsed.samples) == (5.0, 1, 1)
    assert rate.low is None
    assert figures_of(run_of([failed])) == []


def test_a_program_is_no_disturbance():
    """Its CPU time is not that of others, who would make the hosts not idle."""
    run = run_of([program_point(1, [5.0] * 6)])
    assert others_use(run) == {}
    assert not [f for f in explain(run, figures_of(run)) if f.level in ("bad", "warning")]


def test_what_stands_beside_a_program():
    points = [
        program_point(1, [5.0] * 6),
        program_point(2, [5.0] * 6, size=1024),
        program_point(3, [5.0] * 6, label="bbr"),
        latency_point(4, 64, 30),
        latency_point(5, 1024, 40),
        latency_point(6, 1024, 50, label="bbr"),
        latency_point(7, 64, 20, transport="udp"),
    ]
    figures = figures_of(run_of(points))
    beside = [
        {key: figure.point for key, figure in network_beside(p, points, figures).items()}
        for p in points[:3]
    ]
    trip = "round_trip_median_ns"
    assert beside[0] == {("udp", trip): "p007", ("tcp", trip): "p004"}
    assert beside[1] == {("tcp", trip): "p005"}
    assert beside[2] == {("tcp", trip): "p006"}


def related(pairs, **changed):
    """Points of a program and of the network over sizes: (rate, round trip in us)."""
    points = []
    for i, (rate, trip) in enumerate(pairs):
        points.append(program_point(2 * i + 1, [rate] * 6, size=1 << i, **changed))
        points.append(latency_point(2 * i + 2, 1 << i, trip))
    return {r.figure: r for r in relations_of(points, figures_of(run_of(points)))}


def test_better_goes_with_better():
    found = related([(100.0, 10), (80.0, 20), (60.0, 30), (40.0, 40), (20.0, 50)])
    rate = found["program_rate"]
    assert rate.program == "mg at the origin"
    assert (rate.transport, rate.network) == ("tcp", "round_trip_median_ns")
    assert rate.correlation.value == pytest.approx(1.0)
    assert rate.correlation.interval.low == pytest.approx(-0.17, abs=0.01)
    assert [(ours.value, its.value) for ours, its in rate.pairs[:2]] == [(100, 10e3), (80, 20e3)]
    worse = related([(20.0, 10), (40.0, 20), (60.0, 30), (80.0, 40)])["program_rate"]
    assert worse.correlation.value == pytest.approx(-1.0)
    assert found["elapsed_median_ns"].correlation is None  # the same in all


def test_two_conditions_are_too_few():
    found = related([(100.0, 10), (80.0, 20)])["program_rate"]
    assert len(found.pairs) == 2
    assert found.correlation is None


def test_one_condition_is_no_relation():
    assert related([(100.0, 10)]) == {}


def test_labels_are_conditions_too():
    points = []
    for i, label in enumerate(("a", "b", "c")):
        points.append(program_point(2 * i + 1, [10.0 * i + 10] * 6, label=label))
        points.append(latency_point(2 * i + 2, 64, 10 + i, label=label))
    points.append(program_point(9, [1.0] * 6, label="nobody else's"))
    found = {r.figure: r for r in relations_of(points, figures_of(run_of(points)))}
    assert found["program_rate"].correlation.value == pytest.approx(-1.0)
    assert found["program_rate"].correlation.interval is None
    assert len(found["program_rate"].pairs) == 3
