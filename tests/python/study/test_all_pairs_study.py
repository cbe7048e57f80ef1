"""The table all_pairs, its rounds and follow-ups, files of topologies, and hosts that die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned_points import planned_point

from netsonde.catalogue.point import AllPairs
from netsonde.errors import HostError, UsageError
from netsonde.figures.all_pairs import pairs_of_round, values_of_points
from netsonde.figures.all_pairs_verdict import Verdict
from netsonde.launch.local import LocalHost
from netsonde.launch.rounds import RoundSession, StandingWorkers
from netsonde.model.group_testing import LOOKS, rounds_to_screen
from netsonde.model.node_links import Culprit, Sight
from netsonde.records.data import ALL_PAIRS, Point
from netsonde.study import all_pairs_run
from netsonde.study.all_pairs import host_names, plan_all_pairs
from netsonde.study.all_pairs_measure import checks_of_round, measure_round
from netsonde.study.all_pairs_run import all_pairs_facts, follow_up_rounds, follow_ups
from netsonde.study.estimate import estimate
from netsonde.study.plan import PlannedPoint, plan_points
from netsonde.study.spec import StudySpec, parse_study, to_toml
from netsonde.study.topology_files import read_topology, slurm_switches


def spec_of(hosts: str = "n[1-8]", **table) -> StudySpec:
    return StudySpec.model_validate(
        {"seed": 7, "path": {"kind": "hosts", "hosts": [hosts]}, "tournament": table}
    )


def test_a_full_tournament_is_a_point_for_each_round():
    spec = spec_of()
    points = plan_points(spec)
    assert [p.test for p in points] == [ALL_PAIRS] * 7
    met = [frozenset(pair) for p in points for pair in pairs_of_round(p.spec.of(AllPairs))]
    assert len(met) == len(set(met)) == 28
    assert host_names(spec) == [f"n{n}" for n in range(1, 9)]


def test_it_reads_back_from_its_toml_with_every_key():
    spec = spec_of(mode="group-testing", measures="latency,loss", at_once=2, topology="t.conf")
    assert parse_study(to_toml(spec), "again") == spec


def test_group_testing_has_fewer_rounds_and_the_plan_says_so():
    plan = plan_all_pairs(spec_of("n[1-1000]", mode="group-testing"))
    assert plan is not None
    assert (plan.rounds, plan.of_rounds, plan.meetings) == (30, 999, 15000)
    assert plan.lines[0] == "all pairs of 1000 hosts: 30 of 999 rounds, 15000 meetings"


def test_the_estimate_grows_with_rounds_and_with_hosts_only_for_their_clocks():
    def times(**table):
        specs = [spec_of(hosts, rounds=5, **table) for hosts in ("n[1-8]", "n[1-800]")]
        return [estimate(spec, plan_points(spec)).time_ns for spec in specs]

    one, more = times(measures="latency,loss,throughput")
    assert one == more
    one, more = times()
    assert one < more < 2 * one
    single = spec_of("n[1-8]", rounds=5, at_once=1)
    assert estimate(single, plan_points(single)).time_ns > 2 * one


@pytest.mark.parametrize(
    ("hosts", "table", "words"),
    [
        ("n[1-3]", {}, "needs 4 hosts or more"),
        ("n[1-4],n2", {}, "a host is named twice"),
        ("n[1-9999]", {}, "more than the 4096 that a run may have"),
        ("n[1-4]", {"topology": "/nowhere.conf"}, "cannot read /nowhere.conf"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(hosts, table, words):
    with pytest.raises(UsageError, match=words):
        all_pairs_facts(spec_of(hosts, **table))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tournament]\nmode = 'some'", "tournament.mode"),
        ("[tournament]\nspeed = 1", "unknown key tournament.speed"),
        ("[tournament]\nmargin = 0", "tournament.margin"),
        ("[tournament]\nmeasures = ['jitter']", "tournament.measures"),
        ("[path]\nbetween = ['a,b']\n[tournament]", "between and .tournament. do not go together"),
        ("name = 'x'", "nothing is measured"),
    ],
)
def test_bad_tables_are_refused_with_their_place(text, words):
    with pytest.raises(UsageError, match=words):
        parse_study(text, "study.toml")


@given(
    hosts=st.integers(4, 30),
    pairs=st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=6),
    suspects=st.lists(st.integers(0, 29), max_size=3, unique=True),
    seed=st.integers(0, 99),
)
def test_follow_ups_are_matchings_in_which_suspects_meet_sound_hosts(hosts, pairs, suspects, seed):
    pairs = [(a, b) for a, b in pairs if a != b and max(a, b) < hosts]
    suspects = [s for s in suspects if s < hosts]
    rounds = follow_up_rounds(range(hosts), pairs, suspects, 3, seed)
    assert len(rounds) == 3
    for matched in rounds:
        paired = [host for pair in matched for host in pair]
        assert len(paired) == len(set(paired))
        assert len(matched) == hosts // 2 or any(set(p) & set(suspects) for p in matched)
        for a, b in matched:
            both = {a, b} <= set(suspects)
            assert not both or (a, b) in pairs or (b, a) in pairs
    if pairs and not suspects:
        assert set(pairs[0]) in [set(p) for p in rounds[0]]


SLURM = """
# racks
SwitchName=s1 Nodes=n[1-4]   # the first
SwitchName=s2 Nodes=n5,n6 LinkSpeed=100
SwitchName=top Switches=s[1-2]
"""


def test_slurms_topology_with_all_levels(tmp_path):
    file = tmp_path / "topology.conf"
    file.write_text(SLURM)
    assert read_topology(file) == {
        "s1": ["n1", "n2", "n3", "n4"],
        "s2": ["n5", "n6"],
        "top": ["n1", "n2", "n3", "n4", "n5", "n6"],
    }


def test_a_scenario_of_the_lab_is_a_topology(tmp_path):
    file = tmp_path / "net.toml"
    file.write_text(
        "[link]\nrate = '1G'\n[[switch]]\nname = 'a'\nhosts = 'h[1-2]'\n"
        "[[switch]]\nname = 'r'\n[[uplink]]\nlower = 'a'\nupper = 'r'\ndelay = '1ms'\n"
    )
    assert read_topology(file) == {"a": ["h1", "h2"], "r": ["h1", "h2"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Nodes=n1", "line 1: expected SwitchName"),
        ("# nothing", "names no switch"),
        ("SwitchName=a Switches=b", "switch b is named, but not described"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "are a ring"),
        ("SwitchName=a Nodes=n[1-", "no set of hosts"),
    ],
)
def test_bad_topologies_are_refused(text, words):
    with pytest.raises(UsageError, match=words):
        slurm_switches(text, "t.conf")


class Watched(LocalHost):
    """This machine by another name; its processes are known."""

    def __init__(self, name):
        super().__init__(name)
        self.processes = []

    def start(self, argv, *, env=None):
        process = super().start(argv, env=env)
        self.processes.append(process)
        return process


PARAMETERS = {
    "message_bytes": 16,
    "steps": [["latency", 0], ["one-way", 0], ["one-way", 1], ["throughput", 0]],
    "time_ns": 20_000_000,
    "loss_bytes": 100,
    "loss_rate_bit_per_s": 1_000_000,
    "stream_bytes": 16384,
}


def asked(**changed) -> PlannedPoint:
    point: PlannedPoint = planned_point(ALL_PAIRS, ALL_PAIRS, {**PARAMETERS, **changed})
    return point


@pytest.mark.worker
def test_a_dead_host_is_dropped_and_the_others_go_on():
    hosts = [Watched(f"n{number}") for number in range(4)]
    kept: dict[int, object] = {}
    with StandingWorkers(hosts) as workers:
        session = RoundSession(workers, [(0, 1), (2, 3)])
        ending = measure_round(session, asked(), kept.__setitem__)
        assert [sorted(batch.ends) for batch in ending.batches] == [[0, 1, 2, 3]] * 4
        assert checks_of_round(session, ending.batches, workers.names)["round"] == {
            "pairs": 2,
            "failed_pairs": [],
            "dropped": {},
        }
        assert set(session.facts()) == {"n0", "n1", "n2", "n3"}
        os.kill(hosts[2].processes[0].pid, signal.SIGKILL)
        session = RoundSession(workers, [(0, 2), (1, 3)])
        ending = measure_round(session, asked(), kept.__setitem__)
        assert [sorted(batch.ends) for batch in ending.batches] == [[2, 3]] * 4
        found = checks_of_round(session, ending.batches, workers.names)["round"]
        assert list(found["dropped"]) == ["n2"]
        assert "SIGKILL" in found["dropped"]["n2"]
        assert [pair[:2] for pair in found["failed_pairs"]] == [["n0", "n2"]]
        again = RoundSession(workers, [(0, 1)])  # whoever was left alone meets others again
        assert measure_round(again, asked(), kept.__setitem__).batches
        with pytest.raises(HostError, match="no pair of this round"):
            measure_round(RoundSession(workers, [(2, 3)]), asked(), kept.__setitem__)
    assert all(host.processes[0].poll() is not None for host in hosts)


@pytest.mark.worker
def test_pairs_may_take_turns():
    hosts = [Watched(f"n{number}") for number in range(4)]
    with StandingWorkers(hosts) as workers:
        session = RoundSession(workers, [(0, 1), (2, 3)])
        in_turn = asked(at_once=1, steps=[["latency", 0]])
        (batch,) = measure_round(session, in_turn, lambda *_: None).batches
    assert sorted(batch.ends) == [0, 1, 2, 3]
    assert np.all(batch.ends[2].series["round_trip_ns"] > 0)


class Missing(LocalHost):
    def start(self, argv, *, env=None):
        del argv, env
        raise HostError(f"{self.name} is down")


@pytest.mark.worker
def test_hosts_that_cannot_be_had_are_dropped_at_the_start():
    hosts = [LocalHost("n0"), Missing("n1"), LocalHost("n2")]
    with StandingWorkers(hosts) as workers:
        assert workers.dropped == {1: "n1 is down"}
    with pytest.raises(HostError, match="fewer than two hosts can take part: n1 is down"):
        StandingWorkers(hosts[:2])


@pytest.mark.worker
def test_delays_of_both_directions_come_with_the_clocks_of_their_hosts():
    """Here all hosts read one clock, which they say, so nothing is uncertain."""
    with StandingWorkers([LocalHost(f"n{number}") for number in range(4)]) as workers:
        session = RoundSession(workers, [(0, 1), (2, 3)])
        steps = [["one-way", 0], ["one-way", 1]]
        ending = measure_round(session, asked(steps=steps), lambda *_: None)
    parameters = {**PARAMETERS, "steps": steps, "hosts": 4, "pairs": [[0, 1], [2, 3]]}
    point = Point("p001", ALL_PAIRS, ALL_PAIRS, parameters, batches=ending.batches)
    (found,) = (v for name, v in values_of_points([point]).items() if name == "one_way_ns")
    assert list(zip(found.origin, found.target, strict=True)) == [(0, 1), (2, 3), (1, 0), (3, 2)]
    assert np.all(found.value > 0)
    assert np.all(found.uncertainty == 0)
    clocks = ending.batches[0].ends[2].series
    assert np.all(clocks["clock_low_ns"] <= clocks["clock_high_ns"])


NOISY = Sight(spread=0.8, between=0.02, between_least=0.02, limit=5.0, meetings=18)
QUIET = Sight(spread=0.05, between=0.02, between_least=0.02, limit=5.0, meetings=18)
DOUBTFUL = Culprit("host", 5, -1, "both", 0.6, 3.0, 18, 0, confirmed=False)


def added_rounds(monkeypatch, sight, suspected, refined=(), rounds=18, table=None):
    """The parameters of what follows ``rounds`` rounds of 64 hosts and some follow-ups."""
    spec = spec_of("n[1-64]", mode="group-testing", **(table or {}))
    names = tuple(f"n{number}" for number in range(1, 65))
    sights = {"round_trip_ns": (sight, 0.25)}
    verdict = Verdict(names, {}, "", rounds, 0, {}, (), tuple(suspected), {}, (), sights)
    monkeypatch.setattr(all_pairs_run, "open_run", lambda _: None)
    monkeypatch.setattr(all_pairs_run, "verdict_of", lambda _: verdict)
    done = [{"round": number} for number in range(rounds)]
    done += [{"pairs": [], "refined": look} for look in refined]
    rows = [planned_point(ALL_PAIRS, ALL_PAIRS, {"message_bytes": 16, **one}) for one in done]
    return [point.parameters for point in follow_ups(spec, Path(), rows, 7)]


def test_group_testing_goes_on_with_everybody_where_measurements_scatter(monkeypatch):
    added = added_rounds(monkeypatch, NOISY, [])
    assert [one["round"] for one in added] == list(range(18, 18 + len(added)))
    assert 18 + len(added) == rounds_to_screen([(NOISY, 0.25)], 64, 18) > 18
    assert added_rounds(monkeypatch, QUIET, []) == []


def test_group_testing_then_goes_on_with_suspects_in_a_few_looks(monkeypatch):
    for look in range(1, LOOKS):
        refined = range(1, look)
        added = added_rounds(monkeypatch, NOISY, [DOUBTFUL], refined, rounds=20)
        assert {one["refined"] for one in added} == {look}
        assert all(any(5 in pair for pair in one["pairs"]) for one in added)
        assert added_rounds(monkeypatch, NOISY, [], refined, rounds=20) == []
    assert added_rounds(monkeypatch, NOISY, [DOUBTFUL], range(1, LOOKS), rounds=20) == []


def test_whoever_says_how_many_rounds_gets_these_and_one_look(monkeypatch):
    table = {"rounds": 4, "follow_ups": 2}

    def added(suspected, refined=()):
        return added_rounds(monkeypatch, NOISY, suspected, refined, rounds=4, table=table)

    assert [one["refined"] for one in added([DOUBTFUL])] == [1, 1]
    assert added([DOUBTFUL], refined=(1,)) == []
    assert added([]) == []


def test_the_table_is_read_under_its_former_name_and_once_only() -> None:
    text = "[path]\nkind = 'hosts'\nhosts = ['a,b,c,d']\n"
    former, present = (parse_study(f"{text}[{name}]\ntime = '1s'", "f") for name in NAMES)
    assert former.tournament is not None
    assert former == present
    with pytest.raises(UsageError, match="tournament is given twice: all_pairs and tournament"):
        parse_study(f"{text}[all_pairs]\n[tournament]", "f")


NAMES = ("all_pairs", "tournament")
