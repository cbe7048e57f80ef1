"""Points of a run, asked for by the traits of their rows."""

from __future__ import annotations

from pathlib import Path

from netsonde.records.data import Batch, Point, Run


def _point(id_: str, transport: str, test: str, size: int, **more: object) -> Point:
    parameters = {"message_bytes": size, **more}
    return Point(id_, transport, test, parameters, batches=[Batch(0, {})])


def _run(*points: Point) -> Run:
    return Run(Path("made"), {"origin": "real"}, list(points), True)


def test_points_are_chosen_by_trait_and_come_by_size() -> None:
    run = _run(
        _point("a", "mpi", "collective", 1024, operation="bcast"),
        _point("b", "tcp", "stream", 64),
        _point("c", "mpi", "collective", 8, operation="bcast"),
        _point("d", "mpi", "latency", 8),
    )
    run.points.append(Point("e", "mpi", "collective", {"message_bytes": 1}))  # not measured
    assert [p.id for p in run.of_operations] == ["c", "a"]
    assert [p.id for p in run.where(lambda p: p.carrier.has_ranks)] == ["c", "d", "a"]
    assert [p.id for p in run.where(lambda p: p.carrier.has_connection)] == ["b"]


def test_a_point_without_a_key_is_as_if_it_had_not_been_asked_for() -> None:
    point = _point("a", "mpi", "latency", 8, ppn=4, launch=2)
    plain = point.but_for("ppn")
    assert (plain.spec.ppn, plain.spec.launch, plain.message_bytes) == (None, 2, 8)
    assert (point.spec.ppn, plain.id) == (4, "a")
