"""Sweeps: points that differ in nothing but the size of their messages, and the curve they make.

The time of a message is half of the median round trip, as NetPIPE has it, so that throughput
counts a message once. Definitions are in docs/methods/sweeps.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from netsonde.catalogue.known_figures import figure_kind
from netsonde.catalogue.named import Named
from netsonde.catalogue.point import PointSpec
from netsonde.figures.data import Figure
from netsonde.figures.keys import key_of, labels_of
from netsonde.records.data import Point
from netsonde.stats.fits import SegmentedFit, fit_segments, transfer_parameters
from netsonde.stats.quantiles import Interval
from netsonde.stats.sweeps import (
    LEAST_SIZES,
    SizeCurve,
    Unevenness,
    find_dips,
    find_unevenness,
    saturation_bytes,
    size_curve,
    with_scatter,
)

ONE_WAY = 0.5
"""Of a round trip."""
OWN_PARAMETERS = frozenset({"message_bytes", "total_bytes", "perturbed_bytes", "refined"})
"""What differs among the points of one sweep."""
SATURATED = 0.9
"""Of the asymptotic bandwidth. On t0 + m / B it is where the slope of the time over the size, both
logarithmic, is 0.9: the knee of the saturation graph."""
SEGMENT_SIZES = 4
"""Of so many sizes a line can be fitted."""
_LAUNCH = ", launch "
STANDARD_ERRORS = 1.959964
"""Half the width of a 95 % interval."""


@dataclass(frozen=True)
class Sweep(Named):
    """Points of one test over one transport with equal options, by rising size, without a gap.

    ``label`` is what tells it from other sweeps: that of its points, an MPI, a launch.
    ``points`` and ``medians`` (figures of round trips, ns) are those of the sizes themselves and
    belong together; of a size that was measured again they are the middle one (the faster of two).
    ``counts`` says how often each size was measured, perturbed ones too. ``perturbed`` holds
    (medians at N - p, N, N + p). ``curve`` is of one way; where a size was perturbed it takes the
    middle one of the three times, which on an even curve is that of the size itself, and of a
    disturbed one is not.
    """

    name: str
    transport: str
    test: str
    label: str | None
    points: tuple[Point, ...]
    medians: tuple[Figure, ...]
    counts: Mapping[int, int] = field(default_factory=dict)
    perturbed: tuple[tuple[Figure, Figure, Figure], ...] = ()
    curve: SizeCurve = field(default_factory=lambda: size_curve([], []))

    def point_at(self, size_bytes: float) -> Point:
        """The point of one of the curve's sizes."""
        return next(p for p in self.points if p.message_bytes == int(size_bytes))

    def count_at(self, size_bytes: float) -> int:
        """How often a size was measured, those right beside it not counted."""
        return self.counts.get(int(size_bytes), 0)

    def worth_at(self, size_bytes: float) -> int:
        """How many times the curve's time at a size is the middle one of."""
        is_perturbed = any(triple[1].message_bytes == size_bytes for triple in self.perturbed)
        return max(self.count_at(size_bytes), 3 if is_perturbed else 1)

    def rates(self) -> tuple[list[float | None], list[float | None], list[float | None]]:
        """Throughput at each size in bit/s, and the bounds of its interval."""
        sizes = [f.message_bytes for f in self.medians]
        found = [list[float | None](), list[float | None](), list[float | None]()]
        for size, median in zip(sizes, self.medians, strict=True):
            for into, time in zip(found, (median.value, median.high, median.low), strict=True):
                into.append(None if not time else 16e9 * size / time)
        return found[0], found[1], found[2]


def sweeps_of(points: Iterable[Point], figures: Sequence[Figure]) -> list[Sweep]:
    """The sweeps among the points, by their medians; those of too few sizes are left out."""
    medians = _medians(figures, "round_trip_median_ns")
    groups = _groups((p for p in points if p.kind.is_round_trip), medians)
    sweeps = (_sweep(group, medians, ONE_WAY) for group in groups)
    return _named([sweep for sweep in sweeps if sweep is not None])


def _named(sweeps: Sequence[Sweep]) -> list[Sweep]:
    """Each with what tells it from the others of its transport and test: its label, its MPI, else
    the parameters that differ; and its launch."""
    groups: dict[tuple[str, str], list[Sweep]] = {}
    for sweep in sweeps:
        groups.setdefault((sweep.transport, sweep.test), []).append(sweep)
    told: dict[int, str | None] = {}
    for members in groups.values():
        keys = [replace(key_of(s.points[0], ""), message_bytes=0) for s in members]
        labels = labels_of(dict.fromkeys(keys))
        for sweep, key in zip(members, keys, strict=True):
            told[id(sweep)] = labels[key].partition(", ")[2] or sweep.label
    made, seen = list[Sweep](), dict[str, int]()
    for sweep in sweeps:
        label, launch = told[id(sweep)], sweep.points[0].spec.launch
        name = f"{sweep.transport}-{sweep.test}" + (f" {label}" if label else "")
        start = f"launch {launch}" if launch else None
        words = ", ".join(filter(None, (label, start))) or None
        name += f"{_LAUNCH}{launch}" if launch else ""
        seen[name] = seen.get(name, 0) + 1
        name += f" #{seen[name]}" if seen[name] > 1 else ""
        made.append(replace(sweep, name=name, label=words))
    return made


