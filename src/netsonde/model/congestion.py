"""Many senders, one receiver and a switch that holds few packets: when it loses some, what a
Go-Back-N protocol then delivers, and which windows and timeouts avoid it.

P is the senders, W the window of each in packets, B_L what a port holds, TObar the timeout in
slots; a slot is the time in which the receiver's port sends a packet, about g_r. Source: A. T. C.
Tam, Performance Studies of High-Speed Communication on Commodity Cluster, PhD thesis, The
University of Hong Kong, 2001, sections 4.3.2 to 4.3.4 and 4.5; equations by its numbers. Its
assumptions hold here: all start together with full windows, packets of one size, first in first
out, what does not fit is dropped, fair service, no other loss, and acknowledgements are not lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from netsonde.model.goodput import check_positive
from netsonde.model.platform import Architecture

ARCHITECTURES: tuple[Architecture, ...] = ("input", "output", "shared")


@dataclass(frozen=True, slots=True)
class Chances:
    """Of a sender's events P, N and TO: ``c`` that a loss meets it, ``a`` that a fast
    retransmission succeeds (1-a is the severity), ``f`` that a timeout is the last of a row
    (1-f is how retransmissions cluster)."""

    c: float
    a: float
    f: float

    def __post_init__(self) -> None:
        if not 0.0 < self.c <= 1.0:
            raise ValueError(f"c is {self.c}; expected more than 0 and at most 1")
        if not 0.0 <= self.a <= 1.0:
            raise ValueError(f"a is {self.a}; expected 0..1")
        if not 0.0 < self.f <= 1.0:
            raise ValueError(f"f is {self.f}; expected more than 0 and at most 1")

    @property
    def packets_per_loss(self) -> float:
        """E[x] = 1 / c, Eq. (4.5)."""
        return 1.0 / self.c

    @property
    def time_outs_per_cycle(self) -> float:
        """E[m] = 1 / f, Eq. (4.7)."""
        return 1.0 / self.f


@dataclass(frozen=True, slots=True)
class Service:
    """E[r], E[b] and E[e] in slots: from a Nack to the first Pack, from Pack to Pack, and from the
    last Pack to the Nack."""

    first_slots: float
    between_slots: float
    end_slots: float

    def sequence_slots(self, c: float) -> float:
        """E[S] = E[r] + (E[x] - 1) E[b] + E[e]."""
        return self.first_slots + (1.0 / c - 1.0) * self.between_slots + self.end_slots


@dataclass(frozen=True, slots=True)
class TimeOutRange:
    """Recommended timeouts, ``low_slots`` <= TObar <= ``high_slots``; the low end is excluded
    where ``low_excluded``."""

    low_slots: float
    high_slots: float
    low_excluded: bool

    def in_ns(self, receive_gap_ns: float) -> tuple[float, float]:
        """Both ends as times: a slot is g_r."""
        check_positive("receive gap", receive_gap_ns, "ns")
        return self.low_slots * receive_gap_ns, self.high_slots * receive_gap_ns


def loses(architecture: Architecture, window: int, senders: int, buffer_packets: int) -> bool:
    """Whether packets are lost at all: W > B_L on an input-buffered switch, W P > B_L on an
    output-buffered or shared one (sections 4.3.2-4.3.4).

    A shared memory is judged by what one port may take of it. Raises ``ValueError`` for numbers
    below 1 or another architecture.
    """
    _check(senders, buffer_packets)
    _check_window(window)
    return _queued(architecture, window, senders) > buffer_packets


def largest_safe_window(architecture: Architecture, senders: int, buffer_packets: int) -> int:
    """The largest W without loss: B_L, or floor(B_L / P). 0 where even one packet each is too many.

    Raises ``ValueError`` as :func:`loses` does.
    """
    _check(senders, buffer_packets)
    return buffer_packets // _queued(architecture, 1, senders)


def most_senders(architecture: Architecture, window: int, buffer_packets: int) -> int | None:
    """The most P without loss at a window; None where any number is safe, 0 where none is."""
    _check(1, buffer_packets)
    _check_window(window)
    if _queued(architecture, 1, 2) == 1:
        return None if window <= buffer_packets else 0
    return buffer_packets // window


def recommended_time_out(
    architecture: Architecture, senders: int, buffer_packets: int
) -> TimeOutRange:
    """Timeouts in slots (section 4.5): input-buffered 2 B_L P <= TObar <= 3 B_L P, output-buffered
    and shared B_L e < TObar <= B_L e^2. Raises ``ValueError`` as :func:`loses` does."""
    _check(senders, buffer_packets)
    if _queued(architecture, 1, 2) == 1:
        return TimeOutRange(2.0 * buffer_packets * senders, 3.0 * buffer_packets * senders, False)
    return TimeOutRange(buffer_packets * math.e, buffer_packets * math.e**2, True)


def least_time_out_slots(buffer_packets: int) -> float:
    """2 B_L: below it packets that wait in a full buffer are retransmitted (section 4.3.3.1)."""
    _check(1, buffer_packets)
    return 2.0 * buffer_packets


def input_good_packets(window: int, senders: int, buffer_packets: int) -> float:
    """G = [B_L - (W-1)/P] / (1 - 1/P): in-order packets of a loss cycle's last part, t_c."""
    _check_loss_on_input(window, senders, buffer_packets)
    return (buffer_packets - (window - 1) / senders) / (1.0 - 1.0 / senders)


