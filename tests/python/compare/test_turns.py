"""Which launches are a pair, what of a drift is taken off, and when pairs are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from compare_made import read_as, utc_of, write_run
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.compare.conditions import compare_conditions
from netsonde.compare.data import Launch, Pair
from netsonde.compare.pairing import differences, turns_of
from netsonde.compare.text import comparison_lines
from netsonde.compare.verdicts import Question, compare, compare_directories
from netsonde.errors import UsageError
from netsonde.stats.pairs import fewest_pairs, paired_interval, paired_p


def launches(minutes: Sequence[float], run: str = "a", lasts: float = 0.5) -> list[Launch]:
    return [
        Launch(run, n, 1.0, None, None, ("p001",), utc_of(at), utc_of(at + lasts))
        for n, at in enumerate(minutes, 1)
    ]


def sides(order: str) -> tuple[list[Launch], list[Launch]]:
    """``ABBA``: launches a minute after the other."""
    at = {side: [i for i, found in enumerate(order) if found == side] for side in "AB"}
    return launches(at["A"]), launches(at["B"], "b")


@pytest.mark.parametrize(
    ("order", "pairs", "proven"),
    [
        ("ABABAB", [(0, 0), (1, 1), (2, 2)], True),
        ("ABBABA", [(0, 0), (1, 1), (2, 2)], True),
        ("ABABABABA", [(0, 0), (1, 1), (2, 2), (3, 3)], True),  # one more before
        ("ABAABABAB", [(0, 0), (2, 1), (3, 2), (4, 3)], True),  # one after has failed
        ("AAABBB", [(2, 0)], False),
        ("AABBAABB", [(1, 0), (2, 1)], False),
    ],
)
def test_pairs_are_neighbours_in_time(
    order: str, pairs: list[tuple[int, int]], proven: bool
) -> None:
    found = turns_of(*sides(order))
    if order != "AABBAABB":
        assert [(pair.before, pair.after) for pair in found.pairs] == pairs
    assert found.is_proven == proven
    assert bool(found.problem) != proven


def test_launches_at_the_same_time_or_of_no_known_time_took_no_turns() -> None:
    before, after = launches([0, 2, 4], lasts=1.5), launches([1, 3, 5], "b", lasts=1.5)
    assert "overlap" in turns_of(before, after).problem
    untimed = [Launch("b", n, 1.0, None, None, ("p001",)) for n in (1, 2, 3)]
    assert turns_of(before, untimed).pairs == ()


def test_launches_of_one_program_belong_together_whatever_failed() -> None:
    before, after = launches([0, 2, 4, 6]), launches([1, 3, 5, 7])
    del before[1], after[3]
    found = turns_of(before, after)
    assert found.pairs == (Pair(0, 0), Pair(1, 2))
    assert found.is_proven


@given(
    st.floats(-0.1, 0.1),
    st.floats(-0.01, 0.01),
    st.lists(st.sampled_from(["AB", "BA"]), min_size=3, max_size=9),
    st.floats(1.0, 20.0),
)
def test_a_line_is_taken_off_whatever_the_order(
    change: float, slope: float, order: list[str], between: float
) -> None:
    at: dict[str, list[float]] = {"A": [], "B": []}
    for number, sides_in_turn in enumerate(order):
        first, second = sides_in_turn[0], sides_in_turn[1]
        at[first].append(number * (1.0 + between))
        at[second].append(number * (1.0 + between) + 1.0)
    before, after = launches(at["A"]), launches(at["B"], "b")
    values = slope * np.array(at["A"] + at["B"])
    values[len(before) :] += change
    found = differences(turns_of(before, after).pairs, before, after, values)
    assert found == pytest.approx(change, abs=1e-6)


def test_a_point_that_was_measured_again_a_day_later_is_not_moved_by_the_slope() -> None:
    before, after = launches([0, 10, 20]), launches([1, 1451, 21])
    values = np.array([0.0, 0.1, 0.2, 0.0, 0.1, 0.2])
    pairs = turns_of(before, after).pairs
    assert abs(differences(pairs, before, after, values)).max() < 0.05


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=12))
def test_the_interval_excludes_nothing_where_p_says_so(values: list[int]) -> None:
    for confidence in (0.8, 0.95):
        found = paired_interval(values, confidence)
        excluded = (
            found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)
        )
        assert excluded == (paired_p(values) <= (1.0 - confidence) * (1.0 + 1e-9))


@pytest.mark.parametrize("n", [3, 7, 10])
def test_p_counts_all_signs(n: int) -> None:
    """By trying every choice of signs, of differences with n ranks."""
    random = np.random.default_rng(n)
    size = np.sort(random.random(n)) + np.arange(n)
    signs = random.choice([-1, 1], n)
    rank_sum = int((np.arange(1, n + 1) * (signs > 0)).sum())
    sums = [sum(c) for k in range(n + 1) for c in combinations(range(1, n + 1), k)]
    low = min(sum(s <= rank_sum for s in sums), sum(s >= rank_sum for s in sums)) / len(sums)
    assert paired_p(size * signs) == pytest.approx(min(1.0, 2 * low))


def test_so_few_pairs_can_prove_a_change() -> None:
    assert [fewest_pairs(0.05 / m) for m in (1, 20, 100)] == [6, 10, 12]
    n = fewest_pairs(0.05)
    assert paired_p(np.ones(n)) <= 0.05 < paired_p(np.ones(n - 1))


def drifted(minutes: list[float], shift: float) -> list[list[float]]:
    """One figure at launches in time: 2 % a minute, beside which a shift of 5 % is little."""
    random = np.random.default_rng(len(minutes))
    return [
        [20e3 * (1 + shift) * (1 + 0.02 * at) * (1 + 0.002 * random.standard_normal())]
        for at in minutes
    ]


def both(
    rounds: int, shift: float = 0.05
) -> tuple[list[float], list[float], list[list[float]], list[list[float]]]:
    olds = [2.0 * i for i in range(rounds)]
    news = [at + 1.0 for at in olds]
    return olds, news, drifted(olds, 0.0), drifted(news, shift)


def test_pairs_are_chosen_where_turns_are_proven_and_said() -> None:
    olds, news, old, new = both(8)
    runs = [
        read_as("a", np.array(old), minutes=olds),
        read_as("b", np.array(new), minutes=news),
    ]
    found = compare(runs[:1], runs[1:])
    assert found.paired
    assert found.figures[0].verdict == "worse"
    assert found.figures[0].ratio == pytest.approx(1.05, abs=0.003)
    text = " ".join(comparison_lines(found))
    assert "took turns, so they are compared in 8 pairs" in " ".join(text.split())
    apart = compare(runs[:1], runs[1:], Question(paired=False))
    assert not apart.paired
    assert apart.figures[0].verdict == "unknown"


def test_too_few_pairs_are_taken_apart_and_that_is_said() -> None:
    olds, news, old, new = both(5)
    runs = [
        read_as("a", np.array(old), minutes=olds),
        read_as("b", np.array(new), minutes=news),
    ]
    found = compare(runs[:1], runs[1:])
    assert not found.paired
    assert any("5 pairs are too few, where 6 can prove" in note for note in found.notes)
    assert compare(runs[:1], runs[1:], Question(paired=True)).paired


def test_one_after_the_other_is_not_paired_unless_asked_for() -> None:
    values = np.array([[20e3 + i] for i in range(8)])
    runs = [
        read_as("a", values, minutes=np.arange(8.0)),
        read_as("b", values, minutes=np.arange(8.0) + 60),
    ]
    assert not compare(runs[:1], runs[1:]).paired
    asked = compare(runs[:1], runs[1:], Question(paired=True))
    assert any("as asked, but they did not take turns" in note for note in asked.notes)
    untimed = [read_as(name, values) for name in "ab"]
    with pytest.raises(UsageError, match="cannot be paired: the times of some"):
        compare(untimed[:1], untimed[1:], Question(paired=True))


def test_runs_in_turns_from_the_disk(tmp_path: Path) -> None:
    """Seven runs a side, each of one launch, as those of TCP are."""
    olds, news, old, new = both(7)
    paths = [
        [
            write_run(tmp_path / f"{name}{i}", {64: value}, minutes=[at], seed=i)
            for i, (value, at) in enumerate(zip(values, times, strict=True))
        ]
        for name, values, times in (("a", old, olds), ("b", new, news))
    ]
    found = compare_directories(paths[0], paths[1], Question())
    assert found.paired
    assert found.figures[0].verdict == "worse"
    words = [
        f"--{side}={p}" for side, own in zip(("before", "after"), paths, strict=True) for p in own
    ]
    told = CliRunner().invoke(app, ["compare", *words, "--unpaired", "--fail-on", "never"])
    assert told.exit_code == 0
    assert "pairs" not in told.output


def test_two_conditions_of_one_run(tmp_path: Path) -> None:
    """Each launch has both; sizes belong together by themselves."""
    minutes = [2.0 * i for i in range(9)]
    slow, fast = ([v[0] for v in drifted(minutes, s)] for s in (0.0, -0.05))
    made = {
        (size, control): v for size in (64, 1024) for control, v in (("cubic", slow), ("bbr", fast))
    }
    run = write_run(tmp_path / "run", made, minutes=minutes, transport="tcp")
    found = compare_conditions(run, "cubic", "bbr", Question())
    assert found.paired
    assert [figure.verdict for figure in found.figures] == ["better", "better"]
    assert "congestion_control: cubic -> bbr" in found.figures[0].changed
    words = ["compare", str(run), "--condition", "cubic"]
    assert CliRunner().invoke(app, [*words, "--condition", "bbr"]).exit_code == 0
    with pytest.raises(UsageError, match="no condition 'reno'; there are 'cubic', 'mpich', 'bbr'"):
        compare_conditions(run, "cubic", "reno", Question())
    with pytest.raises(UsageError, match="no figure in common"):
        compare_conditions(run, "cubic", "cubic", Question())
