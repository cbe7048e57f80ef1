"""Predictions term by term, and what their score says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from netsonde.model.convolved import Message, completion_ns, gathered_ns, slowest_of_ns
from netsonde.model.foretold import at_one_sink, gather, in_a_stream, one_way, round_trip
from netsonde.model.platform import Cost, Platform
from netsonde.model.score import Score, Scored

COSTS = {
    "send_overhead": Cost(2_000.0),
    "send_gap": Cost(1_000.0, 80.0),
    "latency": Cost(40_000.0, 160.0, per_rank_ns=500.0),
    "receive_gap": Cost(2_000.0, 80.0),
    "receive_overhead": Cost(3_000.0),
    "user_overhead": Cost(1_000.0),
}
PLATFORM = Platform("made", "", 1000, 1e8, COSTS)


def test_ways_are_the_equations() -> None:
    times = PLATFORM.times(1000, 2)
    one = 2_000 + (40_000 + 160_000 + 1_000) + 3_000 + 1_000
    assert one_way(PLATFORM, 1000).time_ns == one
    assert one_way(PLATFORM, 3000).time_ns == one + 2 * times.gap_ns
    assert round_trip(PLATFORM, 1000).time_ns == 2 * one
    assert round_trip(PLATFORM, 1000, 8).time_ns == 2 * (one + 6 * 500)
    assert one_way(PLATFORM, 1000).largest == "L"


def test_streams_are_the_slowest_stage() -> None:
    assert in_a_stream(PLATFORM, 1000).terms == {"g_r": 82_000.0}
    busy = replace(PLATFORM, costs={**COSTS, "send_overhead": Cost(100_000.0)})
    assert in_a_stream(busy, 1000).terms == {"O_s": 100_000.0}
    slow = replace(PLATFORM, costs={**COSTS, "receive_overhead": Cost(90_000.0)})
    assert at_one_sink(slow, 1000, 4).terms == {"O_r + U_r": 91_000.0}


def test_a_gather_waits_for_all_packets_at_the_sink() -> None:
    whole = one_way(PLATFORM, 1000, 4).time_ns
    assert gather(PLATFORM, 1000, 2, 3).time_ns == pytest.approx(whole + 5 * 82_000.0)


def item(measured: float, spread: float | None = 0.0, late: bool = False) -> Scored:
    foretold = round_trip(PLATFORM, 1000)
    time = foretold.time_ns * measured
    low = None if spread is None else time * (1 - spread)
    high = None if spread is None else time * (1 + spread)
    return Scored("latency", "round trip", 1000, 2, foretold, time, low, high, late=late)


def test_a_score_is_the_median_of_what_kept_time() -> None:
    score = Score((item(1.02), item(0.97), item(1.20), item(9.0, late=True)))
    assert score.median_error == pytest.approx(0.03)
    assert [one.error for one in score.misfits] == [pytest.approx(0.2)]
    assert score.blamed == [("L", 1)]
    assert "L (97% of it)" in score.misfits[0].blamed
    assert Score((item(1.5, late=True),)).median_error == pytest.approx(0.5)


def test_what_may_be_right_is_no_misfit() -> None:
    assert not item(1.1, 0.2).is_misfit
    assert item(1.1, 0.01).is_misfit
    assert item(1.1, None).is_misfit


def test_a_schedule_is_convolved_as_its_steps_follow() -> None:
    """A chain of four adds, a fan-out waits for the slowest: both by their closed forms."""
    draw = np.random.default_rng(2)
    times = draw.exponential(100.0, 20_000)
    chain = [Message(step, step, step + 1) for step in range(4)]
    found = completion_ns(chain, 5, times, draws=20_000)
    assert found.mean() == pytest.approx(400.0, rel=0.03)
    assert found.var() == pytest.approx(4 * 100.0**2, rel=0.08)
    fan = [Message(0, 0, rank) for rank in range(1, 9)]
    slowest = completion_ns(fan, 9, times, draws=20_000)
    harmonic = sum(1 / n for n in range(1, 9))  # the mean of the greatest of eight
    assert slowest.mean() == pytest.approx(100.0 * harmonic, rel=0.03)
    assert slowest_of_ns(times, 8, draws=20_000).mean() == pytest.approx(100.0 * harmonic, rel=0.03)


def test_a_sender_is_kept_by_each_message() -> None:
    fan = [Message(0, 0, rank) for rank in range(1, 4)]
    assert set(completion_ns(fan, 4, [50.0], send_ns=10.0, draws=4)) == {70.0}


def test_a_receiver_waits_for_the_slowest_of_a_step() -> None:
    both = [Message(0, 0, 2, 1), Message(0, 1, 2, 2)]
    times = {1: np.array([100.0]), 2: np.array([10.0])}
    assert set(completion_ns(both, 3, times.__getitem__, draws=4)) == {100.0}


def test_a_receiver_takes_one_in_its_gap() -> None:
    assert set(gathered_ns([50.0], 4, 10.0, draws=3)) == {80.0}
    assert set(gathered_ns([50.0], 4, 0.0, draws=3)) == {50.0}


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="beyond the 2"):
        completion_ns([Message(0, 0, 2)], 2, [1.0])
    with pytest.raises(ValueError, match="no times"):
        completion_ns([Message(0, 0, 1)], 2, [])
    with pytest.raises(ValueError, match="0 messages"):
        completion_ns([], 2, [1.0])
