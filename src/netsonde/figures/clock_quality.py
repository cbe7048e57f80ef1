"""How well the clocks of MPI ranks are known, by each of the methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.clock import Lead, Method, OffsetBounds, line_of
from netsonde.ranks.clocks import Times, clock_method, compared_bounds, rank_leads
from netsonde.records.data import Batch, EndData, Series

_LINES: dict[str, Method] = {"tree": "ends", "offset": "offset", "jones_koenig": "fit"}


@dataclass(frozen=True)
class RankClock:
    """One rank's clock over rank 0's at the begin of the batch: ns, and ns per s.

    residual_ns: the largest distance of a comparison from the method's line, over the clock of
    ``parent``; None where no comparison is left to tell it.
    """

    rank: int
    host: str
    parent: int
    offset_ns: float
    drift_ppb: float
    residual_ns: float | None
    uncertainty_ns: float


@dataclass(frozen=True)
class ClockQuality:
    """How well the clocks of a batch of test ``clock`` are known; ns unless said otherwise.

    residual_ns: each comparison that the method's line does not go through by itself, its distance
    from the line, of every rank that compared. error_ns: at the same instants, the lead over rank 0
    by such lines, where the truth is known to be 0 since all ranks read one clock though they
    compared as if they did not; else empty. round_trip_ns is None where nothing was exchanged.
    """

    residual_ns: Times
    error_ns: Times
    uncertainty_ns: float
    drift_ppb: float
    round_trip_ns: float | None
    ranks: tuple[RankClock, ...]


def clock_quality(batch: Batch) -> ClockQuality | None:
    """None where no rank had anything to compare."""
    if is_by_wtime(batch):
        return _wtime_quality(batch)
    compared = {r: b for r, e in batch.ends.items() if (b := compared_bounds(e)) is not None}
    if not compared:
        return None
    method = _LINES[clock_method(batch)]
    by_lines = rank_leads(batch, method)
    residuals, errors = dict[int, Times](), []
    for rank, bounds in compared.items():
        instants, residuals[rank] = _left_over(bounds, method)
        errors.append(by_lines[rank].at(instants))
    leads = rank_leads(batch)
    ranks = tuple(
        _rank_clock(batch.ends[rank], leads[rank], residuals) for rank in sorted(batch.ends)
    )
    round_trips = [
        e.series["clock_round_trip_ns"].min() for r, e in batch.ends.items() if r in compared
    ]
    return ClockQuality(
        np.concatenate(list(residuals.values())),
        np.concatenate(errors) if _is_one_clock(batch) else np.empty(0),
        max(lead.uncertainty_ns for lead in leads.values()),
        max((clock.drift_ppb for clock in ranks), key=abs),
        float(np.median(round_trips)),
        ranks,
    )


def is_by_wtime(batch: Batch) -> bool:
    """Whether times are those of MPI_Wtime, so that no rank compared anything with another."""
    return clock_method(batch) == "wtime"


def _rank_clock(end: EndData, lead: Lead, residuals: Mapping[int, Times]) -> RankClock:
    own = residuals.get(end.rank)
    return RankClock(
        end.rank,
        end.host,
        end.counters.get("clock_parent", 0),
        lead.first_ns,
        1e9 * lead.drift,
        float(np.abs(own).max()) if own is not None and len(own) else None,
        lead.uncertainty_ns,
    )


def _left_over(bounds: OffsetBounds, method: Method) -> tuple[npt.NDArray[np.int64], Times]:
    """The instants of the comparisons that the line was not laid through, and their distances from
    it. A fit is laid through none."""
    distances = line_of(bounds, method).distances(bounds)
    chosen = {"ends": slice(1, -1), "offset": slice(1, None)}.get(method, slice(None))
    return bounds.at_ns[chosen], distances[chosen]


def _is_one_clock(batch: Batch) -> bool:
    names = {end.counters.get("clock_name") for end in batch.ends.values()}
    return len(names) == 1 and None not in names


def _wtime_quality(batch: Batch) -> ClockQuality | None:
    """MPI_Wtime of each rank beside its own clock, less the same at rank 0. What all ranks' clocks
    are is known where they read one."""
    readings = {r: _wtime_of(e) for r, e in sorted(batch.ends.items()) if "wtime_at_ns" in e.series}
    if 0 not in readings or len(readings) < 2:
        return None
    zero = readings.pop(0)
    errors, residuals, ranks = [], [], []
    for rank, own in readings.items():
        apart = (own.ahead_ns - zero.ahead_ns).astype(np.float64)
        half = (own.bracket_ns + zero.bracket_ns).astype(np.float64) / 2
        bounds = OffsetBounds(
            own.at_ns,
            np.floor(apart - half).astype(np.int64),
            np.ceil(apart + half).astype(np.int64),
        )
        line = line_of(bounds, "ends")
        left = line.distances(bounds)[1:-1]
        largest = float(np.abs(left).max()) if len(left) else None
        ranks.append(
            RankClock(
                rank, batch.ends[rank].host, 0, apart[0], 1e9 * line.drift, largest, half.max()
            )
        )
        errors.append(apart)
        residuals.append(left)
    return ClockQuality(
        np.concatenate(residuals),
        np.concatenate(errors) if _is_one_clock(batch) else np.empty(0),
        max(clock.uncertainty_ns for clock in ranks),
        max((clock.drift_ppb for clock in ranks), key=abs),
        None,
        (RankClock(0, batch.ends[0].host, 0, 0.0, 0.0, None, 0.0), *ranks),
    )


@dataclass(frozen=True)
class _Wtime:
    at_ns: Series
    ahead_ns: Series
    bracket_ns: Series


def _wtime_of(end: EndData) -> _Wtime:
    return _Wtime(*(end.series[f"wtime_{name}_ns"] for name in ("at", "ahead", "bracket")))
