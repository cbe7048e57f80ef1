"""A platform with something changed: fewer copies, other overheads, another link, interrupts that
serve several packets; and what follows from it.

The laws of change are few and stated with each function. Source of the question: A. T. C. Tam,
Performance Studies of High-Speed Communication on Commodity Cluster, PhD thesis, The University of
Hong Kong, 2001, sections 3.2.2 and 3.3, which answers it by measuring (zero copies: 80 to 91.5
MB/s) and by reasoning (interrupts).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from netsonde.model.goodput import LINE, check_positive
from netsonde.model.platform import SYMBOLS, Cost, MessageLine, Origin, Platform

OVERHEADS = ("send_overhead", "receive_overhead", "user_overhead")
MOST_COPIES = 16
MOST_COALESCED = 100_000


@dataclass(frozen=True, slots=True)
class Overhead:
    """An overhead multiplied by ``factor``, or set to ``value_ns`` at every size."""

    factor: float | None = None
    value_ns: float | None = None

    def __post_init__(self) -> None:
        given = [v for v in (self.factor, self.value_ns) if v is not None]
        if len(given) != 1 or not 0.0 <= given[0] < float("inf"):
            raise ValueError("an overhead is a factor or a time; expected one of them, 0 or more")


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be otherwise; None and empty leave it. ``overheads`` by names of
    :data:`OVERHEADS`. ``hold_ns``: how long a card waits for further packets before it
    interrupts."""

    send_copies: int | None = None
    receive_copies: int | None = None
    overheads: Mapping[str, Overhead] = field(default_factory=dict)
    link_bit_per_s: float | None = None
    coalesced_packets: int | None = None
    hold_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """The platform afterwards, and what was done to it, a sentence for each."""

    platform: Platform
    steps: tuple[str, ...]


def change(platform: Platform, wanted: Change) -> Changed:
    """A platform with all changes, in this order: overheads, copies, coalescing, link.

    Raises ``ValueError`` where nothing is changed, where the platform does not say what a change
    needs to know, and where a cost would fall below 0.
    """
    steps: list[str] = []
    for name, overhead in wanted.overheads.items():
        platform = _with_overhead(platform, name, overhead, steps)
    if wanted.send_copies is not None:
        platform = _with_send_copies(platform, wanted.send_copies, steps)
    if wanted.receive_copies is not None:
        platform = _with_receive_copies(platform, wanted.receive_copies, steps)
    if wanted.coalesced_packets is not None:
        platform = _coalesced(platform, wanted.coalesced_packets, wanted.hold_ns, steps)
    elif wanted.hold_ns is not None:
        raise ValueError("a hold time is that of interrupts for several packets; say for how many")
    if wanted.link_bit_per_s is not None:
        platform = _with_link(platform, wanted.link_bit_per_s, steps)
    if not steps:
        raise ValueError("nothing is to change; say what")
    return Changed(replace(platform, name=f"{platform.name}, changed"), tuple(steps))


def _with_overhead(platform: Platform, name: str, overhead: Overhead, steps: list[str]) -> Platform:
    if name not in OVERHEADS:
        raise ValueError(f"{name!r} is no overhead; expected {', '.join(OVERHEADS)}")
    symbol = SYMBOLS[name]
    if overhead.value_ns is not None:
        steps.append(f"{symbol} is {overhead.value_ns / 1e3:.6g} µs at every size.")
        return _set(platform, name, Cost(overhead.value_ns, origin=_derived("as asked for")))
    assert overhead.factor is not None
    cost = platform.cost(name)
    steps.append(f"{symbol} is {overhead.factor:.6g} times what it was.")
    return _set(platform, name, _sum(cost, cost, overhead.factor - 1.0, "multiplied"))


