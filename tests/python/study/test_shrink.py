"""Points of many hosts over those that are left."""

from __future__ import annotations

import pytest
from planned_points import planned_point

from netsonde.study.dropped import Failures
from netsonde.study.plan import PlannedPoint
from netsonde.study.shrink import shrunk_points

HOSTS = ["n1", "n2", "n3", "n4"]


def pattern(test: str = "incast", **parameters: object) -> PlannedPoint:
    point: PlannedPoint = planned_point("tcp", test, {"message_bytes": 64, **parameters})
    return point


def program(**parameters: object) -> PlannedPoint:
    given = {"message_bytes": 64, "ranks": 4, **parameters}
    point: PlannedPoint = planned_point("mpi", "collective", given)
    return point


def shrunk(
    point: PlannedPoint, *dead: str, planned=()
) -> tuple[list[PlannedPoint], dict[str, str]]:
    gone = dict.fromkeys(dead, "it does not answer")
    return shrunk_points([point], gone, {point.id: HOSTS}, [point, *planned])


def test_a_pattern_over_fewer_hosts_says_who_took_part():
    ((found,), refused) = shrunk(pattern(label="fast"), "n2")
    assert refused == {}
    assert found.id == "p002"
    assert found.parameters == {
        "message_bytes": 64,
        "without": ["n2"],
        "label": "fast; on n1, n3, n4",
        "label_before": "fast",
    }


def test_a_second_death_is_another_point_and_the_same_one_is_planned_once():
    ((first,), _) = shrunk(pattern(label="fast"), "n2")
    assert shrunk(pattern(label="fast"), "n2", planned=[first]) == ([], {})
    lost = PlannedPoint("p002", "tcp", "incast", first.spec)
    assert shrunk(lost, "n2") == ([], {})  # it failed for another reason
    ((second,), _) = shrunk(lost, "n2", "n4")
    assert second.parameters["without"] == ["n2", "n4"]
    assert second.parameters["label"] == "fast; on n1, n3"


@pytest.mark.parametrize(("transport", "more"), [("tcp", {}), ("mpi", {"ranks": 4})])
def test_all_pairs_are_of_the_hosts_that_are_left(transport, more):
    given = {"message_bytes": 64, "hosts": 4, "label": "4 hosts", **more}
    ((found,), refused) = shrunk(planned_point(transport, "all-pairs", given), "n3")
    assert refused == {}
    assert found.parameters["hosts"] == 3
    assert found.parameters["without"] == ["n3"]
    assert found.parameters["label"] == "4 hosts; on n1, n2, n4"


def test_an_mpi_program_has_as_many_ranks_as_its_hosts_hold():
    ((found,), _) = shrunk(program(total_bytes=256), "n4")
    assert found.parameters["ranks"] == 3
    assert found.parameters["total_bytes"] == 192
    assert found.parameters["label"] == "on n1, n2, n3"
    ((found,), _) = shrunk(program(ppn=2), "n1")
    assert found.parameters["ranks"] == 4  # a host that was not needed takes the place
    assert found.parameters["label"] == "on n2, n3"


@pytest.mark.parametrize(
    ("point", "dead", "words"),
    [
        (pattern("pairs"), ["n2"], "pairs needs an even number of hosts, and 3 are given"),
        (pattern("victim"), ["n2", "n3"], "victim needs at least 3 hosts"),
        (program(pair=[0, 3]), ["n2"], "it needs more than the 3 ranks that 3 hosts have"),
        (program(), ["n1", "n2", "n3"], "it needs more than the 1 ranks"),
    ],
)
def test_what_fewer_hosts_cannot_do_is_said(point, dead, words):
    found, refused = shrunk(point, *dead)
    assert found == []
    assert words in refused["p001"]


def test_a_dead_host_takes_all_points_of_many_hosts_and_a_living_one_none():
    points = [pattern()] * 4
    failures = Failures(
        lambda name: "it is down" if name == "n3" else None,
        drop=True,
        points=points,
        members=lambda _: tuple(HOSTS),
    )
    assert failures.note(points[0], "n3 does not answer") == ["n3"]
    assert failures.why_not(tuple(HOSTS)) == "n3 was dropped: it is down"
    assert failures.why_not(("n1", "n2")) is None
