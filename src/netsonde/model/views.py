"""A platform as other models see it: Hockney, LogP, LogGP and PLogP.

Each is derived from the packet parameters (:mod:`netsonde.model.platform`), so that predictions of
all models for one platform can be compared. Times in ns.

Sources: R. W. Hockney, The Communication Challenge for MPP, Parallel Computing 1994; D. Culler et
al., LogP: Towards a Realistic Model of Parallel Computation, PPoPP 1993; A. Alexandrov et al.,
LogGP, SPAA 1995; T. Kielmann, H. Bal and K. Verstoep, Fast Measurement of LogP Parameters for
Message Passing Platforms, IPDPS Workshops 2000.
"""

from __future__ import annotations

from dataclasses import dataclass

from netsonde.model.platform import Platform
from netsonde.model.transfers import is_receive_bound, single_packet_ns
from netsonde.model.windows import under_way


@dataclass(frozen=True, slots=True)
class Hockney:
    """t(n) = alpha + beta n: alpha in ns, beta in ns per byte."""

    alpha_ns: float
    beta_ns: float

    @property
    def bandwidth_byte_per_s(self) -> float:
        """r_inf = 1 / beta."""
        return 1e9 / self.beta_ns

    @property
    def half_performance_bytes(self) -> float:
        """n_1/2 = alpha / beta, at which half of r_inf is reached."""
        return self.alpha_ns / self.beta_ns

    def time_ns(self, message_bytes: float) -> float:
        return self.alpha_ns + self.beta_ns * message_bytes


@dataclass(frozen=True, slots=True)
class LogP:
    """L, o and g of small messages, and P. o is the mean of both ends' overheads."""

    latency_ns: float
    overhead_ns: float
    gap_ns: float
    ranks: int

    @property
    def capacity(self) -> int:
        """ceil(L / g): messages that may be under way to or from one CPU."""
        return under_way(self.latency_ns, self.gap_ns)

    def time_ns(self) -> float:
        """o + L + o of one small message."""
        return self.latency_ns + 2.0 * self.overhead_ns


@dataclass(frozen=True, slots=True)
class LogGP:
    """LogP and G, the gap per byte of a long message."""

    small: LogP
    gap_per_byte_ns: float

    def time_ns(self, message_bytes: int) -> float:
        """o + (n - 1) G + L + o."""
        return self.small.time_ns() + max(0, message_bytes - 1) * self.gap_per_byte_ns


@dataclass(frozen=True, slots=True)
class PLogP:
    """L, o_s(n), o_r(n) and g(n) at one size n; a message takes L + g(n)."""

    message_bytes: int
    latency_ns: float
    send_overhead_ns: float
    receive_overhead_ns: float
    gap_ns: float

    def time_ns(self) -> float:
        return self.latency_ns + self.gap_ns


def hockney(platform: Platform, ranks: int = 2) -> Hockney:
    """alpha and beta such that alpha + beta n is Eq. (2.6) for whole full packets:
    beta = g / b, alpha = O_s + L + O_r + U_r - g, all of a full packet.

    Where O_r > g limits (Eq. (3.1)), beta = (O_r + U_r) / b and alpha = O_s + L. A message that
    does not fill its packets costs what whole ones do. A platform that has a line of its own for
    messages, and no packets, gives that. Raises ``ValueError`` where the platform lacks a
    parameter.
    """
    if platform.messages is not None and "send_gap" not in platform.costs:
        return Hockney(platform.messages.alpha_ns, platform.messages.beta_ns)
    times = platform.times(ranks=ranks)
    if is_receive_bound(times) and not platform.receives_beside:
        each = times.receive_overhead_ns + times.user_overhead_ns
        start = times.send_overhead_ns + times.latency_ns
    else:
        each, start = times.gap_ns, single_packet_ns(times) - times.gap_ns
    return Hockney(start, each / platform.packet_bytes)


def logp(platform: Platform, size_bytes: int | None = None, ranks: int = 2) -> LogP:
    """LogP of messages of one packet of ``size_bytes`` (None: a full one)."""
    times = platform.times(size_bytes, ranks)
    return LogP(times.latency_ns, times.host_ns / 2.0, times.gap_ns, ranks)


def loggp(platform: Platform, size_bytes: int | None = None, ranks: int = 2) -> LogGP:
    """LogGP: G is the gap of a full packet over its bytes, the rest LogP of small packets."""
    each = platform.times(ranks=ranks).gap_ns / platform.packet_bytes
    return LogGP(logp(platform, size_bytes, ranks), each)


def plogp(platform: Platform, message_bytes: int, ranks: int = 2) -> PLogP:
    """PLogP at one size.

    g(n) of a message of k packets is max(k g, k O_s, k (O_r + U_r)), or without the latter where
    the host receives beside; L is what is left of Eq. (2.6), the least 0. So in this model a
    message takes no less than Eq. (2.6) says.
    """
    packets = platform.packets(message_bytes)
    size = platform.packet_bytes if packets > 1 else max(1, message_bytes)
    times = platform.times(size, ranks)
    received = times.receive_overhead_ns + times.user_overhead_ns
    per_packet = max(times.gap_ns, times.send_overhead_ns, _receives(platform, received))
    gap = packets * per_packet
    whole = single_packet_ns(times) + (packets - 1) * per_packet
    return PLogP(
        message_bytes,
        max(0.0, whole - gap),
        packets * times.send_overhead_ns,
        packets * received,
        gap,
    )


def _receives(platform: Platform, received_ns: float) -> float:
    return 0.0 if platform.receives_beside else received_ns