def _with_send_copies(platform: Platform, copies: int, steps: list[str]) -> Platform:
    """Each copy less takes M_ctm from O_s, and from g_s what a copy was measured to add to it by
    its traffic on the bus."""
    _check_copies(copies)
    more = copies - platform.send_copies
    if more == 0:
        raise ValueError(f"platform {platform.name} has {copies} copies on the send side already")
    known = [n for n in ("copy_gap", "copy_cache_to_memory") if n in platform.costs]
    if not known:
        raise ValueError(
            f"platform {platform.name} does not say what a copy costs on the send side (M_ctm, or"
            " what it adds to g_s); measure it"
        )
    steps.append(f"{copies} copies on the send side in place of {platform.send_copies}.")
    if "copy_gap" in known:
        platform = _add(platform, "send_gap", "copy_gap", more)
    else:
        steps.append("What a copy adds to g_s is not known; g_s stays.")
    if "copy_cache_to_memory" in known:
        platform = _add(platform, "send_overhead", "copy_cache_to_memory", more)
    else:
        steps.append("What a copy adds to O_s (M_ctm) is not known; O_s stays.")
    return replace(platform, send_copies=copies)


def _with_receive_copies(platform: Platform, copies: int, steps: list[str]) -> Platform:
    """Each copy takes M_mtm; the first is part of O_r, further ones of U_r."""
    _check_copies(copies)
    before = platform.receive_copies
    if copies == before:
        raise ValueError(
            f"platform {platform.name} has {copies} copies on the receive side already"
        )
    platform.cost("copy_memory_to_memory")
    steps.append(f"{copies} copies on the receive side in place of {before}.")
    in_kernel = min(copies, 1) - min(before, 1)
    by_user = max(copies - 1, 0) - max(before - 1, 0)
    if in_kernel:
        platform = _add(platform, "receive_overhead", "copy_memory_to_memory", in_kernel)
    if by_user:
        platform = _add(platform, "user_overhead", "copy_memory_to_memory", by_user)
    return replace(platform, receive_copies=copies)


def _coalesced(
    platform: Platform, packets: int, hold_ns: float | None, steps: list[str]
) -> Platform:
    """An interrupt serves so many packets: O_r keeps 1/N of the interrupt's part, and L grows by
    the time that the card waits, if not said that in which N - 1 more packets come back to back."""
    if not 1 <= packets <= MOST_COALESCED:
        raise ValueError(f"{packets} packets to an interrupt; expected 1..{MOST_COALESCED}")
    if platform.receives_beside:
        raise ValueError(
            f"platform {platform.name} takes several packets to an interrupt already, on another"
            " CPU; how many is not known"
        )
    interrupt = platform.cost("interrupt")
    received = platform.cost("receive_overhead")
    less = _sum(received, interrupt, 1.0 / packets - 1.0, f"{packets} packets to an interrupt")
    gap_ns = max(platform.at("send_gap", platform.packet_bytes), 0.0)
    waits_ns = (packets - 1) * gap_ns if hold_ns is None else hold_ns
    if not waits_ns >= 0.0:
        raise ValueError(f"a hold time of {waits_ns} ns; expected 0 or more")
    steps.append(
        f"One interrupt for {packets} packets; a packet that comes alone waits"
        f" {waits_ns / 1e3:.6g} µs for it."
    )
    platform = _set(platform, "receive_overhead", _checked(platform, "receive_overhead", less))
    if "latency" in platform.costs:
        held = Cost(waits_ns)
        platform = _set(platform, "latency", _sum(platform.cost("latency"), held, 1.0, "held"))
    return platform


