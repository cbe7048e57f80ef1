"""What a file of another tool holds, before it becomes a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from netsonde.records.data import ImportedFigure, Series


@dataclass(frozen=True)
class Hints:
    """What the user says of a file that does not say it itself; None where nothing was said."""

    transport: str | None = None
    message_bytes: int | None = None


NO_HINTS = Hints()


@dataclass(frozen=True)
class PointRead:
    """One measured point.

    ``figures`` have netsonde's names where they mean the same, else names that begin with the
    tool's. ``series`` are the tool's own intervals, of equal length. ``round_trips_ns`` are single
    round trips in order, where the file has them; ``sent`` counts the messages behind them.
    ``reverse``: from the server to the client. ``parameters`` are what else the tool was asked for.
    """

    transport: str
    test: str
    message_bytes: int
    figures: tuple[ImportedFigure, ...]
    operation: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    series: dict[str, list[float]] = field(default_factory=dict)
    round_trips_ns: Series | None = None
    sent: int = 0
    reverse: bool = False


@dataclass(frozen=True)
class FileRead:
    """All of one file. ``version``, ``command`` and ``started_utc`` as far as the file says."""

    tool: str
    points: list[PointRead]
    version: str | None = None
    command: str | None = None
    started_utc: str | None = None
