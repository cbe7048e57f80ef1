"""The checks of a point, on data whose truth is known."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from every_pair_made import flows_point

from netsonde.records.data import Batch, EndData, Point, Snapshot
from netsonde.study.checks import (
    check_point,
    counters_check,
    samples_check,
    transport_check,
)

LAB = {"kind": "lab"}


def _end(rank, before, after, counters, series=None):
    end = EndData(
        rank,
        f"h{rank + 1}",
        counters=counters,
        before=Snapshot("before", 0, 0, before),
        after=Snapshot("after", 1, 0, after),
    )
    end.series = {k: np.array(v, dtype=np.int64) for k, v in (series or {}).items()}
    return end


def _udp_point(packets=10, packet_bytes=1514, sent=10, samples=10):
    origin = _end(
        0,
        {
            "interface.v0.tx_packets": 5,
            "interface.v0.tx_bytes": 500,
            "interface.v0.rx_packets": 1,
            "interface.v0.rx_bytes": 60,
        },
        {
            "interface.v0.tx_packets": 5 + packets,
            "interface.v0.tx_bytes": 500 + packets * packet_bytes,
            "interface.v0.rx_packets": 1,
            "interface.v0.rx_bytes": 60,
        },
        {
            "messages_sent": sent,
            "bytes_sent": sent * 1472,
            "start_ns": 0,
            "end_ns": 10**6,
            "drained_ns": 10**6,
            "sync_round_trip_ns": 0,
        },
        {"sent_ns": range(samples)},
    )
    target = _end(
        1,
        {},
        {},
        {
            "messages_received": sent,
            "bytes_received": sent * 1472,
            "start_ns": 0,
            "end_ns": 10**6,
            "sync_round_trip_ns": 0,
        },
        {"received_ns": range(sent)},
    )
    target.before = target.after = None
    return Point(
        "p001",
        "udp",
        "stream",
        {"message_bytes": 1472},
        opened={0: {"interface": "v0"}},
        batches=[Batch(0, {0: origin, 1: target})],
    )


def test_a_clean_point_passes():
    checks = check_point(_udp_point(), LAB)
    assert checks["samples"]["equal"]
    assert checks["transport"] == {
        "verified": True,
        "interface": "v0",
        "interface_bytes": 15140,
        "payload_bytes": 14720,
    }
    assert checks["counters"]["exact"]
    assert checks["ends"]["ratio"] == pytest.approx(1)


@pytest.mark.parametrize("change", [{"packets": 11}, {"packet_bytes": 1513}, {"sent": 9}])
def test_one_packet_or_byte_too_many_is_found(change):
    found = counters_check(_udp_point(**change), "ipv4", {})
    assert not found["exact"]
    assert found["differences"][0]["direction"] == "tx"


def test_datagrams_are_expected_in_the_fragments_of_their_mtu():
    """1480 bytes behind an IP header, cut at 576: 552, 552 and 376, with 34 of headers each."""
    cut = {"packets": 30, "packet_bytes": Fraction(1480 + 3 * 34, 3)}
    point = _udp_point(**cut)
    assert not counters_check(point, "ipv4", {})["exact"]
    assert counters_check(point, "ipv4", {"h1": {"interface.v0.mtu": 576}})["exact"]
    given = replace(_udp_point(**cut), parameters={"message_bytes": 1472, "options": {"mtu": 576}})
    assert counters_check(given, "ipv4", {"h1": {"interface.v0.mtu": 1500}})["exact"]


def test_a_datagram_that_came_twice_has_one_sample():
    point = _udp_point()
    point.batches[0].ends[1].counters["duplicates"] = 3
    assert samples_check(point)["equal"]
    # A copy may come after the test: the interface counts it then, or not.
    assert counters_check(point, "ipv4", {})["disturbed"] == 1


def test_a_missing_sample_is_found():
    assert not samples_check(_udp_point(samples=9))["equal"]


def test_traffic_that_no_interface_saw_is_found():
    point = _udp_point(packets=1)
    assert transport_check(point)["verified"] is False


@pytest.mark.parametrize(("hosts", "is_checked"), [("h1 h2", True), ("h1 h1", False)])
def test_tasks_on_one_host_need_no_interface(hosts, is_checked):
    point = replace(_udp_point(), transport="pvm")
    for end, host in zip(point.batches[0].ends.values(), hosts.split(), strict=True):
        end.host = host
    assert ("transport" in check_point(point, LAB)) is is_checked


def test_of_all_pairs_over_tasks_a_host_with_itself_is_one_of_many():
    point = flows_point(lambda *_: [1.0], ["h1", "h2"], transport="pvm")
    assert "transport" in check_point(point, LAB)


def test_tcp_segments_of_both_connections_are_counted():
    before = {
        f"connection.{c}.{n}": 0
        for c in ("test", "control")
        for n in ("segs_out", "segs_in", "bytes_sent", "bytes_received")
    }
    before |= {f"interface.v0.{d}_{w}": 0 for d in ("tx", "rx") for w in ("packets", "bytes")}
    after = dict(before)
    after |= {
        "connection.test.segs_out": 4,
        "connection.test.bytes_sent": 4000,
        "connection.control.segs_out": 1,
        "connection.control.bytes_sent": 32,
        "interface.v0.tx_packets": 5,
        "interface.v0.tx_bytes": 4032 + 5 * 66,
    }
    end = _end(0, before, after, {})
    point = Point(
        "p001",
        "tcp",
        "stream",
        {"message_bytes": 1000},
        opened={0: {"interface": "v0"}},
        batches=[Batch(0, {0: end})],
    )
    assert counters_check(point, "ipv4", {})["exact"]
    assert not counters_check(point, "ipv6", {})["exact"]
    assert not counters_check(point, "ipv4", {"h1": {"sysctl.net.ipv4.tcp_timestamps": 0}})["exact"]


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("settings", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("told", [False, True])
def test_headers_are_those_that_both_ends_agreed_on(used, settings, told):
    """By the connection's own record, whatever the hosts are set to; without one, an option that
    one of the two hosts does not offer is not used."""
    names = [f"connection.{c}.{n}" for c in ("test", "control") for n in ("segs_out", "bytes_sent")]
    names += [f"interface.v0.{d}_{w}" for d in ("tx", "rx") for w in ("packets", "bytes")]
    in_use = used if told else all(settings)
    grown = {"connection.test.segs_out": 4, "connection.test.bytes_sent": 4000}
    grown |= {"interface.v0.tx_packets": 4, "interface.v0.tx_bytes": 4000 + 4 * (54 + 12 * in_use)}
    bits = {f"connection.{c}.options": 6 + used for c in ("test", "control")} if told else {}
    before = dict.fromkeys(names, 0) | bits
    ends = {rank: _end(rank, before, before | (grown if rank == 0 else {}), {}) for rank in (0, 1)}
    point = Point("p1", "tcp", "stream", {"message_bytes": 1000})
    point.opened = {rank: {"interface": "v0"} for rank in ends}
    point.batches = [Batch(0, ends)]
    facts = {f"h{i + 1}": {"sysctl.net.ipv4.tcp_timestamps": s} for i, s in enumerate(settings)}
    assert counters_check(point, "ipv4", facts)["exact"]


def test_a_batch_with_losses_is_left_out_and_counted():
    point = _udp_point(packets=9)
    point.batches[0].ends[1].counters["lost"] = 1
    found = counters_check(point, "ipv4", {})
    assert (found["compared"], found["disturbed"], found["exact"]) == (0, 1, None)
