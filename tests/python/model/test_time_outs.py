"""Waits for TCP's timer in times whose truth is known, and what must not be taken for them."""

from __future__ import annotations

import numpy as np
import pytest

from netsonde.model.time_outs import MORE, judge_waits, wait_bands

MS = 1_000_000.0
RNG_SEED = 3


def usual(count, around_ms=2.0, spread=0.1):
    random = np.random.default_rng(RNG_SEED)
    return around_ms * MS * random.lognormal(0.0, spread, count)


def with_waits(waits, around_ms=2.0):
    """Times whose n-th repetition waited waits[n] times for a timer of 200 to 210 ms."""
    random = np.random.default_rng(RNG_SEED + 1)
    waits = np.asarray(waits)
    return usual(len(waits), around_ms) + waits * random.uniform(200, 210, len(waits)) * MS


def some_waits(count, shares=(0.9, 0.07, 0.03)):
    return np.random.default_rng(RNG_SEED + 2).choice(len(shares), count, p=shares)


@pytest.mark.parametrize("around_ms", [0.05, 2.0, 60.0, 900.0])
def test_every_wait_is_found_and_nothing_else(around_ms):
    truth = some_waits(400)
    times = with_waits(truth, around_ms) if around_ms < 100 else 900 * MS + with_waits(truth)
    assert wait_bands(times).waits.tolist() == truth.tolist()
    judged = judge_waits([times[:200], times[200:]], [30, 30])
    assert judged.verdict == "found"
    shares = judged.shares()
    assert sum(shares) == pytest.approx(1, abs=1e-12)
    assert shares[:3] == tuple((truth == n).mean() for n in (0, 1, 2))


def test_three_in_a_row_and_a_segment_lost_again_are_more():
    times = np.concatenate([usual(50), [603 * MS, 615 * MS, 1405 * MS]])
    assert wait_bands(times).waits[50:].tolist() == [MORE] * 3


def test_another_least_time_out():
    truth = some_waits(200)
    times = usual(200, 0.5) + truth * 41 * MS
    judged = judge_waits([times], [truth.sum()], least_ns=40 * MS)
    assert judged.verdict == "found"
    assert judged.bands.waits.tolist() == truth.tolist()


def test_without_waits_there_are_none():
    judged = judge_waits([usual(1000)], [4])
    assert (judged.verdict, judged.shares()) == ("none", (1.0, 0.0, 0.0, 0.0))


def test_two_speeds_are_no_time_outs_where_the_kernels_counted_none():
    """Two bulks, the second exactly where timeouts would stand: a trap that only counters see."""
    times = with_waits(some_waits(300, (0.6, 0.4)))
    assert judge_waits([times], [0]).verdict == "contradicted"
    assert judge_waits([times], [None]).verdict == "uncounted"
    assert not judge_waits([times], [2]).is_decided  # two cannot have made 120 slow ones
    assert judge_waits([times], [150]).verdict == "found"


def test_counts_elsewhere_do_not_prove_waits_here():
    truth = np.repeat([0, 1], [190, 10])
    batches = np.split(with_waits(truth), 4)
    assert judge_waits(batches, [0, 0, 0, 12]).verdict == "found"
    assert judge_waits(batches, [12, 0, 0, 0]).verdict == "contradicted"


def test_slow_repetitions_between_the_bands_are_something_else():
    slow = np.random.default_rng(5).uniform(220, 1200, 60) * MS
    in_between = slow[wait_bands(np.concatenate([usual(500), slow])).waits[500:] < 0]
    times = np.concatenate([usual(500), slow])
    assert len(in_between) > 20
    assert judge_waits([times], [80]).verdict == "between"


def test_broad_times_decide_nothing():
    times = np.random.default_rng(6).uniform(100, 900, 400) * MS
    judged = judge_waits([times], [100])
    assert (judged.verdict, judged.is_decided) == ("broad", False)


def test_where_every_repetition_may_have_waited_nothing_is_decided():
    times = with_waits(np.ones(100, int))
    assert judge_waits([times], [120]).verdict == "hidden"
    assert judge_waits([900 * MS + usual(100)], [0]).verdict == "none"


def test_levels_of_ranks_are_a_trap_for_pooled_times_only():
    """Leaves of a gather's tree leave it at levels of 10, 215 and 420 ms in every repetition."""
    levels = np.array([10, 215, 420])[:, None] * MS + usual(200, 1.0)[None, :]
    pooled = wait_bands(levels.ravel())
    assert (pooled.waits > 0).mean() > 0.6  # what the thesis's rule would call timeouts
    for stay in levels:
        assert (wait_bands(stay).waits == 0).all()
    assert judge_waits([levels.max(axis=0)], [0]).verdict == "none"


@pytest.mark.parametrize(("times", "least"), [([], 2e8), ([1.0], 0.0)])
def test_nonsense_is_refused(times, least):
    with pytest.raises(ValueError, match="at least one time"):
        wait_bands(times, least)
