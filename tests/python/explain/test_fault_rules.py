"""Each rule of a fault finds its case and is silent without it, from counters that are made."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from netsonde.explain.commands import again
from netsonde.explain.data import Seen
from netsonde.explain.table import RULES, explain, explain_and_lack
from netsonde.figures.compute import figures_of
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot

S = 10**9
LAB = {"kind": "lab", "rate_bit_per_s": 10**8, "counted_frame_header_bytes": 14}
NETWORK = {"kind": "network", "rate_bit_per_s": None}
FACTS = {"interface.v0.mtu": 1500, "cpu.count": 4}
HOSTS = {"h1": FACTS, "h2": FACTS}
COMMAND = ["/opt/netsonde", "tcp", "lab:h1,h2", "stream", "--buffer", "5k", "--json"]


def end(rank, host, counters, growth, series=None, seconds=1.0):
    made = EndData(rank, host, counters={"sync_round_trip_ns": 0, **counters})
    made.series = {name: np.asarray(values) for name, values in (series or {}).items()}
    base = {"system.jiffies_per_s": 100, **dict.fromkeys(growth, 0)}
    made.before = Snapshot("before", 0, 0, base)
    made.after = Snapshot("after", int(seconds * S), 0, base | growth)
    return made


def card(sent=0, received=0, size=1514, **more):
    return {
        "interface.v0.tx_packets": sent,
        "interface.v0.tx_bytes": sent * size,
        "interface.v0.rx_packets": received,
        "interface.v0.rx_bytes": received * size,
    } | more


def point(transport, test, ends, parameters=None, opened=None, point_id="p001"):
    """``ends``: of each batch, a pair of ends."""
    usual = {"interface": "v0", "local_address": "10.77.0.1"}
    return Point(
        point_id,
        transport,
        test,
        {"message_bytes": 1000, "interval": 0.01, **(parameters or {})},
        status="finished",
        ended_by="interval",
        opened={r: usual | (opened or {}) for r in (0, 1)},
        batches=[Batch(i, dict(enumerate(pair))) for i, pair in enumerate(ends)],
    )


def stream(rates=(95e6,), transport="tcp", origin=None, target=None, counters=None, **fields):
    """A stream of a second for each rate."""
    batches = []
    for rate in rates:
        sent = int(rate / 8)
        times = {"start_ns": 0, "end_ns": S, "drained_ns": S}
        here = times | {"bytes_sent": sent, "messages_sent": sent // 1000, **(counters or {})}
        there = times | {"bytes_received": sent, "messages_received": sent // 1000}
        there |= {"lost": 0} if transport == "udp" else {}
        there |= counters or {}
        series = {"tcp_info_round_trip_ns": fields.get("round_trips", [50_000])}
        batches.append(
            (end(0, "h1", here, origin or {}, series), end(1, "h2", there, target or {}))
        )
    own = {k: v for k, v in fields.items() if k in ("parameters", "opened", "point_id")}
    return point(transport, "stream", batches, **own)


def round_trips(times, transport="tcp", origin=None, target=None, **fields):
    ends = (
        end(0, "h1", {"messages_sent": len(times)}, origin or {}, {"round_trip_ns": times}),
        end(1, "h2", {}, target or {}),
    )
    return point(transport, "latency", [ends], **fields)


def made_run(*points, path=LAB, hosts=HOSTS):
    manifest = {"path": path, "hosts": hosts, "command": COMMAND}
    return Run(Path("x"), manifest, list(points), True)


def found(*points, kind, **fields):
    run = made_run(*points, **fields)
    return [f for f in explain(run, figures_of(run)) if f.kind == kind]


def use(busy, nice=0, cpu=0):
    """A second of a CPU in ticks of 10 ms."""
    return {f"cpu.{cpu}.user": busy, f"cpu.{cpu}.nice": nice, f"cpu.{cpu}.idle": 100 - busy - nice}


@pytest.mark.parametrize(
    ("ticks", "own_ms", "kind"),
    [
        ({"busy": 90}, 100, "busy-processor"),
        ({"busy": 10, "nice": 80}, 100, "busy-processor-nice"),
        ({"busy": 90}, 850, None),
        ({"busy": 76, "nice": 24}, 760, "busy-processor-nice"),
        ({"busy": 18}, 0, None),
    ],
)
def test_others_on_the_processor_of_an_end(ticks, own_ms, kind):
    growth = use(**ticks) | {"process.user_ns": own_ms * 10**6, "process.system_ns": 0}
    measured = stream(origin=growth, target={}, counters={"cpu": 0})
    kinds = {f.kind for f in explain(made_run(measured), figures_of(made_run(measured)))}
    named = kinds & {"busy-processor", "busy-processor-nice"}
    assert named == ({kind} if kind else set())
    if kind:
        (finding,) = found(measured, kind=kind)
        assert finding.place == "h1, CPU 0"
        assert finding.confidence == "certain"


def test_a_worker_that_moved_says_nothing_of_a_processor():
    growth = use(95) | {"process.user_ns": 0, "process.migrations": 7}
    assert not found(stream(origin=growth, counters={"cpu": 0}), kind="busy-processor")


def test_a_processor_that_the_test_itself_saturates():
    growth = use(99) | {"process.user_ns": 900 * 10**6, "process.system_ns": 60 * 10**6}
    (finding,) = found(stream((40e6,), origin=growth, counters={"cpu": 0}), kind="processor-bound")
    assert finding.place == "h1, CPU 0"
    assert "99% busy" in finding.evidence
    full = stream((96e6,), origin=growth, counters={"cpu": 0})
    assert not found(full, kind="processor-bound")
    softirq = {
        "cpu.0.softirq": 70,
        "cpu.0.system": 28,
        "cpu.0.idle": 2,
        "process.system_ns": 25 * 10**7,
    }
    assert found(stream((40e6,), origin=softirq, counters={"cpu": 0}), kind="interrupt-bound")


def test_both_ends_on_one_processor():
    pinned = {"options": {"origin_cpu": 1, "target_cpu": 1}}
    (finding,) = found(stream(counters={"cpu": 1}, parameters=pinned), kind="same-processor")
    assert (finding.level, finding.place) == ("warning", "CPU 1")
    assert finding.advice.endswith("--buffer 5k --cpus 1,0")
    (finding,) = found(stream(counters={"cpu": 1}), kind="same-processor")
    assert finding.level == "note"
    assert not found(stream(counters={"cpu": 1}), kind="same-processor", path=NETWORK)


def test_nagle_and_delayed_acknowledgements():
    times = [60_000] * 20 + [40_100_000] * 60 + [80_300_000] * 20
    delayed = {"netstat.TcpExt.DelayedACKs": 80}
    off = {"no_delay": False}
    (finding,) = found(round_trips(times, target=delayed, opened=off), kind="nagle-delayed-ack")
    assert "80% of the round trips" in finding.claim
    assert finding.place == "acknowledgements of the target"
    assert finding.advice.endswith("--nodelay")
    assert not found(
        round_trips(times, target=delayed, opened={"no_delay": True}), kind="nagle-delayed-ack"
    )
    assert not found(round_trips([60_000] * 100, opened=off), kind="nagle-delayed-ack")
    assert not found(
        round_trips([60_000] * 50 + [25_000_000] * 50, opened=off), kind="nagle-delayed-ack"
    )


def test_round_trips_that_waited_for_time_outs():
    times = [60_000] * 500 + [203_000_000] * 4 + [610_000_000]
    lost = card(520, 505) | {"connection.test.segs_out": 520, "netstat.TcpExt.TCPTimeouts": 6}
    there = card(505, 515, 66) | {"connection.test.segs_in": 515}
    (finding,) = found(round_trips(times, origin=lost, target=there), kind="retransmission-timer")
    assert finding.claim.startswith("5 of 505 round trips waited")
    assert finding.place == "network"
    assert "4 waits near one timeout" in finding.evidence
    assert not found(round_trips(times), kind="retransmission-timer")  # no kernel counted one
    assert not found(
        round_trips([60_000] * 500 + [90_000_000] * 5, origin=lost), kind="retransmission-timer"
    )


def datagrams(sent, left, came, taken, size=1000, **counters):
    times = {"start_ns": 0, "end_ns": S, "drained_ns": S}
    frame = 1042
    here = end(
        0,
        "h1",
        times | {"messages_sent": sent, "bytes_sent": sent * size},
        card(left, 0, frame) | {n: v for n, v in counters.items() if n.startswith("snmp.Udp.Snd")},
    )
    there = end(
        1,
        "h2",
        times | {"messages_received": taken, "bytes_received": taken * size, "lost": sent - taken},
        card(0, came, frame)
        | {n: v for n, v in counters.items() if not n.startswith("snmp.Udp.Snd")},
    )
    return point("udp", "stream", [(here, there)], {"message_bytes": size})


@pytest.mark.parametrize(
    ("counts", "counters", "place"),
    [
        ((1000, 800, 800, 800), {"snmp.Udp.SndbufErrors": 200}, "sender kernel"),
        ((1000, 1000, 900, 900), {}, "network"),
        ((1000, 1000, 900, 900), {"interface.v0.rx_dropped": 100}, "receiver card"),
        ((1000, 1000, 1000, 700), {"snmp.Udp.RcvbufErrors": 300}, "receiver application"),
        ((1000, 1000, 1000, 700), {"softnet.dropped": 300}, "receiver kernel"),
        ((1000, 1000, 1000, 700), {}, "receiver kernel"),
    ],
)
def test_datagrams_are_lost_at_one_of_seven_places(counts, counters, place):
    (finding,) = found(datagrams(*counts, **counters), kind="datagrams-lost")
    assert finding.place == place


def test_no_loss_no_finding():
    assert not found(datagrams(1000, 1000, 1000, 1000), kind="datagrams-lost")


def test_fragments_that_were_lost():
    lost = datagrams(1000, 6000, 5900, 900, size=8192, **{"snmp.Ip.ReasmFails": 100})
    (finding,) = found(lost, kind="fragments-lost")
    assert "travels in 6 fragments" in finding.claim
    assert finding.place == "network"
    assert not found(lost, kind="datagrams-lost")
    (note,) = found(datagrams(1000, 6000, 6000, 1000, size=8192), kind="fragments")
    assert note.level == "note"


FRAGMENTED = (
    ("socket", "datagrams-lost", "receiver application"),
    ("queue", "datagrams-lost", "sender kernel"),
    ("together", "datagrams-lost", "network"),
    ("network", "fragments-lost", "network"),
    ("reassembly", "fragments-lost", "receiver kernel"),
)


@pytest.mark.parametrize(("by", "kind", "place"), FRAGMENTED)
def test_counters_decide_whether_fragments_are_to_blame(by, kind, place):
    """Of datagrams in 2 to 44 fragments, whatever their number and share lost."""
    draw = np.random.default_rng(17)
    for _ in range(40):
        many, sent = int(draw.integers(2, 44)), int(draw.integers(100, 5000))
        lost = int(draw.integers(10, sent // 2))
        frames = sent * many
        counts, counters = {
            "socket": ((frames, frames), {"snmp.Udp.RcvbufErrors": lost}),
            "queue": ((frames - lost * many,) * 2, {"snmp.Udp.SndbufErrors": lost}),
            "together": ((frames, frames - lost * many), {}),
            "network": ((frames, frames - lost), {}),
            "reassembly": ((frames, frames), {"snmp.Ip.ReasmFails": lost}),
        }[by]
        made = datagrams(sent, *counts, sent - lost, size=many * 1480 - 100, **counters)
        run = made_run(made)
        said = [f for f in explain(run, figures_of(run)) if f.kind.endswith("s-lost")]
        assert [(f.kind, f.place) for f in said] == [(kind, place)], (many, sent, lost)


def test_segments_that_were_lost_in_the_network():
    grown = card(10_100, 5000) | {
        "connection.test.segs_out": 10_100,
        "connection.test.data_segs_out": 10_000,
        "connection.test.total_retrans": 100,
    }
    there = card(5000, 10_000) | {"connection.test.segs_in": 10_000}
    (finding,) = found(stream(origin=grown, target=there), kind="segments-lost")
    assert finding.place == "network"
    assert "1.00% of its segments" in finding.claim
    late = there | card(5000, 10_100) | {"connection.test.segs_in": 10_100}
    assert not found(stream(origin=grown, target=late), kind="segments-lost")
    (note,) = found(stream(origin=grown, target=late), kind="needless-segments")
    assert (note.level, note.place) == ("note", "")
    told = {n: v for n, v in grown.items() if n.startswith("conn")}  # and nothing of the cards
    assert found(stream(origin=told), kind="segments-lost")
    assert not found(stream(origin=told | {"connection.test.dsack_dups": 90}), kind="segments-lost")
    few = grown | {"connection.test.total_retrans": 5}
    assert not found(stream(origin=few, target=there), kind="segments-lost")


def test_different_mtus():
    hosts = {"h1": FACTS, "h2": FACTS | {"interface.v0.mtu": 576}}
    (finding,) = found(stream(opened={"max_segment_bytes": 524}), kind="mtu-mismatch", hosts=hosts)
    assert finding.place == "h2"
    assert "524 bytes at most" in finding.evidence
    assert finding.advice.endswith("ip link set dev v0 mtu 1500")
    assert not found(stream(), kind="mtu-mismatch")


def narrow(rates, **fields):
    growth = {
        "connection.test.busy_time": 10**6,
        "connection.test.rwnd_limited": fields.pop("waited", 0),
    }
    here = growth | {"connection.test.min_rtt": 50} | fields.pop("more", {})
    return stream(rates, origin=here, **fields)


def test_a_bottleneck_on_the_way():
    rates = (12e6, *[19e6] * 6)
    (finding,) = found(narrow(rates, round_trips=[40_000_000] * 5), kind="bottleneck")
    assert finding.place == "network"
    assert "100.0 Mbit/s" in finding.claim
    (finding,) = found(narrow(rates), kind="bottleneck")
    assert (finding.place, finding.confidence) == ("sender kernel or network", "possible")
    assert not found(narrow([95e6] * 6), kind="bottleneck")
    assert not found(narrow([10e6, 12e6, 19e6, 11e6, 17e6, 14e6]), kind="bottleneck")
    assert not found(narrow(rates, waited=900_000), kind="bottleneck")
    assert not found(narrow(rates), kind="bottleneck", path=NETWORK)
    moved = use(99) | {"process.migrations": 9}
    worked = moved | {"process.user_ns": 6 * S // 10}
    assert not found(narrow(rates, counters={"cpu": 0}, more=worked), kind="bottleneck")
    waited = moved | {"process.user_ns": S // 10}
    assert found(narrow(rates, counters={"cpu": 0}, more=waited), kind="bottleneck")
    paced = {"options": {"pacing": 20_000_000}}
    assert not found(narrow(rates, parameters=paced), kind="bottleneck")


def test_others_who_have_the_rest_of_the_link_are_no_bottleneck():
    rates, segments = (72e6, *[72e6] * 6), 6200
    for others, is_narrow in ((0, True), (100, True), (2000, False)):
        here = card(segments, 20) | {"connection.test.segs_out": segments}
        there = card(20, segments + others) | {
            "connection.test.segs_in": segments,
            "connection.test.bytes_received": segments * 1448,
        }
        run = narrow(rates, round_trips=[40_000_000] * 5, more=here, target=there)
        assert bool(found(run, kind="bottleneck")) == is_narrow, others
        assert bool(found(run, kind="other-traffic")) != is_narrow, others


def test_a_way_whose_delays_vary_has_two_causes():
    """They keep TCP from its rate as a bottleneck does; both are named then. What varies under
    load alone is the queue itself."""
    rates, waits = (12e6, *[19e6] * 6), [16_000_000, 30_000_000, 41_000_000]
    for idle_ms, kind in (
        ((20, 25, 21, 27, 24, 29, 22), "varying-way"),
        ((20.2, 20.1, 20.3, 20.2, 20.1, 20.2, 20.3), "bottleneck"),
        ((0.08, 0.1, 0.09, 0.3, 0.1, 0.08, 0.1), "bottleneck"),
    ):
        run = narrow(rates, round_trips=waits)
        for batch, idle in zip(run.batches, idle_ms, strict=True):
            batch.ends[0].counters["sync_round_trip_ns"] = round(idle * 1e6)
        (finding,) = found(run, kind=kind)
        assert ("or something in the network" in finding.claim) == (kind == "varying-way")
        (other,) = {"bottleneck", "varying-way"} - {kind}
        assert not found(run, kind=other)


def test_a_line_full_of_headers():
    small = {"message_bytes": 64}
    (finding,) = found(stream((60e6,), "udp", parameters=small), kind="headers")
    assert finding.place == "line"
    assert not found(stream((30e6,), "udp", parameters=small), kind="headers")
    assert not found(stream((96e6,), "udp", parameters={"message_bytes": 1472}), kind="headers")


def test_directions_that_differ():
    def both(there, back):
        def ends(received_here, received_there):
            times = {"start_ns": 0, "end_ns": S, "last_arrival_ns": S}
            return (
                end(0, "h1", times | {"bytes_received": int(received_here / 8)}, {}),
                end(1, "h2", times | {"bytes_received": int(received_there / 8)}, {}),
            )

        return point("tcp", "duplex", [ends(back * f, there * f) for f in (1, 1.01, 0.99) * 3])

    (finding,) = found(both(90e6, 20e6), kind="uneven-directions")
    assert finding.place == "from h2 to h1"
    assert not found(both(90e6, 85e6), kind="uneven-directions")


def test_congestion_controls_that_differ():
    def of(control, rate, point_id):
        rates = [rate * f for f in (1, 1.01, 0.99) * 3]
        asked = {"options": {"congestion_control": control}, "label": control}
        return stream(
            rates, opened={"congestion_control": control}, parameters=asked, point_id=point_id
        )

    (finding,) = found(of("bbr", 19e6, "p1"), of("cubic", 5e6, "p2"), kind="congestion-control")
    assert finding.claim.startswith("TCP's congestion control decides here: bbr is 3.80 times")
    assert set(finding.points) == {"p1", "p2"}
    assert not found(of("bbr", 19e6, "p1"), of("cubic", 18e6, "p2"), kind="congestion-control")
    assert not found(of("bbr", 19e6, "p1"), kind="congestion-control")


def test_a_storm_beside_the_test():
    here = card(8000, 4000) | {"connection.test.segs_out": 8000}
    calm = card(4000, 8000) | {
        "connection.test.segs_in": 8000,
        "connection.test.bytes_received": 10**7,
    }
    assert not found(stream(origin=here, target=calm), kind="packet-storm")
    busy = dict(calm)
    busy["interface.v0.rx_packets"] += 6000
    busy["interface.v0.rx_bytes"] = 10**7 + 8000 * 66 + 6000 * 60
    (finding,) = found(stream(origin=here, target=busy), kind="packet-storm")
    assert finding.place == "h2"
    assert "6000 packets a second, 60 bytes on average" in finding.claim
    busy["interface.v0.rx_bytes"] += 6000 * 1000
    assert found(stream(origin=here, target=busy), kind="other-traffic")


def ring(rates):
    ends = {}
    for flow, rate in enumerate(rates):
        sent = int(rate / 8)
        times = {"start_ns": 0, "end_ns": S, "clock_group": 1}
        here, there = f"h{flow + 1}", f"h{(flow + 1) % len(rates) + 1}"
        ends[2 * flow] = end(2 * flow, here, times | {"bytes_sent": sent}, {})
        ends[2 * flow + 1] = end(2 * flow + 1, there, times | {"bytes_received": sent}, {})
    parameters = {"message_bytes": 1000, "streams": len(rates), "interval": 0.01}
    return Point("p001", "tcp", "ring", parameters, "finished", batches=[Batch(0, ends)])


def slow(point):
    from netsonde.explain.patterns import slow_host

    return list(slow_host(Seen(made_run(point), [])))


def test_the_slow_one_of_eight():
    (finding,) = slow(ring([19e6, 19e6, 19e6, 5e6, 5e6, 19e6, 19e6, 19e6]))
    assert finding.place == "h5"
    assert slow(ring([19e6] * 8)) == []
    assert slow(ring([19e6, 5e6, 19e6])) == []  # too few to compare


def test_warm_up_acknowledgements_and_interrupts_are_notes():
    (finding,) = found(stream((20e6, *[90e6] * 6)), kind="warm-up")
    assert finding.level == "note"
    assert not found(stream([90e6] * 7), kind="warm-up")


def two_values(low, high):
    rng = np.random.default_rng(1)
    times = np.concatenate([rng.normal(value, value / 100, 500) for value in (low, high)])
    (finding,) = found(round_trips(rng.permutation(times).astype(np.int64)), kind="several-modes")
    return finding


def test_several_values_and_their_cause():
    assert "a delayed acknowledgement" in two_values(60_000, 40_300_000).claim
    assert "a retransmission timer" in two_values(60_000, 205_000_000).claim
    undecided = two_values(12_000, 55_000)
    assert "The cause is" not in undecided.claim
    assert undecided.confidence == "possible"


def test_values_that_follow_the_processors():
    def batch(cpus, median):
        times = np.full(200, median) + np.arange(200) * 10
        ends = [
            end(r, f"h{r + 1}", {"cpu": cpu, "messages_sent": 200}, {})
            for r, cpu in enumerate(cpus)
        ]
        ends[0].series["round_trip_ns"] = times
        return tuple(ends)

    batches = [batch((0, 0), 12_000), batch((0, 1), 60_000)] * 4
    (finding,) = found(point("tcp", "latency", batches), kind="several-modes")
    assert "on which CPUs the ends ran" in finding.claim
    assert "both ends on one CPU: median 12.99 µs; " in finding.evidence


def test_offloads_that_are_off():
    growth = use(80) | {"process.user_ns": 700 * 10**6, "process.system_ns": 0}
    hosts = {"h1": FACTS | {"interface.v0.tso": False}, "h2": FACTS}
    measured = stream((40e6,), origin=growth, counters={"cpu": 0})
    (finding,) = found(measured, kind="offloads-off", path=NETWORK, hosts=hosts)
    assert finding.advice == "ethtool -K v0 tso on"
    in_lab = {**LAB, "segmentation_offload": False}
    assert not found(measured, kind="offloads-off", path=in_lab, hosts=hosts)


def test_power_saving_is_noted_for_round_trips():
    hosts = {"h1": FACTS | {"cpu.governor": "powersave"}, "h2": FACTS}
    (finding,) = found(round_trips([60_000] * 100), kind="power-saving", hosts=hosts)
    assert finding.place == "h1"
    assert not found(stream(), kind="power-saving", hosts=hosts)
    assert not found(round_trips([60_000] * 100), kind="power-saving")


def test_causes_come_before_what_they_bring_about():
    rates = (12e6, *[19e6] * 6)
    run = made_run(narrow(rates, round_trips=[40_000_000] * 5))
    kinds = [f.kind for f in explain(run, figures_of(run))]
    assert kinds.index("bottleneck") < kinds.index("link-share")
    assert kinds[0] == "bottleneck"


def kinds_of(measured):
    run = made_run(measured)
    return [f.kind for f in explain(run, figures_of(run))]


def test_a_burnt_processor_stands_above_what_it_may_cause_and_below_the_rest():
    burnt = use(90) | {"process.user_ns": 0, "process.system_ns": 0}

    def burning(measured):
        for ends in measured.batches[0].ends.values():
            for name, value in burnt.items():
                ends.before.values[name], ends.after.values[name] = 0, value
            ends.before.values["system.jiffies_per_s"] = 100
            ends.counters["cpu"] = 0
        return measured

    late = datagrams(1000, 1000, 1000, 700, **{"snmp.Udp.RcvbufErrors": 300})
    kinds = kinds_of(burning(late))
    assert kinds.index("busy-processor") < kinds.index("datagrams-lost")
    kinds = kinds_of(burning(datagrams(1000, 1000, 900, 900)))
    assert kinds.index("datagrams-lost") < kinds.index("busy-processor")


def test_rules_say_what_they_lack():
    run = made_run(round_trips([60_000] * 100), path=NETWORK, hosts={})
    _, silent = explain_and_lack(run, figures_of(run))
    lacks = {rule.rule: rule.lacks for rule in silent}
    assert "the rate of the link, as it was set or as both cards state it" in lacks["bottleneck"]
    assert "a measured stream over TCP" in lacks["window-limited"]
    assert "facts of two hosts or more" in lacks["mtu-mismatch"]
    assert "layers" not in lacks


def test_every_rule_has_its_section():
    page = Path(__file__).parents[3] / "docs" / "methods" / "explain.md"
    headings = {line.removeprefix("### ") for line in page.read_text().splitlines()}
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert {rule.name for rule in RULES} <= headings


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_its_function(rule):
    """It is imported where a run has what the rule needs: by then an answer is waited for."""
    module, _, name = rule.function.partition(".")
    assert callable(getattr(import_module(f"netsonde.explain.{module}"), name))


def test_the_command_again():
    run = made_run()
    assert again(run, {"--buffer": "1M"}) == "netsonde tcp lab:h1,h2 stream --buffer 1M"
    assert again(run, {"--nodelay": ""}, ("--buffer",)) == "netsonde tcp lab:h1,h2 stream --nodelay"
    run.manifest["command"] = ["netsonde", "study", "run", "x.toml"]
    assert again(run, {"--buffer": "1M"}) == ""
    run.manifest["command"] = ["x", "udp", "h", "stream", "--sizes=1k", "--nagle", "--rate", "1M"]
    assert (
        again(run, {"--sizes": "2k"}, ("--nagle",)) == "netsonde udp h stream --rate 1M --sizes 2k"
    )


@pytest.mark.parametrize(
    ("cpu", "node", "far"),
    [(0, 0, False), (0, 1, True), (5, 1, False), (5, 0, True), (0, None, False)],
)
def test_a_worker_far_from_its_card(cpu, node, far):
    facts = {"cpu.numa_nodes": "0:0-3 1:4-7", "host.name": "h1"}
    facts |= {} if node is None else {"interface.v0.numa_node": node}
    measured = stream(origin={}, target={}, counters={"cpu": cpu})
    # The host was reached by a name that is not its own.
    named = found(measured, kind="far-from-the-card", hosts={"login.site": facts})
    assert len(named) == far
    if far:
        assert named[0].place == f"CPU {cpu} of h1"
        assert f"NUMA node {node}" in named[0].claim
        assert "v0" in named[0].claim


def test_datagrams_of_somebody_else_are_said_where_there_were_any():
    said = "not-authentic"
    assert not found(stream(transport="udp"), kind=said)
    honest = stream(transport="udp", counters={"unauthentic_messages": 0})
    assert not found(honest, kind=said)
    forged = stream(transport="udp", counters={"unauthentic_messages": 3}, point_id="p002")
    [finding] = found(honest, forged, kind=said)
    assert finding.points == ("p002",)
    assert "6 datagrams without the other end's tag" in finding.evidence
    run = made_run(honest, forged)
    counts = [f.value for f in figures_of(run) if f.name == "unauthentic_messages"]
    assert counts == [0, 6]
