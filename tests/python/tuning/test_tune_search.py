"""The search for settings on a bench whose best setup is known."""

from __future__ import annotations

import pytest
from made_bench import MadeBench

from netsonde.errors import HostError
from netsonde.tuning.sockets.bench import GOALS
from netsonde.tuning.sockets.data import Setup
from netsonde.tuning.sockets.judged import Rules, gain_of, gains_of, promise_of
from netsonde.tuning.sockets.search import search

FLAT = 1e9, 50_000.0
ALL_RUNS = 60
MOST_FALSE = 6
"""Of so many searches where nothing can be gained at most these may propose something: with a
chance of 5 % each, more than six of sixty come once in thirty such tests."""


def small_buffers(setup: Setup) -> tuple[float, float]:
    """A window of half the buffer over 10 ms, up to the line."""
    largest = int(setup.host.get("net.ipv4.tcp_rmem", "0 0 262144").split()[2])
    return min(1e9, largest / 2 * 8 / 0.01), 50_000.0


def outcomes(tuning) -> dict[str, str]:
    return {step.knob: step.outcome for step in tuning.steps}


def test_small_buffers_are_found_first_and_proven():
    bench = MadeBench(
        small_buffers,
        lambda setup: () if setup.host else ("window-limited",),
    )
    tuning = search(bench, Setup(), Rules())
    assert tuning.proven
    assert [step.knob for step in tuning.kept] == ["system-buffers"]
    assert tuning.steps[0].knob == "system-buffers"
    assert tuning.steps[0].cause == "window-limited"
    assert int(tuning.tuned.host["net.ipv4.tcp_rmem"].split()[2]) >= 1_000_000
    assert tuning.proof["rate"].low > 3
    assert len(tuning.steps) == len(outcomes(tuning)), "a knob stands once"


def test_nothing_to_gain_is_said_and_nothing_proposed():
    proposals = []
    for seed in range(ALL_RUNS):
        tuning = search(MadeBench(lambda _: FLAT, noise=0.03, seed=seed), Setup(), Rules())
        if tuning.proven:
            proposals.append(seed)
        else:
            assert tuning.tuned == Setup()
    assert len(proposals) <= MOST_FALSE
    assert "Nothing is proposed" in tuning.verdict


def test_a_gain_smaller_than_the_least_is_no_gain():
    def truth(setup):
        return (1.01e9 if setup.options.get("congestion_control") == "bbr" else 1e9), 50_000.0

    tuning = search(MadeBench(truth, noise=0.001), Setup(), Rules(least_gain=0.02))
    assert not tuning.proven
    tuning = search(MadeBench(truth, noise=0.001), Setup(), Rules(least_gain=0.005))
    assert tuning.tuned.options == {"congestion_control": "bbr"}


def test_what_makes_another_goal_worse_is_not_kept():
    def truth(setup):
        is_bbr = setup.options.get("congestion_control") == "bbr"
        return (2e9, 100_000.0) if is_bbr else FLAT

    tuning = search(MadeBench(truth), Setup(), Rules())
    assert not tuning.proven
    (step,) = [step for step in tuning.steps if step.knob == "control"]
    assert step.outcome == "no gain"
    assert "worse: round trip" in step.reason


def test_a_host_setting_is_not_tried_where_a_program_has_it():
    def truth(setup):
        return (2e9 if setup.options.get("congestion_control") == "bbr" else 1e9), 50_000.0

    tuning = search(MadeBench(truth, lambda _: ("segments-lost",)), Setup(), Rules())
    assert tuning.proven
    (step,) = [step for step in tuning.steps if step.knob == "system-control"]
    assert step.reason == "control did it for the program"
    assert tuning.tuned.host == {}


def test_two_limits_one_behind_the_other_are_both_found():
    def truth(setup):
        rate = small_buffers(setup)[0]
        limit = 1e9 if "tso=on" in setup.host.get("offloads", "") else 4e8
        return min(rate, limit), 50_000.0

    bench = MadeBench(
        truth, lambda setup: ("processor-bound",) if setup.host else ("window-limited",)
    )
    tuning = search(bench, Setup(), Rules())
    assert {step.knob for step in tuning.kept} == {"system-buffers", "offloads"}
    assert tuning.proof["rate"].ratio > 4


