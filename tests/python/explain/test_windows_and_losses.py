"""Windows that a setting holds, losses in the sender's own queue and what a congestion control
makes of losses: each is named by its counters, and a rival's counters take it away."""

import numpy as np
import pytest
from test_fault_rules import FACTS, LAB, card, found, narrow, round_trips, stream, use
from test_ways_and_waits import LINK_1G, MS, limited, queue

from netsonde.records.data import Snapshot

LONG = LAB | {"rate_bit_per_s": 50_000_000}
TUNED = FACTS | {
    "sysctl.net.ipv4.tcp_rmem": "4096 131072 33554432",
    "sysctl.net.ipv4.tcp_moderate_rcvbuf": 1,
}
SEGMENTS = {"max_segment_bytes": 1448}
AGREED = 7  # time stamps, SACK and window scaling


def offering(window_bytes, rate, waited=800_000, **fields):
    """A stream over 20 ms whose receiver offered that window; None where the kernel does not
    tell."""
    made = limited(AGREED, rate=rate, waited=waited, **fields)
    for one in made.opened.values():
        one |= {"send_buffer_bytes": 46080, "receive_buffer_bytes": 131072}
    for batch in made.batches if window_bytes else []:
        batch.ends[0].after.values["connection.test.snd_wnd"] = window_bytes
    return made


def named(made, **receiver):
    hosts = {"h1": TUNED, "h2": TUNED | receiver}
    return found(made, kind="window-limited", hosts=hosts, path=LONG)


# ------------------------------------------------------------------ windows that do not grow


@pytest.mark.parametrize("offered", [65536, None])
def test_a_receive_buffer_that_does_not_grow_is_the_window(offered):
    off = {"sysctl.net.ipv4.tcp_moderate_rcvbuf": 0}
    (finding,) = named(offering(offered, 25e6), **off)
    assert finding.place == "receive window of h2"
    assert "net.ipv4.tcp_moderate_rcvbuf is 0" in finding.claim
    assert ("offered" if offered else "can offer") in finding.evidence
    assert not named(offering(offered, 25e6))
    assert not named(offering(offered, 25e6, waited=0), **off)
    asked = offering(offered, 10e6, parameters={"options": {"receive_buffer": 131072}})
    assert not any("moderate" in finding.claim for finding in named(asked, **off))


@pytest.mark.parametrize(("offered", "rate"), [(15_360, 6e6), (59_000, 23e6), (None, 20e6)])
def test_a_window_that_a_route_sets(offered, rate):
    routed = {"route.window_bytes": 15_000}
    (finding,) = named(offering(offered, rate), **routed)
    assert finding.place == "receive window of h2"
    assert "a route there sets window 15000" in finding.claim
    assert not named(offering(offered, rate))


def test_a_route_that_is_not_the_streams_is_not_blamed():
    routed = {"route.window_bytes": 15_000}
    assert not named(offering(400_000, 40e6), **routed)  # a larger window was offered
    slow = LONG | {"rate_bit_per_s": 10**9}
    hosts = {"h1": TUNED, "h2": TUNED | routed}
    fast = offering(None, 400e6)
    assert not found(fast, kind="window-limited", hosts=hosts, path=slow)


@pytest.mark.parametrize(
    ("rate", "waited", "is_named"),
    [(35e6, 190_000, True), (35e6, 50_000, False), (20e6, 190_000, False)],
)
def test_a_stream_at_the_buffers_bound_is_held_by_it_where_waits_were_seen(rate, waited, is_named):
    """Half of 171 KB in 20 ms is 34 Mbit/s; the sender waited for room a fifth of its time."""
    facts = TUNED | {"sysctl.net.ipv4.tcp_wmem": "4096 16384 171611"}
    made = offering(None, rate, waited=0, round_trips=[26 * MS] * 5)
    for batch in made.batches:
        batch.ends[0].before.values["connection.test.sndbuf_limited"] = 0
        batch.ends[0].after.values["connection.test.sndbuf_limited"] = waited
    hosts = {"h1": facts, "h2": TUNED}
    kinds = [
        kind
        for kind in ("window-limited", "bottleneck")
        if found(made, kind=kind, hosts=hosts, path=LONG)
    ]
    assert kinds == (["window-limited"] if is_named else ["bottleneck"])


