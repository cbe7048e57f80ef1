"""What a run of all pairs measured: a value for every pair and direction of each measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import AllPairs
from netsonde.figures.data import Figure
from netsonde.figures.maker import MAKERS, Maker
from netsonde.figures.one_way import one_way_delays
from netsonde.figures.throughput import origin_elapsed_ns, target_elapsed_ns
from netsonde.model.node_links import Integers, Reals
from netsonde.model.tournament import Tournament, pairs_of
from netsonde.records.data import ALL_PAIRS, Batch, EndData, Point, Run

KEPT_SHARE = 0.95
"""The mean round trip is without the slowest: one hiccup of a host is not its speed."""
MEASURE_NAMES = (
    "round_trip_ns",
    "round_trip_min_ns",
    "one_way_ns",
    "one_way_min_ns",
    "throughput_bit_per_s",
    "lost_ratio",
    "retransmitted_ratio",
)


class Measured(NamedTuple):
    """What a batch says of one measure of a pair."""

    name: str
    value: float
    part: int = 0
    whole: int = 1
    uncertainty: float = 0.0


Row = tuple[int, int, Measured, bool]
"""Origin, target, what was measured, again."""


@dataclass(frozen=True)
class PairValues:
    """One measure, one entry for each time that a pair was measured.

    ``value`` is in the unit of ``name``; for the ratios ``part`` of ``whole`` were lost or sent
    again. ``again``: in a round that followed a suspicion. ``uncertainty``: how wrong a value may
    be because the clocks of both hosts are known only so well, in its unit; 0 where one clock, or
    the same one, gave both times.
    """

    name: str
    origin: Integers
    target: Integers
    value: Reals
    part: Integers
    whole: Integers
    again: npt.NDArray[np.bool_]
    uncertainty: Reals


@cache
def _tournament(hosts: int, seed: int) -> Tournament:
    return Tournament(hosts, seed)


def pairs_of_round(spec: AllPairs) -> Sequence[tuple[int, int]]:
    """(origin, target) of each pair of a round's turn 0; pair i has the ranks 2 i and 2 i + 1."""
    if spec.pairs is not None:
        return spec.pairs
    tournament = _tournament(spec.hosts, spec.tournament_seed or 0)
    return pairs_of(tournament.partners(spec.round or 0))


def rounds_in(run: Run) -> list[Point]:
    """The measured rounds of all pairs."""
    return [point for point in run.points if point.kind.is_round and point.batches]


def host_names_of(run: Run) -> tuple[str, ...]:
    """By number. Empty where a run has no rounds."""
    return tuple((run.manifest.get(ALL_PAIRS) or {}).get("hosts", ()))


def pair_values(run: Run) -> dict[str, PairValues]:
    """Every measure that the run has values of, by name."""
    return values_of_points(rounds_in(run))


def values_of_points(points: Iterable[Point]) -> dict[str, PairValues]:
    """The same of some rounds."""
    rows: dict[str, list[Row]] = {}
    for point in points:
        for name, found in _rows_of(point).items():
            rows.setdefault(name, []).extend(found)
    return {name: _values(name, rows[name]) for name in MEASURE_NAMES if name in rows}


def _rows_of(point: Point) -> dict[str, list[Row]]:
    """What a round says of each measure."""
    rows: dict[str, list[Row]] = {}
    spec = point.spec.of(AllPairs)
    pairs, again = pairs_of_round(spec), spec.pairs is not None
    for batch in point.batches:
        measure, turn = spec.steps[batch.index]
        for number, origin, target in _ends_of(batch, len(pairs)):
            ends = pairs[number][::-1] if turn else pairs[number]
            for measured in _measured(measure, origin, target):
                rows.setdefault(measured.name, []).append((*ends, measured, again))
    return rows


def _values(name: str, rows: Sequence[Row]) -> PairValues:
    origin, target, measured, again = zip(*rows, strict=True)
    _, value, part, whole, uncertainty = zip(*measured, strict=True)
    return PairValues(
        name,
        np.array(origin, dtype=np.int64),
        np.array(target, dtype=np.int64),
        np.array(value, dtype=np.float64),
        np.array(part, dtype=np.int64),
        np.array(whole, dtype=np.int64),
        np.array(again, dtype=np.bool_),
        np.array(uncertainty, dtype=np.float64),
    )


def _ends_of(batch: Batch, pairs: int) -> Iterator[tuple[int, EndData, EndData]]:
    for number in range(pairs):
        origin, target = batch.ends.get(2 * number), batch.ends.get(2 * number + 1)
        if origin is not None and target is not None:
            yield number, origin, target


def _measured(measure: str, origin: EndData, target: EndData) -> Iterator[Measured]:
    """What a batch says of one pair."""
    if measure == "latency":
        times = origin.series.get("round_trip_ns")
        if times is not None and len(times):
            yield from _times("round_trip", times)
    elif measure in ("loss", "one-way"):
        sent, lost = origin.counters.get("messages_sent", 0), target.counters.get("lost", 0)
        if sent:
            yield Measured("lost_ratio", lost / sent, lost, sent)
        delays = one_way_delays([Batch(0, {0: origin, 1: target})])
        if delays is not None and len(delays.delay_ns):
            yield from _times("one_way", delays.delay_ns, delays.uncertainty_ns)
    else:
        yield from _stream(origin, target)


def _times(
    name: str, times_ns: npt.NDArray[np.int64], uncertainty_ns: float = 0.0
) -> Iterator[Measured]:
    """The mean without the slowest, and the fastest."""
    kept = np.sort(times_ns)[: max(1, int(np.ceil(KEPT_SHARE * len(times_ns))))]
    yield Measured(f"{name}_ns", float(kept.mean()), 0, len(times_ns), uncertainty_ns)
    yield Measured(f"{name}_min_ns", float(kept[0]), 0, len(times_ns), uncertainty_ns)


def _stream(origin: EndData, target: EndData) -> Iterator[Measured]:
    received = target.counters.get("bytes_received", 0)
    elapsed_ns = target_elapsed_ns(target) if received else origin_elapsed_ns(origin)
    if received and elapsed_ns > 0:
        yield Measured("throughput_bit_per_s", 8e9 * received / elapsed_ns)
    segments = origin.difference("connection.test.data_segs_out")
    again = origin.difference("connection.test.total_retrans")
    if segments and again is not None:
        yield Measured("retransmitted_ratio", again / segments, again, segments)


@MAKERS.of("all_pairs")
def round_figures(maker: Maker) -> list[Figure]:
    """Of one round: how many pairs were measured, and the median of each measure over them; shares
    lost and retransmitted are of all together."""
    point = maker.point
    rows = _rows_of(point)
    figures = [maker.figure("pairs_measured", float(len(_measured_pairs(point))), 1)]
    for name in MEASURE_NAMES:
        if name not in rows:
            continue
        measured = [row[2] for row in rows[name]]
        if name.endswith("_ratio"):
            lost, sent = sum(m.part for m in measured), sum(m.whole for m in measured)
            figures.append(maker.ratio(f"pairs_{name}", lost, sent))
        else:
            values = np.array([m.value for m in measured])
            figures.append(maker.quantile(f"pairs_{name}", values, 0.5))
        if name == "one_way_ns":
            largest = max(m.uncertainty for m in measured)
            figures.append(
                maker.figure(
                    "clock_uncertainty_ns", largest, len(measured), method="all-pairs#measures"
                )
            )
    return figures


def _measured_pairs(point: Point) -> set[int]:
    return {rank // 2 for batch in point.batches for rank in batch.ends}
