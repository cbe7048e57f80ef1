"""What rules need of a run before they can judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from netsonde.catalogue.test import TESTS, Test
from netsonde.catalogue.transport import TRANSPORTS, Transport
from netsonde.experiments import BASE_LABEL
from netsonde.explain.data import Need, Seen
from netsonde.explain.evidence import tcp_streams
from netsonde.figures.packet_figures import link_rate_bit_per_s
from netsonde.records.counted import any_begins
from netsonde.records.data import EndData, Point, Run
from netsonde.records.timer import is_taken_off


def points_of(
    tests: Callable[[Test], bool] | None = None,
    transports: Callable[[Transport], bool] | None = None,
) -> Need:
    """At least one measured point of tests and of transports with these traits."""
    what = " or ".join(t.name for t in TESTS.values() if tests(t)) if tests else "test"
    titles = [t.title for t in TRANSPORTS.values() if transports and transports(t)]
    over = f" over {' or '.join(titles)}" if titles else ""

    def is_meant(point: Point) -> bool:
        return (tests is None or tests(point.kind)) and (
            transports is None or transports(point.carrier)
        )

    return Need(
        f"a measured {what}{over}",
        lambda seen: any(is_meant(point) for point in seen.run.points if point.batches),
        lambda seen: any(is_meant(point) for point in seen.run.points),
    )


def subject(words: str, is_there: Callable[[Seen], bool]) -> Need:
    """What a rule speaks of: it finds nothing in a run without."""
    return Need(words, is_there, is_there)


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


def _has_round_trips(seen: Seen) -> bool:
    return any(
        "round_trip_ns" in b.ends[0].series
        for p in seen.run.points
        for b in p.batches[:1]
        if b.ends.get(0)
    )


def _has_sizes(run: Run) -> bool:
    return len({p.message_bytes for p in run.points if p.kind.is_round_trip}) > 1


def _has_numa(seen: Seen) -> bool:
    hosts = (seen.run.manifest.get("hosts") or {}).values()
    return any(name.endswith(".numa_node") for facts in hosts for name in facts)


def _has_two_controls(seen: Seen) -> bool:
    named = {p.opened.get(0, {}).get("congestion_control") for p in tcp_streams(seen.run)}
    return len(named - {None}) > 1


PROCESSORS = counters("cpu.", "the time of each CPU around batches")
CONNECTION = counters("connection.test.", "the kernel's record of the test's connection (TCP_INFO)")
INTERFACE = counters("interface.", "the interfaces' counters around batches")
EXTENDED = counters("netstat.TcpExt.", "TCP's extended counters (netstat) around batches")
WAITS = counters("process.run_wait_ns", "how long the processes waited for a CPU")
STOPS = counters("process.continued", "how often a worker was stopped")
THROTTLING = counters("process.throttled_ns", "what quotas of the workers' control groups held")
QUEUES = counters("qdisc.", "the queueing disciplines' counters around batches")
INTERRUPTS = counters("interrupt.", "interrupts by device around batches")


EVENTS = subject(
    "events inside the hosts, each with its time (--kernel-trace)",
    lambda seen: any("event_kind" in end.series for _, end in _first_ends(seen)),
)
KERNEL_TRACE = subject(
    "a point measured with --kernel-trace",
    lambda seen: any(p.spec.chosen.depth for p in seen.run.points),
)
KERNEL_TIMES = subject(
    "a point measured with --kernel-times",
    lambda seen: any(p.spec.chosen.kernel_times for p in seen.run.points),
)
EXPERIMENTS = subject(
    "experiments, as `netsonde explain --probe` makes them",
    lambda seen: any(point.label == BASE_LABEL for point in seen.run.points),
)
SIZES = subject("round trips of several sizes", lambda seen: _has_sizes(seen.run))
LINK_RATE = Need(
    "the rate of the link, as it was set or as both cards state it",
    lambda seen: any(link_rate_bit_per_s(seen.run, p) for p in seen.run.points if p.batches),
)
FACTS = Need(
    "facts of the hosts", lambda seen: any((seen.run.manifest.get("hosts") or {}).values())
)
NUMA_NODES = Need(
    "the NUMA node of a card (the kernel tells it where there are several)", _has_numa
)
FACTS_OF_TWO = Need(
    "facts of two hosts or more",
    lambda seen: sum(bool(f) for f in (seen.run.manifest.get("hosts") or {}).values()) > 1,
)
ROUND_TRIPS = Need("round trips one by one", _has_round_trips)
TWO_CONTROLS = Need("TCP streams with two congestion controls or more", _has_two_controls)
FLOWS = points_of(lambda test: test.has_like_flows)
TCP_ROUND_TRIPS = points_of(lambda test: test.is_round_trip, lambda carrier: carrier.has_connection)
TCP_STREAM = points_of(lambda test: test.is_one_way_stream, lambda carrier: carrier.has_connection)
TCP_ROUNDS = points_of(lambda test: test.has_rounds, lambda carrier: carrier.has_connection)
UDP = points_of(transports=lambda carrier: carrier.counts_datagrams)
UDP_STREAM = points_of(
    lambda test: test.is_one_way_stream, lambda carrier: carrier.counts_datagrams
)
STREAM = points_of(lambda test: test.is_stream)
DUPLEX = points_of(lambda test: test.both_ways)
RANKS = points_of(transports=lambda carrier: carrier.has_ranks)
TASKS = points_of(transports=lambda carrier: carrier.has_tasks)
RANKS_CLOCKS = points_of(lambda test: test.compares_clocks, lambda carrier: carrier.has_ranks)
COLLECTIVE = points_of(lambda test: test.is_operation, lambda carrier: carrier.has_ranks)
SIMULATED = points_of(lambda test: test.is_simulated)
ROUNDS = points_of(lambda test: test.is_round)
THREADS = points_of(lambda test: test.has_threads)
TAKEN_OFF = subject(
    "times without what a reading of the timer takes",
    lambda seen: any(is_taken_off(point) for point in seen.run.points if point.batches),
)
