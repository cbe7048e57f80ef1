"""Who measures with whom in which round, so that every host is busy once a round.

The circle method (T. P. Kirkman, 1847; E. Lucas, Recreations mathematiques, 1883): one host keeps
its place, the others sit on a circle, and in round r those meet whose numbers add up to r. N hosts
need N - 1 rounds where N is even; an odd N gets an empty seat, whose partner pauses, and needs N.

A round is a row of partners: ``partner[i]`` is the number of the host that i meets, or ``BYE``.
Nothing here grows faster than the number of hosts: rounds are made when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Partners = npt.NDArray[np.int32]
BYE = -1
MOST_HOSTS = 1 << 20
EXTENDED_MOST = 4
"""Times the rounds that were planned: who asked for few rounds does not get a thousand."""


def round_count(hosts: int) -> int:
    """Rounds until every pair has met once. Raises ValueError for fewer than two hosts."""
    if not 2 <= hosts <= MOST_HOSTS:
        raise ValueError(f"a tournament is of 2 to {MOST_HOSTS} hosts, not of {hosts}")
    return hosts - 1 if hosts % 2 == 0 else hosts


def partners_in_round(hosts: int, number: int) -> Partners:
    """Partners of round ``number`` (0 to round_count - 1), shape (hosts,)."""
    rounds = round_count(hosts)
    if not 0 <= number < rounds:
        raise ValueError(f"{hosts} hosts have the rounds 0 to {rounds - 1}, no round {number}")
    seats = rounds  # on the circle; with an even number of hosts, the last one sits outside of it
    places = np.arange(seats, dtype=np.int64)
    partner = (number - places) % seats
    # Whose number is half of the round's (mod seats) meets itself: it meets the host outside of
    # the circle, or pauses. seats is odd, so there is exactly one.
    alone = number * ((seats + 1) // 2) % seats
    if hosts % 2:
        partner[alone] = BYE
        return partner.astype(np.int32)
    partner[alone] = hosts - 1
    return np.append(partner, alone).astype(np.int32)


class Tournament:
    """Rounds of ``hosts`` hosts in an order, and with seats, that a seed decides.

    Seats are dealt at random, so that hosts that are neighbours by name do not meet in neighbouring
    rounds, and the order of rounds is random, so that a drift of the network's load does not follow
    the distance of partners. The same seed gives the same rounds; ``some`` leaves out all but the
    first so many, which are then a random choice of matchings.
    """

    def __init__(self, hosts: int, seed: int, some: int | None = None) -> None:
        self.hosts = hosts
        chance = np.random.default_rng(seed)
        self._host_at = chance.permutation(hosts).astype(np.int32)
        self._seat_of = np.argsort(self._host_at).astype(np.int32)
        order = chance.permutation(round_count(hosts))
        self._order = order if some is None else order[:some]

    def __len__(self) -> int:
        """Rounds."""
        return len(self._order)

    def partners(self, number: int) -> Partners:
        """Of round ``number`` in the order of measurement, by host."""
        seated = partners_in_round(self.hosts, int(self._order[number]))
        met = seated[self._seat_of]
        return np.where(met == BYE, np.int32(BYE), self._host_at[met]).astype(np.int32)

    def rounds(self) -> Iterator[Partners]:
        """All rounds, one at a time."""
        return (self.partners(number) for number in range(len(self)))


def pairs_of(partners: Partners, turn: int = 0) -> list[tuple[int, int]]:
    """(origin, target) of each pair of a round, by origin. Every other pair begins with its higher
    number, so that no host is always the origin; turn 1 turns all of them round."""
    first = np.flatnonzero(np.arange(len(partners)) < partners)
    found = []
    for low in first.tolist():
        high = int(partners[low])
        found.append((low, high) if (low + high + turn) % 2 == 0 else (high, low))
    return found


def group_rounds(hosts: int, repeats: int) -> int:
    """Random matchings after which each host has met about ``repeats * log2(hosts)`` others.

    With so many partners drawn at random, a host among mostly sound ones is told from its partners
    by the middle of what it measured with them; the pairs it did not meet are never measured
    (group testing: R. Dorfman, The detection of defective members of large populations, 1943).
    """
    return min(round_count(hosts), max(1, repeats * int(np.ceil(np.log2(hosts)))))


def most_rounds(planned: int) -> int:
    """That are measured at most, however much the measurements scatter. In small clusters these are
    more than those of all pairs, so that pairs meet again."""
    return EXTENDED_MOST * planned
