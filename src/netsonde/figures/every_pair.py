"""What all pairs of hosts measured: round trips of each pair, alone and all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import EveryPair
from netsonde.figures.data import Figure
from netsonde.figures.maker import MAKERS, Maker
from netsonde.figures.pair_matrix import Values
from netsonde.model.meetings import COMPANIES, Company, Meeting, all_meetings
from netsonde.records.data import Batch, EndData, Point
from netsonde.stats.matrices import Reduced, mean_of_pairs_interval, reduce_matrix
from netsonde.stats.resolution import with_width

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PairTimes:
    """Round trips, ns, of each pair of a point's hosts in one company, by (who asked, who
    answered) as numbers of hosts; ``unanswered`` are messages that no answer came to."""

    point: Point
    company: Company
    hosts: tuple[str, ...]
    times_ns: Mapping[tuple[int, int], Times]
    unanswered: int
    sent: int

    def table(self, of: Callable[[Times], Any]) -> Values:
        """A number for each pair, shape (hosts, hosts): from down, to across; NaN where there is
        none."""
        found = np.full((len(self.hosts), len(self.hosts)), np.nan)
        for (origin, target), times in self.times_ns.items():
            if len(times):
                found[origin, target] = float(of(times))
        return found

    @cached_property
    def means_ns(self) -> Values:
        """The average of each pair, its diagonal of each host with itself."""
        return self.table(np.mean)

    @cached_property
    def reduced(self) -> Reduced:
        """The averages as one number."""
        return reduce_matrix(self.means_ns)

    @property
    def kept(self) -> list[Times]:
        """The round trips of the pairs that the one number is made of."""
        out = self.reduced.left_out
        return [
            own for (a, b), own in self.times_ns.items() if a != b and len(own) and not out[a, b]
        ]

    def rate_bit_per_s(self, round_trip_ns: float) -> float:
        """Payload over half of a round trip; 0 of empty messages."""
        return 16e9 * self.point.message_bytes / round_trip_ns


Ranked = Iterator[tuple[tuple[int, int], EndData, Times]]
"""Each pair of a batch, who asked, and its round trips, ns."""


def _of_flows(batch: Batch, meeting: Meeting, hosts: int) -> Ranked:
    """Flow a * hosts + b has its origin at rank twice that."""
    for a, b in meeting.pairs:
        end = batch.ends.get(2 * (a * hosts + b))
        if end is not None and "round_trip_ns" in end.series:
            yield (a, b), end, end.series["round_trip_ns"]


def _of_ranks(batch: Batch, meeting: Meeting, _: int) -> Ranked:
    """A rank has as many of each partner, partner after partner."""
    for rank, end in batch.ends.items():
        partners = [b for a, b in meeting.pairs if a == rank]
        times = end.series.get("round_trip_ns")
        if times is None or not partners:
            continue
        for partner, own in zip(partners, np.split(times, len(partners)), strict=True):
            yield (rank, partner), end, own


def pair_times(point: Point) -> dict[Company, PairTimes]:
    """Of a point of all pairs, by company, those that it has; none of other points."""
    if not point.kind.is_all_pairs or not point.batches:
        return {}
    spec = point.spec.of(EveryPair)
    read = _of_ranks if point.carrier.has_ranks else _of_flows
    names = _names(point, spec.hosts)
    found: dict[Company, PairTimes] = {}
    meetings = all_meetings(spec.hosts, spec.pairs)
    for company in COMPANIES:
        parts: dict[tuple[int, int], list[Times]] = {}
        lost = sent = 0
        for batch, meeting in zip(point.batches, meetings, strict=False):
            if meeting.company != company:
                continue
            for pair, end, times in read(batch, meeting, spec.hosts):
                parts.setdefault(pair, []).append(times)
                lost += end.counters.get("unanswered", 0)
                sent += len(times)
        if parts:
            whole = {pair: np.concatenate(times) for pair, times in parts.items()}
            found[company] = PairTimes(point, company, names, whole, lost, sent + lost)
    return found


def _names(point: Point, hosts: int) -> tuple[str, ...]:
    """The hosts' names by number; where several are of one name, with their number."""
    ways = 1 if point.carrier.has_ranks else 2 * (hosts + 1)
    names = [""] * hosts
    for batch in point.batches:
        for number in range(hosts):
            end = batch.ends.get(number * ways)
            if end is not None:
                names[number] = end.host
    if len(set(names)) == hosts and all(names):
        return tuple(names)
    return tuple(f"{name or 'host'} {number}" for number, name in enumerate(names))


@MAKERS.of("all-pairs")
def every_pair_figures(maker: Maker) -> list[Figure]:
    """Of each company: the averages of its pairs as one number, with what that leaves out; and the
    one company over the other."""
    found = pair_times(maker.point)
    figures: list[Figure] = []
    for company, times in found.items():
        figures += _of_company(maker, company, times)
    by_name = {figure.name: figure for figure in figures}
    alone, together = (by_name.get(f"{company}_round_trip_ns") for company in COMPANIES)
    if alone is not None and together is not None and alone.value > 0:
        figures.append(maker.quotient("together_times", together, alone))
    if maker.point.spec.check_data:
        ends = [end for batch in maker.point.batches for end in batch.ends.values()]
        corrupt = sum(end.counters.get("corrupt", 0) for end in ends)
        figures.append(maker.figure("corrupt_messages", float(corrupt), len(ends)))
    return figures


def _of_company(maker: Maker, company: Company, times: PairTimes) -> list[Figure]:
    reduced = times.reduced
    pairs = int(np.isfinite(times.means_ns).sum() - np.isfinite(np.diag(times.means_ns)).sum())
    if not pairs:
        return []
    kept = times.kept
    interval = with_width(mean_of_pairs_interval(kept), np.concatenate(kept), 1.0)
    low, high = (interval.low, interval.high) if interval else (None, None)
    count = sum(map(len, kept))
    mean = maker.figure(
        f"{company}_round_trip_ns", reduced.mean, count, low, high, float(count) if low else None
    )
    figures = [
        mean,
        maker.figure(f"{company}_plain_round_trip_ns", reduced.plain, pairs),
        maker.figure(f"{company}_median_round_trip_ns", reduced.median, pairs),
        maker.figure(f"{company}_least_round_trip_ns", reduced.least, pairs),
        maker.figure(f"{company}_most_round_trip_ns", reduced.most, pairs),
        maker.figure(f"{company}_left_out", float(reduced.count_left_out), pairs),
    ]
    if np.isfinite(reduced.diagonal):
        own = len(times.hosts)
        figures.append(maker.figure(f"{company}_self_round_trip_ns", reduced.diagonal, own))
    if times.point.message_bytes:
        figures.append(
            maker.figure(
                f"{company}_rate_bit_per_s",
                times.rate_bit_per_s(mean.value),
                pairs,
                times.rate_bit_per_s(high) if high else None,
                times.rate_bit_per_s(low) if low and low > 0 else None,
                mean.effective_samples,
            )
        )
    if times.point.carrier.has_datagrams:
        figures.append(maker.ratio(f"{company}_unanswered_ratio", times.unanswered, times.sent))
    return figures
