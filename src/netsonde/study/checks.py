"""Is what was measured what was claimed? Checks on a point's own counters.

Four questions: is there a sample for every message; did the bytes really cross the interface that
the transport claims; do interface counters equal, packet by packet and byte by byte, what the test
sent; do both ends report the same throughput.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from netsonde.catalogue.test import test_row
from netsonde.catalogue.within import MEMORY
from netsonde.figures.flow_figures import UNAUTHENTIC
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.model.goodput import expected_wire_link, expected_wire_tcp, expected_wire_udp
from netsonde.records.data import USUAL_MTU_BYTES, Batch, EndData, Point
from netsonde.records.negotiated import agreed
from netsonde.study.carried import carried_check, least_sent_bytes, sent_by_interface

DIFFERENCES_KEPT = 8
"""Examples of differences that a check shows; one is mostly enough to see the cause."""


def check_point(
    point: Point,
    path: Mapping[str, Any],
    family: str = "ipv4",
    hosts: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """All checks of a point. ``counters`` is only judged (exact true or false) on a lab link, where
    nothing else is sent; elsewhere it is left out. A program has none: what it sends is its own
    business, and a round of all pairs has checks of its own."""
    if point.kind.is_program or point.kind.is_round:
        return {}
    checks: dict[str, Any] = {"samples": samples_check(point)}
    is_free = point.carrier.has_ranks and path.get("within") == MEMORY.name
    beneath = point.carrier.has_tasks or point.carrier.has_endpoints
    is_free |= beneath and _is_within_a_host(point)
    is_free |= point.kind.is_bounds
    if (point.spec.ppn or 1) == 1 and not is_free:  # else ranks of one host may share memory
        checks["transport"] = transport_check(point)
    carried = carried_check(point)
    if carried is not None:
        checks["carried"] = carried
    judged = (
        not (point.kind.is_unanswered or point.kind.is_open_loop or point.kind.is_of_many)
        and point.spec.streams is None
    )
    # Others send of their own, and what is repeated is counted by nobody.
    of_frames = point.carrier.has_frames and point.has_datagrams
    is_counted = point.carrier.has_sockets or point.carrier.is_echoed or of_frames
    if path.get("kind") == "lab" and judged and is_counted:
        checks["counters"] = counters_check(point, family, hosts or {})
    if point.kind.is_one_way_stream:
        checks["ends"] = ends_check(point)
    partners = partners_check(point)
    if partners is not None:
        checks["partners"] = partners
    if point.spec.check_data:
        checks["data"] = data_check(point)
    return checks


def _is_within_a_host(point: Point) -> bool:
    """All of it: of many flows, one may well be a host's with itself."""
    return len({end.host for batch in point.batches for end in batch.ends.values()}) == 1


def samples_check(point: Point) -> dict[str, Any]:
    """Messages against samples, summed over ends and batches."""
    messages = samples = 0
    for batch in point.batches:
        for end in batch.ends.values():
            for counted, recorded in _pairs(point.test, end):
                messages += counted
                samples += recorded
    return {"messages": messages, "samples": samples, "equal": messages == samples}


def data_check(point: Point) -> dict[str, Any]:
    """Messages or repetitions whose content was wrong, and the ranks that found them, at most
    eight. ``intact`` is None where no end looked."""
    found: dict[int, int] = {}
    for batch in point.batches:
        for rank, end in batch.ends.items():
            if "corrupt" in end.counters:
                found[rank] = found.get(rank, 0) + end.counters["corrupt"]
            summarised = getattr(end, "series", {}).get("rank_corrupt", ())
            for other, corrupt in enumerate(summarised):
                found[other] = found.get(other, 0) + int(corrupt)
    wrong = sorted(rank for rank, corrupt in found.items() if corrupt)
    return {
        "intact": not wrong if found else None,
        "corrupt": sum(found.values()),
        "ranks": wrong[:DIFFERENCES_KEPT],
    }


def partners_check(point: Point) -> dict[str, Any] | None:
    """Ranks with a partner, and those of them whose partner is on the same host, at most eight
    named; None where there are no partners, or one host has all ranks."""
    ends = point.batches[0].ends if point.batches else {}
    if len({end.host for end in ends.values()}) < 2:
        return None
    whose = {
        rank: end.counters["partner"] for rank, end in ends.items() if "partner" in end.counters
    }
    within = [rank for rank, to in whose.items() if to in ends and ends[rank].host == ends[to].host]
    if not whose:
        return None
    return {
        "partners": len(whose),
        "within_hosts": len(within),
        "ranks": sorted(within)[:DIFFERENCES_KEPT],
    }