def _with_link(platform: Platform, rate_bit_per_s: float, steps: list[str]) -> Platform:
    """Another rate of the links: gaps change by the difference of the wire times, and are never
    below the new one; L by as many of it as packets are serialised on their way.

    What gaps and L have beyond the wire is taken for the hosts', cards' and switches', and stays.
    Where a card's I/O bus and the wire take turns that is right; where they overlap, a slower link
    would hide some of it.
    """
    check_positive("link rate", rate_bit_per_s, "bit/s")
    old, new = _wire(platform, platform.link_bit_per_s), _wire(platform, rate_bit_per_s)
    what = f"links of {rate_bit_per_s / 1e6:.6g} Mbit/s"
    steps.append(
        f"Links of {rate_bit_per_s / 1e6:.6g} Mbit/s in place of"
        f" {platform.link_bit_per_s / 1e6:.6g}; what is not the wire's stays."
    )
    for name, times in (("send_gap", 1), ("receive_gap", 1), ("latency", platform.serialisations)):
        if name not in platform.costs:
            continue
        less = _sum(platform.cost(name), old, -times, what)
        cost = _sum(less, new, times, what)
        least = _sum(Cost(0.0), new, times, what)
        size = platform.packet_bytes
        if cost.at(size) < least.at(size):
            # Below the wire's time the law has nothing to say; the wire remains.
            cost = replace(least, sizes=platform.cost(name).sizes)
        platform = _set(platform, name, cost)
    if platform.messages is not None:
        platform = replace(platform, messages=_line_over(platform, rate_bit_per_s, what))
    return replace(platform, link_bit_per_s=rate_bit_per_s)


def _line_over(platform: Platform, rate_bit_per_s: float, what: str) -> MessageLine:
    """alpha and beta over another link: beta changes by the difference of the wire's times of a
    byte in full frames, alpha by that of the least frame, as often as it is serialised; neither
    falls below the new wire's."""
    line = platform.messages
    assert line is not None
    frames = 1.0 + (platform.header_bytes + LINE.overhead_bytes) / platform.packet_bytes

    def moved(value: float, bits: float) -> float:
        old, new = (1e9 * bits / rate for rate in (platform.link_bit_per_s, rate_bit_per_s))
        return max(value - old + new, new)

    source = f"{line.origin.source}; {what}" if line.origin.source else what
    return MessageLine(
        moved(line.alpha_ns, 8.0 * LINE.frame_bytes(0) * platform.serialisations),
        moved(line.beta_ns, 8.0 * frames),
        _derived(source),
    )


def _wire(platform: Platform, rate_bit_per_s: float) -> Cost:
    """The wire's time as a line over the payload; frames below the least size are left out."""
    per_byte = 8e9 / rate_bit_per_s
    return Cost((platform.header_bytes + LINE.overhead_bytes) * per_byte, per_byte)


def _add(platform: Platform, name: str, part: str, times: int) -> Platform:
    cost = _sum(platform.cost(name), platform.cost(part), times, f"{times:+d} {SYMBOLS[part]}")
    return _set(platform, name, _checked(platform, name, cost))


def _checked(platform: Platform, name: str, cost: Cost) -> Cost:
    value = cost.at(platform.packet_bytes, platform.ranks or 2)
    if value < 0.0:
        raise ValueError(
            f"{SYMBOLS[name]} of platform {platform.name} would be {value:.6g} ns for a full"
            " packet; it does not contain so much"
        )
    return cost


def _sum(cost: Cost, other: Cost, times: float, what: str) -> Cost:
    """cost + times other; the sizes and ranks of the first, no fit."""
    return Cost(
        cost.start_ns + times * other.start_ns,
        cost.per_byte_ns + times * other.per_byte_ns,
        cost.per_rank_ns + times * other.per_rank_ns,
        cost.per_rank_byte_ns + times * other.per_rank_byte_ns,
        origin=_derived(f"{cost.origin.source}; {what}" if cost.origin.source else what),
        sizes=cost.sizes,
        ranks=cost.ranks,
    )


def _derived(what: str) -> Origin:
    return Origin("derived", what)


def _set(platform: Platform, name: str, cost: Cost) -> Platform:
    return replace(platform, costs={**platform.costs, name: cost})


def _check_copies(copies: int) -> None:
    if not 0 <= copies <= MOST_COPIES:
        raise ValueError(f"{copies} copies; expected 0..{MOST_COPIES}")
