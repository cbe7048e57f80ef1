"""Hosts that are given up, and points that are measured at the same time."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned_points import planned_point
from sweep_fakes import FakeSession, FakeTestbed, Silent, World, live_in

from netsonde.errors import HostError, UsageError
from netsonde.records.rundir import open_run
from netsonde.report.point_table import checks_in_words
from netsonde.study import execute
from netsonde.study.dropped import Failures, groups_at_once, pair_of
from netsonde.study.execute import resume_study, start_study
from netsonde.study.placed import between_hosts
from netsonde.study.plan import PlannedPoint
from netsonde.study.spec import StudySpec, parse_study

PAIRS = ["n1,n2", "n3,n4", "n1,n3", "n2,n4"]


def spec(**path: object) -> StudySpec:
    block = {"transports": "tcp", "test": "latency", "sizes": "1..64"}
    table = {"kind": "hosts", "between": PAIRS, **path}
    return StudySpec.model_validate({"path": table, "seed": 1, "measure": [block]})


def point(number: int, pair: tuple[str, str], launch: int = 1) -> PlannedPoint:
    given = {"between": list(pair), "launch": launch, "message_bytes": number}
    point: PlannedPoint = planned_point("tcp", "latency", given, f"p{number:03d}")
    return point


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 12), st.integers(1, 60), st.integers(1, 8), st.integers(0, 2**32))
def test_groups_have_every_point_once_and_no_host_twice(hosts, count, most, seed):
    rng = random.Random(seed)
    points = [
        point(i, tuple(rng.sample([f"n{h}" for h in range(hosts)], 2)), 1 + rng.randrange(2))  # type: ignore[arg-type]
        for i in range(count)
    ]
    places = {f"n{h}": f"s{h % 3}" for h in range(hosts)}
    groups = groups_at_once(points, most, places)
    assert sorted(p.id for group in groups for p in group) == [p.id for p in points]
    for group in groups:
        names = [name for p in group for name in pair_of(p)]
        assert len(group) <= most
        assert len(names) == len(set(names))
        assert len({p.parameters["launch"] for p in group}) == 1
        crossing = [p for p in group if len({places[n] for n in pair_of(p)}) > 1]
        assert len(crossing) <= 1
    first = [points.index(group[0]) for group in groups]
    assert all(a < b for a, b in pairwise(first))


def test_points_without_two_named_hosts_are_measured_one_by_one():
    points = [planned_point("tcp", "stream", {"message_bytes": 1}, f"p{i}") for i in range(5)]
    assert groups_at_once(points, 8, {}) == [[p] for p in points]


class DyingTestbed(FakeTestbed):  # type: ignore[misc]
    """Hosts of ``dead`` start nothing."""

    dead: set[str] = set()  # noqa: RUF012

    def open(self, point):
        for name in point.parameters["between"]:
            if name in self.dead:
                raise HostError(f"{name} does not answer")
        return FakeSession()

    def open_beside(self, point):
        session = self.open(point)
        session.close = lambda: None
        return session

    def problem_of(self, name):
        return f"{name}: it does not answer" if name in self.dead else None


@pytest.mark.parametrize("concurrent", [1, 2])
def test_a_dead_host_is_dropped_and_the_rest_goes_on(tmp_path, monkeypatch, concurrent):
    live_in(monkeypatch, World(lambda size: 20_000 + size))
    monkeypatch.setattr(execute, "Testbed", DyingTestbed)
    monkeypatch.setattr(DyingTestbed, "dead", {"n4"})
    said: list[str] = []
    listening = Silent()
    listening.notice = said.append
    study = spec(concurrent=concurrent)
    outcome = start_study(study, tmp_path, ["netsonde"], listening)
    run = open_run(outcome.directory)
    status = {p.id: (p.status, "n4" in p.parameters["between"]) for p in run.points}
    assert set(status.values()) == {("finished", False), ("failed", True)}
    assert said == ["n4 is dropped, its points are left out: it does not answer"]
    assert not run.finished
    entries = [json.loads(x) for x in (outcome.directory / "journal.jsonl").open()]
    assert [e["host"] for e in entries if e["entry"] == "host_dropped"] == ["n4"]
    started = [e["point"] for e in entries if e["entry"] == "point_started"]
    assert sum(status[p][1] for p in started) <= concurrent  # the others are not even tried
    assert "n4 was dropped: it does not answer" in {p.error for p in run.points}
    if concurrent == 2:
        beside = [p for p in run.points if p.checks.get("beside")]
        assert beside
        for one in beside:
            (other,) = one.checks["beside"]
            names = {*one.parameters["between"]}
            assert checks_in_words(one.checks)[-1].text == f"at the same time as {other}"
            assert not names & {*next(p for p in run.points if p.id == other).parameters["between"]}

    monkeypatch.setattr(DyingTestbed, "dead", set())
    again = resume_study(study, outcome.directory, Silent())
    assert not again.failures
    assert all(p.status == "finished" for p in open_run(outcome.directory).points)


def test_asked_to_stop_a_study_stops(tmp_path, monkeypatch):
    live_in(monkeypatch, World(lambda size: 20_000 + size))
    monkeypatch.setattr(execute, "Testbed", DyingTestbed)
    monkeypatch.setattr(DyingTestbed, "dead", {"n1", "n4"})
    with pytest.raises(HostError, match="does not answer"):
        start_study(spec(on_dead_host="stop"), tmp_path, ["netsonde"], Silent())


def test_a_study_without_two_living_hosts_ends(tmp_path, monkeypatch):
    live_in(monkeypatch, World(lambda size: 20_000 + size))
    monkeypatch.setattr(execute, "Testbed", DyingTestbed)
    monkeypatch.setattr(DyingTestbed, "dead", {"n1", "n4"})
    with pytest.raises(HostError, match="no two hosts are left"):
        start_study(spec(), tmp_path, ["netsonde"], Silent())


def test_a_pair_that_fails_three_times_is_dropped_though_both_hosts_live():
    points = [point(i, ("a", "b") if i < 6 else ("c", "d")) for i in range(12)]
    failures = Failures(lambda _: None, drop=True, points=points)
    for one in points[:3]:
        assert failures.why_not(("a", "b")) is None
        failures.note(one, "no route")
    assert "a and b were dropped after 3 failed points in a row" in str(
        failures.why_not(("a", "b"))
    )
    assert failures.why_not(("c", "d")) is None


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ('between = ["n1"]', "'n1' is not two hosts"),
        ('between = ["n1,n1"]', "is not two hosts"),
        ('between = ["n1,n2", "n[1-2]"]', "between has a pair twice"),
        ('between = ["n1,n2"]\nhosts = ["n3"]', "between and hosts both say"),
        ("concurrent = 2", "concurrent goes with between"),
        ('kind = "loopback"\nbetween = ["n1,n2"]', "has this one only"),
    ],
)
def test_pairs_that_cannot_be(path, words):
    block = '[[measure]]\ntransports = "tcp"\ntest = "latency"\nsizes = "1"'
    with pytest.raises(UsageError, match=words):
        parse_study(f"[path]\n{path}\n{block}", "x")


def test_mpi_and_patterns_know_no_pairs():
    block = '[[measure]]\ntransports = "{}"\ntest = "{}"\nsizes = "1"'
    for transport, test in (("mpi", "latency"), ("tcp", "incast")):
        with pytest.raises(UsageError, match="between is of tests between two hosts"):
            parse_study(f'[path]\nbetween = ["a,b"]\n{block.format(transport, test)}', "x")


def test_hosts_of_the_command_line_do_not_replace_pairs(tmp_path):
    with pytest.raises(UsageError, match=r"--hosts and between of .*x.toml do not go together"):
        between_hosts(spec(), "n1,n2", tmp_path / "x.toml")
