"""What rules need of a run before they can judge."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.catalogue.test import names_of
from netsonde.explain.data import Need, Seen
from netsonde.figures.packet_figures import link_rate_bit_per_s
from netsonde.records.counted import any_begins
from netsonde.records.data import EndData, Point


def points_of(transport: str | None = None, *tests: str) -> Need:
    """At least one measured point of that transport and of one of these tests."""
    what = " or ".join(tests) if tests else "test"
    over = f" over {transport.upper()}" if transport else ""

    def is_met(seen: Seen) -> bool:
        found = seen.run.select(transport)
        return any(not tests or point.test in tests for point in found if point.batches)

    return Need(f"a measured {what}{over}", is_met)


def _first_ends(seen: Seen) -> Iterator[tuple[Point, EndData]]:
    """The ends of the first batch of every point: what was read once was read always."""
    for point in seen.run.points:
        if point.batches:
            for end in point.batches[0].ends.values():
                yield point, end


def counters(prefix: str, words: str) -> Need:
    """Counters of the system whose names begin so, read around batches."""

    def is_met(seen: Seen) -> bool:
        return any(
            end.before is not None and any_begins(end.before.values, prefix)
            for _, end in _first_ends(seen)
        )

    return Need(words, is_met)


def _has_link_rate(seen: Seen) -> bool:
    return any(link_rate_bit_per_s(seen.run, p) for p in seen.run.points if p.batches)


def _has_facts(seen: Seen) -> bool:
    return any((seen.run.manifest.get("hosts") or {}).values())


def _has_facts_of_two(seen: Seen) -> bool:
    return sum(bool(f) for f in (seen.run.manifest.get("hosts") or {}).values()) > 1


def _has_round_trips(seen: Seen) -> bool:
    return any(
        "round_trip_ns" in b.ends[0].series
        for p in seen.run.points
        for b in p.batches[:1]
        if b.ends.get(0)
    )


def _has_numa(seen: Seen) -> bool:
    hosts = (seen.run.manifest.get("hosts") or {}).values()
    return any(name.endswith(".numa_node") for facts in hosts for name in facts)


def _has_two_controls(seen: Seen) -> bool:
    named = {
        p.opened.get(0, {}).get("congestion_control") for p in seen.run.select("tcp", "stream")
    }
    return len(named - {None}) > 1


PROCESSORS = counters("cpu.", "the time of each processor around batches")
CONNECTION = counters("connection.test.", "the kernel's record of the test's connection (TCP_INFO)")
INTERFACE = counters("interface.", "the interfaces' counters around batches")
PROTOCOLS = counters("snmp.", "the protocols' counters around batches")
EXTENDED = counters("netstat.TcpExt.", "TCP's extended counters (netstat) around batches")
WAITS = counters("process.run_wait_ns", "how long the processes waited for a processor")
STOPS = counters("process.continued", "how often a worker was stopped")
THROTTLING = counters("process.throttled_ns", "what quotas of the workers' control groups held")
QUEUES = counters("qdisc.", "the queueing disciplines' counters around batches")
INTERRUPTS = counters("interrupt.", "interrupts by device around batches")


def _has_depth(seen: Seen) -> bool:
    return any((p.parameters.get("options") or {}).get("depth") for p in seen.run.points)


def _has_events(seen: Seen) -> bool:
    return any("event_kind" in end.series for _, end in _first_ends(seen))


EVENTS = Need("events inside the hosts, each with its time (--kernel-trace)", _has_events)
DEPTH = Need("a point measured with --kernel-trace", _has_depth)
LINK_RATE = Need("the rate of the link, as it was set or as both cards state it", _has_link_rate)
FACTS = Need("facts of the hosts", _has_facts)
NUMA_NODES = Need(
    "the NUMA node of a card (the kernel tells it where there are several)", _has_numa
)
FACTS_OF_TWO = Need("facts of two hosts or more", _has_facts_of_two)
ROUND_TRIPS = Need("round trips one by one", _has_round_trips)
TWO_CONTROLS = Need("TCP streams with two congestion controls or more", _has_two_controls)
FLOWS = points_of(None, *names_of("has_like_flows"))
TCP_STREAM = points_of("tcp", "stream")
UDP_STREAM = points_of("udp", "stream")
STREAM = points_of(None, "stream", "duplex")
DUPLEX = points_of(None, "duplex")
COLLECTIVE = points_of("mpi", "collective")
