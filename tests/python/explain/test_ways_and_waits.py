"""Causes at the ends' own processes, queues and settings, and on the way: each is found by its
counters, at its place, and a rival's counters take it away."""

import numpy as np
import pytest
from test_fault_rules import (
    FACTS,
    HOSTS,
    LAB,
    S,
    card,
    datagrams,
    end,
    found,
    made_run,
    narrow,
    point,
    round_trips,
    stream,
    use,
)

from netsonde.explain.loss_rules import locate_datagrams
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of

MS = 10**6
RUNNING = {"process.run_wait_ns": 0, "process.throttled_ns": 0, "process.continued": 0}
STOLEN = {"cpu.all.steal": 38, "cpu.all.user": 20, "cpu.all.idle": 42}
LINK_1G = LAB | {"rate_bit_per_s": 10**9}


def queue(rate=None, delay=0, jitter=0, kinds="tbf"):
    facts = {"interface.v0.queueing": kinds}
    settings = {"rate_bit_per_s": rate, "delay_ns": delay, "jitter_ns": jitter}
    return FACTS | facts | {f"interface.v0.queueing_{n}": v for n, v in settings.items() if v}


# ------------------------------------------------------------------ the sender's own queue


@pytest.mark.parametrize(
    ("set_to", "kinds", "overlimits", "place"),
    [
        (300e6, "tbf", 0, "sender kernel"),
        (1e9, "tbf", 50_000, "network"),  # the link's own shaper
        (None, "htb fq_codel", 50_000, "sender kernel"),
        (None, "fq_codel", 0, "network"),
        (600e6, "tbf", 0, "network"),  # the stream does not come near it
    ],
)
def test_a_shaper_is_at_the_host_that_has_it(set_to, kinds, overlimits, place):
    more = {"qdisc.v0.sent_packets": 100_000, "qdisc.v0.overlimits": overlimits}
    made = narrow([288e6] * 6, round_trips=[12 * MS] * 5, more=more)
    hosts = {"h1": queue(set_to, kinds=kinds), "h2": FACTS}
    (finding,) = found(made, kind="bottleneck", hosts=hosts, path=LINK_1G)
    assert finding.place == place
    assert ("own queue" in finding.claim) == (place == "sender kernel")


def test_a_shaper_that_waits_vary_before_is_still_the_shaper():
    """Its bucket fills while a busy machine rests, so batches have more than it is set to."""
    made = narrow([230e6] * 6, round_trips=[12 * MS] * 5)
    for batch, idle_ns in zip(made.batches, (1, 5, 2, 4, 9, 3), strict=True):
        batch.ends[0].counters["sync_round_trip_ns"] = idle_ns * MS
    (finding,) = found(made, kind="varying-way", path=LINK_1G)
    hosts = {"h1": queue(200e6), "h2": FACTS}
    (finding,) = found(made, kind="bottleneck", hosts=hosts, path=LINK_1G)
    assert finding.place == "sender kernel"
    assert not found(made, kind="varying-way", hosts=hosts, path=LINK_1G)


def test_what_a_discipline_dropped_is_lost_in_the_sender():
    lost = datagrams(1000, 800, 800, 800)
    origin = lost.batches[0].ends[0]
    origin.before.values["qdisc.v0.dropped"], origin.after.values["qdisc.v0.dropped"] = 5, 205
    (finding,) = found(lost, kind="datagrams-lost")
    assert finding.place == "sender kernel"
    assert "dropped 200 packets" in finding.evidence


def test_a_card_that_drops_is_not_called_the_network():
    (finding,) = found(
        datagrams(1000, 1000, 900, 900, **{"interface.v0.rx_dropped": 100}), kind="datagrams-lost"
    )
    assert finding.place == "receiver card"
    assert "network" not in finding.claim + finding.evidence
    grown = card(10_100, 5000) | {
        "connection.test.segs_out": 10_100,
        "connection.test.data_segs_out": 10_000,
        "connection.test.total_retrans": 100,
    }
    there = card(5000, 10_000) | {"connection.test.segs_in": 10_000}
    there["interface.v0.rx_dropped"] = 100
    (finding,) = found(stream(origin=grown, target=there), kind="segments-lost")
    assert finding.place == "receiver card"


def test_a_queue_that_delays_on_purpose():
    hosts = {"h1": FACTS, "h2": queue(delay=2 * MS, jitter=MS, kinds="netem")}
    made = round_trips([3 * MS] * 200)
    (finding,) = found(made, kind="own-queue-delays", hosts=hosts)
    assert finding.place == "sender kernel of h2"
    assert not found(made, kind="own-queue-delays")
    assert not found(round_trips([90 * MS] * 200), kind="own-queue-delays", hosts=hosts)