def input_efficiency(window: int, senders: int, buffer_packets: int) -> float:
    """T_Eff of an input-buffered switch under loss, Eqs. (4.1)-(4.3), exact form of (4.2).

    (G + 1) / (G + 2 + (W-1)/P + B_L). Raises ``ValueError`` where nothing is lost (W <= B_L), for
    fewer than 2 senders, and for windows so large that G is not positive.
    """
    good = input_good_packets(window, senders, buffer_packets)
    return (good + 1.0) / (good + 2.0 + (window - 1) / senders + buffer_packets)


def input_efficiency_approximate(window: int, senders: int, buffer_packets: int) -> float:
    """The approximate form of Eq. (4.2): (B_L + 1 - W/P) / (2 B_L + 2 - (B_L + 2)/P).

    It drops (W-1)/P^2 from the denominator. Errors as :func:`input_efficiency`.
    """
    _check_loss_on_input(window, senders, buffer_packets)
    useful = buffer_packets + 1 - window / senders
    return useful / (2 * buffer_packets + 2 - (buffer_packets + 2) / senders)


def output_service(window: int, buffer_packets: int) -> Service:
    """E[r] = B_L, E[b] = B_L / W, E[e] = B_L / 2 of an output-buffered port that is full.

    Eq. (4.8) so leaves out -B_L / (2 W) of E[e] = (W-1) / 2 E[b].
    """
    _check(1, buffer_packets)
    _check_window(window)
    return Service(buffer_packets, buffer_packets / window, buffer_packets / 2.0)


def sender_efficiency(chances: Chances, service: Service, time_out_slots: float) -> float:
    """One sender's share of the port, Eq. (4.4): E[y] E[x] / (E[y] E[S] + E[m] TObar).

    Both sides divided by E[y], which may be infinite. Raises ``ValueError`` for a timeout that is
    below 0 or not finite.
    """
    if not (time_out_slots >= 0.0 and math.isfinite(time_out_slots)):
        raise ValueError(f"timeout is {time_out_slots} slots; expected 0 or more")
    waited = (1.0 - chances.a) * chances.time_outs_per_cycle * time_out_slots
    return chances.packets_per_loss / (service.sequence_slots(chances.c) + waited)


def output_efficiency(
    chances: Chances,
    window: int,
    senders: int,
    buffer_packets: int,
    time_out_slots: float,
) -> float:
    """T_Eff of an output-buffered port under loss, Eqs. (4.8)-(4.10).

    P / { [3c/2 + (1-c)/W] B_L + (1-a) c TObar / f }. It may exceed 1: the equations do not know
    that a port sends one packet in a slot.
    """
    _check(senders, buffer_packets)
    service = output_service(window, buffer_packets)
    return senders * sender_efficiency(chances, service, time_out_slots)


def _queued(architecture: Architecture, window: int, senders: int) -> int:
    """Packets that may meet in one queue."""
    if architecture == "input":
        return window
    if architecture in ("output", "shared"):
        return window * senders
    raise ValueError(f"architecture is {architecture!r}; expected {', '.join(ARCHITECTURES)}")


def _check_loss_on_input(window: int, senders: int, buffer_packets: int) -> None:
    if not loses("input", window, senders, buffer_packets):
        raise ValueError(
            f"a window of {window} packets fits into a buffer of {buffer_packets}: nothing is lost,"
            " and the efficiency is 1"
        )
    if senders < 2:
        raise ValueError(
            "one sender fills no queue of an input-buffered switch; expected 2 senders"
        )
    if (window - 1) / senders >= buffer_packets:
        raise ValueError(
            f"a window of {window} packets from {senders} senders leaves no good packet of a buffer"
            f" of {buffer_packets}; expected at most {buffer_packets * senders}"
        )


def _check(senders: int, buffer_packets: int) -> None:
    if senders < 1:
        raise ValueError(f"{senders} senders; expected 1 or more")
    if buffer_packets < 1:
        raise ValueError(f"a buffer of {buffer_packets} packets; expected 1 or more")


def _check_window(window: int) -> None:
    if window < 1:
        raise ValueError(f"a window of {window} packets; expected 1 or more")
