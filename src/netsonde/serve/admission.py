"""Who is looked at: strangers are slowed down by where they come from, and nobody is shut out.

A secret of 80 bits is not guessed; what strangers cost is CPU time, beside a measurement. So what
has a limit is handshakes a second: of one address, of the network around it, and of all. A wrong
code counts as several. Whoever proved a code lately pays for nothing, and does not wait for
strangers.

One address is of IPv4 all 32 bits: behind a shorter prefix are hosts of different people, which
would pay for each other. Of IPv6 it is a /64, which is what one link has: single addresses of it
are free to whoever is on the link. The network around is a /24 and a /48, the least that is routed
and handed out, so that whoever has a whole one does not count as thousands.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from netsonde.serve.limits import DoorLimits

ALL = "all"
_PREFIX_BITS = {4: (32, 24), 6: (64, 48)}


@lru_cache(1024)
def prefixes_of(address: str) -> tuple[str, str]:
    """Where an address is counted: by itself, as far as it is somebody's own, and by the network
    around it. An IPv4 address within an IPv6 one is what it is."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    narrow, wide = (
        str(ip_network((found, bits), strict=False)) for bits in _PREFIX_BITS[found.version]
    )
    return narrow, wide


@dataclass
class _Bucket:
    """So many now, and so many more with each second; below zero after what counts as several."""

    left: float
    at_s: float

    def fill(self, per_s: float, most: float, now_s: float) -> None:
        self.left = min(most, self.left + (now_s - self.at_s) * per_s)
        self.at_s = now_s


@dataclass(eq=False)
class Unproven:
    """A connection whose end may be anybody. ``cut`` closes it."""

    narrow: str
    wide: str
    cut: Callable[[], None]


@dataclass
class Counts:
    """What strangers had of this server since its start."""

    handled: int = 0
    refused: int = 0


@dataclass
class Admission:
    """Decides which connections are looked at. Its memory is bounded."""

    limits: DoorLimits = field(default_factory=DoorLimits)
    clock: Callable[[], float] = time.monotonic
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._proven: OrderedDict[str, None] = OrderedDict()
        self._unproven: list[Unproven] = []

    def enter(self, address: str, cut: Callable[[], None]) -> Unproven | None:
        """A connection that is looked at now, or None where it has to come again later; leave()
        ends it. Where all places of strangers are taken, another one is cut for it."""
        narrow, wide = prefixes_of(address)
        if not self._pay(narrow, wide):
            self.counts.refused += 1
            return None
        if len(self._unproven) >= self.limits.unproven:
            self._make_room()
        entered = Unproven(narrow, wide, cut)
        self._unproven.append(entered)
        self.counts.handled += 1
        return entered

    def leave(self, entered: Unproven) -> None:
        """It has proved a code, or is gone. Idempotent."""
        if entered in self._unproven:
            self._unproven.remove(entered)

    def wrong(self, entered: Unproven) -> None:
        """A wrong code counts as several handshakes of its address."""
        bucket = self._bucket(entered.narrow, *self._rate(entered.narrow))
        bucket.left = max(-self.limits.handshakes, bucket.left - self.limits.wrong_code)

    def right(self, entered: Unproven) -> None:
        """Whoever proved a code is no stranger."""
        self.leave(entered)
        self._proven[entered.narrow] = None
        self._proven.move_to_end(entered.narrow)
        while len(self._proven) > self.limits.remembered:
            self._proven.popitem(last=False)
        for key in (entered.narrow, entered.wide, ALL):
            self._bucket(key, *self._rate(key)).left += 1.0

    def _pay(self, narrow: str, wide: str) -> bool:
        """One handshake of each bucket that it counts in, or none of any."""
        keys = (narrow,) if narrow in self._proven else (narrow, wide, ALL)
        buckets = [self._bucket(key, *self._rate(key)) for key in keys]
        if any(bucket.left < 1.0 for bucket in buckets):
            return False
        for bucket in buckets:
            bucket.left -= 1.0
        return True

    def _rate(self, key: str) -> tuple[float, float]:
        """What a bucket gets each second, and the most that it holds."""
        limits = self.limits
        if key == ALL:
            return limits.all_handshakes_per_s, limits.all_handshakes
        if key.endswith(("/24", "/48")):
            return limits.network_handshakes_per_s, limits.network_handshakes
        return limits.handshakes_per_s, limits.handshakes

    def _bucket(self, key: str, per_s: float, most: float) -> _Bucket:
        now_s = self.clock()
        bucket = self._buckets.setdefault(key, _Bucket(most, now_s))
        self._buckets.move_to_end(key)
        bucket.fill(per_s, most, now_s)
        if len(self._buckets) > self.limits.remembered:
            self._forget_one()
        return bucket

    def _forget_one(self) -> None:
        """The one that came longest ago; never that of all."""
        oldest = next(key for key in self._buckets if key != ALL)
        del self._buckets[oldest]

    def _make_room(self) -> None:
        """Cuts the oldest of the address that has most."""
        of_prefix: dict[str, int] = {}
        for one in self._unproven:
            of_prefix[one.narrow] = of_prefix.get(one.narrow, 0) + 1
        fullest = max(of_prefix.values())
        oldest = next(one for one in self._unproven if of_prefix[one.narrow] == fullest)
        self._unproven.remove(oldest)
        self.counts.refused += 1
        oldest.cut()