# ------------------------------------------------------------------ the sender's own queue


def dropping(dropped, lacks=100, size=1514, **fields):
    """A stream whose card lacks frames that the connection sent, and a queue that dropped some."""
    made = stream((20e6,) * 2, **fields)
    end = made.batches[1].ends[0]
    end.before.values["qdisc.v0.dropped"], end.after.values["qdisc.v0.dropped"] = 7, 7 + dropped
    expected = {"packets_expected": 1000, "bytes_expected": 1000 * size}
    counted = {"packets_counted": 1000 - lacks, "bytes_counted": (1000 - lacks) * size}
    difference = {"batch": 1, "rank": 0, "direction": "tx", **expected, **counted}
    made.checks["counters"] = {"compared": 8, "exact": False, "differences": [difference]}
    return made


@pytest.mark.parametrize(
    ("made", "level"),
    [
        (dropping(100), "note"),
        (dropping(97), "note"),  # the queue is read at another moment
        (dropping(10), "warning"),
        (dropping(0), "warning"),
        (dropping(200), "warning"),
        (dropping(100, lacks=-100), "warning"),
        (dropping(100, size=20), "warning"),  # no frame is so small
        (dropping(100, transport="udp"), "warning"),  # a datagram that was dropped was not sent
    ],
)
def test_what_the_senders_queue_dropped_is_no_wrong_counter(made, level):
    (finding,) = found(made, kind="counters-exact")
    assert finding.level == level
    assert ("own queue dropped" in finding.claim) is (level == "note")


def lossy_at_home(dropped, **facts):
    grown = card(9_900, 5000) | {
        "qdisc.v0.sent_packets": 9_900,
        "qdisc.v0.dropped": dropped,
        "connection.test.segs_out": 10_000 if dropped else 9_900,
        "connection.test.data_segs_out": 9_900,
        "connection.test.total_retrans": 100,
    }
    there = card(5000, 9_900) | {"connection.test.segs_in": 9_900}
    made = narrow([8e6] * 6, round_trips=[16 * MS] * 5, more=grown, target=there)
    return made, {"h1": queue(**facts), "h2": FACTS}


def test_losses_in_the_senders_queue_are_no_bottleneck_in_the_network():
    made, hosts = lossy_at_home(100, rate=100e6)
    assert not found(made, kind="bottleneck", hosts=hosts)
    (finding,) = found(made, kind="segments-lost", hosts=hosts)
    assert finding.place == "sender kernel"
    (finding,) = found(lossy_at_home(0)[0], kind="bottleneck", hosts=hosts)
    assert finding.place == "network"
    made, hosts = lossy_at_home(100, rate=9e6)  # it shapes as well
    (finding,) = found(made, kind="bottleneck", hosts=hosts)
    assert finding.place == "sender kernel"


SHAPED = {"qdisc.v0.sent_packets": 40_000, "qdisc.v0.overlimits": 43_000, "process.migrations": 9}
TAKEN = use(99) | {"process.user_ns": 6 * 10**8}


@pytest.mark.parametrize(
    ("rates", "more", "set_to", "is_named"),
    [
        ([288e6] * 6, TAKEN, 300e6, True),  # a CPU is taken, and the rate is the shaper's
        ([256e6, 251e6, 291e6, 289e6, 285e6, 276e6], {}, 300e6, True),  # it sways
        ([200e6] * 6, TAKEN, 300e6, False),
        ([288e6] * 6, TAKEN, 1e9, False),  # the link's own
        ([288e6] * 6, TAKEN, None, False),
    ],
)
def test_a_shaper_that_is_reached_is_the_place_whoever_uses_processors(
    rates, more, set_to, is_named
):
    made = narrow(rates, round_trips=[3 * MS] * 5, more=SHAPED | more, counters={"cpu": 0})
    hosts = {"h1": queue(set_to), "h2": FACTS}
    places = [f.place for f in found(made, kind="bottleneck", hosts=hosts, path=LINK_1G)]
    assert places == ["sender kernel"] * is_named


