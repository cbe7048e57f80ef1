"""Times of complete exchanges: k packets from every process to each of the p - 1 others.

Source: A. T. C. Tam, Performance Studies of High-Speed Communication on Commodity Cluster, PhD
thesis, The University of Hong Kong, 2001, section 5.3 and Table 5.1; equations by its numbers. All
hold for a network that does not block, packets of one size and no loss. Times in ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from netsonde.model.platform import PacketTimes, check_ranks
from netsonde.model.transfers import check_packets

Pairing = Literal["xor", "colour"]


@dataclass(frozen=True, slots=True)
class ExchangeShape:
    """Table 5.1: to how many a process sends in one round, how many rounds there are, and how often
    the pipeline runs empty between them."""

    fan_out: int
    rounds: int

    @property
    def stalls(self) -> int:
        return self.rounds - 1


def bubble_ns(times: PacketTimes) -> float:
    """T_w = O_s + L - g + O_r + U_r: what filling and draining the pipeline once costs."""
    return times.host_ns + times.latency_ns - times.gap_ns


def least_exchange_ns(times: PacketTimes, packets: int, ranks: int) -> float:
    """T_ata = O_s + (k (p-1) - 1) g + L + O_r + U_r = k (p-1) g + T_w, Eq. (5.1).

    No schedule is faster. Raises ``ValueError`` for no packets or fewer than 2 processes.
    """
    return exchange_of_rounds_ns(times, packets, ranks, 1)


def exchange_of_rounds_ns(times: PacketTimes, packets: int, ranks: int, rounds: int) -> float:
    """k g (p-1) + rounds T_w: Eqs. (5.1)-(5.4) with the rounds of each algorithm."""
    check_packets(packets)
    check_ranks(ranks)
    if rounds < 1:
        raise ValueError(f"{rounds} rounds; expected 1 or more")
    return packets * (ranks - 1) * times.gap_ns + rounds * bubble_ns(times)


def shift_ns(times: PacketTimes, packets: int, ranks: int) -> float:
    """T_shift = (p-1) (O_s + k g + L - g + O_r + U_r), Eq. (5.2)."""
    return exchange_of_rounds_ns(times, packets, ranks, shape_of_shift(ranks).rounds)


def pairwise_ns(times: PacketTimes, packets: int, ranks: int, pairing: Pairing = "colour") -> float:
    """T_pair: as shift for even p. The idle rounds of an odd p, and of XOR where p is no power of
    two, cost as much as others: somebody sends in each."""
    rounds = shape_of_pairwise(ranks, pairing).rounds
    check_packets(packets)
    return rounds * (packets * times.gap_ns + bubble_ns(times))


def synchronous_ns(times: PacketTimes, packets: int, ranks: int) -> float:
    """T_sync = k (p-1) g + T_w, Eq. (5.3): as little as Eq. (5.1) allows."""
    return exchange_of_rounds_ns(times, packets, ranks, shape_of_synchronous(ranks).rounds)


def group_ns(times: PacketTimes, packets: int, ranks: int, fan_out: int) -> float:
    """T_group = k g (p-1) + rounds T_w, Eq. (5.4).

    The source has (p-1) / omega where omega divides p-1; here it is rounded up, as a last, smaller
    group is a round as well. Odd p have p colours, in each of which one process is idle, and so
    cost one more step of k packets. Raises ``ValueError`` for a fan-out outside 1..p-1.
    """
    rounds = shape_of_group(ranks, fan_out).rounds
    check_packets(packets)
    steps = steps_of_group(ranks, fan_out)
    return packets * times.gap_ns * steps + rounds * bubble_ns(times)


def steps_of_group(ranks: int, fan_out: int) -> int:
    """Colours that a group shuffle goes through, with a packet of each block in each: p - 1, and p
    for odd p, but where the one group of a fan-out of p - 1 leaves nobody idle."""
    return ranks if fan_out < ranks - 1 and ranks % 2 else ranks - 1


def shape_of_shift(ranks: int) -> ExchangeShape:
    """Fan-out 1, p - 1 rounds."""
    check_ranks(ranks)
    return ExchangeShape(1, ranks - 1)


def shape_of_pairwise(ranks: int, pairing: Pairing = "colour") -> ExchangeShape:
    """Fan-out 1; by edge colouring p - 1 rounds, p for odd p; by XOR 2^ceil(log2 p) - 1."""
    check_ranks(ranks)
    if pairing == "xor":
        return ExchangeShape(1, (1 << (ranks - 1).bit_length()) - 1)
    return ExchangeShape(1, ranks if ranks % 2 else ranks - 1)


def shape_of_synchronous(ranks: int) -> ExchangeShape:
    """Fan-out p - 1, one round, no stall."""
    check_ranks(ranks)
    return ExchangeShape(ranks - 1, 1)


def shape_of_group(ranks: int, fan_out: int) -> ExchangeShape:
    """Fan-out omega, ceil((p-1) / omega) rounds; ceil(p / omega) for odd p, which has p colours.

    A fan-out of p - 1 is the synchronous shuffle. Raises ``ValueError`` outside 1..p-1.
    """
    check_ranks(ranks)
    if not 1 <= fan_out <= ranks - 1:
        raise ValueError(f"a fan-out of {fan_out} among {ranks} processes; expected 1..{ranks - 1}")
    if fan_out == ranks - 1:
        return shape_of_synchronous(ranks)
    colours = ranks if ranks % 2 else ranks - 1
    return ExchangeShape(fan_out, -(-colours // fan_out))
