"""One number with its uncertainty."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A figure of one point.

    ``name`` ends in its unit: round_trip_median_ns, throughput_bit_per_s, lost_ratio. The names are
    listed in docs/methods. ``low`` and ``high`` bound the interval at ``confidence``; None where
    none can be given (a minimum, too few samples). ``method`` is the page and anchor under
    docs/methods that defines the figure.
    """

    point: str
    transport: str
    test: str
    operation: str | None
    message_bytes: int
    name: str
    value: float
    low: float | None
    high: float | None
    samples: int
    effective_samples: float | None
    method: str
    confidence: float = 0.95

    @property
    def unit(self) -> str:
        """The last part of the name: ns, bit_per_s, bytes, ratio; count where there is none."""
        for unit in ("bit_per_s", "bytes", "ratio", "ns"):
            if self.name.endswith("_" + unit):
                return unit
        return "count"
