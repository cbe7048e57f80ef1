"""What a host's kernel offers to netsonde, and how much netsonde can move within the host."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.transport import transport_row
from netsonde.errors import HostError
from netsonde.host_benchmarks.measure import host_facts
from netsonde.host_benchmarks.show import MISSING, WIDTH
from netsonde.launch.host import Host
from netsonde.launch.pair import open_pair
from netsonde.launch.worker import Worker
from netsonde.limits import limit_s
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch
from netsonde.stats.quantiles import quantile
from netsonde.units import format_rate, format_time

OFFERS_TIMEOUT_S = limit_s("host-facts")
OFFERS = {
    "ipv6": "IPv6",
    "multipath_tcp": "Multipath TCP (--multipath)",
    "zerocopy": "sending without a copy (--zerocopy)",
    "io_uring": "io_uring (--uring)",
    "segment_offload": "datagrams cut by the kernel (--offload)",
    "receive_offload": "datagrams joined by the kernel",
    "pacing": "pacing by the kernel (--rate of TCP)",
    "busy_poll": "busy polling (--busy-poll)",
    "kernel_times": "the kernel's time stamps (--kernel-times)",
    "depth": "kernel tracing (--kernel-trace)",
    "icmp_echoes": "ICMP echoes without root (netsonde icmp)",
    "raw_sockets": "raw sockets",
    "packet_sockets": "packet sockets",
    "express_data_path": "express data path (AF_XDP)",
    "real_time": "real-time priority",
    "cycle_counters": "the CPU's own counters (perf)",
}
CONTROLS = "sysctl.net.ipv4.tcp_available_congestion_control"
STREAM_NS = 1_000_000_000
STREAM_BYTES = 131_072
DATAGRAM_BYTES = 64
TOGETHER = 64
ROUND_TRIPS = 3000
BATCH_TIMEOUT_S = limit_s("host-kernel")


@dataclass(frozen=True)
class Offers:
    """By name, an empty text where it can be had, else why not; and TCP's congestion controls."""

    host: str
    offers: Mapping[str, str]
    congestion_controls: tuple[str, ...]


@dataclass(frozen=True)
class Ceiling:
    """Within one host, over loopback: rates, and medians of round trips with ends that sleep and
    ends that spin; None where spinning ends would share one CPU, and of datagrams that the
    kernel cuts from larger ones where it does not."""

    host: str
    stream_bit_per_s: float
    datagrams_per_s: float
    cut_datagrams_per_s: float | None
    tcp_ns: float
    udp_ns: float
    tcp_spinning_ns: float | None
    udp_spinning_ns: float | None


def kernel_offers(worker: Worker) -> Offers:
    """Asks the kernel for each. Raises HostError."""
    values = worker.values("offers", OFFERS_TIMEOUT_S)
    missing = [name for name in OFFERS if not isinstance(values.get(name), str)]
    if missing:
        raise HostError(f"{worker.host_name}: the worker answered offers without {missing[0]}")
    controls = str(host_facts(worker).get(CONTROLS, "")).split()
    return Offers(worker.host_name, {name: values[name] for name in OFFERS}, tuple(controls))


def offer_lines(found: Offers) -> list[str]:
    """Everything with its answer; no line is longer than 80 characters."""
    lines = [f"What the kernel of {found.host} offers"[:WIDTH], ""]
    lines += [f"{title:<44}{said}"[:WIDTH] for title, said in offer_rows(found)]
    return lines + textwrap.wrap(controls_sentence(found), WIDTH)


def offer_rows(found: Offers) -> list[tuple[str, str]]:
    """What is offered, and ``yes`` or why not."""
    reasons = ((title, found.offers[name]) for name, title in OFFERS.items())
    return [(title, f"no: {reason}" if reason else "yes") for title, reason in reasons]


def controls_sentence(found: Offers) -> str:
    return f"congestion controls: {', '.join(found.congestion_controls) or MISSING}"


def measure_ceiling(host: Host, processors: int, cuts: bool) -> Ceiling:
    """Some seconds of traffic within the host; ``cuts``: its kernel cuts datagrams. HostError."""
    spins = processors > 1
    return Ceiling(
        host.name,
        _stream_bit_per_s(host),
        _datagrams_per_s(host, {"datagrams_per_call": TOGETHER}),
        _datagrams_per_s(host, {"datagrams_per_call": TOGETHER, "segment_offload": True})
        if cuts
        else None,
        _round_trip_ns(host, "tcp", "block"),
        _round_trip_ns(host, "udp", "block"),
        _round_trip_ns(host, "tcp", "spin") if spins else None,
        _round_trip_ns(host, "udp", "spin") if spins else None,
    )


def _batch(host: Host, transport: str, options: Mapping[str, Any], **fields: Any) -> Batch:
    with open_pair(host, host, transport, options=options) as session:
        return decode_batch(0, session.run({"seed": 1, **fields}, BATCH_TIMEOUT_S))


def _stream_bit_per_s(host: Host) -> float:
    batch = _batch(
        host, "tcp", {}, test="stream", message_bytes=STREAM_BYTES, duration_ns=STREAM_NS
    )
    return 8 * _received_per_s(batch, "bytes_received")


def _datagrams_per_s(host: Host, options: Mapping[str, Any]) -> float:
    batch = _batch(
        host,
        "udp",
        options,
        test="stream",
        message_bytes=DATAGRAM_BYTES,
        duration_ns=STREAM_NS,
        record_messages=False,
    )
    return _received_per_s(batch, "messages_received")


def _received_per_s(batch: Batch, what: str) -> float:
    counters = batch.ends[1].counters
    return 1e9 * float(counters[what]) / max(1, counters["end_ns"] - counters["start_ns"])


def _round_trip_ns(host: Host, transport: str, wait: str) -> float:
    no_delay = {"no_delay": True} if transport_row(transport).has_connection else {}
    options = {"wait": wait, **no_delay}
    batch = _batch(
        host, transport, options, test="latency", message_bytes=DATAGRAM_BYTES, count=ROUND_TRIPS
    )
    samples = batch.ends[0].series["round_trip_ns"]
    if not len(samples):
        raise HostError(f"{host.name}: no message within the host was answered")
    return quantile(samples, 0.5)


def ceiling_lines(found: Ceiling) -> list[str]:
    """The table; no line is longer than 80 characters."""
    return [
        f"The most that netsonde moves within {found.host}"[:WIDTH],
        "",
        *(f"{name:<44}{value:>20}" for name, value in ceiling_rows(found)),
    ]


def ceiling_rows(found: Ceiling) -> list[tuple[str, str]]:
    """What is moved, and how fast."""
    return [
        (f"TCP stream, messages of {STREAM_BYTES >> 10}k", format_rate(found.stream_bit_per_s)),
        (
            f"UDP datagrams of {DATAGRAM_BYTES} bytes, {TOGETHER} a call",
            _millions(found.datagrams_per_s),
        ),
        ("the same, cut by the kernel", _millions(found.cut_datagrams_per_s)),
        ("TCP round trip, ends that sleep", _time(found.tcp_ns)),
        ("TCP round trip, ends that spin", _time(found.tcp_spinning_ns)),
        ("UDP round trip, ends that sleep", _time(found.udp_ns)),
        ("UDP round trip, ends that spin", _time(found.udp_spinning_ns)),
    ]


def _millions(per_s: float | None) -> str:
    return MISSING if per_s is None else f"{per_s / 1e6:.2f} million/s"


def _time(time_ns: float | None) -> str:
    return MISSING if time_ns is None else format_time(time_ns)
