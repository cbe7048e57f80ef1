"""What one run of one tool gave."""

from __future__ import annotations

from dataclasses import dataclass, field

Scalar = int | float | str | None


@dataclass(frozen=True)
class Measured:
    """The figure that is compared (bit/s or ns), and what else the tool said about the run."""

    value: float
    details: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Extent:
    """How long a run is: seconds, or round trips in each of NetPIPE's three trials."""

    duration_s: int
    repeats: int = 0

    @property
    def timeout_s(self) -> float:
        """Generous: a loaded machine is slow, a run that hangs must still end."""
        return 20.0 + 5.0 * self.duration_s
