"""Hosts were named, and all ranks are on one: no network is in the figures, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from netsonde.explain.data import Seen
from netsonde.explain.partners import inside_one_host
from netsonde.records.data import Batch, EndData, Point, Run


def point(number: int, test: str, hosts: str, **more: object) -> Point:
    ends = {rank: EndData(rank, host) for rank, host in enumerate(hosts)}
    given = {"message_bytes": 8, "operation": "bcast", **more}
    return Point(f"p{number}", "mpi", test, given, "finished", batches=[Batch(0, ends)])


@pytest.mark.parametrize(
    ("kind", "points", "named"),
    [
        ("hosts", [("latency", "aa", {})], "MPI tests were inside of one host (a)"),
        ("hosts", [("collective", "aaa", {}), ("latency", "ab", {})], "1 of the MPI tests were"),
        ("hosts", [("collective", "ab", {})], None),
        ("loopback", [("latency", "aa", {})], None),
        ("hosts", [("latency", "aa", {"pair": [0, 1]})], None),
        ("hosts", [("latency", "aa", {"ppn": 2}), ("latency", "ab", {"ppn": 1})], None),
        ("hosts", [("latency", "aa", {"ppn": 2})], "MPI tests were inside"),
        ("hosts", [("collective", "a", {})], None),
        ("hosts", [("clock", "aa", {})], None),
    ],
)
def test_one_host_is_no_network(kind: str, points: list, named: str | None) -> None:  # type: ignore[type-arg]
    made = [point(n, test, hosts, **more) for n, (test, hosts, more) in enumerate(points)]
    run = Run(Path("x"), {"path": {"kind": kind}, "hosts": {}}, made, True)
    found = list(inside_one_host(Seen(run, [])))
    assert len(found) == (0 if named is None else 1)
    if named is not None:
        assert named in found[0].claim
        assert found[0].level == "warning"
