"""``netsonde model score``: what a platform foretells beside what a run of other sizes, pairs and
patterns measured.

Method: docs/methods/model-measure.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.behind import Behind
from netsonde.catalogue.test import TESTS
from netsonde.errors import UsageError
from netsonde.figures.compute import figures_of
from netsonde.figures.costs import pair_trips
from netsonde.figures.data import Figure
from netsonde.figures.patterns import round_times_ns
from netsonde.figures.predicted import FAMILIES
from netsonde.hosts import split_hosts
from netsonde.model.along import MODELS
from netsonde.model.collectives import FORMULAS, counts_of
from netsonde.model.convolved import QUANTILES, gathered_ns
from netsonde.model.foretold import (
    Foretold,
    at_one_sink,
    gather,
    in_a_stream,
    round_trip,
)
from netsonde.model.platform import Platform
from netsonde.model.predict import total_bytes
from netsonde.model.score import WITHIN, Score, Scored
from netsonde.model.views import Hockney, hockney
from netsonde.modelling.algorithms import beside, is_of_schedule
from netsonde.modelling.measure import run_study
from netsonde.modelling.plan import Plan, held_out_blocks, plan_of, unseen_sizes
from netsonde.records.data import Point, Run
from netsonde.records.rundir import MANIFEST_NAME, open_run
from netsonde.stats.quantiles import quantile_interval
from netsonde.study.execute import Progress

Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Seen:
    """A point with its figures, what the platform is, and how many hosts took part."""

    point: Point
    figures: dict[str, Figure]
    platform: Platform
    hosts: int
    single_ns: Times
    """One-way times of single messages of about that size, of this run: what distributions are
    convolved from."""
    run: Run

    def scored(
        self,
        foretold: Foretold,
        figure: Figure,
        what: str,
        ranks: int,
        of_rate: float | None = None,
    ) -> Scored:
        """``of_rate``: the figure is a rate of so many bits' messages at once; else a time."""
        value, low, high = figure.value, figure.low, figure.high
        if of_rate is not None:
            value, low, high = _times_of_rate(of_rate, value, low, high)
        size = self.point.message_bytes
        beyond = tuple(self.platform.beyond(size, ranks))
        return Scored(self.point.test, what, size, ranks, foretold, value, low, high, beyond)


_Scorer = Callable[[_Seen], Iterator[Scored]]
SCORERS: Behind[_Scorer] = Behind(TESTS)
"""By test, what is foretold of a point and what was measured."""


def score_run(platform: Platform, run: Run) -> Score:
    """Every point of a run that the platform has an equation for. What it lacks for one is a note.

    Raises ``ValueError`` where nothing can be foretold.
    """
    of_point: dict[str, dict[str, Figure]] = {}
    for figure in figures_of(run):
        of_point.setdefault(figure.point, {})[figure.name] = figure
    items, notes = list[Scored](), list[str]()
    for point in run.points:
        scorer = SCORERS.get(point.test)
        if not point.measured or scorer is None:
            continue
        hosts = len({end.host for batch in point.batches for end in batch.ends.values()})
        single = _single_ns(run, point)
        seen = _Seen(point, of_point.get(point.id, {}), platform, hosts, single, run)
        try:
            items += (replace(o, late=is_late(point, o.measured_ns)) for o in scorer(seen))
        except (ValueError, KeyError) as error:
            notes.append(f"{point.test} of {point.message_bytes} bytes: {error}")
    if not items:
        raise ValueError(
            "nothing of the run can be foretold by the platform"
            + (f": {notes[0]}" if notes else "")
        )
    return Score(tuple(items), tuple(dict.fromkeys(notes)))


def is_late(point: Point, measured_ns: float) -> bool:
    """Whether the lateness of an emulated network's frames would decide: half of them came so late
    that a way there and back moves what was measured by more than a misfit."""
    if not (point.kind.asks_round_trip or point.kind.grows or point.kind.has_rounds):
        return False  # a rate does not change with a delay
    lab = point.checks.get("lab")
    late_ns = lab.get("late_median_ns") if isinstance(lab, Mapping) else None
    return isinstance(late_ns, int | float) and 2.0 * late_ns > WITHIN * measured_ns


def _times_of_rate(
    bits: float, value: float, low: float | None, high: float | None
) -> tuple[float, float | None, float | None]:
    """Times of rates: the ends of the interval change places."""
    time = 1e9 * bits / value
    if not low or not high:
        return time, None, None
    return time, 1e9 * bits / high, 1e9 * bits / low


def _single_ns(run: Run, point: Point) -> Times:
    """Half the round trips of the size that is nearest to the point's, moved to it along a line."""
    known = {
        one.message_bytes: one.series("round_trip_ns")
        for one in run.points
        if one.kind.asks_round_trip and len(one.series("round_trip_ns"))
    }
    if not known:
        return np.empty(0)
    nearest = min(known, key=lambda size: abs(size - point.message_bytes))
    return np.asarray(known[nearest], np.float64) / 2.0


@SCORERS.of("latency", "pingpong")
def _round_trips(seen: _Seen) -> Iterator[Scored]:
    foretold = round_trip(seen.platform, seen.point.message_bytes)
    yield seen.scored(foretold, seen.figures["round_trip_median_ns"], "round trip", 2)


@SCORERS.of("bisection")
def _bisection(seen: _Seen) -> Iterator[Scored]:
    size = seen.point.message_bytes
    for one in pair_trips(seen.point):
        ranks = 2 * one.pairs
        interval = quantile_interval(one.medians_ns, 0.5)
        yield Scored(
            seen.point.test,
            f"{one.pairs} pair{'s' if one.pairs > 1 else ''}",
            size,
            ranks,
            round_trip(seen.platform, size, ranks),
            float(np.median(one.medians_ns)),
            interval.low if interval else None,
            interval.high if interval else None,
            tuple(seen.platform.beyond(size, ranks)),
        )


