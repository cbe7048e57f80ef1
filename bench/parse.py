"""What the peers print, as figures. Pure functions on their output.

Each raises UnreadableOutputError with one sentence where the output is not what the tool prints
after a complete run.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

EXCERPT_CHARACTERS = 200


class UnreadableOutputError(Exception):
    """A peer's output does not hold the figures of a complete run."""


@dataclass(frozen=True)
class Iperf3Stream:
    """One iperf3 run with one stream, client to server.

    received_bit_per_s is payload over the server's own time. lost_ratio is one minus bytes received
    over bytes sent, None for TCP; iperf3's lost_percent leaves out what was lost at the very end.
    cpu_client_ratio and cpu_server_ratio are shares of one processor.
    """

    received_bit_per_s: float
    sent_bit_per_s: float
    sent_bytes: int
    received_bytes: int
    lost_ratio: float | None
    retransmits: int | None
    congestion_control: str | None
    send_buffer_bytes: int
    receive_buffer_bytes: int
    cpu_client_ratio: float
    cpu_server_ratio: float


@dataclass(frozen=True)
class SockperfRoundTrips:
    """One sockperf ping-pong run with --full-rtt, after its own warm-up.

    Round trips in nanoseconds; percentiles as sockperf takes them.
    """

    median_ns: float
    minimum_ns: float
    p99_ns: float
    observations: int
    dropped: int


@dataclass(frozen=True)
class NetpipeSize:
    """One message size of NetPIPE: the best of three trials, each the mean of ``repeats``.

    one_way_ns is half a round trip.
    """

    message_bytes: int
    repeats: int
    one_way_ns: float


def parse_iperf3(text: str) -> Iperf3Stream:
    """The result of ``iperf3 -c ... -J``, TCP or UDP."""
    try:
        document: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise UnreadableOutputError(f"iperf3 wrote no JSON: {_excerpt(text)}") from error
    if "error" in document:
        raise UnreadableOutputError(f"iperf3 says: {document['error']}")
    try:
        start, end = document["start"], document["end"]
        datagrams = start["test_start"]["protocol"] == "UDP"
        sent, received = end["sum_sent"], end["sum_received"]
        cpu = end["cpu_utilization_percent"]
        return Iperf3Stream(
            received_bit_per_s=float(received["bits_per_second"]),
            sent_bit_per_s=float(sent["bits_per_second"]),
            sent_bytes=int(sent["bytes"]),
            received_bytes=int(received["bytes"]),
            lost_ratio=_lost_ratio(document) if datagrams else None,
            retransmits=sent.get("retransmits"),
            congestion_control=end.get("sender_tcp_congestion"),
            send_buffer_bytes=int(start["sndbuf_actual"]),
            receive_buffer_bytes=int(start["rcvbuf_actual"]),
            cpu_client_ratio=float(cpu["host_total"]) / 100.0,
            cpu_server_ratio=float(cpu["remote_total"]) / 100.0,
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise UnreadableOutputError(f"iperf3's result is incomplete: no usable {error}") from error


def _lost_ratio(document: dict[str, Any]) -> float:
    end = document["end"]
    return 1.0 - int(end["sum_received"]["bytes"]) / int(end["sum_sent"]["bytes"])


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_OBSERVATIONS = re.compile(r"Total (\d+) observations")
_DROPPED = re.compile(r"# dropped messages = (\d+)")
_PERCENTILE = re.compile(r"---> percentile ([\d.]+) =\s*([\d.]+)")
_MINIMUM = re.compile(r"---> <MIN> observation =\s*([\d.]+)")


def parse_sockperf(text: str) -> SockperfRoundTrips:
    """The result of ``sockperf ping-pong --full-rtt``."""
    plain = _COLOUR.sub("", text)
    if "Round trip is" not in plain:
        raise UnreadableOutputError(f"sockperf wrote no round trips: {_excerpt(plain)}")
    percentiles_us = {float(name): float(value) for name, value in _PERCENTILE.findall(plain)}
    found = {
        "observations": _OBSERVATIONS.search(plain),
        "dropped messages": _DROPPED.search(plain),
        "minimum": _MINIMUM.search(plain),
    }
    missing = [name for name, match in found.items() if match is None]
    missing += [f"percentile {p:g}" for p in (50.0, 99.0) if p not in percentiles_us]
    if missing:
        raise UnreadableOutputError(f"sockperf's result is incomplete: no {', '.join(missing)}")
    values = {name: match.group(1) for name, match in found.items() if match is not None}
    return SockperfRoundTrips(
        median_ns=percentiles_us[50.0] * 1e3,
        minimum_ns=float(values["minimum"]) * 1e3,
        p99_ns=percentiles_us[99.0] * 1e3,
        observations=int(values["observations"]),
        dropped=int(values["dropped messages"]),
    )


_NETPIPE_LINE = re.compile(
    r"^\s*\d+:\s+(\d+) bytes\s+(\d+) times -->\s+[\d.]+ Mbps in\s+([\d.]+) usec", re.MULTILINE
)


def parse_netpipe(text: str) -> list[NetpipeSize]:
    """The result of ``NPtcp -h ...``, one entry per message size.

    The time is read and not the Mbps, which NetPIPE counts as 2**20 bits.
    """
    sizes = [
        NetpipeSize(int(size), int(repeats), float(time_us) * 1e3)
        for size, repeats, time_us in _NETPIPE_LINE.findall(text)
    ]
    if not sizes:
        raise UnreadableOutputError(f"NPtcp wrote no result: {_excerpt(text)}")
    return sizes


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words[-EXCERPT_CHARACTERS:] if words else "nothing"
