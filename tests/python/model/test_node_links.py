"""The model names what a made cluster has, and nothing of a sound one."""

from __future__ import annotations

import numpy as np
import pytest
from cluster_made import Cluster

from netsonde.model.host_groups import groups_of, inferred_groups, no_groups
from netsonde.model.lossy_links import lossy
from netsonde.model.node_links import Observations, Strictness, judge, polish


def strictness(hosts: int, groups: int = 0, margin: float = 0.25) -> Strictness:
    return Strictness(margin, 0.025, 4 * (hosts + groups), follow_ups=True)


def named(cluster: Cluster, rounds: int | None = None) -> set[tuple[object, ...]]:
    groups = cluster.groups
    seen = cluster.observations(rounds)
    found = judge(seen, groups, strictness(cluster.hosts, len(groups)))[0]
    places = {(c.kind, c.number, c.other) for c in found if c.confirmed}
    leaf = [int(name.removeprefix("leaf")) for name in groups.names]
    return {
        (k, *sorted((a, b))) if k == "pair" else (k, a if k == "host" else leaf[a])
        for k, a, b in places
    }


def test_parts_of_hosts_are_found_in_their_size():
    slow = {3: 0.8, 11: 0.4}
    fit = polish(Cluster(32, slow=slow, noise=0.01).observations(), no_groups(32), 0.25)
    assert fit.sends[3] == pytest.approx(0.8, abs=0.05)
    assert fit.sends[11] == pytest.approx(0.4, abs=0.05)
    assert np.abs(np.delete(fit.sends, [3, 11])).max() < 0.1
    assert fit.spread == pytest.approx(0.01, rel=0.3)


@pytest.mark.parametrize("seed", range(5))
def test_slow_hosts_links_and_pairs_are_told_from_each_other(seed):
    cluster = Cluster(24, 4, seed, slow={5: 1.0}, slow_leaves={3: 1.5}, slow_pairs={(0, 21): 2.0})
    assert named(cluster) == {("host", 5), ("uplink", 3), ("pair", 0, 21)}


def test_the_partner_of_a_slow_host_is_not_slow():
    assert named(Cluster(8, slow={2: 3.0})) == {("host", 2)}


def test_three_slow_hosts_of_sixteen():
    assert named(Cluster(16, slow={1: 0.6, 2: 1.2, 9: 4.0})) == {
        ("host", 1),
        ("host", 2),
        ("host", 9),
    }


def test_a_slow_host_of_a_leaf_of_two_is_not_its_link():
    assert named(Cluster(12, 2, slow={6: 1.5})) == {("host", 6)}


