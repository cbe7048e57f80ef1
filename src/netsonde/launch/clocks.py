"""The clocks of workers beside the launcher's, as bounds that hold for certain.

A worker says its clock when asked. It read the clock after the question left and before the answer
came, so its lead over the launcher's clock lies between what it said less either of the two; of
several exchanges every bound holds, and the tightest are kept.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netsonde.launch.session import Record
from netsonde.launch.worker import Worker, wait_all
from netsonde.limits import limit_s

ASK_TIMEOUT_S = limit_s("clocks")
EXCHANGES_LEAST = 4
EXCHANGES_MOST = 24
PATIENCE_NS = 2_000_000
"""After so long no further exchange is begun: clocks drift by up to 0.5 us in a ms."""


@dataclass(frozen=True)
class ClockReading:
    """A host's clock less the launcher's lies between low_ns and high_ns at at_ns of the host's."""

    group: int
    at_ns: int
    low_ns: int
    high_ns: int

    @property
    def lead_ns(self) -> int:
        """The middle: what the host's clock is ahead, were the way there and back equal."""
        return (self.low_ns + self.high_ns) // 2


class Clocks:
    """The clocks of workers that share a ``wakeup``. One that several of them read is asked for
    once. Everything here raises WorkerError."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = tuple(workers)
        self._names: list[str] = []
        self._last: tuple[ClockReading, ...] | None = None

    def last(self) -> tuple[ClockReading, ...]:
        """Of each worker, as they were read last, or now."""
        return self._last or self.read()

    def read(self) -> tuple[ClockReading, ...]:
        """Of each worker, read now and kept as those before the next batch."""
        if not self._names:
            asked = [(worker, worker.submit("sync")) for worker in self._workers]
            answers = wait_all(asked, ASK_TIMEOUT_S)
            self._names = [str(records[-1]["values"]["clock_group"]) for records in answers]
        found: dict[str, ClockReading] = {}
        for name, worker in zip(self._names, self._workers, strict=True):
            if name not in found:
                found[name] = read_clock(worker)
        self._last = tuple(found[name] for name in self._names)
        return self._last

    def records_after(
        self, answers: Sequence[list[Record]], places: Sequence[int] | None = None
    ) -> list[Record]:
        """Reads the clocks after a batch that the workers at these places answered, the first ones
        where none are named; records of what was found before and after it, in which a worker's
        place is its rank."""
        before = self.last()
        after = self.read()
        return [
            record
            for rank, records in zip(places or range(len(answers)), answers, strict=True)
            for record in clock_records(
                rank,
                self._workers[rank].host_name,
                records[-1]["request"],
                before[rank],
                after[rank],
            )
        ]


def read_clock(
    worker: Worker,
    launcher_ns: Callable[[], int] = time.monotonic_ns,
    patience_ns: int = PATIENCE_NS,
) -> ClockReading:
    """Asks a worker for its clock some times over. Raises WorkerError."""
    low_ns, high_ns = -(1 << 63), (1 << 63) - 1
    begun = asked = launcher_ns()
    exchanges = 0
    values: Record = {}
    while exchanges < EXCHANGES_LEAST or (
        exchanges < EXCHANGES_MOST and asked - begun < patience_ns
    ):
        values = worker.values("sync", ASK_TIMEOUT_S)
        heard = launcher_ns()
        high_ns = min(high_ns, values["clock_ns"] - asked)
        low_ns = max(low_ns, values["clock_ns"] - heard)
        asked = launcher_ns()
        exchanges += 1
    group = _group_number(str(values["clock_group"]))
    return ClockReading(group, int(values["clock_ns"]), low_ns, high_ns)


def clock_records(
    rank: int, host: str, request: int, before: ClockReading, after: ClockReading
) -> list[Record]:
    """What was found before and after a batch, as records of a rank: the series clock_at_ns,
    clock_low_ns and clock_high_ns, and the counter clock_group."""
    of_rank: Record = {"request": request, "rank": rank, "host": host}
    series = {
        "clock_at_ns": (before.at_ns, after.at_ns),
        "clock_low_ns": (before.low_ns, after.low_ns),
        "clock_high_ns": (before.high_ns, after.high_ns),
    }
    return [
        *(
            {
                "record": "series",
                **of_rank,
                "name": name,
                "unit": "ns",
                "offset": 0,
                "count": len(values),
                "total": len(values),
                "values": base64.b64encode(struct.pack(f"<{len(values)}q", *values)).decode(),
            }
            for name, values in series.items()
        ),
        {"record": "counters", **of_rank, "values": {"clock_group": after.group}},
    ]


def _group_number(name: str) -> int:
    """A name of a clock as 62 bits: equal for equal names, and different for all practical ends."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 2
