"""Figures of sweeps over curves whose t0, bandwidth and sizes are known."""

from itertools import product
from pathlib import Path

import pytest
from sweep_points import OCTAVES, hockney, swept_point, swept_points

from netsonde.figures.compute import figures_of
from netsonde.figures.sweeps import of_all_launches, sweeps_of
from netsonde.records.data import Run

T0_NS, BIT_PER_S = 20_000.0, 1e9
HALF_BYTES = T0_NS * BIT_PER_S / 8e9


def run_of(points):
    return Run(Path("runs/x"), {"origin": "emulated", "path": {}}, points, True)


def sweep_of(points):
    (sweep,) = sweeps_of(points, figures_of(run_of(points)))
    return sweep


def own_figures(points, name="tcp-latency"):
    return {f.name: f for f in figures_of(run_of(points)) if f.point == name}


def test_the_parameters_of_a_known_curve_are_found():
    found = own_figures(swept_points(hockney(T0_NS, BIT_PER_S)))
    assert found["half_round_trip_ns"].value == pytest.approx(T0_NS + 8, rel=0.01)
    assert found["start_up_ns"].value == pytest.approx(T0_NS, rel=0.01)
    assert found["asymptotic_bit_per_s"].value == pytest.approx(BIT_PER_S, rel=0.01)
    assert found["half_performance_bytes"].value == pytest.approx(HALF_BYTES, rel=0.02)
    assert found["saturation_bytes"].value == pytest.approx(9 * HALF_BYTES, rel=0.06)
    assert found["peak_size_bytes"].value in OCTAVES[-3:]
    assert found["peak_bit_per_s"].value <= BIT_PER_S * 1.01
    assert found["half_peak_size_bytes"].value == pytest.approx(HALF_BYTES, rel=0.04)
    for figure in found.values():
        assert figure.method.startswith("sweeps#")
        assert figure.samples > 0


def test_intervals_hold_the_truth_as_often_as_they_say():
    truth = {
        "start_up_ns": T0_NS,
        "asymptotic_bit_per_s": BIT_PER_S,
        "half_performance_bytes": HALF_BYTES,
        "saturation_bytes": 9 * HALF_BYTES,
    }
    runs = 100
    held = dict.fromkeys(truth, 0)
    for seed in range(runs):
        found = own_figures(swept_points(hockney(T0_NS, BIT_PER_S), noise=0.01, seed=seed))
        for name, value in truth.items():
            figure = found[name]
            if figure.low is not None and figure.high is not None:
                held[name] += figure.low <= value <= figure.high
    assert held["start_up_ns"] >= 88
    assert held["asymptotic_bit_per_s"] >= 88
    assert held["half_performance_bytes"] >= 88
    assert held["saturation_bytes"] >= 88


def test_a_change_of_protocol_moves_the_asymptote_to_the_last_line():
    slow, fast = hockney(20_000, 1e9), hockney(60_000, 2e9)
    found = own_figures(swept_points(lambda size: slow(size) if size < 32768 else fast(size)))
    assert found["start_up_ns"].value == pytest.approx(20_000, rel=0.02)
    assert found["asymptotic_bit_per_s"].value == pytest.approx(2e9, rel=0.02)
    assert found["half_performance_bytes"].value == pytest.approx(15_000, rel=0.1)


def test_a_curve_that_does_not_grow_has_no_bandwidth():
    found = own_figures(swept_points(lambda _: 20_000.0, OCTAVES[:8], noise=0.02))
    assert "half_round_trip_ns" in found
    assert "asymptotic_bit_per_s" not in found
    assert "saturation_bytes" not in found


def test_points_of_different_options_are_different_sweeps():
    points = [
        *swept_points(hockney(), label="buffer 64k", options={"buffer": 65536}),
        *swept_points(hockney(), first=50, label="buffer 1M", options={"buffer": 1 << 20}),
        *swept_points(hockney(), first=90, transport="udp"),
        swept_point(200, 64, 1000.0, options={"buffer": 1}),
    ]
    names = [s.name for s in sweeps_of(points, figures_of(run_of(points)))]
    assert names == ["tcp-latency buffer 64k", "tcp-latency buffer 1M", "udp-latency"]


def test_sweeps_without_a_label_are_told_apart_by_what_differs():
    points = [
        *swept_points(hockney(), options={"buffer": 1}),
        *swept_points(hockney(), first=50, options={"buffer": 2}),
    ]
    names = [s.name for s in sweeps_of(points, figures_of(run_of(points)))]
    assert names == ["tcp-latency buffer 1", "tcp-latency buffer 2"]


def test_sweeps_of_several_mpis_and_launches_have_names():
    """Curves without a name cannot be told apart."""
    points = [
        point
        for number, (mpi, launch) in enumerate(product(("mpich", "openmpi"), (1, 2)))
        for point in swept_points(
            hockney(), first=50 * number, transport="mpi", mpi=mpi, launch=launch
        )
    ]
    sweeps = sweeps_of(points, figures_of(run_of(points)))
    assert [s.label for s in sweeps] == [
        f"mpi {mpi}, launch {launch}" for mpi in ("mpich", "openmpi") for launch in (1, 2)
    ]
    assert {of_all_launches(s.name) for s in sweeps} == {
        (f"mpi-latency mpi {mpi}", launch) for mpi in ("mpich", "openmpi") for launch in (1, 2)
    }


def test_few_sizes_are_no_sweep():
    points = swept_points(hockney(), OCTAVES[:5])
    assert sweeps_of(points, figures_of(run_of(points))) == []


def test_a_size_is_the_middle_one_of_its_repeats_and_of_those_beside():
    points = swept_points(hockney(), noise=0.0)
    beside = [
        swept_point(100, 1021, hockney()(1021), perturbed_bytes=-3),
        swept_point(101, 1027, hockney()(1027), perturbed_bytes=3),
    ]
    disturbed = [p if p.message_bytes != 1024 else swept_point(102, 1024, 90_000.0) for p in points]
    steady = sweep_of([*disturbed, *beside])
    at = list(steady.curve.sizes).index(1024)
    assert steady.curve.times[at] == pytest.approx(hockney()(1024), rel=0.01)
    assert steady.worth_at(1024) == 3
    assert steady.count_at(1024) == 1
    again = [swept_point(103 + i, 1024, hockney()(1024), refined=1) for i in range(2)]
    repeated = sweep_of([*disturbed, *again])
    assert repeated.count_at(1024) == 3
    assert repeated.curve.times[at] == pytest.approx(hockney()(1024), rel=0.01)
    assert repeated.point_at(1024).id != "p102"