@pytest.mark.parametrize("size", [0.4, 0.8, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_one_disturbed_measurement_of_its_neighbour_does_not_make_it_the_switch(seed, size):
    """Half of what crosses the link above a leaf of two is the slow host's; the leaf is named by
    what its hosts have in common, so a few measurements of the other one do not tip it."""
    cluster = Cluster(8, 2, seed, slow={3: 1.5}, noise=0.02, farther=0.4, follow_ups=1)
    seen = cluster.observations()
    neighbour = np.flatnonzero((seen.origin == 2) | (seen.target == 2))
    for disturbed in neighbour:
        value = seen.value.copy()
        value[disturbed] += size
        once = Observations(8, seen.origin, seen.target, value, seen.again, True)
        found = judge(once, cluster.groups, strictness(8, len(cluster.groups)))[0]
        assert {(c.kind, c.number) for c in found if c.confirmed} == {("host", 3)}


def test_a_slow_switch_is_told_from_the_link_above_it():
    cluster = Cluster(24, 4, slow_leaves={2: 1.5})
    seen = cluster.observations()
    inside = (seen.origin // 4 == 2) & (seen.target // 4 == 2)
    value = seen.value + 3.0 * inside
    slower = Observations(24, seen.origin, seen.target, value, seen.again, True)
    (found,) = judge(slower, cluster.groups, strictness(24, 6))[0]
    assert (found.kind, found.number) == ("switch", 2)


def test_the_direction_is_found_where_it_is_measured():
    cluster = Cluster(16, noise=0.03)
    seen = cluster.observations(symmetric=False)
    value = seen.value + 0.9 * (seen.origin == 4) + 0.9 * (seen.target == 7)
    found = judge(
        Observations(16, seen.origin, seen.target, value, seen.again, False),
        no_groups(16),
        strictness(16),
    )[0]
    assert {(c.number, c.way) for c in found} == {(4, "sends"), (7, "receives")}


def test_one_hiccup_names_nobody_and_a_lasting_one_does():
    """A pair must be out of line each time that it is measured again."""
    cluster = Cluster(16)
    seen = cluster.observations()
    value = seen.value.copy()
    value[5] += 9.0
    once = Observations(16, seen.origin, seen.target, value, seen.again, True)
    (found,) = judge(once, no_groups(16), strictness(16))[0]
    assert found.kind == "pair"
    assert not found.confirmed
    assert named(Cluster(16, slow_pairs={(2, 9): 1.0})) == {("pair", 2, 9)}


def test_what_is_within_the_margin_is_not_named():
    assert named(Cluster(64, slow={3: 0.2}, noise=0.01, spread=0.005)) == set()
    assert named(Cluster(64, slow={3: 0.3}, noise=0.01, spread=0.005)) == {("host", 3)}


@pytest.mark.parametrize(
    ("hosts", "hiccups"),
    [
        (8, 0.02),
        (64, 0.0),
        *(
            pytest.param(hosts, hiccups, marks=pytest.mark.soak)
            for hosts, hiccups in ((8, 0.0), (16, 0.0), (16, 0.02), (64, 0.02))
        ),
    ],
)
def test_sound_clusters_raise_no_alarm_in_more_than_five_of_a_hundred(hosts, hiccups):
    """And with no margin to speak of: chance alone is judged here."""
    alarms = 0
    for seed in range(40):
        cluster = Cluster(hosts, seed=seed, noise=0.2, spread=0.05, hiccups=hiccups)
        found = judge(cluster.observations(), no_groups(hosts), strictness(hosts, margin=1e-6))[0]
        alarms += any(c.confirmed for c in found)
    assert alarms <= 4  # 95 % of all times where the chance is 5 %: 2 expected at most


def test_hundreds_of_hosts_by_a_full_tournament():
    chance = np.random.default_rng(2)
    slow = {int(h): 0.5 for h in chance.choice(600, 20, replace=False)}
    cluster = Cluster(600, 25, slow=slow, slow_leaves={7: 1.0})
    assert named(cluster) == {("host", h) for h in slow} | {("uplink", 7)}


def test_group_testing_of_four_thousand_hosts_finds_most_and_accuses_nobody():
    chance = np.random.default_rng(3)
    slow = {int(h): float(chance.uniform(0.5, 3.0)) for h in chance.choice(4000, 40, replace=False)}
    found = named(Cluster(4000, 40, slow=slow, slow_leaves={11: 1.0}, hiccups=0.01), rounds=36)
    truth = {("host", h) for h in slow} | {("uplink", 11)}
    assert found - truth == set()
    assert len(found & truth) >= 0.95 * len(truth)


def test_lossy_links_by_direction_and_place():
    cluster = Cluster(16, 4)
    counts = cluster.losses({3: 0.02}, {9: 0.03}, {2: 0.0})
    found = lossy(counts, cluster.groups, strictness(16, 4, margin=0.003))
    assert {(c.kind, c.number, c.way) for c in found if c.confirmed} == {
        ("host", 3, "sends"),
        ("host", 9, "receives"),
    }
    assert found[0].excess == pytest.approx(0.03, abs=0.005)


def test_a_lossy_link_between_switches_is_not_its_hosts():
    cluster = Cluster(24, 4)
    counts = cluster.losses({}, {}, {4: 0.02})
    found = lossy(counts, cluster.groups, strictness(24, 6, margin=0.003))
    assert [(c.kind, c.number, c.way) for c in found] == [("uplink", 4, "sends")]


def test_losses_that_everybody_has_are_nobodys():
    for seed in range(20):
        cluster = Cluster(16, 4, seed)
        counts = cluster.losses({}, {}, usual=0.01)
        assert lossy(counts, cluster.groups, strictness(16, 4, margin=0.003)) == []


def test_a_lossy_host_among_thousands():
    cluster = Cluster(2000, 40)
    counts = cluster.losses({}, {17: 0.02, 1203: 0.05}, rounds=33, usual=1e-4)
    found = lossy(counts, cluster.groups, strictness(2000, 50, margin=0.003))
    assert {(c.kind, c.number) for c in found if c.confirmed} == {("host", 17), ("host", 1203)}


def test_groups_are_inferred_from_least_round_trips():
    seen = Cluster(16, 4, noise=0.01).observations(rounds=None)
    distance = np.full((16, 16), np.nan)
    distance[seen.origin, seen.target] = distance[seen.target, seen.origin] = seen.value
    assert inferred_groups(distance) == [[4 * g + n for n in range(4)] for g in range(4)]
    far = distance.copy()
    far[3] += 5.0  # one host behind a long link is no group, and hides none
    far[:, 3] += 5.0
    assert inferred_groups(far) == [[0, 1, 2], *([4 * g + n for n in range(4)] for g in (1, 2, 3))]


def test_no_groups_are_inferred_where_all_are_as_far():
    for seed in range(10):
        seen = Cluster(16, noise=0.02, seed=seed).observations()
        distance = np.full((16, 16), np.nan)
        distance[seen.origin, seen.target] = distance[seen.target, seen.origin] = seen.value
        assert inferred_groups(distance) == []


def test_groups_that_say_nothing_are_left_out():
    names = ["a", "b", "c", "d"]
    below = {"root": names, "one": ["a"], "s1": ["a", "b"], "again": ["b", "a"], "s2": ["c", "x"]}
    assert groups_of(names, below).names == ("s1",)