def of_all_launches(name: str) -> tuple[str, int]:
    """The name of a sweep without its launch, and that; 1 where there is but one."""
    common, _, launch = name.rpartition(_LAUNCH)
    return (common, int(launch)) if common and launch.isdecimal() else (name, 1)


def operation_sweeps_of(points: Iterable[Point], figures: Sequence[Figure]) -> list[Sweep]:
    """The same of MPI operations, by their whole median completion times: where their curves break
    is asked of them, not what a byte costs, which for a collective is more than one message's."""
    medians = _medians(figures, "completion_median_ns")
    groups = _groups((p for p in points if p.kind.is_operation), medians)
    sweeps = [_sweep(group, medians, 1.0) for group in groups]
    return [sweep for sweep in sweeps if sweep is not None]


def _medians(figures: Sequence[Figure], name: str) -> dict[str, Figure]:
    return {f.point: f for f in figures if f.name == name and f.value > 0}


def _groups(points: Iterable[Point], medians: Mapping[str, Figure]) -> list[list[Point]]:
    """The points of each sweep, in their order; a pass of several is none of its own."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        if point.spec.pass_number is None and point.id in medians and point.message_bytes > 0:
            groups.setdefault(sweep_key(point.transport, point.test, point.spec), []).append(point)
    return list(groups.values())


def sweep_key(transport: str, test: str, spec: PointSpec) -> str:
    """What the points of one sweep have in common, as text."""
    return json.dumps([transport, test, spec.but_for(*OWN_PARAMETERS)], sort_keys=True)


def sweep_fit(sweep: Sweep) -> SegmentedFit:
    """The broken line of the one-way times over the sizes, those in short dips left out: a single
    odd size would tilt it. A dip of more sizes gets a line of its own: after a step, such as a
    second packet, throughput may need many sizes to come back."""
    curve = sweep.curve
    is_even = np.ones(curve.sizes.size, bool)
    for dip in find_dips(curve):
        if dip.after is not None:
            is_inside = (curve.sizes >= dip.first) & (curve.sizes < dip.after)
            if is_inside.sum() < SEGMENT_SIZES:
                is_even &= ~is_inside
    if is_even.sum() < LEAST_SIZES:
        is_even[:] = True
    return fit_segments(curve.sizes[is_even], curve.times[is_even])


def uneven_sizes(sweep: Sweep) -> list[Unevenness]:
    """The sizes whose times differ from those of their perturbed neighbours."""
    curve = sweep.curve
    slopes = np.diff(curve.times) / np.diff(curve.sizes)
    triples = []
    for medians in sweep.perturbed:
        i = int(np.flatnonzero(curve.sizes == medians[1].message_bytes)[0])
        growth = float(min(slopes[max(i - 1, 0) : i + 1].min(), slopes[-1]))
        triples.append((curve_of(medians), max(growth, 0.0)))
    return find_unevenness(triples)


def odd_one(uneven: Unevenness) -> tuple[int, int]:
    """The one of three sizes that differs from the other two, with its perturbation: the middle one
    where both steps are decided."""
    if uneven.decided_down and uneven.decided_up:
        return int(uneven.size), 0
    odd = uneven.below if uneven.decided_down else uneven.above
    return int(odd), int(odd - uneven.size)


def sweep_figures(sweep: Sweep) -> list[Figure]:
    """Latency, peak, and what the fitted line says: t0, r_inf, n_1/2, saturation."""
    fit = sweep_fit(sweep)
    figures = [_latency(sweep), *_peak(sweep)]
    first, last = fit.segments[0].line, fit.segments[-1].line
    if fit.segments[0].holds:
        figures.append(_figure(sweep, "start_up_ns", first.intercept, first.intercept_interval))
    # The largest sizes do not say what a byte costs.
    if last.slope_interval.low <= 0.0 or not fit.segments[-1].holds:
        return figures
    asymptote = transfer_parameters(last)
    bandwidth = _figure(
        sweep, "asymptotic_bit_per_s", asymptote.bandwidth_bit_per_s, asymptote.bandwidth_interval
    )
    figures.append(bandwidth)
    if asymptote.half_performance_bytes > 0:
        figures.append(
            _figure(
                sweep,
                "half_performance_bytes",
                asymptote.half_performance_bytes,
                asymptote.half_performance_interval,
            )
        )
    return [*figures, *_saturation(sweep, bandwidth)]


def _sweep(group: list[Point], medians: Mapping[str, Figure], share: float) -> Sweep | None:
    same: dict[tuple[int, int], list[Point]] = {}
    for point in group:
        shift = point.spec.perturbed_bytes or 0
        same.setdefault((point.message_bytes, shift), []).append(point)
    chosen = {key: _middle(points, medians) for key, points in sorted(same.items())}
    by_size = {size: point for (size, shift), point in chosen.items() if not shift}
    own = list(by_size.values())
    if len(own) < LEAST_SIZES:
        return None
    found = [medians[p.id] for p in own]
    beside: dict[int, list[Figure]] = {}
    for (size, shift), point in chosen.items():
        if shift:
            beside.setdefault(size - shift, []).append(medians[point.id])
    triples = tuple(
        (pair[0], medians[by_size[size].id], pair[1])
        for size, pair in beside.items()
        if len(pair) == 2 and size in by_size
    )
    point = own[0]
    return Sweep(
        f"{point.transport}-{point.test}" + (f" {point.label}" if point.label else ""),
        point.transport,
        point.test,
        point.label,
        tuple(own),
        tuple(found),
        {size: len(points) for (size, _), points in same.items()},
        triples,
        curve_of(_steady(found, triples), share),
    )


def _steady(
    medians: Sequence[Figure], triples: Sequence[tuple[Figure, Figure, Figure]]
) -> list[Figure]:
    """The medians, of a triple the one in the middle, all at their own sizes."""
    middle = {
        triple[1].point: replace(
            sorted(triple, key=lambda f: f.value)[1], message_bytes=triple[1].message_bytes
        )
        for triple in triples
    }
    return [middle.get(median.point, median) for median in medians]


def _middle(points: list[Point], medians: Mapping[str, Figure]) -> Point:
    return sorted(points, key=lambda p: medians[p.id].value)[(len(points) - 1) // 2]


def curve_of(medians: Sequence[Figure], share: float = ONE_WAY) -> SizeCurve:
    """So much of medians at rising sizes, with their standard errors: of round trips, the one-way
    times."""
    values = np.array([f.value for f in medians])
    widths = np.array([0.0 if f.low is None or f.high is None else f.high - f.low for f in medians])
    sizes = [f.message_bytes for f in medians]
    return size_curve(sizes, values * share, widths / (2 * STANDARD_ERRORS * values))


def _figure(sweep: Sweep, name: str, value: float, interval: Interval | None = None) -> Figure:
    # Times that are all alike lie on their line, which tells nothing of how exactly it is known.
    has_width = interval is not None and interval.low < interval.high
    low, high = (interval.low, interval.high) if interval and has_width else (None, None)
    return Figure(
        sweep.name,
        sweep.transport,
        sweep.test,
        None,
        0,
        name,
        value,
        low,
        high,
        len(sweep.points),
        None,
        figure_kind(name).method,
    )


def _latency(sweep: Sweep) -> Figure:
    least = sweep.medians[0]
    ends = [None if end is None else end / 2 for end in (least.low, least.high)]
    return replace(
        _figure(sweep, "half_round_trip_ns", least.value / 2),
        message_bytes=least.message_bytes,
        low=ends[0],
        high=ends[1],
        samples=least.samples,
        effective_samples=least.effective_samples,
    )


def _peak(sweep: Sweep) -> list[Figure]:
    """The highest throughput that was measured, its size, and where half of it is reached. Of a
    size with others beside it the interval is that of the one in the middle, as the value is."""
    at = int(np.argmax(sweep.curve.rates))
    peak = float(sweep.curve.rates[at])
    median = _steady(sweep.medians, sweep.perturbed)[at]
    bits = 16e9 * median.message_bytes
    figure = _figure(sweep, "peak_bit_per_s", peak)
    figures = [
        replace(
            figure,
            low=bits / median.high if median.low and median.high else None,
            high=bits / median.low if median.low and median.high else None,
            message_bytes=int(sweep.curve.sizes[at]),
            samples=median.samples,
        ),
        _figure(sweep, "peak_size_bytes", float(sweep.curve.sizes[at])),
    ]
    rising = size_curve(sweep.curve.sizes[: at + 1], sweep.curve.times[: at + 1])
    half = saturation_bytes(rising, peak / 2)
    if half is not None and half > rising.sizes[0]:
        figures.append(_figure(sweep, "half_peak_size_bytes", half))
    return figures


def _saturation(sweep: Sweep, bandwidth: Figure) -> list[Figure]:
    """Bounds are of the curve's and the bandwidth's intervals together: wider than 95 %."""
    found = saturation_bytes(sweep.curve, SATURATED * bandwidth.value)
    if found is None:
        return []
    reach = STANDARD_ERRORS * with_scatter(sweep.curve).errors
    ends = []
    for level, factor in ((bandwidth.low, 1 - reach), (bandwidth.high, 1 + reach)):
        times = sweep.curve.times * np.maximum(factor, 0.01)
        shifted = size_curve(sweep.curve.sizes, times)
        ends.append(None if level is None else saturation_bytes(shifted, SATURATED * level))
    bounds = ends if None not in ends and ends[0] != ends[1] else [None, None]
    figure = _figure(sweep, "saturation_bytes", found)
    return [replace(figure, low=bounds[0], high=bounds[1])]
