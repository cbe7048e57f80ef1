"""The ranks of an MPI program on one clock, that of rank 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from netsonde.clock import Lead, Link, Method, OffsetBounds, leads_of
from netsonde.ranks.repetitions import has_summary
from netsonde.ranks.summaries import shares, summary_of
from netsonde.records.data import Batch, EndData, Series

Times = npt.NDArray[np.float64]
ClockMethod = Literal["tree", "offset", "wtime", "jones_koenig"]
CLOCK_METHODS: tuple[ClockMethod, ...] = ("tree", "offset", "wtime", "jones_koenig")
"""In the order of the counter ``clock_method``."""
_LEADS: dict[ClockMethod, Method] = {
    "tree": "bounds",
    "offset": "offset",
    "wtime": "bounds",  # all read one clock
    "jones_koenig": "fit",
}


@dataclass(frozen=True)
class Repetitions:
    """When each rank entered and left each repetition: shape (ranks, repetitions), ns of rank 0's
    clock since its start; rank r is row r. Differences are wrong by uncertainty_ns at most."""

    enter_ns: Times
    leave_ns: Times
    uncertainty_ns: float

    @property
    def start_spread_ns(self) -> Times:
        """From the first rank to enter to the last, by repetition."""
        spread: Times = self.enter_ns.max(axis=0) - self.enter_ns.min(axis=0)
        return spread


def links_of(batch: Batch) -> dict[int, Link]:
    """Who compared its clock with whose; empty where that is not known of every rank."""
    if any("clock_group" not in end.counters for end in batch.ends.values()):
        return {}
    readers: dict[int, int] = {}
    for rank in sorted(batch.ends):
        readers.setdefault(batch.ends[rank].counters["clock_group"], rank)
    return {
        rank: _link(end, readers[end.counters["clock_group"]])
        for rank, end in batch.ends.items()
        if rank != 0
    }


def compared_bounds(end: EndData) -> OffsetBounds | None:
    """What a rank's comparisons with its parent said; None where it had none."""
    return _bounds(end) if "clock_at_ns" in end.series else None


def _link(end: EndData, leader: int) -> Link:
    if "clock_at_ns" not in end.series:
        return Link(leader)
    return Link(end.counters["clock_parent"], _bounds(end))


def _bounds(end: EndData) -> OffsetBounds:
    names = ("clock_at_ns", "clock_low_ns", "clock_high_ns")
    return OffsetBounds(*(end.series[name] for name in names))


def clock_method(batch: Batch) -> ClockMethod:
    """How the ranks of a batch were put on one clock."""
    number = next((e.counters.get("clock_method", 0) for e in batch.ends.values()), 0)
    return CLOCK_METHODS[number] if 0 <= number < len(CLOCK_METHODS) else "tree"


def rank_leads(batch: Batch, method: Method | None = None) -> dict[int, Lead]:
    """What each rank's clock was ahead of rank 0's, by rank; empty where nobody compared them.
    Without ``method`` by that of the batch."""
    method = method or _LEADS[clock_method(batch)]
    links = links_of(batch)
    if not links and len(batch.ends) > 1:
        return {}
    spans = {
        rank: (end.counters["start_ns"], end.counters["end_ns"]) for rank, end in batch.ends.items()
    }
    return leads_of(links, spans, method)


def common_repetitions(batch: Batch) -> Repetitions | None:
    """None where the clocks were not compared, and of a batch that was summarised."""
    leads = {} if has_summary(batch) else rank_leads(batch)
    if not leads:
        return None
    zero_ns = batch.ends[0].counters["start_ns"]
    enter, leave = [], []
    for rank in sorted(batch.ends):
        end, lead = batch.ends[rank], leads[rank]
        since_start = end.series["begin_ns"]
        own_ns = end.counters["start_ns"] + since_start
        late = float(end.counters["start_ns"] - zero_ns)
        begun = late + since_start.astype(np.float64) - lead.at(own_ns)
        enter.append(begun)
        leave.append(begun + end.series["duration_ns"] * (1.0 - lead.drift))
    uncertainty = 2 * max(lead.uncertainty_ns for lead in leads.values())
    return Repetitions(np.stack(enter), np.stack(leave), uncertainty)


@dataclass(frozen=True)
class CommonStart:
    """Of each repetition of a batch, how far apart ranks entered (ns of rank 0's clock), and who
    entered and who left last; shape (repetitions,). Differences are wrong by uncertainty_ns at
    most."""

    spread_ns: Times
    last_in: Series
    last_out: Series
    ranks: int
    uncertainty_ns: float


def common_start(batch: Batch) -> CommonStart | None:
    """From the samples, or from what was joined of them. None where the clocks were not
    compared."""
    summary = summary_of(batch)
    if summary is not None:
        return CommonStart(
            summary.start_spread_ns.astype(np.float64),
            summary.last_in,
            summary.last_out,
            summary.ranks,
            summary.uncertainty_ns,
        )
    found = common_repetitions(batch)
    if found is None:
        return None
    return CommonStart(
        found.start_spread_ns,
        found.enter_ns.argmax(axis=0),
        found.leave_ns.argmax(axis=0),
        len(found.enter_ns),
        found.uncertainty_ns,
    )


def last_ranks(batches: Sequence[Batch]) -> dict[int, tuple[float, float]]:
    """By rank, the share of repetitions that it entered last and that it left last; empty where the
    clocks of a batch are not known."""
    found = [common_start(batch) for batch in batches]
    known = [start for start in found if start is not None]
    if not known or len(known) < len(found):
        return {}
    ranks = max(start.ranks for start in known)
    last_in = shares(np.concatenate([start.last_in for start in known]), ranks)
    last_out = shares(np.concatenate([start.last_out for start in known]), ranks)
    return {rank: (float(last_in[rank]), float(last_out[rank])) for rank in range(ranks)}
