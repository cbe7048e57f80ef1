"""The latest values of a trace as a document."""

from __future__ import annotations

import threading
from pathlib import Path

from netsonde.errors import UsageError
from netsonde.trace.journal import Follower, Moment, unix_ns
from netsonde.trace.openmetrics import metrics


class Values:
    """The document of the moment; made anew only where there is a new sample."""

    def __init__(self, folder: Path) -> None:
        self._follower = Follower(folder)
        self._lock = threading.Lock()
        self._made: tuple[object, bytes] | None = None

    def document(self) -> bytes:
        """Raises UsageError where the trace cannot be read."""
        with self._lock:
            moment = self._follower.catch_up()
            if moment is None:
                raise UsageError("there is no sample yet")
            if self._made is None or self._made[0] != moment:
                self._made = (moment, self._text(moment))
            return self._made[1]

    def _text(self, moment: Moment) -> bytes:
        reader = self._follower.reader
        about = reader.about
        info = {name: str(about.get(name, "")) for name in ("host", "kernel", "version")}
        return metrics(
            reader.counters,
            reader.values,
            info,
            unix_ns(reader, moment) / 1e9,
            int(about.get("jiffies_per_s", 100)),
        )