def _pairs(test: str, end: EndData) -> list[tuple[int, int]]:
    lengths = {name: len(values) for name, values in end.series.items()}
    counters = end.counters
    if test_row(test).is_operation and "histogram_count" in end.series:
        repetitions = lengths["completion_ns"]
        counted = repetitions * counters["summarised_ranks"]
        return [(counted, int(end.series["histogram_count"].sum()))]
    if test_row(test).is_operation:
        return [
            (
                counters.get("messages_sent", lengths.get("duration_ns", 0)),
                lengths.get("duration_ns", 0),
            )
        ]
    if test_row(test).is_open_loop:
        answered = lengths.get("response_ns", 0)
        sent = end.counters["messages_sent"]
        return [(sent, answered + end.counters["unanswered"])] if end.rank == 0 else []
    if test_row(test).has_victim and end.rank < 2:
        return _pairs("open_loop", end)
    if test_row(test).is_round_trip or test_row(test).has_threads:
        if end.rank != 0:
            return []
        answered = lengths.get("round_trip_ns", 0)
        return [(counters["messages_sent"], answered + counters.get("unanswered", 0))]
    pairs = []
    if "sent_ns" in lengths:
        pairs.append((counters["messages_sent"], lengths["sent_ns"]))
    if "received_ns" in lengths:
        # A datagram that came twice is one message, and has one sample.
        pairs.append((counters["messages_received"], lengths["received_ns"]))
    return pairs


def transport_check(point: Point) -> dict[str, Any]:
    """Did the bytes of the point really cross a network interface, as is claimed?

    What an interface of rank 0's host sent over all batches (the largest of all; not loopback where
    the ends are on several hosts) against what must have been sent: the payload of rank 0 less that
    of datagrams which were lost, perhaps before they came to the interface, and the headers of at
    least one packet for each round trip or repetition. A port of a fabric that does not carry IP is
    an interface here, too. MPI may silently use shared memory; then no interface counts its
    messages. ``verified`` is None without counters.
    """
    if point.kind.is_all_pairs:
        ends, payload = _of_first_host(point)
    else:
        ends = [batch.ends[0] for batch in point.batches if 0 in batch.ends]
        payload = sum(end.counters.get("bytes_sent", 0) for end in ends)
    lost = _lost(point)
    came = max(0, payload - lost * point.message_bytes) if lost else payload
    sent = sent_by_interface(ends)
    if len({end.host for batch in point.batches for end in batch.ends.values()}) > 1:
        sent.pop("lo", None)
    device = max(sent, key=lambda name: sent[name]) if sent else None
    counted = sent[device] if device else 0
    return {
        "verified": counted >= least_sent_bytes(ends, came) if device else None,
        "interface": device,
        "interface_bytes": counted,
        "payload_bytes": payload,
    }


def _of_first_host(point: Point) -> tuple[list[EndData], int]:
    """Of all pairs: what the first host's counters were before and after each batch, as an end, and
    the bytes that this host sent to others: one message in each round trip that it has a part
    in."""
    from netsonde.figures.every_pair import pair_times

    first = next(batch.ends[0].host for batch in point.batches if 0 in batch.ends)
    own = [[end for end in b.ends.values() if end.host == first] for b in point.batches]
    trips = sum(
        len(trip)
        for times in pair_times(point).values()
        for pair, trip in times.times_ns.items()
        if pair.count(0) == 1
    )
    return [_from_first_to_last(ends) for ends in own if ends], trips * point.message_bytes


def _from_first_to_last(ends: Sequence[EndData]) -> EndData:
    """Ends of one host read its counters one after the other: the first before, the last after."""
    before = [end.before for end in ends if end.before is not None]
    after = [end.after for end in ends if end.after is not None]
    return replace(
        ends[0],
        before=min(before, key=lambda s: s.time_ns, default=None),
        after=max(after, key=lambda s: s.time_ns, default=None),
    )


def _lost(point: Point) -> int:
    """Datagrams of all ends that did not arrive, or were not answered: the far end's count, and
    where none was kept, those that the sending host's own queue refused."""
    ends = [end for batch in point.batches for end in batch.ends.values()]
    counted = sum(end.counters.get(n, 0) for end in ends for n in ("lost", "unanswered"))
    refused = sum(
        end.difference(name) or 0
        for end in ends
        if end.rank == 0 and point.carrier.has_datagrams
        for name in ("snmp.Udp.SndbufErrors", "snmp6.Udp6SndbufErrors")
    )
    return max(counted, refused)


def ends_check(point: Point) -> dict[str, Any]:
    """Median over batches of the origin's sending rate over the target's receiving rate, after
    what was lost is taken off the former."""
    ratios = []
    for batch in point.batches:
        sent, received = stream_rates_bit_per_s(batch)
        ends = batch.ends.values()
        lost = sum(end.counters.get("lost", 0) for end in ends if end.rank % 2 == 1)
        sending = (end for end in ends if end.rank % 2 == 0)
        messages = max(1, sum(end.counters.get("messages_sent", 0) for end in sending))
        if received > 0:
            ratios.append(sent * (1 - lost / messages) / received)
    return {"ratio": float(np.median(ratios)) if ratios else None}


