"""In which order all pairs of hosts are measured: alone in rounds, and all at once.

A pair is (who asks, who answers), a host and itself too. Alone means that no host is in two pairs
at a time, so that no pair disturbs another one's ends; N / 2 pairs of a round share the network
between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from netsonde.model.tournament import pairs_of, partners_in_round, round_count

Company = Literal["isolated", "together"]
COMPANIES: tuple[Company, ...] = ("isolated", "together")


@dataclass(frozen=True)
class Meeting:
    """Pairs that are measured at the same time, and in which company."""

    company: Company
    pairs: tuple[tuple[int, int], ...]


def all_meetings(hosts: int, only: str | None = None) -> tuple[Meeting, ...]:
    """The meetings of ``hosts`` hosts, 2 or more; ``only`` those of one company.

    Alone, there are two rounds for each of the circle method's, one each way, and one in which each
    host asks itself. All at once stand in the middle of them, so that a drift of the network is in
    both alike.
    """
    alone = []
    for number in range(round_count(hosts)):
        pairs = pairs_of(partners_in_round(hosts, number))
        alone += [pairs, [(b, a) for a, b in pairs]]
    alone.append([(host, host) for host in range(hosts)])
    isolated = [Meeting("isolated", tuple(pairs)) for pairs in alone]
    every = tuple((a, b) for a in range(hosts) for b in range(hosts))
    middle = len(isolated) // 2
    found = [*isolated[:middle], Meeting("together", every), *isolated[middle:]]
    return tuple(meeting for meeting in found if only in (None, meeting.company))
