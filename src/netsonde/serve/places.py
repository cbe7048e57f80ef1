"""The places of a server, and the queue of those who wait for one."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from dataclasses import dataclass, field

from netsonde.serve.limits import QueueLimits
from netsonde.serve.wire import VisitRefusedError

REMEMBERED = 20
"""So many of the last sessions tell how long one usually takes."""


@dataclass(eq=False)
class Guest:
    """Somebody who wants a place. ``client`` is one process of netsonde, which may want several."""

    client: str
    prefix: str
    has_place: asyncio.Event = field(default_factory=asyncio.Event)
    since_s: float = field(default_factory=time.monotonic)


class Places:
    """So many at once, in the order in which they came. Who has a place already, and wants another
    for the same measurement, comes first: nobody could begin otherwise."""

    def __init__(self, count: int, limits: QueueLimits) -> None:
        self._count = count
        self.limits = limits
        self._placed: dict[Guest, float] = {}
        self._waiting: list[Guest] = []
        self._took_s: deque[float] = deque(maxlen=REMEMBERED)

    def enter(self, client: str, prefix: str) -> Guest:
        """Takes a place or a place in the queue; leave() ends it. Raises VisitRefusedError."""
        guest = Guest(client, prefix)
        if len(self._placed) < self._count and not self._waiting:
            self._seat(guest)
            return guest
        of_prefix = Counter(one.prefix for one in self._waiting)
        if not self._is_of_a_placed(guest) and len(self._waiting) >= self.limits.queue:
            raise VisitRefusedError(self.limits.said("queue"))
        if of_prefix[prefix] >= max(self.limits.queue_by_address, self._count):
            raise VisitRefusedError(self.limits.said("queue_by_address"))
        self._waiting.append(guest)
        self._fill()
        return guest

    def leave(self, guest: Guest) -> None:
        """A place, or a place in the queue, is free."""
        if guest in self._placed:
            self._took_s.append(time.monotonic() - self._placed.pop(guest))
        elif guest in self._waiting:
            self._waiting.remove(guest)
        self._fill()

    @property
    def knows_how_long(self) -> bool:
        """Whether about_s() is of sessions that were, and not the most that there can be."""
        return bool(self._took_s)

    def place_in_queue(self, guest: Guest) -> int:
        """1 for the next; 0 for who waits no more."""
        order = sorted(self._waiting, key=lambda one: not self._is_of_a_placed(one))
        return order.index(guest) + 1 if guest in order else 0

    def about_s(self, guest: Guest, most_s: float) -> float:
        """For about how long a guest will wait, by how long the last sessions took; most_s is how
        long one may take."""
        usual_s = sum(self._took_s) / len(self._took_s) if self._took_s else most_s
        now = time.monotonic()
        left_s = sorted(max(0.0, usual_s - (now - since)) for since in self._placed.values())
        rounds, nth = divmod(max(0, self.place_in_queue(guest) - 1), self._count)
        return (left_s[nth] if nth < len(left_s) else usual_s) + rounds * usual_s

    def waits_for_itself(self, guest: Guest) -> bool:
        """Whether all places are held by the process that waits, which ends none before it has
        another."""
        return len(self._placed) >= self._count and all(
            one.client == guest.client for one in self._placed
        )

    def _is_of_a_placed(self, guest: Guest) -> bool:
        return any(one.client == guest.client for one in self._placed)

    def _fill(self) -> None:
        while self._waiting and len(self._placed) < self._count:
            first = min(self._waiting, key=lambda one: not self._is_of_a_placed(one))
            self._waiting.remove(first)
            self._seat(first)

    def _seat(self, guest: Guest) -> None:
        self._placed[guest] = time.monotonic()
        guest.has_place.set()
