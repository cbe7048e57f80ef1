"""The slowest partner, levels and uplinks, of pairs whose times are made up."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from mpi_points import made_run

from netsonde.explain.data import Seen
from netsonde.explain.partners import slowest_partner, uplinks_limit
from netsonde.figures.compute import figures_of, find
from netsonde.figures.levels import groups_in, hierarchy_of, levels_of
from netsonde.figures.partners import pairs_of_run, slowest_of
from netsonde.figures.uplinks import uplink_bounds
from netsonde.model.hierarchy import Hierarchy, SwitchLink, crossing
from netsonde.records.data import Batch, EndData, Point
from netsonde.report.lookup import Study
from netsonde.report.partner_plots import levels_plot, pairs_plot

US = 1_000
PATH = {
    "kind": "network",
    "switches": {
        "hosts": {"n1": "a", "n2": "a", "n3": "b", "n4": "b"},
        "uplinks": [
            {"lower": "a", "upper": "core", "rate_bit_per_s": 10**9},
            {"lower": "b", "upper": "core", "rate_bit_per_s": 10**9},
        ],
    },
}


def pair_point(pair, median_us, hosts=("h0", "h0"), cpus=(0, 1), spread=0.02, **more):
    random = np.random.default_rng(sum(pair) + 10 * pair[0])
    trips = (median_us * US * random.lognormal(0, spread, 300)).astype(np.int64)
    ends = {
        end: EndData(end, hosts[end], counters={"cpu": cpus[end], "messages_sent": 300})
        for end in (0, 1)
    }
    ends[0].series["round_trip_ns"] = trips
    parameters = {"message_bytes": 8, "interval": 0.01, "ranks": 4, "pair": list(pair), **more}
    name = f"p{pair[0]}{pair[1]}"
    return Point(name, "mpi", "latency", parameters, "finished", batches=[Batch(0, ends)])


def seen_of(run):
    return Seen(run, figures_of(run))


def test_one_slow_partner_is_named_with_its_host():
    times = {1: 20.0, 2: 60.0, 3: 21.0}
    run = made_run(*(pair_point((0, r), us, ("h0", f"h{r}")) for r, us in times.items()))
    (pairs,) = pairs_of_run(run, figures_of(run))
    assert [pair.ranks[1] for pair in pairs.pairs] == [2, 3, 1]
    assert pairs.is_decided
    assert pairs.times == pytest.approx(60 / 21, rel=0.02)
    (finding,) = slowest_partner(seen_of(run))
    assert "slowest pair is rank 0 on h0 with rank 2 on h2" in finding.claim
    assert slowest_of(run.points, figures_of(run)).ranks == (0, 2)


def test_pairs_whose_intervals_meet_are_all_told():
    run = made_run(*(pair_point((0, r), 20.0, spread=0.2) for r in (1, 2, 3)))
    (pairs,) = pairs_of_run(run, figures_of(run))
    assert not pairs.is_decided
    assert pairs.as_slow
    (finding,) = slowest_partner(seen_of(run))
    assert "no pair is slower than all others" in finding.claim
    assert finding.advice == ""


def test_a_rank_that_is_slow_with_everyone_is_named_and_no_pair():
    run = made_run(
        *(
            pair_point(pair, 70.0 + sum(pair) if 2 in pair else 20.0, tuple(f"h{r}" for r in pair))
            for pair in combinations(range(4), 2)
        )
    )
    (pairs,) = pairs_of_run(run, figures_of(run))
    assert pairs.common_rank == 2
    (finding,) = slowest_partner(seen_of(run))
    assert "rank 2 on h2 is slow with every partner" in finding.claim
    plot = pairs_plot(Study(run, figures_of(run)))
    heat = plot.panels[0].heat
    assert heat.shares[0][0] is None
    assert heat.rows == [f"rank {rank} (h{rank})" for rank in range(4)]
    assert heat.columns[2] == "2 (h2)"
    assert heat.shares[2][3] == 1.0 == max(s for row in heat.shares for s in row if s)
    assert all("±" in words for row in heat.words for words in row if words)
    assert len(plot.table.rows) == 6


def test_partners_of_rank_0_are_named_by_their_hosts():
    hosts = ("h0", "h1", "h2", "h2")
    run = made_run(*(pair_point((0, r), 20.0 + r, ("h0", hosts[r])) for r in (1, 2, 3)))
    panel = pairs_plot(Study(run, figures_of(run))).panels[0]
    assert panel.x.names == ["1 (h1)", "2 (h2)", "3 (h2)"]
    assert panel.curves[0].x == [0, 1, 2]
    assert panel.curves[0].y == sorted(panel.curves[0].y)


def test_a_single_pair_is_no_comparison():
    run = made_run(pair_point((0, 1), 20.0))
    assert pairs_of_run(run, figures_of(run)) == []
    assert pairs_plot(Study(run, figures_of(run))) is None


def test_sockets_and_switches_are_levels():
    facts = {"cpu.packages": "0:0-3 1:4-7", "cpu.numa_nodes": "0:0-1 1:2-3 2:4-7"}
    facts["mpi.binding"] = "rank 0 on 0"
    places = {(0, 1): (0, 1), (0, 2): (0, 2), (0, 3): (0, 5), (0, 6): (0, 0)}
    points = [
        pair_point(pair, us, ("n1", "n1"), cpus)
        for (pair, cpus), us in zip(places.items(), (10.0, 12.0, 18.0, 9.0), strict=True)
    ]
    points += [pair_point((0, 4), 30.0, ("n1", "n2")), pair_point((0, 5), 50.0, ("n1", "n3"))]
    run = made_run(*points)
    run.manifest.update(path=PATH, hosts={"n1": facts})
    (pairs,) = pairs_of_run(run, figures_of(run))
    levels = levels_of(run, pairs)
    names = [level.name for level in levels]
    assert names == [
        *("one CPU", "one socket", "another NUMA node", "another socket"),
        *("one switch", "3 switches"),
    ]
    assert [round(level.median_ns / US) for level in levels] == [9, 10, 12, 18, 30, 50]
    plot = levels_plot(Study(run, figures_of(run)))
    assert [curve.label for curve in plot.panels[0].curves] == names
    facts["host.name"] = "n1"  # which wrote the records, and was reached by another name
    run.manifest["hosts"] = {"front": facts}
    assert [level.name for level in levels_of(run, pairs)] == names
    run.manifest["hosts"] = {}
    run.manifest["path"] = {"kind": "network"}
    assert [level.name for level in levels_of(run, pairs)] == ["one host", "another host"]


def test_groups_of_processors():
    assert groups_in("0:0-2,8 1:3") == {0: {0, 1, 2, 8}, 1: {3}}
    assert groups_in("nonsense 1: x:3") == {}


def test_the_lab_s_scenario_is_a_hierarchy():
    line = {"rate_bit_per_s": 10**9}
    slow = {"rate_bit_per_s": 10**8}
    links = [
        {"name": "h1", "lower": "h1", "upper": "s1", "up": line, "down": line},
        {"name": "h2", "lower": "h2", "upper": "s2", "up": line, "down": line},
        {"name": "s1-s2", "lower": "s1", "upper": "s2", "up": line, "down": slow},
    ]
    run = made_run()
    run.manifest["path"] = {"topology": {"hosts": ["h1", "h2"], "links": links}}
    found = hierarchy_of(run)
    assert found.switches_between("h1", "h2") == 2
    assert found.switches_between("h1", "h1") == 1
    assert found.uplinks == (SwitchLink("s1", "s2", 10**8),)
    assert found.hosts_below(found.uplinks[0]) == {"h1"}


def test_an_uplink_with_a_way_around_it_bounds_nothing():
    ring = tuple(SwitchLink(a, b, 1e9) for a, b in (("a", "b"), ("b", "c"), ("c", "a")))
    found = Hierarchy({"h1": "a", "h2": "b"}, ring)
    assert found.hosts_below(ring[0]) is None
    assert found.switches_between("h1", "nobody") is None


@pytest.mark.parametrize(
    ("operation", "up", "down", "in_turn"),
    [
        ("alltoall", 2 * 3 * 100, 2 * 3 * 100, 0),
        ("allgather", 200, 300, 0),
        ("gather", 0, 300, 0),  # the root is below: what the three others give comes down
        ("scatter", 300, 0, 0),
        ("bcast", 100, 0, 0),
        ("send", 200, 200, 200),
        ("sendrecv", 200, 200, 0),
    ],
)
def test_what_must_cross_by_hand(operation, up, down, in_turn):
    """Two ranks below, three above; partners 0-2 and 1-3, the last one sits out."""
    below, partners = [True, True, False, False, False], [2, 3, 0, 1, None]
    found = crossing(operation, 100, below, partners, 0)
    assert (found.up_bytes, found.down_bytes, found.in_turn_bytes) == (up, down, in_turn)
    assert found.least_ns(8e9) == max(up, down, in_turn)


def test_nothing_is_said_of_reductions_and_of_ranks_on_one_side():
    assert crossing("allreduce", 8, [True, False], [None, None], 0) is None
    assert crossing("alltoall", 8, [True, True], [None, None], 0).least_ns(1e9) == 0


def operation_point(name, operation, median_us, hosts, partners=None, size=100_000):
    ends = {}
    for rank, host in enumerate(hosts):
        end = EndData(rank, host, counters={"start_ns": 0, "end_ns": 10**12})
        end.series["duration_ns"] = np.full(200, round(median_us * US), np.int64)
        end.series["begin_ns"] = np.arange(200) * 10**7
        if partners:
            end.counters["partner"] = partners[rank]
        ends[rank] = end
    parameters = {"message_bytes": size, "operation": operation, "ranks": len(hosts)}
    parameters["interval"] = 0.01
    return Point(name, "mpi", "collective", parameters, "finished", batches=[Batch(0, ends)])


def test_an_operation_that_the_uplink_limits_is_found():
    """Two pairs across of 100 kB: 1.6 ms in each direction of an uplink of 1 Gbit/s."""
    hosts = ["n1", "n2", "n3", "n4"]
    run = made_run(
        operation_point("p001", "sendrecv", 1700, hosts, [2, 3, 0, 1]),
        operation_point("p002", "alltoall", 40_000, hosts),
    )
    run.manifest["path"] = PATH
    first, second = uplink_bounds(run)
    assert first.least_ns == pytest.approx(2 * 8e5)
    assert second.least_ns == pytest.approx(4 * 8e5)
    figures = figures_of(run)
    assert find(figures, "uplink_ratio", "p001").value == pytest.approx(1600 / 1700)
    (finding,) = uplinks_limit(Seen(run, figures))
    assert "sendrecv" in finding.claim
    assert "a-core" in finding.claim
