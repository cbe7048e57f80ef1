"""What looks like a fault and is none: own links, a machine that was taken, few CPUs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from mpi_points import made_run, operation_point

from netsonde.catalogue.test import TESTS
from netsonde.explain.data import Seen
from netsonde.explain.guidelines import violated_guidelines
from netsonde.explain.mpi_ranks import more_than_processors
from netsonde.explain.rate_rules import faster_than_the_link
from netsonde.figures.compute import figures_of
from netsonde.patterns import PATTERNS, flows_of
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot

GBIT = 10**9
PATH = {"kind": "lab", "rate_bit_per_s": GBIT, "burst_bytes": 65536}


def pattern_point(pattern, hosts, bit_per_s):
    """Every flow at that rate for a second."""
    ends = {}
    for flow, (origin, target) in enumerate(flows_of(pattern, hosts)):
        for rank, host, way in ((2 * flow, origin, "sent"), (2 * flow + 1, target, "received")):
            counters = {"start_ns": 0, "end_ns": 10**9, "sync_round_trip_ns": 0}
            counters |= {"drained_ns": 10**9, "messages_sent": 1000, "messages_received": 1000}
            counters[f"bytes_{way}"] = int(bit_per_s / 8)
            ends[rank] = EndData(rank, f"h{host + 1}", {}, counters)
    parameters = {"message_bytes": 65536, "interval": 0.01, "streams": len(ends) // 2}
    return Point("p001", "tcp", pattern, parameters, "finished", batches=[Batch(0, ends)])


def faster(point):
    run = Run(Path("runs/x"), {"origin": "emulated", "path": PATH}, [point], True)
    return list(faster_than_the_link(Seen(run, figures_of(run))))


@pytest.mark.parametrize("pattern", [p for p in PATTERNS if TESTS[p].takes_rate and p != "victim"])
def test_flows_are_held_against_the_links_that_they_share(pattern):
    """At 0.9 of a link's rate for each flow only those that share a link are above it."""
    hosts = 4
    flows = flows_of(pattern, hosts)
    links = Counter((way, host) for flow in flows for way, host in enumerate(flow))
    shared = max(links.values())
    assert faster(pattern_point(pattern, hosts, 0.9 * GBIT / shared)) == []
    assert faster(pattern_point(pattern, hosts, 1.5 * GBIT / shared)) != []


@pytest.mark.parametrize(
    ("lasts_ns", "is_faster"), [((10**9, 5 * 10**8), False), ((5 * 10**8,) * 2, True)]
)
def test_rates_of_flows_that_end_apart_do_not_add_up(lasts_ns, is_faster):
    """One has 0.6 of the link while the other is there, and more of it afterwards."""
    point = pattern_point("outcast", 3, 0.6 * GBIT)
    for rank, end in point.batches[0].ends.items():
        end.counters["end_ns"] = end.counters["drained_ns"] = lasts_ns[rank // 2]
        for name in ("bytes_sent", "bytes_received"):
            end.counters[name] = int(0.4 * GBIT / 8)
    assert bool(faster(point)) is is_faster


def violating(*, busy_s=0.0, allowed="0-15", launches=1):
    """An allreduce that takes four times reduce and bcast, on a machine of 16 CPUs."""
    points = list[Point]()
    for launch in range(1, launches + 1):
        for operation, us in (("allreduce", 84.0), ("reduce", 10.0), ("bcast", 11.0)):
            job = {"mpi": "mpich", "launch": launch} if launches > 1 else {}
            number = len(points) + 1
            points.append(operation_point(operation, 4096, us, number=number, **job))
    for end in (end for p in points for b in p.batches for end in b.ends.values()):
        counted = {"cpu.all.user": int(100 * busy_s), "cpu.all.idle": 400 - int(100 * busy_s)}
        rate = {"system.jiffies_per_s": 100}
        end.before = Snapshot("before", 0, 0, {**dict.fromkeys(counted, 0), **rate})
        end.after = Snapshot("after", 2 * 10**9, 0, {**counted, **rate})
    run = made_run(*points)
    run.manifest["hosts"] = {f"h{rank}": {"cpu.allowed": allowed} for rank in range(4)}
    return run


def accused(run):
    found = list(violated_guidelines(Seen(run, figures_of(run))))
    return next(f for f in found if "allreduce of 4k" in f.claim)


def test_a_library_is_accused_where_it_was_measured_again_on_a_free_machine():
    once, again = accused(violating()), accused(violating(launches=3))
    assert (once.level, once.confidence) == ("note", "possible")
    assert (again.level, again.confidence) == ("warning", "certain")
    assert "each of 3 times" in again.evidence


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"busy_s": 3.0}, "others used"), ({"allowed": "0-1"}, "more ranks than CPUs")],
)
@pytest.mark.parametrize("launches", [1, 3])
def test_a_library_is_not_accused_where_the_machine_was_taken(fields, words, launches):
    found = accused(violating(launches=launches, **fields))
    assert (found.level, found.confidence) == ("note", "possible")
    assert words in found.evidence


def test_a_violation_that_one_of_three_launches_shows_is_none():
    run = violating(launches=3)
    for point in run.points[3:]:
        if point.operation == "allreduce":
            for end in point.batches[0].ends.values():
                end.series["duration_ns"] = end.series["duration_ns"] // 5
    assert not any("allreduce of 4k" in f.claim for f in violated_guidelines(
        Seen(run, figures_of(run))))  # fmt: skip


def test_processes_that_were_bound_apart_leave_a_lab_its_processors():
    """What the two hosts of a lab say is of the ends of a test of sockets."""
    run = violating()
    run.manifest["origin"] = "emulated"
    for point in run.points:
        point.parameters["ranks"] = 2
        for batch in point.batches:
            for rank in [r for r in batch.ends if r > 1]:
                del batch.ends[rank]
    for allowed, is_found in ((("0", "1"), False), (("0", "0"), True)):
        run.manifest["hosts"] = {
            f"h{i}": {"cpu.allowed": words, "cpu.count": 2} for i, words in enumerate(allowed)
        }
        assert bool(list(more_than_processors(Seen(run, [])))) == is_found


@pytest.mark.parametrize(("ranks", "allowed"), [(2, "0"), (4, "0-1"), (32, "0,1"), (3, "4-5")])
def test_more_ranks_than_processors_are_found_in_any_run(ranks, allowed):
    run = made_run(operation_point("allreduce", 64, 9.0, ranks=ranks))
    run.manifest["hosts"] = {f"h{rank}": {"cpu.allowed": allowed} for rank in range(ranks)}
    (found,) = more_than_processors(Seen(run, []))
    assert f"{ranks} ranks" in found.evidence
    assert "all hosts of the lab share" in found.evidence
    enough = {"cpu.allowed": f"0-{ranks - 1}"}
    run.manifest["hosts"] = {f"h{rank}": enough for rank in range(ranks)}
    assert list(more_than_processors(Seen(run, []))) == []


def test_ranks_that_netsonde_bound_to_a_processor_each_are_not_more_than_those():
    run = made_run(operation_point("allreduce", 64, 9.0, ranks=2))
    run.manifest["hosts"] = {
        f"h{rank}": {"cpu.allowed": str(rank), "cpu.count": 2, "mpi.binding": f"rank {rank} on 0"}
        for rank in range(2)
    }
    assert list(more_than_processors(Seen(run, []))) == []
