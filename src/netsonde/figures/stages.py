"""Where the time of a round trip goes: the stages of both ends, message by message.

Each stage begins and ends on one host, so the clocks of the two are never compared. The network's
part is what is left: the time from the origin's driver to the answer's arrival there, less the time
that the target's host had the message.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.records.data import EndData, Point, Series

ORIGIN, TARGET = ("origin", 0), ("target", 1)
HOST_PARTS = (
    (*ORIGIN, "send_to_queue"),
    (*ORIGIN, "queue_to_driver"),
    (*TARGET, "driver_to_receive"),
    (*TARGET, "receive_to_send"),
    (*TARGET, "send_to_queue"),
    (*TARGET, "queue_to_driver"),
    (*ORIGIN, "driver_to_receive"),
)
"""(end, rank, stage) of each part that a host takes, in the order of a message's way."""
PARTS = (
    *(f"{end}_{stage}" for end, _, stage in HOST_PARTS[:2]),
    "network",
    *(f"{end}_{stage}" for end, _, stage in HOST_PARTS[2:]),
)
"""All parts of a round trip; the network's is that of both ways together."""
MIDDLE = (0.45, 0.55)
"""Round trips between these quantiles are the typical ones."""
SLOW_ONE_IN = 100
"""So many round trips have one slow one."""


@dataclass(frozen=True)
class Stages:
    """Parts by name, each of shape (messages,), ns: of the messages that both ends have whole.

    ``answered`` is how many were answered at all.
    """

    parts: dict[str, Series]
    answered: int

    @property
    def whole_ns(self) -> Series:
        """The sum of the parts: from the send to the receive, by the origin's CLOCK_REALTIME."""
        return np.asarray(np.sum(list(self.parts.values()), axis=0), np.int64)

    def host_ns(self, end: str) -> Series:
        """What one end's host took of each round trip."""
        mine = [values for name, values in self.parts.items() if name.startswith(end)]
        return np.asarray(np.sum(mine, axis=0), np.int64)

    def typical(self) -> npt.NDArray[np.bool_]:
        """Which messages are in the middle tenth."""
        low, high = np.quantile(self.whole_ns, MIDDLE, method="inverted_cdf")
        return np.asarray((self.whole_ns >= low) & (self.whole_ns <= high), np.bool_)

    def slow(self) -> npt.NDArray[np.bool_]:
        """Which messages are the slowest hundredth; the slowest one at least."""
        chosen = np.zeros(len(self.whole_ns), np.bool_)
        chosen[np.argsort(self.whole_ns)[-max(1, len(chosen) // SLOW_ONE_IN) :]] = True
        return chosen


def has_stages(point: Point) -> bool:
    """Whether the kernel's times were taken at both ends of a point."""
    return any(
        all("stamped_index" in b.ends[rank].series for rank in (0, 1) if rank in b.ends)
        for b in point.batches
    )


def stages_of(point: Point) -> Stages:
    """The stages of all batches; empty arrays where no message is whole."""
    found: dict[str, list[Series]] = {name: [] for name in PARTS}
    answered = 0
    for batch in point.batches:
        origin, target = batch.ends[0], batch.ends[1]
        answered += len(origin.series["round_trip_ns"])
        for name, values in _of_batch(origin, target).items():
            found[name].append(values)
    return Stages({name: np.concatenate(values) for name, values in found.items()}, answered)


def _of_batch(origin: EndData, target: EndData) -> dict[str, Series]:
    ends = (origin, target)
    here, yonder = (_once(end.series["stamped_index"]) for end in ends)
    index = np.intersect1d(here, yonder, assume_unique=True)
    rows = [_places(end.series["stamped_index"], index) for end in ends]
    host = {
        f"{end}_{stage}": ends[rank].series[f"{stage}_ns"][rows[rank]]
        for end, rank, stage in HOST_PARTS
    }
    there = np.asarray(
        np.sum([v for name, v in host.items() if name.startswith("target")], axis=0), np.int64
    )
    away: Series = origin.series["driver_to_driver_ns"][rows[0]]
    network: Series = away - there
    return {name: network if name == "network" else host[name] for name in PARTS}


def _once(index: Series) -> Series:
    """A datagram that was repeated on its way was answered twice: neither answer is taken."""
    values, counts = np.unique(index, return_counts=True)
    return np.asarray(values[counts == 1], np.int64)


def _places(index: Series, wanted: Series) -> npt.NDArray[np.intp]:
    order = np.argsort(index, kind="stable")
    return np.asarray(order[np.searchsorted(index[order], wanted)], np.intp)
