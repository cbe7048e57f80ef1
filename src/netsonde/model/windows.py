"""Global windows for complete exchanges on trees of switches: how many packets a sender may have
under way, to all partners together, so that no uplink loses any; and what the uplink lets pass.

Source: A. T. C. Tam, Performance Studies of High-Speed Communication on Commodity Cluster, PhD
thesis, The University of Hong Kong, 2001, sections 6.1.1 to 6.2.2 and 6.3.2; equations by its
numbers. ``shape`` is (d_1, d_2, ...): hosts at a leaf switch, leaf switches at the next, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from netsonde.model.goodput import check_positive
from netsonde.model.platform import MOST_RANKS

MOST_LEVELS = 8


@dataclass(frozen=True, slots=True)
class UplinkLoad:
    """One level of uplinks: of the switches above ``level`` levels, with ``hosts`` below each.

    ``packets_per_step`` is nu, ``window`` is W_g by it, 0 where the buffer holds less than one
    packet of each sender.
    """

    level: int
    hosts: int
    packets_per_step: float
    window: int


def ranks_of(shape: Sequence[int]) -> int:
    """p = d_1 d_2 ... Raises ``ValueError`` for no or too many levels, or less than 1 anywhere."""
    if not 1 <= len(shape) <= MOST_LEVELS or any(d < 1 for d in shape):
        raise ValueError(f"a tree of {list(shape)}; expected 1..{MOST_LEVELS} numbers, 1 or more")
    ranks = math.prod(shape)
    if not 2 <= ranks <= MOST_RANKS:
        raise ValueError(f"a tree of {ranks} hosts; expected 2..{MOST_RANKS}")
    return ranks


def packets_per_step(hosts_below: int, ranks: int) -> float:
    """nu = (p - d_1) d_1 / (p - 1), Eq. (6.1): packets that one uplink carries up, and as many
    down, in each step of a complete exchange. Of a higher level, d_1 is all hosts below the
    switch."""
    if not 1 <= hosts_below <= ranks or ranks < 2:
        raise ValueError(
            f"{hosts_below} of {ranks} hosts below an uplink; expected 1..{ranks} of 2"
        )
    return (ranks - hosts_below) * hosts_below / (ranks - 1)


def global_window(buffer_packets: int, per_step: float, *, control: bool = False) -> int:
    """W_g = floor(B_L / nu), Eq. (6.2); with ``control`` packets in the buffer as well
    floor(B_L / (2 nu)) (section 6.3.2).

    Eq. (6.2) is printed with a ceiling, but all worked cases but one round down. Two or more
    programs that share the uplink add up their nu. Raises ``ValueError`` for a buffer below 1 or a
    nu that is not positive: then nothing crosses, and no window is needed.
    """
    if buffer_packets < 1:
        raise ValueError(f"a buffer of {buffer_packets} packets; expected 1 or more")
    check_positive("packets per step", per_step)
    # Values as 30/3.2 are what they are in decimal; a quotient that is whole is not rounded down.
    return math.floor(buffer_packets / (per_step * (2 if control else 1)) + 1e-9)


def uplink_loads(
    shape: Sequence[int], buffer_packets: Sequence[int], *, control: bool = True
) -> list[UplinkLoad]:
    """nu and W_g of each level of uplinks, lowest first; ``buffer_packets`` one for each.

    The smallest window is the one to use. The source has two levels; for more the same count is
    made for the hosts below each switch (it names that as future work, section 6.5). Raises
    ``ValueError`` for a shape that is none or another number of buffers.
    """
    ranks = ranks_of(shape)
    if len(buffer_packets) != len(shape) - 1:
        raise ValueError(
            f"{len(buffer_packets)} buffers for {len(shape) - 1} levels of uplinks; each needs one"
        )
    loads, below = [], 1
    for level, (width, buffer) in enumerate(zip(shape, buffer_packets, strict=False), start=1):
        below *= width
        per_step = packets_per_step(below, ranks)
        if per_step > 0:  # the only switch of its level sends nothing up
            window = global_window(buffer, per_step, control=control)
            loads.append(UplinkLoad(level, below, per_step, window))
    return loads


def under_way(latency_ns: float, send_gap_ns: float) -> int:
    """ceil(L / g_s): packets of one sender under way while all goes to plan (section 6.2.1); also
    LogP's capacity. A window below it leaves the pipeline empty now and then."""
    check_positive("send gap", send_gap_ns, "ns")
    return math.ceil(latency_ns / send_gap_ns)


def least_cross_time_s(
    packets: int, packet_bytes: int, hosts_below: int, ranks: int, ceiling_byte_per_s: float
) -> float:
    """Eq. (6.4): what crosses one uplink both ways, 2 k b (p - d_1) d_1, over the most that an
    uplink was seen to carry."""
    check_positive("ceiling", ceiling_byte_per_s, "byte/s")
    crossing = 2 * packets * packet_bytes * (ranks - hosts_below) * hosts_below
    return crossing / ceiling_byte_per_s


def best_node_byte_per_s(hosts_below: int, ranks: int, ceiling_byte_per_s: float) -> float:
    """The most that each node can exchange while the uplink is the limit: k b (p - 1) over the time
    of Eq. (6.4), whatever k b is. Raises ``ValueError`` where nothing crosses."""
    if not 1 <= hosts_below < ranks:
        raise ValueError(f"{hosts_below} of {ranks} hosts below an uplink; nothing crosses it")
    return (ranks - 1) / least_cross_time_s(1, 1, hosts_below, ranks, ceiling_byte_per_s)
