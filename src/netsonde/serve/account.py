"""What all sessions of one pairing code have used together."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from netsonde.serve.limits import Limits


@dataclass(eq=False)
class Use:
    """One session that is going on. ``rate_bit_per_s`` is that of its run, 0 without one."""

    since_s: float = field(default_factory=time.monotonic)
    rate_bit_per_s: int = 0


@dataclass
class Account:
    """It lasts as long as the server does."""

    moved_bytes: int = 0
    cpu_s: float = 0.0
    _ended_s: float = 0.0
    _uses: list[Use] = field(default_factory=list)

    def begin(self) -> Use:
        """A session begins; end() ends it."""
        use = Use()
        self._uses.append(use)
        return use

    def end(self, use: Use) -> None:
        self._uses.remove(use)
        self._ended_s += time.monotonic() - use.since_s

    @property
    def time_s(self) -> float:
        """What all sessions took, those that go on included."""
        now_s = time.monotonic()
        return self._ended_s + sum(now_s - use.since_s for use in self._uses)

    def left_s(self, limits: Limits) -> float | None:
        """After how long the time of all is over, at the number of sessions of now; None: never."""
        if limits.code_time_s is None:
            return None
        return max(0.0, limits.code_time_s - self.time_s) / max(1, len(self._uses))

    def cpu_left_s(self, limits: Limits) -> float | None:
        """The CPU time that is left; None: as much as it takes."""
        return None if limits.code_cpu_s is None else max(0.0, limits.code_cpu_s - self.cpu_s)

    def others_bit_per_s(self, use: Use) -> int:
        """The rates at which the other sessions send right now."""
        return sum(one.rate_bit_per_s for one in self._uses if one is not use)

    def spent(self, limits: Limits) -> str | None:
        """The sentence of what is used up, so that no session can begin; None where nothing is."""
        if self.left_s(limits) == 0:
            return limits.said("code_time_s")
        if self.cpu_left_s(limits) == 0:
            return limits.said("code_cpu_s")
        if limits.code_bytes is not None and self.moved_bytes >= limits.code_bytes:
            return limits.said("code_bytes")
        return None
