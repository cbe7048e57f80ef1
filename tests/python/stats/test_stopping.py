"""The rule that says when enough was measured."""

import math

import numpy as np
import pytest
from scipy import signal

from netsonde.stats.stopping import needs_more


def test_the_rule_stops_when_the_interval_is_as_narrow_as_asked() -> None:
    generator = np.random.default_rng(3)
    samples = generator.lognormal(10.0, 0.3, 200)
    need = needs_more(samples, 0.01)
    rounds = 0
    while not need.enough:
        assert need.suggested_further_samples > 0
        more = generator.lognormal(10.0, 0.3, need.suggested_further_samples)
        samples = np.concatenate([samples, more])
        need = needs_more(samples, 0.01)
        rounds += 1
    assert need.half_width_relative <= 0.01
    assert need.suggested_further_samples == 0
    # The asymptotic need is (1.96 * 1.2533 * 0.3 / 0.01)^2 = 5,430; the way there is short.
    assert 3500 <= samples.size <= 9000
    assert rounds <= 6


def test_the_promise_holds_at_the_stop() -> None:
    generator = np.random.default_rng(4)
    hits = 0
    for _ in range(300):
        samples = generator.lognormal(0.0, 0.3, 500)
        while not (need := needs_more(samples, 0.03)).enough:
            more = generator.lognormal(0.0, 0.3, max(100, need.suggested_further_samples))
            samples = np.concatenate([samples, more])
        hits += bool(abs(np.median(samples) - 1.0) <= 0.03)
    assert hits / 300 >= 0.92


def test_dependent_samples_need_more() -> None:
    noise = np.random.default_rng(5).normal(size=4000)
    dependent = 100 + 10 * signal.lfilter([1.0], [1.0, -0.9], noise)
    shuffled = np.random.default_rng(6).permutation(dependent)
    apart, together = needs_more(shuffled, 0.001), needs_more(dependent, 0.001)
    assert together.half_width_relative > 2 * apart.half_width_relative


def test_ticks_of_the_clock_end_the_measurement() -> None:
    ticks = np.random.default_rng(7).choice([40, 41], 1000)  # a median of 40 or 41: 1 ns is 2.5 %
    assert needs_more(ticks, 0.001).enough
    assert not needs_more(ticks.astype(np.float64), 0.0001).enough
    assert needs_more(np.full(100, 40), 0.001) == (True, 0.0, 0)
    assert needs_more(np.full(100, 0), 0.001) == (True, 0.0, 0)


def test_few_samples_ask_for_the_least_number() -> None:
    assert needs_more([]) == (False, math.inf, 6)
    need = needs_more([1.0, 2.0, 3.0])
    assert not need.enough
    assert need.half_width_relative == math.inf
    assert need.suggested_further_samples >= 3


def test_what_is_asked_for_at_once_is_bounded() -> None:
    samples = np.random.default_rng(8).lognormal(0.0, 2.0, 100)
    assert needs_more(samples, 1e-6).suggested_further_samples == 900
    with pytest.raises(ValueError, match="half-width"):
        needs_more(samples, 0.0)