# ------------------------------------------------------------------ what a control makes of losses


def controlled(control="reno", rate=8e6, again=50, round_trip=20 * MS, **more):
    """10,000 segments a batch of 1448 bytes over 20 ms; at 0.5 % Reno keeps 10 Mbit/s."""
    grown = {
        "connection.test.busy_time": 10**6,
        "connection.test.rwnd_limited": 0,
        "connection.test.data_segs_out": 10_000,
        "connection.test.total_retrans": again,
        "connection.test.min_rtt": 20_000,
    }
    opened = {"congestion_control": control, "max_segment_bytes": 1448}
    made = stream([rate] * 6, origin=grown | more, opened=opened, round_trips=[round_trip] * 5)
    for batch in made.batches:
        batch.ends[0].before = Snapshot(
            "before",
            0,
            0,
            {k: v for k, v in batch.ends[0].before.values.items() if not k.endswith("min_rtt")},
        )
    return made


def blamed(made):
    return found(made, kind="congestion-control", path=LONG)


def test_a_control_that_halves_its_window_at_each_loss():
    (finding,) = blamed(controlled())
    assert (finding.level, finding.confidence) == ("warning", "likely")
    assert finding.place == "sender kernel of h1"
    assert "reno carries 8.000 Mbit/s where 0.50% is lost" in finding.claim
    assert "about 10.0" in finding.evidence
    assert "--congestion bbr" in finding.advice


@pytest.mark.parametrize(
    "other",
    [
        {"control": "bbr"},  # goes by more than losses
        {"again": 0},
        {"rate": 40e6},  # nothing is missing
        {"rate": 1e6},  # something else holds it
        {"round_trip": 30 * MS},  # a queue is full: the losses follow the rate
        {"connection.test.rwnd_limited": 900_000},  # a window holds it
    ],
)
def test_a_control_is_not_blamed_without_what_carries_it(other):
    assert not blamed(controlled(**other))


@pytest.mark.parametrize(
    ("again", "rate", "is_named"),
    [(1, 17e6, True), (1, 1e6, False), (1, 45e6, False), (0, 17e6, False), (3, 1e6, True)],
)
def test_few_losses_are_named_where_they_make_the_rate(again, rate, is_named):
    """Of 700 segments a batch one is retransmitted: 6 in all, and of three in each 18."""
    grown = {"connection.test.data_segs_out": 700, "connection.test.total_retrans": again}
    made = stream([rate] * 6, origin=grown, opened=SEGMENTS, round_trips=[22 * MS] * 5)
    assert bool(found(made, kind="segments-lost", path=LONG)) is is_named


@pytest.mark.parametrize(
    ("rate", "again", "place"), [(1.1e6, 30, None), (1.1e6, 0, "network"), (20e6, 30, "network")]
)
def test_losses_without_a_queue_are_no_bottleneck(rate, again, place):
    """6 ms more than the least are half a segment at 1 Mbit/s, and ten at 20."""
    grown = {"connection.test.data_segs_out": 300, "connection.test.total_retrans": again}
    made = narrow([rate] * 6, more=grown, opened=SEGMENTS, round_trips=[6 * MS] * 5)
    places = [f.place for f in found(made, kind="bottleneck", path=LONG)]
    assert places == ([place] if place else [])


# ------------------------------------------------------------------ the least timeout that is set


@pytest.mark.parametrize(("least_ms", "said"), [(50, True), (None, False)])
def test_values_a_routes_time_out_apart_are_its_timer(least_ms, said):
    drawn = np.random.default_rng(1)
    times = np.concatenate([drawn.normal(v, v / 100, 500) for v in (60_000, 60 * MS)])
    made = round_trips(drawn.permutation(times).astype(np.int64))
    route = {"route.rto_min_ms": least_ms} if least_ms else {}
    hosts = {"h1": FACTS | route, "h2": FACTS}
    (finding,) = found(made, kind="several-modes", hosts=hosts)
    assert ("retransmission timer, whose least is 50.00 ms here" in finding.claim) is said
