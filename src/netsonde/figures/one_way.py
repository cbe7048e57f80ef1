"""One-way delays: the departure by the origin's clock, the arrival by the target's, the offset
between the two clocks from every comparison that a point holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.clock import OffsetBounds, OffsetInterval, offset_at
from netsonde.records.data import Batch, EndData
from netsonde.stats.datagrams import transit_ns

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OneWay:
    """delay_ns in the order of arrival; each is wrong by no more than uncertainty_ns, all by the
    same within a batch."""

    delay_ns: Times
    uncertainty_ns: float


def one_way_delays(batches: Sequence[Batch]) -> OneWay | None:
    """Of all messages whose departure and arrival were recorded; None where the clocks of both
    ends were never compared."""
    clocks = clock_bounds(batches)
    recorded = [b for b in batches if "sent_ns" in b.ends[0].series and _arrivals(b.ends[1])]
    if not recorded or not (clocks or one_clock(batches)):
        return None
    delays, uncertainties = [], []
    for batch in recorded:
        origin, target = batch.ends[0], batch.ends[1]
        transit = _transit_ns(origin, target)
        lead = _lead_at(clocks, origin.counters["start_ns"])
        later = _lead_at(clocks, origin.counters["end_ns"])
        length_ns = max(1, origin.counters["end_ns"] - origin.counters["start_ns"])
        drift = (later.middle_ns - lead.middle_ns) / length_ns
        since_start = target.series["received_ns"].astype(np.float64)
        difference = target.counters["start_ns"] - origin.counters["start_ns"]
        correction = difference - lead.middle_ns - drift * since_start
        delays.append(transit + np.rint(correction).astype(np.int64))
        uncertainties += [lead.uncertainty_ns, later.uncertainty_ns]
    return OneWay(np.concatenate(delays), max(uncertainties))


def one_clock(batches: Sequence[Batch]) -> bool:
    """Whether every end of every batch read the same clock."""
    groups = {end.counters.get("clock_group") for batch in batches for end in batch.ends.values()}
    return len(groups) == 1 and None not in groups


def clock_bounds(batches: Sequence[Batch]) -> OffsetBounds | None:
    """What the target's clock (rank 1) is ahead of the origin's (rank 0): by the synchronisation of
    each batch, and by what both were ahead of the launcher's. None where they share one clock, or
    nothing is known."""
    if one_clock(batches):
        return None
    found: list[tuple[int, int, int]] = []
    for batch in batches:
        origin, target = batch.ends[0], batch.ends.get(1)
        if "peer_clock_low_ns" in origin.counters:
            low, high = (origin.counters[f"peer_clock_{name}_ns"] for name in ("low", "high"))
            found.append((origin.counters["start_ns"], low, high))
        if target is not None and "clock_at_ns" in origin.series and "clock_at_ns" in target.series:
            found += zip(
                origin.series["clock_at_ns"].tolist(),
                (target.series["clock_low_ns"] - origin.series["clock_high_ns"]).tolist(),
                (target.series["clock_high_ns"] - origin.series["clock_low_ns"]).tolist(),
                strict=True,
            )
    if not found:
        return None
    at, low_ns, high_ns = (np.array(column, np.int64) for column in zip(*found, strict=True))
    return OffsetBounds(at, low_ns, high_ns)


def _arrivals(end: EndData) -> bool:
    return len(end.series.get("received_ns", ())) > 0


def _transit_ns(origin: EndData, target: EndData) -> Times:
    sent, received = origin.series["sent_ns"], target.series["received_ns"]
    sequence = target.series.get("sequence")
    if sequence is not None:
        return transit_ns(sent, received, sequence)
    return received - sent[: len(received)]


def _lead_at(clocks: OffsetBounds | None, at_ns: int) -> OffsetInterval:
    return OffsetInterval(0.0, 0.0) if clocks is None else offset_at(clocks, at_ns)
