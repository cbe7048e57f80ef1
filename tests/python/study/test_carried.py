"""What carried messages between ranks of one node: told from counters, and where they do not tell,
not claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netsonde.compare.circumstances import differences, facts_of
from netsonde.errors import UsageError
from netsonde.explain.data import Seen
from netsonde.explain.layers import layers
from netsonde.explain.partners import inside_one_host
from netsonde.explain.run_rules import what_this_is
from netsonde.figures.compute import figures_of
from netsonde.records.carried import carried_by, carried_in_words
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot
from netsonde.report.circumstances import heading
from netsonde.report.lookup import Study
from netsonde.report.point_table import checks_in_words
from netsonde.report.quantity import group_digits
from netsonde.study.carried import carried_check
from netsonde.study.checks import check_point
from netsonde.study.spec import StudySpec
from netsonde.study.testbed import Testbed as Bed

PAYLOAD = 10_000


def point_of(
    batches: Sequence[dict[str, int]], other: str = "a", transport: str = "mpi", ranks: int = 2
) -> Point:
    """Of each batch what rank 0's interfaces sent, bytes, for 10,000 of payload in 100 trips."""
    made = []
    for index, sent in enumerate(batches):
        end = EndData(0, "a", counters={"bytes_sent": PAYLOAD, "messages_sent": 100})
        end.series["round_trip_ns"] = np.full(100, 2000, dtype=np.int64)
        end.before = Snapshot("before", 0, 0, dict.fromkeys(sent, 7))
        end.after = Snapshot("after", 1, 0, {name: 7 + grown for name, grown in sent.items()})
        ends = {0: end} | {rank: EndData(rank, other) for rank in range(1, ranks)}
        made.append(Batch(index, ends))
    return Point("p001", transport, "latency", {"message_bytes": 100}, "finished", batches=made)


def lo(sent: int) -> dict[str, int]:
    return {"interface.lo.tx_bytes": sent, "interface.eth0.tx_bytes": 0}


@pytest.mark.parametrize(
    ("batches", "by"),
    [
        ([lo(0), lo(0)], "memory"),
        ([lo(6_999)], "memory"),  # fewer than half of 10,000 and 40 for each of 100 trips
        ([lo(7_000)], "unknown"),
        ([lo(13_999)], "unknown"),
        ([lo(14_000), lo(90_000)], "loopback"),
        ([lo(90_000), lo(100)], "memory"),  # others sent in the first one
        ([lo(90_000), lo(9_000)], "unknown"),
        ([{}], "unknown"),
        ([lo(90_000), {}], "unknown"),
        ([], None),
        ([lo(0) | {"infiniband.mlx5_0.1.tx_bytes": 0}], "inside"),
        ([lo(0) | {"infiniband.mlx5_0.1.tx_bytes": 90_000}], "unknown"),
    ],
)
def test_counters_tell_what_carried(batches: list[dict[str, int]], by: str | None) -> None:
    found = carried_check(point_of(batches))
    assert (found and found["by"]) == by


@pytest.mark.parametrize("more", [{"other": "b"}, {"transport": "tcp"}, {"ranks": 1}])
def test_only_ranks_of_one_host_are_asked(more: dict[str, object]) -> None:
    assert carried_check(point_of([lo(0)], **more)) is None  # type: ignore[arg-type]


def test_the_largest_batch_that_says_so_is_the_evidence() -> None:
    found = carried_check(point_of([lo(300), lo(50_000)]))
    assert found == {"by": "memory", "interface": "lo", "interface_bytes": 300,
                     "least_bytes": 14_000}  # fmt: skip


def test_a_network_is_claimed_only_where_it_is_asked_for() -> None:
    point = point_of([lo(0)])
    free = check_point(point, {"kind": "node", "within": "memory"})
    assert "transport" not in free
    assert free["carried"]["by"] == "memory"
    asked = check_point(point, {"kind": "loopback", "within": "loopback"})
    assert asked["transport"]["verified"] is False
    assert check_point(point, {"kind": "network"})["transport"]["verified"] is False


def run_of(point: Point, kind: str, **path: str) -> Run:
    point.checks = check_point(point, {"kind": kind, **path})
    manifest = {"origin": "real", "path": {"kind": kind, **path}, "hosts": {"a": {}}}
    return Run(Path("x"), manifest, [point], True)


