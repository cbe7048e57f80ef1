"""Instants of many hosts on one clock, that of the launcher."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.records.data import Batch, EndData


@dataclass(frozen=True)
class Lead:
    """What a host's clock is ahead of the launcher's."""

    ns: float
    uncertainty_ns: float


def leads(batch: Batch) -> dict[int, Lead]:
    """By rank. Ends that read one clock have one lead, from all bounds on it; hosts whose clocks
    nobody compared, and a batch whose ends all read one clock, are left as they are."""
    groups: dict[int | None, list[EndData]] = {}
    for end in batch.ends.values():
        groups.setdefault(end.counters.get("clock_group"), []).append(end)
    if len(groups) == 1:
        return dict.fromkeys(batch.ends, Lead(0.0, 0.0))
    found: dict[int, Lead] = {}
    for ends in groups.values():
        lead = _lead(ends)
        found |= {end.rank: lead for end in ends}
    return found


def _lead(ends: list[EndData]) -> Lead:
    known = [end for end in ends if "clock_low_ns" in end.series]
    if not known:
        return Lead(0.0, 0.0)
    low = np.concatenate([end.series["clock_low_ns"] for end in known])
    high = np.concatenate([end.series["clock_high_ns"] for end in known])
    # Within a batch a drift may keep the tightest bounds from meeting.
    least, most = sorted((int(low.max()), int(high.min())))
    return Lead((least + most) / 2, (most - least) / 2)


def starts_ns(batch: Batch) -> dict[int, float]:
    """When each origin that took part began, on the launcher's clock, by rank."""
    found = leads(batch)
    return {
        end.rank: end.counters["start_ns"] - found[end.rank].ns
        for end in _taking_part(batch.ends.values(), 0)
    }


def ends_ns(batch: Batch) -> dict[int, float]:
    """When each target had its last message, on the launcher's clock, by rank."""
    found = leads(batch)
    return {
        end.rank: end.counters["end_ns"] - found[end.rank].ns
        for end in _taking_part(batch.ends.values(), 1)
    }


def round_starts_ns(batch: Batch) -> dict[int, npt.NDArray[np.float64]]:
    """When each origin began each round, on the launcher's clock, by rank. A batch without rounds
    is one."""
    return _rounds(batch, 0, "start_ns", "round_start_ns")


def round_ends_ns(batch: Batch) -> dict[int, npt.NDArray[np.float64]]:
    """When each target had the last message of each round, on the launcher's clock, by rank."""
    return _rounds(batch, 1, "end_ns", "round_end_ns")


def _rounds(
    batch: Batch, parity: int, counter: str, series: str
) -> dict[int, npt.NDArray[np.float64]]:
    found = leads(batch)
    return {
        end.rank: (
            end.counters["start_ns"] + end.series[series].astype(np.float64)
            if series in end.series
            else np.array([float(end.counters[counter])])
        )
        - found[end.rank].ns
        for end in _taking_part(batch.ends.values(), parity)
    }


def uncertainty_ns(batch: Batch) -> float:
    """What a difference between two of these instants is uncertain by at most."""
    return 2 * max(lead.uncertainty_ns for lead in leads(batch).values())


def _taking_part(ends: Iterable[EndData], parity: int) -> list[EndData]:
    return [end for end in ends if end.rank % 2 == parity and "start_ns" in end.counters]