def counters_check(
    point: Point, family: str, hosts: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Interface counters against what the connections and datagrams of the test must have made.

    Batches in which TCP retransmitted or the path dropped datagrams are left out and counted as
    ``disturbed``: acknowledgements then carry SACK blocks that no counter knows, and which
    fragments of a lost datagram arrived is not known either.
    """
    differences = []
    compared = disturbed = 0
    for batch in point.batches:
        if _lost_anything(batch):
            disturbed += 1
            continue
        for end in batch.ends.values():
            interface = point.opened.get(end.rank, {}).get("interface")
            if end.before is None or interface is None:
                continue
            facts = hosts.get(end.host, {})
            mtu_bytes = point.mtu_bytes or facts.get(f"interface.{interface}.mtu", USUAL_MTU_BYTES)
            for direction in ("tx", "rx"):
                compared += 1
                expected = expected_traffic(point, end, direction, family, hosts, mtu_bytes)
                counted = _counted(end, f"interface.{interface}.{direction}")
                if expected != counted:
                    differences.append(_difference(batch, end, direction, expected, counted))
    return {
        "compared": compared,
        "disturbed": disturbed,
        "exact": not differences if compared else None,
        "differences": differences[:DIFFERENCES_KEPT],
    }


def _lost_anything(batch: Batch) -> bool:
    for end in batch.ends.values():
        names = [
            name
            for c in ("test", "control")
            for name in (f"connection.{c}.total_retrans", f"connection.{c}.rcv_ooopack")
        ]
        names += ["netstat.TcpExt.TCPOFOQueue", "netstat.TcpExt.TCPDSACKOldSent"]
        if any(end.difference(name) for name in names):
            return True
        if end.counters.get("lost", 0) > _overflowed(end) or end.counters.get("unanswered", 0):
            return True
        if end.counters.get(UNAUTHENTIC, 0):  # their size is whoever sent them's
            return True
        if end.counters.get("duplicates", 0):  # a copy may come after the test, and is not counted
            return True
    return False


def _overflowed(end: EndData) -> int:
    """Datagrams that reached the host and were dropped at the socket: the interface has them."""
    return (end.difference("snmp.Udp.RcvbufErrors") or 0) + (
        end.difference("snmp6.Udp6RcvbufErrors") or 0
    )


def _counted(end: EndData, prefix: str) -> tuple[int, int]:
    return end.difference(f"{prefix}_packets") or 0, end.difference(f"{prefix}_bytes") or 0


def _difference(
    batch: Batch,
    end: EndData,
    direction: str,
    expected: tuple[int, int],
    counted: tuple[int, int],
) -> dict[str, Any]:
    return {
        "batch": batch.index,
        "rank": end.rank,
        "direction": direction,
        "packets_expected": expected[0],
        "packets_counted": counted[0],
        "bytes_expected": expected[1],
        "bytes_counted": counted[1],
    }


def expected_traffic(
    point: Point,
    end: EndData,
    direction: str,
    family: str,
    hosts: Mapping[str, Mapping[str, Any]],
    mtu_bytes: int = USUAL_MTU_BYTES,
) -> tuple[int, int]:
    """(packets, bytes) that the end's interface must have counted: the segments of both TCP
    connections, and the datagrams of a UDP test or the echoes of ICMP, whose header is as long."""
    version: Literal[4, 6] = 6 if family == "ipv6" else 4
    segments_name, bytes_name = (
        ("segs_out", "bytes_sent") if direction == "tx" else ("segs_in", "bytes_received")
    )
    counts = [
        expected_wire_tcp(
            end.difference(f"connection.{connection}.{segments_name}") or 0,
            end.difference(f"connection.{connection}.{bytes_name}") or 0,
            ip_version=version,
            timestamps=agreed(point, "timestamps", hosts, connection),
        )
        for connection in ("test", "control")
    ]
    if point.carrier.has_frames:
        fragment = int(point.opened[end.rank]["fragment_bytes"])
        counts.append(expected_wire_link(_datagrams(end, direction), point.message_bytes, fragment))
    elif point.carrier.has_datagrams:
        counts.append(
            expected_wire_udp(
                _datagrams(end, direction),
                point.message_bytes,
                mtu_bytes=mtu_bytes,
                ip_version=version,
            )
        )
    return sum(count.packets for count in counts), sum(count.bytes for count in counts)


def _datagrams(end: EndData, direction: str) -> int:
    if direction == "tx":
        return end.counters.get("messages_sent", 0)
    names = ("messages_received", "duplicates", "late_answers")
    return sum(end.counters.get(name, 0) for name in names) + _overflowed(end)