# ------------------------------------------------------------------ processes that did not run


def test_a_quota_that_holds_a_worker():
    held = RUNNING | {"process.throttled_ns": 800 * MS, "process.throttled_periods": 10}
    hosts = HOSTS | {"h1": FACTS | {"cpu.quota_processors": 0.2}}
    (finding,) = found(stream((20e6,), origin=held), kind="cpu-quota", hosts=hosts)
    assert finding.place == "CPU quota of h1"
    assert "80% of the time, which allows 0.20 CPUs" in finding.claim
    little = RUNNING | {"process.throttled_ns": 20 * MS}
    assert not found(stream(origin=little), kind="cpu-quota")


@pytest.mark.parametrize(
    ("periods", "throttled", "held_ms", "is_named"),
    [(10, 6, 27, True), (10, 4, 27, False), (4, 4, 27, False), (10, 6, 5, False)],
)
def test_a_quota_that_is_used_up_is_named_where_little_time_is_counted(
    periods, throttled, held_ms, is_named
):
    """A process that uses just its share waits for the rest of a period only at times."""
    held = {"quota_periods": periods, "throttled_periods": throttled, "throttled_ns": held_ms * MS}
    grown = RUNNING | {f"process.{name}": value for name, value in held.items()}
    findings = found(round_trips([60_000] * 500, origin=grown, target=RUNNING), kind="cpu-quota")
    assert [f.place for f in findings] == ["CPU quota of h1"] * is_named


@pytest.mark.parametrize("rank", [0, 1])
def test_a_worker_that_was_stopped(rank):
    times = [60_000] * 500 + [9 * S]
    ends = [RUNNING, RUNNING | {"netstat.TcpExt.TCPTimeouts": 3}]
    ends[rank] = ends[rank] | {"process.continued": 1}
    made = round_trips(times, origin=ends[0], target=ends[1])
    (finding,) = found(made, kind="stopped-worker")
    assert finding.place == f"h{rank + 1}"
    assert "9.000 s" in finding.evidence
    assert not found(made, kind="interrupted-way")
    told_only = round_trips([60_000] * 500, origin=RUNNING | {"process.continued": 1})
    assert not found(told_only, kind="stopped-worker")


def test_a_worker_that_waited_for_any_processor():
    waited = RUNNING | {"process.run_wait_ns": 500 * MS, "process.migrations": 50}
    taken = waited | use(95) | {"cpu.all.user": 190, "cpu.all.idle": 10}
    made = stream((20e6,) * 2, origin=taken, target=RUNNING, counters={"cpu": 0})
    (finding,) = found(made, kind="waited-for-processor")
    assert finding.place == "CPUs of h1"
    alone = waited | use(5) | {"cpu.all.user": 5, "cpu.all.idle": 195}
    made = stream((20e6,) * 2, origin=alone, target=RUNNING, counters={"cpu": 0})
    assert not found(made, kind="waited-for-processor")


def test_each_end_may_have_a_processor_that_others_use():
    here = use(95) | {"process.user_ns": 100 * 10**6}
    there = use(10, nice=50, cpu=1) | {"process.user_ns": 100 * 10**6}
    made = stream(origin=here, target=there, counters={"cpu": 0})
    made.batches[0].ends[1].counters["cpu"] = 1
    kinds = ("busy-processor", "busy-processor-nice")
    places = [f.place for kind in kinds for f in found(made, kind=kind)]
    assert places == ["h1, CPU 0", "h2, CPU 1"]
    # Both on one CPU of one machine.
    again = stream(origin=here, target=here, counters={"cpu": 0})
    assert len(found(again, kind="busy-processor")) == 1


# ------------------------------------------------------------------ the way


def test_a_way_that_was_interrupted():
    times = [60_000] * 500 + [610 * MS]
    lost = RUNNING | {"netstat.TcpExt.TCPTimeouts": 2}
    (finding,) = found(round_trips(times, origin=lost, target=RUNNING), kind="interrupted-way")
    assert (finding.place, finding.confidence) == ("network", "likely")
    assert "610.0 ms" in finding.claim
    for rival in (
        {"process.run_wait_ns": 400 * MS},
        {"process.throttled_ns": 400 * MS},
        {"process.continued": 1},
        {"netstat.TcpExt.TCPTimeouts": 0},
        STOLEN,
    ):
        made = round_trips(times, origin=lost | rival, target=RUNNING)
        assert not found(made, kind="interrupted-way"), rival
    untold = {"netstat.TcpExt.TCPTimeouts": 2}
    assert not found(round_trips(times, origin=untold), kind="interrupted-way")


