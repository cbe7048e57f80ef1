"""A platform: what its hosts, cards, links and switches cost a packet, as functions of its size and
of the number of processes, each with its origin.

Symbols, equations and definitions: A. T. C. Tam, Performance Studies of High-Speed Communication on
Commodity Cluster, PhD thesis, The University of Hong Kong, 2001, section 2.2.3. m is the bytes of a
packet, 1 <= m <= the largest that the platform sends; p the number of processes. Times in ns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy.typing as npt

from netsonde.model.goodput import LINE, check_positive
from netsonde.stats.arrays import as_samples
from netsonde.stats.fits import fit_line
from netsonde.stats.quantiles import Interval

OriginKind = Literal["measured", "emulated", "simulated", "published", "derived", "assumed"]
Architecture = Literal["input", "output", "shared"]

MOST_RANKS = 10_000_000
"""No machine has more; what is beyond is a slip of the pen."""
MOST_SERIALISATIONS = 64

SYMBOLS: Mapping[str, str] = MappingProxyType(
    {
        "send_overhead": "O_s",
        "send_gap": "g_s",
        "latency": "L",
        "receive_gap": "g_r",
        "receive_overhead": "O_r",
        "user_overhead": "U_r",
        "copy_cache_to_cache": "M_ctc",
        "copy_cache_to_memory": "M_ctm",
        "copy_memory_to_memory": "M_mtm",
        "copy_gap": "g per copy",
        "interrupt": "interrupt",
        "reduction": "gamma",
    }
)
"""Name of a parameter -> its symbol. The last three are no parameters of the source's model:
what one copy on the send side adds to g_s, the part of O_r that one interrupt costs however many
packets it serves, and the time to join bytes in a reduction."""
TRANSFER = (
    "send_overhead",
    "send_gap",
    "latency",
    "receive_gap",
    "receive_overhead",
    "user_overhead",
)
"""What the equations of a transfer need."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a number comes from: ``source`` says which table, test or formula; ``run`` is the run
    directory that it was measured in, None where there is none."""

    kind: OriginKind
    source: str
    run: str | None = None


@dataclass(frozen=True, slots=True)
class FitQuality:
    """How well a law met the ``n`` points that it was fitted to.

    ``residual_ns`` is the standard deviation of the errors, ``r_squared`` the share of the
    variation that the law explains. ``intervals`` holds those of the coefficients, by their names
    in :class:`Cost`.
    """

    n: int
    residual_ns: float
    r_squared: float
    intervals: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cost:
    """start + per_byte m + (per_rank + per_rank_byte m) p, in ns: Eqs. (2.1)-(2.5).

    Without the terms in p it is a line over sizes; with them, the bilinear L(m, p) of Eq. (2.3).
    ``sizes`` and ``ranks`` are the least and the most that it was obtained from, None where nobody
    said. ``fit`` is None for what was not fitted.
    """

    start_ns: float
    per_byte_ns: float = 0.0
    per_rank_ns: float = 0.0
    per_rank_byte_ns: float = 0.0
    origin: Origin = Origin("assumed", "")
    sizes: tuple[int, int] | None = None
    ranks: tuple[int, int] | None = None
    fit: FitQuality | None = None

    def at(self, size_bytes: float, ranks: int = 2) -> float:
        """The cost in ns. The platform checks the size; this one is arithmetic."""
        by_rank = self.per_rank_ns + self.per_rank_byte_ns * size_bytes
        return self.start_ns + self.per_byte_ns * size_bytes + by_rank * ranks

    def covers(self, size_bytes: float, ranks: int) -> bool:
        """Whether it was obtained from such sizes and numbers of processes."""
        in_sizes = self.sizes is None or self.sizes[0] <= size_bytes <= self.sizes[1]
        uses_ranks = self.per_rank_ns != 0.0 or self.per_rank_byte_ns != 0.0
        in_ranks = self.ranks is None or self.ranks[0] <= ranks <= self.ranks[1]
        return in_sizes and (in_ranks or not uses_ranks)


@dataclass(frozen=True, slots=True)
class Buffer:
    """B_L: packets that a switch holds, per port or, ``shared``, in all; ``low`` and ``high`` are
    what bursts of several shapes gave, None where it was not measured."""

    architecture: Architecture
    packets: int
    origin: Origin
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Uplink:
    """A link between switches: its nominal rate, the most payload that was seen to cross it in both
    directions together, and the buffer before it."""

    rate_bit_per_s: float
    ceiling_byte_per_s: float
    buffer: Buffer
    origin: Origin


@dataclass(frozen=True, slots=True)
class MessageLine:
    """t(n) = alpha + beta n of whole messages, for a platform whose packets nobody took apart."""

    alpha_ns: float
    beta_ns: float
    origin: Origin
    alpha_interval: Interval | None = None
    beta_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class PacketTimes:
    """The parameters at one size and one number of processes, in ns."""

    packet_bytes: int
    ranks: int
    send_overhead_ns: float
    send_gap_ns: float
    latency_ns: float
    receive_gap_ns: float
    receive_overhead_ns: float
    user_overhead_ns: float

    @property
    def gap_ns(self) -> float:
        """g = max(g_s, g_r), section 2.2.4."""
        return max(self.send_gap_ns, self.receive_gap_ns)

    @property
    def slack_ns(self) -> float:
        """g_s - O_s: time of the CPU that each packet leaves for other work. Below 0 the
        host, and not the card, limits how fast packets leave."""
        return self.send_gap_ns - self.send_overhead_ns

    @property
    def host_ns(self) -> float:
        """O_s + O_r + U_r: what a host works for each packet that it sends and receives."""
        return self.send_overhead_ns + self.receive_overhead_ns + self.user_overhead_ns

    @property
    def is_full_duplex(self) -> bool:
        """(O_s + O_r + U_r) < g < L: sends and receives do not hinder each other."""
        return self.host_ns < self.gap_ns < self.latency_ns


@dataclass(frozen=True, slots=True)
class Platform:
    """``costs`` by the names of :data:`SYMBOLS`; what is not there is not known.

    ``packet_bytes`` is the payload of a full packet, ``header_bytes`` what it carries besides
    within the frame's payload. ``serialisations``: how often L contains the time of a packet on the
    wire, 1 for a switch that cuts through, 2 for one that stores. ``send_copies`` and
    ``receive_copies``: how many copies of the data O_s and O_r contain. ``receives_beside``: O_r
    is the work of another CPU, which takes several packets at a time under load, so that the
    rate of a stream is not 1 / O_r. ``others``: what other methods found for a parameter, beside
    the one that is used.
    """

    name: str
    about: str
    packet_bytes: int
    link_bit_per_s: float
    costs: Mapping[str, Cost]
    header_bytes: int = 0
    serialisations: int = 1
    send_copies: int = 1
    receive_copies: int = 1
    receives_beside: bool = False
    ranks: int | None = None
    buffer: Buffer | None = None
    uplink: Uplink | None = None
    messages: MessageLine | None = None
    others: Mapping[str, tuple[Cost, ...]] = field(default_factory=dict)

    def cost(self, name: str) -> Cost:
        """A parameter. Raises ``ValueError`` where the platform has it not."""
        if name not in SYMBOLS:
            raise ValueError(f"no parameter is called {name!r}; known are {', '.join(SYMBOLS)}")
        if name not in self.costs:
            raise ValueError(
                f"platform {self.name} does not say its {name.replace('_', ' ')} ({SYMBOLS[name]});"
                " measure it or choose another platform"
            )
        return self.costs[name]

    def at(self, name: str, size_bytes: int, ranks: int = 2) -> float:
        """A parameter's value in ns, Eqs. (2.1)-(2.5).

        Raises ``ValueError`` for a size outside 1..packet_bytes, for fewer than 1 processes, and
        where the law gives less than 0 there.
        """
        self.check_size(size_bytes)
        check_ranks(ranks, least=1)
        value = self.cost(name).at(size_bytes, ranks)
        if value < 0.0:
            raise ValueError(
                f"{SYMBOLS[name]} of platform {self.name} is {value:.6g} ns at {size_bytes} bytes"
                f" and {ranks} processes; expected 0 or more: its fit does not reach so far"
            )
        return value

    def times(self, size_bytes: int | None = None, ranks: int = 2) -> PacketTimes:
        """All parameters of a transfer at a size (None: a full packet). Errors as :meth:`at`."""
        size = self.packet_bytes if size_bytes is None else size_bytes
        return PacketTimes(size, ranks, *(self.at(name, size, ranks) for name in TRANSFER))

    def beyond(self, size_bytes: int, ranks: int, names: tuple[str, ...] = TRANSFER) -> list[str]:
        """The symbols of those parameters that are known, but not from such a size or number of
        processes: their values there are extrapolated."""
        return [
            SYMBOLS[name]
            for name in names
            if name in self.costs and not self.costs[name].covers(size_bytes, ranks)
        ]

    def packets(self, message_bytes: int) -> int:
        """k: packets of a message, at least one. Raises ``ValueError`` below 0 bytes."""
        if message_bytes < 0:
            raise ValueError(f"a message has {message_bytes} bytes; expected 0 or more")
        return max(1, -(-message_bytes // self.packet_bytes))

    def wire_ns(self, size_bytes: int | None = None) -> float:
        """The time of a packet on the wire, see :func:`wire_time_ns`."""
        size = self.packet_bytes if size_bytes is None else size_bytes
        self.check_size(size)
        return wire_time_ns(size + self.header_bytes, self.link_bit_per_s)

    def check_size(self, size_bytes: int) -> None:
        """Raises ``ValueError`` for a size that no packet has."""
        if not 1 <= size_bytes <= self.packet_bytes:
            raise ValueError(
                f"a packet of {size_bytes} bytes is none of platform {self.name}; expected"
                f" 1..{self.packet_bytes}"
            )


def wire_time_ns(payload_bytes: int, rate_bit_per_s: float) -> float:
    """The time that an Ethernet frame takes of a line: (max(payload, 46) + 38) * 8 / rate.

    123.04 us for 1500 bytes at 100 Mbit/s. Source: IEEE 802.3-2022 clauses 3 and 4.4.2. Raises
    ``ValueError`` for less than 0 bytes or a rate <= 0.
    """
    check_positive("rate", rate_bit_per_s, "bit/s")
    if payload_bytes < 0:
        raise ValueError(f"payload is {payload_bytes} bytes; expected 0 or more")
    return LINE.frame_bytes(payload_bytes) * 8e9 / rate_bit_per_s


def check_ranks(ranks: int, *, least: int = 2) -> None:
    """Raises ``ValueError`` for a number of processes that makes no sense."""
    if not least <= ranks <= MOST_RANKS:
        raise ValueError(f"{ranks} processes; expected {least}..{MOST_RANKS}")


def fit_cost(
    size_bytes: npt.ArrayLike, time_ns: npt.ArrayLike, origin: Origin, *, confidence: float = 0.95
) -> Cost:
    """kappa + tau m of Eqs. (2.1), (2.2), (2.4), (2.5) through points, shapes (n,), (n,), n >= 3.

    Ordinary least squares; see :func:`netsonde.stats.fits.fit_line` for its source and errors.
    """
    line = fit_line(size_bytes, time_ns, confidence=confidence)
    sizes = as_samples(size_bytes)
    intervals = {"start_ns": line.intercept_interval, "per_byte_ns": line.slope_interval}
    return Cost(
        line.intercept,
        line.slope,
        origin=origin,
        sizes=(int(sizes.min()), int(sizes.max())),
        fit=FitQuality(line.n, line.residual, line.r_squared, intervals),
    )
