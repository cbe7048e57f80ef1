"""Figures of many hosts and of one-way delays, from records whose truth is known."""

from itertools import permutations

import numpy as np
import pytest

from netsonde.explain.data import Seen
from netsonde.explain.patterns import common_start, incast_collapse
from netsonde.figures.compute import figures_of_point, find
from netsonde.figures.global_time import leads
from netsonde.figures.one_way import one_way_delays
from netsonde.figures.patterns import (
    flow_throughputs_bit_per_s,
    round_lead_needed_ns,
    rounds_span_ns,
    time_outs,
)
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot
from netsonde.report.lookup import Study
from netsonde.report.pattern_plots import by_flow

MS = 1_000_000
LEAD_NS = {"h1": 0, "h2": 7 * 10**12, "h3": -5 * 10**11, "h9": 3 * 10**9}
UNCERTAIN_NS = 10_000
BLOCK = 64 * 1024


def end_of(rank, host, start_ms, end_ms, counters, timeouts=0, lead_ns=None):
    lead = LEAD_NS[host] if lead_ns is None else lead_ns
    end = EndData(rank, host)
    end.counters = {
        "start_ns": lead + round(start_ms * MS),
        "end_ns": lead + round(end_ms * MS),
        "sync_round_trip_ns": 0,
        "clock_group": hash(host) & 0xFFFF,
        **counters,
    }
    end.series = {
        "clock_at_ns": np.array([lead, lead + 10 * MS]),
        "clock_low_ns": np.array([lead - UNCERTAIN_NS, lead - 3 * UNCERTAIN_NS]),
        "clock_high_ns": np.array([lead + 2 * UNCERTAIN_NS, lead + UNCERTAIN_NS]),
    }
    end.before = Snapshot("before", 0, 0, {"netstat.TcpExt.TCPTimeouts": 5})
    end.after = Snapshot("after", 1, 0, {"netstat.TcpExt.TCPTimeouts": 5 + timeouts})
    return end


def round_of(index, last_ms, timeouts=0, starts_ms=(0, 0.5, 0.2)):
    """Three senders; the last one ends at last_ms, the others earlier."""
    ends = {}
    for flow, host in enumerate(("h1", "h2", "h3")):
        sent = {"bytes_sent": BLOCK, "messages_sent": 1}
        got = {"bytes_received": BLOCK, "messages_received": 1}
        slowest = flow == 2
        arrives = last_ms if slowest else 10 + flow
        ends[2 * flow] = end_of(
            2 * flow, host, starts_ms[flow], arrives, sent, timeouts if slowest else 0
        )
        ends[2 * flow + 1] = end_of(2 * flow + 1, "h9", starts_ms[flow], arrives, got)
    return Batch(index, ends)


def rounds_of(index, ends_ms, timeouts, pause_ms=3.0):
    """A batch of rounds, as round_of() makes each: they follow each other after a pause."""
    single = [round_of(0, end_ms) for end_ms in ends_ms]
    begun_ms = np.concatenate([[0.0], np.cumsum(np.array(ends_ms[:-1]) + pause_ms)])
    ends = round_of(index, ends_ms[0]).ends
    for rank, end in ends.items():
        own = [batch.ends[rank].counters for batch in single]
        first = own[0]["start_ns"]
        start = np.array([c["start_ns"] - first for c in own]) + np.round(begun_ms * MS)
        if rank % 2 == 0:
            end.series["round_start_ns"] = start.astype(np.int64)
            end.series["round_waited_ns"] = np.full(len(own), 2 * MS - rank * MS)
            # The kernel counts for a host: the two on h1 would both show the same.
            end.series["round_time_outs"] = np.array(timeouts if rank == 4 else [0] * len(own))
        else:
            last = np.array([c["end_ns"] - first for c in own]) + np.round(begun_ms * MS)
            end.series["round_end_ns"] = last.astype(np.int64)
        for name in ("bytes_sent", "bytes_received"):
            if name in end.counters:
                end.counters[name] *= len(own)
    return Batch(index, ends)


def incast(batches, test="incast"):
    parameters = {"message_bytes": BLOCK, "interval": 0.01}
    return Point("p001", "tcp", test, parameters, "finished", batches=batches)


def seen(point, rate=None):
    run = Run.__new__(Run)
    run.__dict__.update(points=[point], manifest={"path": {"rate_bit_per_s": rate}})
    return Seen(run, figures_of_point(point))


def flows_of(ways, rate_of):
    """A batch of flows from host to host, each of its own rate, for a second."""
    ends = {}
    for flow, (origin, target) in enumerate(ways):
        sent = round(rate_of(origin, target) / 8)
        both = ((origin, {"bytes_sent": sent}), (target, {"bytes_received": sent}))
        for rank, (host, counters) in enumerate(both, start=2 * flow):
            ends[rank] = end_of(rank, host, 0, 1000, counters)
            ends[rank].counters["end_ns"] = ends[rank].counters["start_ns"] + 1000 * MS
    return Batch(0, ends)