def with_arrivals(batches, **fields):
    """A UDP stream of a message each millisecond; of each batch its arrivals and how many were
    lost."""
    made = stream((8e6,) * len(batches), "udp", RUNNING, RUNNING, **fields)
    for batch, (came_ns, lost) in zip(made.batches, batches, strict=True):
        batch.ends[1].series["received_ns"] = np.asarray(came_ns)
        batch.ends[1].counters["lost"] = lost
    return made


def test_datagrams_of_an_interrupted_way():
    usual = np.arange(1, 1001) * MS
    cut = usual[(usual < 300 * MS) | (usual > 700 * MS)]
    (finding,) = found(with_arrivals([(usual, 0), (cut, 401)]), kind="interrupted-way")
    assert "401 datagrams lost" in finding.evidence
    assert not found(with_arrivals([(usual, 0), (usual[::2], 500)]), kind="interrupted-way")
    # A sender that paused: nothing is missing.
    assert not found(with_arrivals([(usual, 0), (cut, 0)]), kind="interrupted-way")
    # Loss that goes on.
    assert not found(with_arrivals([(cut, 401)] * 5), kind="interrupted-way")


def test_a_way_whose_delay_varies():
    draw = np.random.default_rng(1)
    times = (draw.normal(4 * MS, 1.5 * MS, 2000)).clip(MS).astype(int)
    (finding,) = found(round_trips(times, origin=RUNNING, target=RUNNING), kind="varying-way")
    assert finding.place == "network"
    waited = RUNNING | {"process.run_wait_ns": 2000 * MS}
    assert not found(round_trips(times, origin=RUNNING, target=waited), kind="varying-way")
    assert not found(round_trips(times), kind="varying-way")  # nobody knows whether they waited
    stolen = round_trips(times, origin=RUNNING, target=RUNNING | STOLEN)
    assert not found(stolen, kind="varying-way")  # the hypervisor delays whatever runs here
    steady = round_trips(times // 1000 + 4 * MS, origin=RUNNING, target=RUNNING)
    assert not found(steady, kind="varying-way")
    # A way of 40 ms has some 20 round trips in a second.
    far = (40 * MS + draw.uniform(0, 16 * MS, 20)).astype(int)
    assert found(round_trips(far, origin=RUNNING, target=RUNNING), kind="varying-way")
    hosts = {"h1": queue(jitter=2 * MS, kinds="netem"), "h2": FACTS}
    at_home = round_trips(times, origin=RUNNING, target=RUNNING)
    assert not found(at_home, kind="varying-way", hosts=hosts)


def test_placement_is_the_cause_only_where_all_batches_say_so():
    def run_of(batches):
        ends = [
            (
                end(0, "h1", {"messages_sent": 50, "cpu": here}, {}, {"round_trip_ns": [t] * 50}),
                end(1, "h2", {"cpu": there}, {}),
            )
            for here, there, t in batches
        ]
        return point("tcp", "latency", ends)

    apart = [(0, 1, 400_000), (1, 1, 60_000)] * 4
    (finding,) = found(run_of(apart), kind="several-modes")
    assert "on which CPUs the ends ran" in finding.claim
    for other in ([*apart, (0, 1, 60_000)], [(0, 1, 400_000)] + [(1, 1, 60_000)] * 7):
        for finding in found(run_of(other), kind="several-modes"):
            assert "on which CPUs" not in finding.claim


# ------------------------------------------------------------------ what both ends agreed on


def limited(options, rate=26e6, waited=900_000, **fields):
    origin = {
        "connection.test.busy_time": 10**6,
        "connection.test.rwnd_limited": waited,
        "connection.test.min_rtt": 20_000,
    }
    made = stream([rate] * 6, origin=origin, opened={"max_segment_bytes": 1448}, **fields)
    for batch in made.batches:
        for one in batch.ends.values():
            for snapshot in (one.before, one.after):
                snapshot.values["connection.test.options"] = options
            one.before.values.pop("connection.test.min_rtt", None)
    return made


def test_windows_without_scaling():
    hosts = {"h1": FACTS, "h2": FACTS | {"sysctl.net.ipv4.tcp_window_scaling": 0}}
    (finding,) = found(limited(3), kind="window-limited", hosts=hosts)
    assert finding.place == "window scaling of h2"
    assert "64 KB" in finding.claim
    assert not found(limited(7), kind="window-limited")
    assert not found(limited(3, waited=0), kind="window-limited", hosts=hosts)


@pytest.mark.parametrize(("most", "said"), [(8192, True), (4_000_000, False)])
def test_a_tiny_buffer_is_named_whatever_waits_were_counted(most, said):
    facts = FACTS | {"sysctl.net.ipv4.tcp_wmem": f"4096 8192 {most}"}
    facts |= {"sysctl.net.ipv4.tcp_rmem": "4096 131072 6291456"}
    made = limited(7, rate=1.2e6, waited=0)
    for one in made.opened.values():
        one |= {"send_buffer_bytes": 8192, "receive_buffer_bytes": 131072}
    hosts = {"h1": facts, "h2": facts}
    kinds = [f.kind for f in explain(made_run(made, hosts=hosts), figures_of(made_run(made)))]
    assert ("window-limited" in kinds) is said
    assert ("bottleneck" in kinds) is not said


def lossy(options, again=100):
    grown = {
        "connection.test.data_segs_out": 10_000,
        "connection.test.total_retrans": again,
    }
    made = stream((20e6,), origin=grown)
    for one in made.batches[0].ends.values():
        for snapshot in (one.before, one.after):
            snapshot.values["connection.test.options"] = options
    return made


def test_losses_without_selective_acknowledgements():
    hosts = {"h1": FACTS | {"sysctl.net.ipv4.tcp_sack": 0}, "h2": FACTS}
    (finding,) = found(lossy(5), kind="no-selective-acknowledgements", hosts=hosts)
    assert finding.place == "h1"
    assert not found(lossy(7), kind="no-selective-acknowledgements")
    assert not found(lossy(5, again=0), kind="no-selective-acknowledgements", hosts=hosts)


def test_segments_and_datagrams_that_overtook_each_other():
    grown = card(10_000, 5000) | {
        "connection.test.segs_out": 10_000,
        "connection.test.data_segs_out": 10_000,
    }
    there = card(5000, 10_000) | {
        "connection.test.segs_in": 10_000,
        "connection.test.data_segs_in": 10_000,
        "netstat.TcpExt.TCPOFOQueue": 300,
    }
    (finding,) = found(stream(origin=grown, target=there), kind="overtaken")
    assert finding.place == "network"
    assert "3.0% came out of order" in finding.claim
    lost = there | card(5000, 9_900) | {"connection.test.segs_in": 9_900}
    assert not found(stream(origin=grown, target=lost), kind="overtaken")
    mixed = stream((8e6,), "udp")
    mixed.batches[0].ends[1].counters["reordered"] = 30
    assert found(mixed, kind="overtaken")
    assert not found(stream((8e6,), "udp"), kind="overtaken")


# ------------------------------------------------------------------ several flows, and both ways


@pytest.mark.parametrize(("test", "ranks"), [("duplex", 2), ("pairs", 6)])
@pytest.mark.parametrize(
    ("by", "place"),
    [
        ("queue", "sender kernel"),
        ("socket", "receiver application"),
        ("network", "network"),
        ("nothing", ""),
    ],
)
def test_losses_of_several_flows_and_of_both_ways_have_a_place(test, ranks, by, place):
    """By the counters of all hosts together; each host has two ranks of the six."""
    ends = []
    for rank in range(ranks):
        host = f"h{rank % 3 + 1 if ranks > 2 else rank + 1}"
        sends, receives = test == "duplex" or rank % 2 == 0, test == "duplex" or rank % 2 == 1
        grown = {
            "queue": {"snmp.Udp.SndbufErrors": 200},
            "socket": {"snmp.Udp.RcvbufErrors": 200},
        }.get(by, {})
        cards = card(1000, 900 if by == "network" else 1000)
        counters = {"start_ns": 0, "end_ns": S, "drained_ns": S, "last_arrival_ns": S}
        counters |= {"messages_sent": 1000, "bytes_sent": 10**6} if sends else {}
        lost = {"lost": 100, "messages_received": 900, "bytes_received": 900_000}
        ends.append(end(rank, host, counters | (lost if receives else {}), cards | grown))
    made = point("udp", test, [ends])
    made.opened = {rank: {"interface": "v0"} for rank in range(ranks)}
    located = locate_datagrams(made_run(made), made)
    assert (located.layer if located else "") == place


def test_the_share_lost_both_ways_is_that_of_the_numbers_beside_it():
    """Where next to nothing was lost there, and most on the way back."""

    def ends(lost):
        times = {"start_ns": 0, "end_ns": S, "drained_ns": S, "last_arrival_ns": S}
        got = {"messages_received": 1000 - lost, "bytes_received": (1000 - lost) * 1000}
        return times | got | {"messages_sent": 1000, "bytes_sent": 10**6, "lost": lost}

    grown = card(1000, 1000) | {"snmp.Udp.SndbufErrors": 880}
    made = point("udp", "duplex", [(end(0, "h1", ends(880), {}), end(1, "h2", ends(0), grown))])
    (finding,) = found(made, kind="datagrams-lost")
    assert "lost 44.000%" in finding.claim
    assert "880 of 2000 messages (0 of 1000 from h1 to h2, 880 of 1000 from h2 to h1)" in (
        finding.evidence
    )
    assert finding.place == "sender kernel"
