"""Algorithms that ranks execute: the list, how they are named, and what becomes points."""

from __future__ import annotations

from typing import Any

import pytest

from netsonde.catalogue.point import AskedFrames, AskedSchedule
from netsonde.errors import HostError, UsageError
from netsonde.launch.schedules import ask_schedules
from netsonde.operations import Operation, operations
from netsonde.records.data import Point
from netsonde.report.lookup import point_label
from netsonde.schedules.algorithms import ALGORITHMS, frames_of, named_ways, schedule_of
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
        ("bruck:4", "no setting of bruck; it takes over, driver"),
        ("pairwise:window=3", "it takes segment, hierarchy, remap"),
        ("group-shuffle:0", "from 1 on"),
        ("group-shuffle:4:fan-out=5", "twice"),
        ("modified-shuffle:window", "write it like window=..."),
        ("modified-shuffle:remap", "needs a hierarchy"),
        ("pairwise:segment=much", "size"),
        ("synchronous-shuffle:permutation=odd", "edge-colour"),
        ("", "is no algorithm"),
        ("pairwise:", "is no setting"),
        ("pairwise:over=tcp", "there is link"),
        ("pairwise:wait=spin", "add over=link"),
        ("pairwise:over=link:flow-window=5000", "1 to 4096"),
        ("pairwise:over=link:timeout=1ns", "10000 to"),
        ("pairwise:over=link:driver=dpdk", "packet, ring and xdp"),
        ("pairwise:port-buffer=45", "no setting of pairwise"),
        ("modified-shuffle:port-buffer=mine.json", "write packets, as 45"),
    ],
)
def test_what_is_none_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=r"(?s).") as caught:
        schedule_of(text, ALLTOALL)
    assert told in str(caught.value)


def test_frames_carry_what_is_asked_over_them() -> None:
    assert frames_of("native", ALLTOALL) is None
    assert frames_of("pairwise", ALLTOALL) is None
    asked = frames_of("bruck:over=link:flow-window=8:timeout=30ms:wait=hybrid:driver=xdp", ALLTOALL)
    assert asked == AskedFrames(
        reliable=True, window_packets=8, timeout_ns=30_000_000, wait="hybrid", driver="xdp"
    )
    assert schedule_of("bruck:over=link", ALLTOALL) == schedule_of("bruck", ALLTOALL)
    (point,) = plan(operations="alltoall", algorithm="pairwise:over=link")
    assert point.spec.asked_of_worker()["frames"] == {"reliable": True}


@pytest.mark.parametrize(
    ("settings", "message_bytes", "packets"),
    [
        ("uplink-buffer=45", 1448, 45),
        ("uplink-buffer=45", 1449, 22),  # of two frames
        ("uplink-buffer=45:segment=1448", 65_536, 45),
        ("uplink-buffer=45:segment=16k", 65_536, 3),
        ("uplink-buffer=45:segment=16k", 100, 45),  # a block that is smaller
        ("uplink-buffer=45:segment=1492:over=link", 65_536, 45),  # a frame of the link carries it
        ("uplink-buffer=45:segment=1492:over=link:fragment=746", 65_536, 22),
    ],
)
def test_buffers_of_frames_are_windows_of_messages(
    settings: str, message_bytes: int, packets: int
) -> None:
    asked = schedule_of(f"modified-shuffle:hierarchy=4x2:{settings}", ALLTOALL, message_bytes)
    assert asked is not None
    assert asked.uplink_buffer_packets == (packets,)


def test_a_message_larger_than_the_buffer_is_refused() -> None:
    with pytest.raises(UsageError, match=r"65536 bytes is 46 frames.* segment=1448"):
        schedule_of("modified-shuffle:hierarchy=4x2:uplink-buffer=45", ALLTOALL, 65_536)


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
