"""Times of messages and broadcasts packet by packet, and which stage limits their rate.

k is the packets of a message, g = max(g_s, g_r), p the number of processes. Source: A. T. C. Tam,
Performance Studies of High-Speed Communication on Commodity Cluster, PhD thesis, The University of
Hong Kong, 2001, sections 2.2.4, 3.2.1 and 3.2.2; equations by its numbers. Times in ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from netsonde.model.platform import PacketTimes, Platform, check_ranks

Stage = Literal["sending host", "sending card", "wire", "receiving card", "receiving host"]


@dataclass(frozen=True, slots=True)
class StageRate:
    """What one stage alone would let pass: ``time_ns`` for each packet of ``packet_bytes``."""

    stage: Stage
    symbol: str
    time_ns: float
    packet_bytes: int

    @property
    def byte_per_s(self) -> float:
        """Payload, in decimal bytes per second; infinite for a stage that takes no time."""
        return self.packet_bytes * 1e9 / self.time_ns if self.time_ns > 0.0 else float("inf")


@dataclass(frozen=True, slots=True)
class Broadcast:
    """``interferes``: sends and receives of one host hinder each other, Eq. (2.9) and not (2.8)."""

    time_ns: float
    interferes: bool
    equation: str


def check_packets(packets: int) -> None:
    """Raises ``ValueError`` for no packets."""
    if packets < 1:
        raise ValueError(f"a message of {packets} packets; expected 1 or more")


def single_packet_ns(times: PacketTimes) -> float:
    """T_ptp(m) = O_s + L + O_r + U_r, Eq. (A.3)."""
    return times.host_ns + times.latency_ns


def one_way_ns(times: PacketTimes, packets: int) -> float:
    """T_p2p = O_s + (k-1) g + L + O_r + U_r, Eq. (2.6). Raises ``ValueError`` for no packets."""
    check_packets(packets)
    return single_packet_ns(times) + (packets - 1) * times.gap_ns


def receive_bound_ns(times: PacketTimes, packets: int) -> float:
    """T_p2p ~ O_s + L + k (O_r + U_r), Eq. (3.1): the receiving host is the slowest stage."""
    check_packets(packets)
    received = times.receive_overhead_ns + times.user_overhead_ns
    return times.send_overhead_ns + times.latency_ns + packets * received


def is_receive_bound(times: PacketTimes) -> bool:
    """O_r > g: packets arrive faster than the host takes them."""
    return times.receive_overhead_ns > times.gap_ns


def message_ns(platform: Platform, message_bytes: int, ranks: int = 2) -> tuple[float, str]:
    """The time of a message one way and the equation that gave it: (3.1) where O_r > g and the host
    takes packets one by one, else (2.6).

    All packets cost as much as a full one, but for a message of one packet, which costs what its
    size does. Raises ``ValueError`` as :meth:`Platform.at` does.
    """
    packets = platform.packets(message_bytes)
    size = platform.packet_bytes if packets > 1 else max(1, message_bytes)
    times = platform.times(size, ranks)
    if is_receive_bound(times) and not platform.receives_beside:
        return receive_bound_ns(times, packets), "3.1"
    return one_way_ns(times, packets), "2.6"


def stages(platform: Platform, size_bytes: int | None = None) -> list[StageRate]:
    """What each stage that the platform knows lets pass, the slowest first.

    payload / g_s, payload / g_r and payload / O_r as in section 3.2.2, the wire's rate, and payload
    / O_s. O_r is left out where it is the work of another CPU. Raises ``ValueError`` as
    :meth:`Platform.at` does.
    """
    size = platform.packet_bytes if size_bytes is None else size_bytes
    named: list[tuple[Stage, str, str]] = [
        ("sending host", "O_s", "send_overhead"),
        ("sending card", "g_s", "send_gap"),
        ("receiving card", "g_r", "receive_gap"),
        ("receiving host", "O_r", "receive_overhead"),
    ]
    found = [
        StageRate(stage, symbol, platform.at(name, size), size)
        for stage, symbol, name in named
        if name in platform.costs and not (name == "receive_overhead" and platform.receives_beside)
    ]
    found.append(StageRate("wire", "rate", platform.wire_ns(size), size))
    return sorted(found, key=lambda each: -each.time_ns)


def interferes(times: PacketTimes) -> bool:
    """Whether receiving hinders sending in a tree: not (O_r + U_r + O_s) < 2 max(g, O_s)."""
    return not times.host_ns < 2.0 * max(times.gap_ns, times.send_overhead_ns)


def tree_levels(ranks: int) -> int:
    """ceil(log2 p), as a tree has whole levels; the source has powers of two only."""
    check_ranks(ranks, least=1)
    return (ranks - 1).bit_length()


def tree_broadcast(times: PacketTimes, packets: int, ranks: int, copy_ns: float = 0.0) -> Broadcast:
    """B_k(p): a binomial tree in which each packet is passed on as it comes.

    Without interference the root is the bottleneck, Eq. (2.8): ctm + log2 p ((k-1) g + L + O_r +
    U_r + O_s). With it node p/2 is, Eq. (2.9): ctm + (log2 p + k - 1) T_0 + L log2 p + (k-1)
    (log2 p - 2) O_s, T_0 = O_r + U_r + O_s. ``copy_ns`` is ctm, the copy of the message at the
    root. Raises ``ValueError`` for no packets or processes.
    """
    check_packets(packets)
    levels = tree_levels(ranks)
    if levels == 0:
        return Broadcast(copy_ns, False, "2.8")
    if not interferes(times):
        each = (packets - 1) * times.gap_ns + single_packet_ns(times)
        return Broadcast(copy_ns + levels * each, False, "2.8")
    own = (levels + packets - 1) * times.host_ns + levels * times.latency_ns
    again = (packets - 1) * (levels - 2) * times.send_overhead_ns
    return Broadcast(copy_ns + own + again, True, "2.9")
