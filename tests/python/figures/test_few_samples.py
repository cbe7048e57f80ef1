"""A quantile far out is a figure only where there are samples beyond it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsonde.figures.maker import Maker
from netsonde.host_benchmarks.figures import spread
from netsonde.records.data import Point

LEAST = {"p90": 10, "p99": 100, "p999": 1000}


@settings(max_examples=60)
@given(n=st.one_of(st.integers(1, 120), st.integers(950, 1050)), seed=st.integers(0, 99))
def test_no_quantile_of_fewer_samples_than_reach_it(n: int, seed: int) -> None:
    samples = np.random.default_rng(seed).integers(1_000, 9_000, n)
    maker = Maker(Point("p1", "tcp", "latency", {"message_bytes": 64}))
    figures = [
        *maker.times("round_trip", samples, "latency"),
        *maker.quantiles("one_way_delay", samples),
    ]
    names = {figure.name for figure in figures}
    for figure in figures:
        for word, least in LEAST.items():
            assert f"_{word}_" not in figure.name or figure.samples >= least, figure
        assert (figure.low is None) == (figure.high is None)
        if figure.low is not None and figure.high is not None:
            assert figure.low <= figure.value <= figure.high
    assert {"round_trip_median_ns", "round_trip_min_ns", "one_way_delay_median_ns"} <= names
    kept = next(f.samples for f in figures if f.name == "round_trip_mean_ns")
    for word, least in LEAST.items():
        assert (f"round_trip_{word}_ns" in names) == (kept >= least)
    assert ("one_way_delay_p99_ns" in names) == (n >= 100)


@pytest.mark.parametrize(("n", "has"), [(99, False), (100, True)])
def test_a_host_s_spread_has_none_either(n: int, has: bool) -> None:
    assert (spread(np.arange(n) + 5).p99_ns is not None) is has
