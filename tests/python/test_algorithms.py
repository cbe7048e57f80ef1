"""Algorithms that ranks execute: the list, how they are named, and what becomes points."""

from __future__ import annotations

from typing import Any

import pytest

from netsonde.catalogue.point import AskedSchedule
from netsonde.errors import HostError, UsageError
from netsonde.launch.schedules import ask_schedules
from netsonde.operations import Operation, operations
from netsonde.records.data import Point
from netsonde.report.lookup import point_label
from netsonde.schedules.algorithms import ALGORITHMS, named_ways, schedule_of
from netsonde.study.plan import PlannedPoint, plan_points
from netsonde.study.spec import StudySpec

ALLTOALL, ALLREDUCE = operations()["alltoall"], operations()["allreduce"]
CHOSEN = {"segment_bytes", "hierarchy", "remap", "permutation", "fan_out", "window"}
"""Uses that can be chosen for an algorithm; sizes and the root are the operation's."""


def plan(**measure: Any) -> list[PlannedPoint]:
    block = {"transports": "mpi", "test": "collective", "sizes": "64", **measure}
    return plan_points(StudySpec.model_validate({"mpi": {"ranks": 4}, "measure": [block]}))


@pytest.mark.worker
def test_sonde_sim_has_the_same_algorithms() -> None:
    try:
        told = list(ask_schedules({"verb": "list"}))
    except HostError as error:
        pytest.skip(str(error))
    theirs = {
        row["algorithm"]: (set(row["uses"]) & CHOSEN, row["commutative"])
        for row in told
        if row.get("record") == "algorithm"
    }
    ours = {f"{row.family}/{row.name}": (set(row.uses), row.commutative) for row in ALGORITHMS}
    assert list(theirs) == list(ours)
    assert theirs == ours


def test_each_family_is_some_operations() -> None:
    families = {operation.schedules for operation in operations().values()} - {""}
    assert families == {row.family for row in ALGORITHMS}


def test_names_and_settings() -> None:
    assert schedule_of(None, ALLTOALL) is None
    assert schedule_of("native", ALLTOALL) is None
    assert schedule_of("pairwise", ALLTOALL) == AskedSchedule(algorithm="alltoall/pairwise")
    asked = schedule_of("group-shuffle:4:segment=1k:permutation=xor", ALLTOALL)
    assert asked is not None
    assert (asked.fan_out, asked.segment_bytes, asked.permutation) == (4, 1024, "xor")
    asked = schedule_of("modified-shuffle:window=12:hierarchy=4x2:remap", ALLTOALL)
    assert asked is not None
    assert (asked.window, asked.hierarchy, asked.remap) == (12, (4, 2), True)


def test_all_is_what_an_operation_can_have() -> None:
    assert named_ways("all", ALLREDUCE) == ["native", "recursive-doubling", "rabenseifner", "ring"]
    assert named_ways("all", ALLREDUCE, commutes=False) == ["native", "recursive-doubling"]
    assert named_ways("ring,all,ring", ALLREDUCE)[:2] == ["ring", "native"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("pairwize", "did you mean pairwise?"),
        ("ring", "is no algorithm for alltoall"),
        ("bruck:4", "it takes none"),
        ("pairwise:window=3", "it takes segment, hierarchy, remap"),
        ("group-shuffle:0", "from 1 on"),
        ("group-shuffle:4:fan-out=5", "twice"),
        ("modified-shuffle:window", "write it like window=..."),
        ("modified-shuffle:remap", "needs a hierarchy"),
        ("pairwise:segment=much", "size"),
        ("synchronous-shuffle:permutation=odd", "edge-colour"),
        ("", "is no algorithm"),
        ("pairwise:", "is no setting"),
    ],
)
def test_what_is_none_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=r"(?s).") as caught:
        schedule_of(text, ALLTOALL)
    assert told in str(caught.value)


def test_points_say_the_algorithm_and_ask_for_it() -> None:
    points = plan(operations="alltoall", vary={"algorithm": ["native", "pairwise"]})
    asked = {str(p.spec.asked_of_worker().get("schedule")) for p in points}
    assert asked == {"None", "{'algorithm': 'alltoall/pairwise'}"}
    (point,) = plan(operations="alltoall", algorithm="bruck")
    assert point.spec.label is None


def test_names_of_the_library() -> None:
    def listing(operation: Operation) -> list[str]:
        return ["brucks", "pairwise"] if operation is ALLTOALL else []

    assert named_ways("native,library:all", ALLTOALL, listing=listing) == [
        *("native", "library:brucks", "library:pairwise")
    ]
    assert named_ways("library:brucks,bruck", ALLTOALL, listing=listing)[1] == "bruck"
    for text, told in (
        ("library:bruks", "did you mean brucks?"),
        ("library:", "names no algorithm"),
        ("library:a b", "names no algorithm"),
    ):
        with pytest.raises(UsageError) as caught:
            named_ways(text, ALLTOALL, listing=listing)
        assert told in str(caught.value)
    with pytest.raises(UsageError, match="no variable"):
        named_ways("library:ring", ALLREDUCE, listing=listing)
    with pytest.raises(UsageError, match="needs one MPI"):
        named_ways("library:all", ALLTOALL)
    assert named_ways("library:ring", ALLTOALL) == ["library:ring"]  # each MPI has its own


def test_points_say_the_librarys_algorithm() -> None:
    (point,) = plan(operations="scan", algorithm="library:smp")
    asked = point.spec.asked_of_worker()
    assert asked["library_algorithm"] == "smp"
    assert "schedule" not in asked


def test_other_operations_have_none() -> None:
    for operation in ("scan", "iallreduce", "send", "allreduce_init"):
        with pytest.raises((ValueError, UsageError), match="algorithm"):
            plan(operations=operation, algorithm="ring")


def test_a_label_says_it_once() -> None:
    for spec_label, shown in ((None, "ring"), ("algorithm ring", "algorithm ring")):
        (planned,) = plan(operations="allreduce", algorithm="ring", label=spec_label)
        point = Point("p001", "mpi", "collective", planned.spec.to_json())
        assert point_label(point).count("ring") == 1, point_label(point)
        assert shown in point_label(point)