def test_title_page_and_findings_say_it() -> None:
    run = run_of(point_of([lo(30)]), "node", within="memory")
    assert heading(Study(run, [])).title == "MPI on a over shared memory of one node"
    (check,) = (c for c in checks_in_words(run.points[0].checks) if c.name == "carried")
    sent = f"30 of {group_digits(14_000)} bytes"
    assert check.text == f"over shared memory of one node: lo sent most, {sent}"
    (finding,) = what_this_is(Seen(run, []))
    assert "went over shared memory of one node" in finding.claim
    assert "14000 bytes" in finding.evidence
    assert "lo, the busiest interface, counted 30" in finding.evidence
    assert not list(inside_one_host(Seen(run, [])))


def test_what_counters_do_not_tell_is_not_claimed() -> None:
    run = run_of(point_of([{}]), "node", within="memory")
    assert "shared memory" not in heading(Study(run, [])).title
    assert not list(what_this_is(Seen(run, [])))


def test_a_run_of_before_the_check_has_what_its_bytes_crossed() -> None:
    point = point_of([lo(90_000)])
    point.checks = {"transport": {"verified": True, "interface": "lo"}}
    assert carried_in_words(carried_by([point])) == "TCP over loopback"
    point.checks = {"transport": {"verified": True, "interface": "eth0"}}
    assert carried_by([point]) == []


def test_a_comparison_says_that_the_ways_differ() -> None:
    memory = run_of(point_of([lo(0)]), "node", within="memory")
    loopback = run_of(point_of([lo(90_000)]), "loopback", within="loopback")
    found = {c.name: c for c in differences([facts_of(loopback)], [facts_of(memory)])}
    told = found["MPI on one node over"]
    assert (told.before, told.after) == ("TCP over loopback", "shared memory of one node")
    assert told.decisive
    assert not differences([facts_of(memory)], [facts_of(memory)])


def test_memory_is_no_layer_above_a_socket() -> None:
    """Over loopback MPI is what it adds to TCP; over memory it is left out, and that is said."""
    tcp = point_of([lo(90_000)], transport="tcp")
    claims = {}
    for name, sent in (("loopback", 90_000), ("memory", 0)):
        mpi = replace(point_of([lo(sent)]), id="p002")
        mpi.checks = check_point(mpi, {"kind": "loopback", "within": name})
        run = Run(Path("x"), {"path": {"kind": "loopback"}, "hosts": {}}, [tcp, mpi], True)
        (claims[name],) = layers(Seen(run, figures_of(run)))
    assert claims["loopback"].claim.endswith("TCP 2.000 µs, MPI 2.000 µs.")
    assert claims["loopback"].sides
    assert claims["memory"].claim.endswith("median: TCP 2.000 µs.")
    assert "MPI, 2.000 µs, went over shared memory of one node" in claims["memory"].evidence
    assert not claims["memory"].sides


def study(transports: list[str], **tables: dict[str, object]) -> StudySpec:
    block = {"transports": transports, "test": "latency", "sizes": "64"}
    return StudySpec.model_validate({"path": {"kind": "loopback"}, "measure": [block], **tables})


@pytest.mark.parametrize(
    ("transports", "mpi", "path"),
    [
        (["mpi"], {}, ("node", "memory")),
        (["mpi"], {"within": "loopback"}, ("loopback", "loopback")),
        (["tcp", "mpi"], {}, ("loopback", "memory")),
        (["tcp"], {}, ("loopback", None)),
    ],
)
def test_the_path_says_what_was_asked(
    transports: list[str], mpi: dict[str, object], path: tuple[str, str | None]
) -> None:
    with Bed(study(transports, mpi=mpi)) as testbed:
        assert (testbed.facts["kind"], testbed.facts.get("within")) == path


def test_loopback_within_several_hosts_is_refused() -> None:
    asked: dict[str, object] = {"within": "loopback", "hosts": ["a", "b"]}
    with pytest.raises((UsageError, ValueError), match="within = 'loopback' is of ranks on one"):
        study(["mpi"], mpi=asked)
    assert study(["mpi"], mpi={**asked, "hosts": ["a"]}).mpi.within == "loopback"
