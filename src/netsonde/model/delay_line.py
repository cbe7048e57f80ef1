"""The delay of a message as a line over its size: D(b) = L + b / B.

L is the delay of an empty message, or of the smallest; B is what the largest message is carried
with, b / D. So both come from one message each, as in P. Dasgupta, MS thesis, University of
Tennessee 2001; how far the sizes between are off is what shows whether the line can be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DelayLine:
    """``latency_ns`` is L, ``bytes_per_ns`` is B."""

    latency_ns: float
    bytes_per_ns: float

    def delay_ns(self, size_bytes: int) -> float:
        """What the line says."""
        return self.latency_ns + size_bytes / self.bytes_per_ns

    def off(self, size_bytes: int, measured_ns: float) -> float:
        """By what share of what was measured the line says more."""
        return self.delay_ns(size_bytes) / measured_ns - 1.0

    @property
    def half_rate_bytes(self) -> float:
        """The size that is carried with half of B: R. W. Hockney's n 1/2."""
        return self.latency_ns * self.bytes_per_ns


def delay_line(delays_ns: Mapping[int, float]) -> DelayLine | None:
    """From one-way delays by size, bytes; None where there are not two sizes."""
    if len(delays_ns) < 2:
        return None
    smallest, largest = min(delays_ns), max(delays_ns)
    return DelayLine(delays_ns[smallest], largest / delays_ns[largest])
