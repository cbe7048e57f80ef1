"""Every pair meets once, every host is busy once a round, and ten thousand hosts are no trouble."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model.tournament import (
    BYE,
    Tournament,
    group_rounds,
    pairs_of,
    partners_in_round,
    round_count,
)


@given(hosts=st.integers(2, 61), seed=st.integers(0, 2**32))
def test_each_pair_meets_exactly_once(hosts, seed):
    met = np.zeros((hosts, hosts), dtype=int)
    tournament = Tournament(hosts, seed)
    assert len(tournament) == round_count(hosts)
    for partners in tournament.rounds():
        playing = np.flatnonzero(partners != BYE)
        assert len(playing) == hosts - hosts % 2
        assert (partners[partners[playing]] == playing).all()  # of one another
        assert (partners[playing] != playing).all()
        met[playing, partners[playing]] += 1
    assert (met == 1 - np.eye(hosts, dtype=int)).all()


@given(hosts=st.integers(2, 40), seed=st.integers(0, 99))
def test_every_host_is_in_one_pair_of_a_round_and_both_turns_are_made(hosts, seed):
    partners = Tournament(hosts, seed).partners(0)
    pairs, back = pairs_of(partners), pairs_of(partners, turn=1)
    assert [(b, a) for a, b in pairs] == back
    assert (
        sorted(host for pair in pairs for host in pair) == np.flatnonzero(partners != BYE).tolist()
    )
    assert all(partners[a] == b and partners[b] == a for a, b in pairs)


def test_the_seed_decides_the_order_and_some_rounds_are_the_first_of_all():
    one, again, other = (Tournament(16, seed) for seed in (3, 3, 4))
    rounds = [p.tolist() for p in one.rounds()]
    assert rounds == [p.tolist() for p in again.rounds()]
    assert rounds != [p.tolist() for p in other.rounds()]
    assert [p.tolist() for p in Tournament(16, 3, 4).rounds()] == rounds[:4]


def test_hosts_are_origins_about_as_often_as_targets():
    origins = np.zeros(16, dtype=int)
    for partners in Tournament(16, 1).rounds():
        for origin, _ in pairs_of(partners):
            origins[origin] += 1
    assert set(origins.tolist()) <= {7, 8}


@pytest.mark.parametrize("hosts", [0, 1, 1 << 21])
def test_what_is_no_tournament_is_refused(hosts):
    with pytest.raises(ValueError, match="a tournament is of"):
        round_count(hosts)


def test_wrong_rounds_are_refused():
    with pytest.raises(ValueError, match="no round 15"):
        partners_in_round(16, 15)


def test_group_testing_has_far_fewer_rounds():
    assert [group_rounds(n, 3) for n in (4, 16, 1024, 10_000)] == [3, 12, 30, 42]


def test_ten_thousand_hosts_are_planned_in_seconds_and_little_memory():
    begin = time.process_time()
    tracemalloc.start()
    pairs = sum(int((partners >= 0).sum()) // 2 for partners in Tournament(10_000, 1).rounds())
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pairs == 10_000 * 9_999 // 2
    assert most_bytes < 8 << 20
    print(f"planned in {time.process_time() - begin:.2f} s of CPU time")