def panel_of(ways, rate_of, test):
    point = incast([flows_of(ways, rate_of)], test)
    run = Run.__new__(Run)
    run.__dict__.update(points=[point], manifest={})
    return by_flow(Study(run, [])).panels[0]


def test_where_all_send_to_all_a_map_names_the_hosts():
    place = {"h3": 1, "h1": 2, "h9": 3}
    rate_of = lambda origin, target: 1e6 * (10 * place[origin] + place[target])  # noqa: E731
    heat = panel_of(list(permutations(place, 2)), rate_of, "alltoall").heat
    assert heat.rows == heat.columns == ["h3", "h1", "h9"]
    for row, origin in enumerate(heat.rows):
        for column, target in enumerate(heat.columns):
            share = None if row == column else pytest.approx(rate_of(origin, target) / 32e6)
            assert heat.shares[row][column] == share
    assert heat.words[2][0] == "31.00 Mbit/s"


def test_other_patterns_name_the_ends_of_a_few_flows_and_number_many():
    ring = [("h1", "h2"), ("h2", "h3"), ("h3", "h1")]
    panel = panel_of(ring, lambda *_: 1e6, "ring")
    assert panel.x.names == ["h1 → h2", "h2 → h3", "h3 → h1"]
    assert panel.curves[0].x == [0, 1, 2]
    many = panel_of(ring * 6, lambda *_: 1e6, "pairs")
    assert many.x.names is None
    assert many.curves[0].x == list(range(1, 19))


def test_a_round_lasts_from_the_first_start_to_the_last_arrival_on_one_clock():
    point = incast([round_of(i, 20.0) for i in range(40)])
    figures = figures_of_point(point)
    assert find(figures, "round_median_ns", "p001").value == pytest.approx(20 * MS, abs=50)
    assert find(figures, "start_spread_max_ns", "p001").value == pytest.approx(0.5 * MS, abs=50)
    throughput = find(figures, "throughput_bit_per_s", "p001").value
    assert throughput == pytest.approx(3 * BLOCK * 8 / 0.020, rel=1e-4)
    # Half of the tightest bounds, for either host of a difference.
    assert find(figures, "clock_uncertainty_ns", "p001").value == pytest.approx(2 * UNCERTAIN_NS)


def test_workers_of_one_clock_need_no_bounds():
    batch = round_of(0, 20.0)
    for end in batch.ends.values():
        end.counters["clock_group"] = 1
    assert {lead.ns for lead in leads(batch).values()} == {0.0}


def test_collapse_is_named_with_the_counters_that_prove_it():
    rounds = [round_of(i, 210.0 if i % 2 else 20.0, timeouts=i % 2) for i in range(40)]
    (finding,) = incast_collapse(seen(incast(rounds), rate=100_000_000))
    assert finding.level == "warning"
    assert "3 senders" in finding.claim
    # 3 x 64 KiB in 115 ms on average are 13.7 Mbit/s of 94.1.
    assert "collapsed to 15% of what the link carries" in finding.claim
    assert "20 timeouts (TCPTimeouts), in 20 of 40 rounds" in finding.evidence
    assert "210.0 ms in the median; the others took 20.00 ms" in finding.evidence
    assert "20 flows ended later than 200.0 ms" in finding.evidence


@pytest.mark.parametrize(("least_ms", "late", "marked"), [(50, 20, [50.0]), (None, 0, [])])
def test_the_hosts_own_least_time_out_is_what_flows_are_late_by(least_ms, late, marked):
    """A route's least timeout is 50 ms; in the finding and as the plot's line."""
    rounds = [round_of(i, 70.0 if i % 2 else 20.0, timeouts=i % 2) for i in range(40)]
    asked = seen(incast(rounds), rate=100_000_000)
    if least_ms:
        asked.run.manifest["hosts"] = {"h1": {"route.rto_min_ms": least_ms}}
    (finding,) = incast_collapse(asked)
    assert f"{late} flows ended later than {least_ms or 200}.0" in finding.evidence
    plot = by_flow(Study(asked.run, asked.figures))
    assert [mark.value / MS for mark in plot.panels[0].marks] == marked


def test_rounds_of_one_batch_are_the_same_as_batches_of_one_round():
    ends_ms = [20.0, 210.0, 20.0, 25.0]
    timeouts = [0, 2, 0, 0]
    together = incast([rounds_of(0, ends_ms, timeouts), rounds_of(1, ends_ms, timeouts)])
    apart = incast([round_of(0, *one) for one in zip(ends_ms, timeouts, strict=True)] * 2)
    of_one = {f.name: f for f in figures_of_point(apart)}
    of_many = {f.name: f for f in figures_of_point(together)}
    assert of_many.keys() == of_one.keys()
    for name, figure in of_many.items():
        if name == "clock_uncertainty_ns":
            continue  # of batches, not of rounds
        assert figure.value == pytest.approx(of_one[name].value, rel=1e-6), name
    assert of_many["timed_out_rounds_ratio"].samples == 8
    assert incast_collapse(seen(together)) == incast_collapse(seen(apart)) != []
    np.testing.assert_allclose(
        flow_throughputs_bit_per_s(together.batches), flow_throughputs_bit_per_s(apart.batches)
    )