def test_a_limit_that_hid_another_of_its_kind_is_gone_and_the_other_found():
    def truth(setup):
        clamp = setup.options.get("window_clamp", 10**9) * 8 / 0.01
        return min(small_buffers(setup)[0], clamp), 50_000.0

    def findings(setup):
        return ("window-limited",) if truth(setup)[0] < 1e9 else ()

    tuning = search(MadeBench(truth, findings), Setup({"window_clamp": 9000}), Rules())
    assert [step.knob for step in tuning.kept] == ["window-clamp", "system-buffers"]
    assert len(outcomes(tuning)) == len(tuning.steps), "a knob that is tried twice stands once"


def test_a_full_line_is_left_alone_but_for_what_can_gain_there():
    bench = MadeBench(lambda _: FLAT, at_best={"rate": "the line is full"})
    found = {step.knob: step for step in search(bench, Setup(), Rules()).steps}
    assert found["system-buffers"].reason == "the line is full"
    assert found["mtu"].change is not None


def test_time_that_is_spent_is_said():
    bench = MadeBench(small_buffers, launches_left=30)
    tuning = search(bench, Setup(), Rules())
    assert "The time was spent before" in tuning.unfinished
    assert bench.launches <= 30 + 2 * 8
    assert len(outcomes(tuning)) == len(tuning.steps)


def test_what_a_path_or_a_host_refuses_is_left_alone_with_its_reason():
    bench = MadeBench(
        lambda _: FLAT, refusing={"offloads": "they may not be"}, untaken=("9000 bytes",)
    )
    found = {step.knob: step for step in search(bench, Setup(), Rules()).steps}
    assert found["offloads"].reason == "they may not be"
    assert found["mtu"].reason == "the path does not take 9000 bytes"
    assert all(not setup.host.get("mtu") for setup in bench.seen)


def test_an_untuned_setup_that_cannot_be_measured_ends_the_search():
    def fails(_):
        raise HostError("h2 is gone")

    with pytest.raises(HostError, match="gone"):
        search(MadeBench(fails), Setup(), Rules())


def test_a_gain_that_is_gone_in_the_proof_is_not_proposed():
    """Launches that chose a setup do not prove it."""
    seen = []

    def truth(setup):
        seen.append(setup.options.get("congestion_control") == "bbr")
        rules = Rules()
        return (2e9 if 0 < sum(seen) <= rules.screened + rules.pairs and seen[-1] else 1e9), 5e4

    tuning = search(MadeBench(truth), Setup(), Rules())
    assert [step.knob for step in tuning.kept] == ["control"]
    assert not tuning.proven
    assert tuning.tuned == Setup()
    assert "do not prove it" in tuning.verdict


def test_gains_are_ratios_of_what_is_better():
    pairs = [(10.0, 12.0)] * 8
    rate, latency = (gain_of(GOALS[name], pairs, 0.95) for name in ("rate", "latency"))
    assert rate.ratio == pytest.approx(1.2)
    assert rate.low == pytest.approx(1.2)
    assert rate.is_better_by(0.19)
    assert not rate.is_better_by(0.21)
    assert latency.ratio == pytest.approx(1 / 1.2)
    assert latency.is_worse


def test_too_few_pairs_prove_nothing():
    gain = gain_of(GOALS["rate"], [(1.0, 2.0)] * 3, 0.95)
    assert gain.low is None
    assert not gain.is_better_by(0.0)
    assert not gain.is_worse


def test_all_goals_share_the_false_alarms():
    pairs = {name: [(1.0, 1.1)] * 8 for name in GOALS}
    assert {g.confidence for g in gains_of(list(GOALS.values()), pairs).values()} == {0.975}


def test_one_pair_that_says_no_ends_a_look():
    rate = GOALS["rate"]
    assert promise_of(rate, [(1.0, 1.1), (1.0, 1.2), (1.0, 1.3)], 0.02) == pytest.approx(1.2)
    assert promise_of(rate, [(1.0, 1.1), (1.0, 0.99), (1.0, 1.3)], 0.02) is None
    assert promise_of(rate, [(1.0, 1.001)] * 3, 0.02) is None