@SCORERS.of("stream", "duplex")
def _streams(seen: _Seen) -> Iterator[Scored]:
    size = seen.point.message_bytes
    foretold = in_a_stream(seen.platform, size)
    figure = seen.figures["throughput_bit_per_s"]
    yield seen.scored(foretold, figure, "a message", 2, 8.0 * size)


@SCORERS.of("converge")
def _converge(seen: _Seen) -> Iterator[Scored]:
    size = seen.point.message_bytes
    foretold = at_one_sink(seen.platform, size, seen.hosts)
    figure = seen.figures["throughput_bit_per_s"]
    yield seen.scored(foretold, figure, "a message at the sink", seen.hosts, 8.0 * size)


@SCORERS.of("ring")
def _ring(seen: _Seen) -> Iterator[Scored]:
    """Every host sends to the next one, all at once: each at its own pace."""
    size = seen.point.message_bytes
    foretold = in_a_stream(seen.platform, size, seen.hosts)
    figure = seen.figures["throughput_bit_per_s"]
    bits = 8.0 * size * seen.hosts
    yield seen.scored(foretold, figure, "a message of each", seen.hosts, bits)


@SCORERS.of("incast")
def _incast(seen: _Seen) -> Iterator[Scored]:
    size, senders = seen.point.message_bytes, seen.hosts - 1
    each = seen.point.spec.count or seen.point.carrier.round_count
    foretold = gather(seen.platform, size, each, senders)
    found = seen.scored(foretold, seen.figures["round_median_ns"], "a round", seen.hosts)
    sink = at_one_sink(seen.platform, size, seen.hosts).time_ns
    if len(seen.single_ns):
        times = round_times_ns(seen.point.batches)
        drawn = gathered_ns(seen.single_ns, each * senders, sink)
        found = _with_quantiles(found, drawn, times)
    yield found


@SCORERS.of("collective")
def _operation(seen: _Seen) -> Iterator[Scored]:
    """An operation by its schedule, where it was done by one of ours; else by the formula that is
    the fastest on the platform."""
    if is_of_schedule(seen.point):
        yield from _by_schedule(seen)
        return
    point, ranks = seen.point, seen.point.spec.ranks or seen.hosts
    family = FAMILIES.get(point.operation or "")
    if family is None or ranks < 2:
        return
    of_family = [name for name, row in FORMULAS.items() if row.family == family]
    line = hockney(seen.platform, ranks)
    forms = {name: _terms(line, name, ranks, point.message_bytes) for name in of_family}
    able = {name: terms for name, terms in forms.items() if terms}
    name = min(able, key=lambda one: sum(able[one].values()))
    foretold = Foretold(sum(able[name].values()), able[name])
    found = seen.scored(foretold, seen.figures["completion_median_ns"], name, ranks)
    yield replace(found, test=point.operation or point.test)


def _by_schedule(seen: _Seen) -> Iterator[Scored]:
    """Packet by packet, or by alpha and beta where the platform has no packets."""
    found = beside(seen.platform, seen.run, seen.point, simulate=False)
    if found is None:
        return
    if found.shares_node:
        raise ValueError(f"{found.algorithm} with {found.ppn} ranks a node is not foretold")
    model = next((name for name in reversed(list(MODELS)) if name in found.foretold), None)
    if model is None:
        raise ValueError("; ".join(found.missing.values()))
    beyond = tuple(seen.platform.beyond(seen.point.message_bytes, found.ranks))
    yield found.scored(model, beyond)


def _terms(line: Hockney, name: str, ranks: int, size_bytes: int) -> dict[str, float]:
    """Of alpha and beta; none of what joins data, which costs what no platform of packets says."""
    counts = counts_of(name, total_bytes(name, ranks, size_bytes), ranks)
    if counts.reduced_bytes:
        return {}
    return {"alpha": line.alpha_ns * counts.messages, "beta": line.beta_ns * counts.bytes}


def _with_quantiles(found: Scored, drawn: Times, times: Times) -> Scored:
    beside = {
        q: (float(np.quantile(drawn, q)), float(np.quantile(times, q)))
        for q in QUANTILES
        if len(times) * (1.0 - q) >= 1.0
    }
    return replace(found, quantiles=beside)


def measure_and_score(
    platform: Platform,
    hosts: str,
    over: str,
    parent: Path,
    command: Sequence[str],
    progress: Progress,
) -> Score:
    """Of a run that is made now, or, where ``hosts`` is a run directory, of that. Raises UsageError
    where nothing can be foretold, HostError where nothing can be measured."""
    directory = Path(hosts)
    if not (directory / MANIFEST_NAME).is_file():
        plan = plan_of(over, split_hosts(hosts), platform.packet_bytes)
        unseen = unseen_sizes(plan, sizes_seen(platform, plan))
        blocks = held_out_blocks(plan, unseen)
        directory = run_study(plan, "model-score", blocks, parent, command, progress).directory
    try:
        return score_run(platform, open_run(directory))
    except ValueError as error:
        raise UsageError(str(error)) from error


def sizes_seen(platform: Platform, plan: Plan) -> Sequence[int]:
    """What a fit is likely to have seen: those that are measured for one, and the ends of the
    ranges that the platform's parameters are from."""
    ends = {size for cost in platform.costs.values() for size in cost.sizes or ()}
    return sorted({*ends, *plan.sizes})