def test_of_several_origins_on_a_host_the_kernel_counts_once():
    batch = rounds_of(0, [20.0, 210.0, 20.0], [0, 2, 0])
    for rank, when in ((0, [0, 2, 0]), (2, [0, 0, 2])):  # the second looked before it happened
        batch.ends[rank].host = "h3"
        batch.ends[rank].series["round_time_outs"] = np.array(when)
    assert time_outs([batch]).tolist() == [0, 2, 0]
    del batch.ends[2].series["round_time_outs"]
    assert time_outs([batch]) is None


def test_how_long_before_its_start_a_round_must_be_said():
    batch = rounds_of(0, [20.0] * 41, [0] * 41)
    slowest = batch.ends[4].series["round_waited_ns"]  # 2 ms late
    assert round_lead_needed_ns(batch, 5 * MS) == pytest.approx(7 * MS)
    slowest[0] = -100 * MS  # the first had a lead of its own
    slowest[3] = -100 * MS  # and one of many may be late
    assert round_lead_needed_ns(batch, 5 * MS) == pytest.approx(7 * MS)
    assert round_lead_needed_ns(rounds_of(0, [20.0], [0]), 5 * MS) == 5 * MS
    assert rounds_span_ns(batch) == pytest.approx(41 * 20 * MS + 40 * 3 * MS, abs=100)


@pytest.mark.parametrize(("hits", "claimed"), [(0, False), (1, False), (2, True)])
def test_one_round_that_timed_out_is_no_collapse(hits, claimed):
    rounds = [round_of(i, 210.0 if i < hits else 20.0, timeouts=i < hits) for i in range(7)]
    findings = incast_collapse(seen(incast(rounds), rate=100_000_000))
    assert [("collapsed" in finding.claim) for finding in findings] == [True] * claimed


def test_no_collapse_is_claimed_over_a_switch_that_was_late_itself():
    rounds = [round_of(i, 210.0 if i % 2 else 20.0, timeouts=i % 2) for i in range(40)]
    point = incast(rounds)
    point.checks["lab"] = {"valid": False}
    (finding,) = incast_collapse(seen(point, rate=100_000_000))
    assert "some senders waited" in finding.claim
    assert "switch was late itself" in finding.evidence


def test_without_time_outs_nothing_collapsed():
    slow = incast([round_of(i, 210.0) for i in range(40)])
    assert incast_collapse(seen(slow, rate=100_000_000)) == []
    once = incast([round_of(i, 20.0, timeouts=i == 3) for i in range(40)])
    assert incast_collapse(seen(once)) == []


def test_starts_that_are_apart_are_said():
    apart = incast([round_of(i, 20.0, starts_ms=(0, 9, 1)) for i in range(8)], "alltoall")
    (finding,) = common_start(seen(apart))
    assert "did not begin together" in finding.claim
    assert "9.000 ms in the median" in finding.evidence
    together = incast([round_of(i, 20.0) for i in range(8)], "alltoall")
    assert list(common_start(seen(together))) == []


def test_a_victim_that_is_alone_at_times_has_no_common_start():
    alone = round_of(0, 20.0)
    for rank in (2, 3, 4, 5):
        alone.ends.pop(rank)
    run = Run.__new__(Run)
    run.__dict__.update(points=[incast([alone, round_of(1, 20.0)], "victim")], manifest={})
    assert list(common_start(Seen(run, ()))) == []


def stream_batch(index, lead_ns, delay_ns, comparisons):
    """Ten datagrams, one each ms, each delay_ns and its number of us under way."""
    at = index * 100 * MS
    origin = end_of(0, "h1", 0, 20, {"start_ns": at, "end_ns": at + 20 * MS})
    target = end_of(1, "h9", 0, 20, {"start_ns": at + lead_ns + delay_ns})
    sent = np.arange(10) * MS
    origin.series = {"sent_ns": sent}
    order = np.array([0, 2, 1, 3, 4, 5, 6, 7, 9])  # one overtaken, one lost
    target.series = {"received_ns": sent[order] + 1000 * order, "sequence": order}
    if comparisons:
        origin.counters |= {
            "peer_clock_low_ns": lead_ns - 4000,
            "peer_clock_high_ns": lead_ns + 4000,
        }
    return Batch(index, {0: origin, 1: target})


def test_one_way_delays_are_those_that_were_made():
    batches = [stream_batch(i, 12 * 10**9, 3 * MS, True) for i in range(6)]
    found = one_way_delays(batches)
    wanted = np.array([0, 2, 1, 3, 4, 5, 6, 7, 9]) * 1000 + 3 * MS
    assert np.abs(found.delay_ns - np.tile(wanted, 6)).max() < 100
    assert 4000 <= found.uncertainty_ns < 4500, "a little more behind the last comparison"


def test_clocks_that_nobody_compared_give_no_delay():
    assert one_way_delays([stream_batch(0, 0, MS, False)]) is None
