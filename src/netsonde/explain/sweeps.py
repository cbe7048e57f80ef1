"""Findings of sweeps: their figures, dips with their causes, uneven sizes, steps, crossovers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from netsonde.catalogue.transport import transport_row
from netsonde.explain.causes import Case, Cause, causes_of, segments_per_message
from netsonde.explain.data import Finding, Seen
from netsonde.figures.alike import SIZE, the_factor
from netsonde.figures.data import Figure
from netsonde.figures.sweeps import Sweep, odd_one, sweep_fit, sweeps_of, uneven_sizes
from netsonde.records.data import Point, Run
from netsonde.stats.fits import Segment
from netsonde.stats.sweeps import (
    DECIDED,
    Crossover,
    Unevenness,
    find_crossovers,
    find_dips,
    with_scatter,
)
from netsonde.units import format_count, format_rate, format_size, format_time

PLANNED = 3.0
"""Standard errors that decide a single comparison that was planned, such as that of a full segment
with one byte more."""
TOLD_ONE_BY_ONE = 4
COMPARED_MOST = 8
"""Sweeps that are compared with each other: 28 pairs are as many as anybody reads."""

ABOVE = 1.05
"""A rate is above that of a link from here on; less may be scatter."""


def sweep_findings(seen: Seen) -> Iterator[Finding]:
    """All findings about the sweeps of a run."""
    run, figures = seen.run, seen.figures
    sweeps = sweeps_of(run.points, figures)
    dips = {sweep.name: find_dips(sweep.curve) for sweep in sweeps}
    path = run.manifest.get("path") or {}
    yield from _all_figures(sweeps, figures, path)
    for sweep in sweeps:
        same = [s for s in sweeps if s is not sweep and s.transport == sweep.transport]
        others = [(other, dips[other.name]) for other in same]
        facts = _facts(run, sweep.points[0])
        cases = [Case(sweep, dip, others, facts, path) for dip in dips[sweep.name]]
        yield from map(_dip_finding, cases)
        yield from _unevenness(sweep)
        yield from _segment_step(sweep)
    yield from _crossovers(sweeps)


def _facts(run: Run, point: Point) -> Mapping[str, Any]:
    host = next((b.ends[0].host for b in point.batches if 0 in b.ends), "")
    return run.host_facts(host)


def title(sweep: Sweep) -> str:
    """``TCP latency, buffer 64k``."""
    name = f"{transport_row(sweep.transport).title} {sweep.test}"
    return f"{name}, {sweep.label}" if sweep.label else name


def _all_figures(
    sweeps: Sequence[Sweep], figures: Sequence[Figure], path: Mapping[str, Any]
) -> Iterator[Finding]:
    """A word on each; of many, on the slowest and the fastest only."""
    if len(sweeps) <= TOLD_ONE_BY_ONE:
        yield from (_figures_in_words(sweep, figures, path) for sweep in sweeps)
        return
    names = {sweep.name: sweep for sweep in sweeps}
    rates = [f for f in figures if f.name == "asymptotic_bit_per_s" and f.point in names]
    if not rates:
        return
    ends = [pick(rates, key=lambda f: f.value) for pick in (min, max)]
    words = [f"{_bounded(f)} of {title(names[f.point])}" for f in ends]
    yield Finding(
        "note",
        f"{len(sweeps)} sweeps, one way, go towards {words[0]} at least, {words[1]} at most.",
        "Slopes of the lines that were fitted to the largest sizes."
        + _burst_in_words(ends[1].value, path),
    )


def _figures_in_words(sweep: Sweep, figures: Sequence[Figure], path: Mapping[str, Any]) -> Finding:
    own = {f.name: f for f in figures if f.point == sweep.name}
    peak = own["peak_bit_per_s"]
    beyond = _burst_in_words(peak.value, path)
    words = [
        f"{format_time(own['half_round_trip_ns'].value)} for "
        f"{_bytes(own['half_round_trip_ns'].message_bytes)}",
        f"{format_rate(peak.value)} at most, at {_bytes(peak.message_bytes)}",
    ]
    # A curve that begins above the link's rate and ends at it has no one slope to go towards.
    if "asymptotic_bit_per_s" in own and not beyond:
        words.append(f"towards {_bounded(own['asymptotic_bit_per_s'])}")
    if "half_performance_bytes" in own and not beyond:
        words.append(f"half of it from {_bytes(own['half_performance_bytes'].value)} (n_1/2)")
    if "saturation_bytes" in own and not beyond:
        words.append(f"nine tenths from {_bytes(own['saturation_bytes'].value)}")
    lines = [
        f"{_bytes(s.low)} to {_bytes(s.high)}: {_line_in_words(s)}"
        for s in sweep_fit(sweep).segments
    ]
    return Finding(
        "note",
        f"{title(sweep)} by size, one way: {', '.join(words)}.{beyond}",
        f"{len(sweep.points)} sizes; fitted lines t0 + m / B: {'; '.join(lines)}.",
        points=tuple(p.id for p in sweep.points),
    )


def _line_in_words(segment: Segment) -> str:
    if not segment.holds:
        return f"no line, the nearest misses by {segment.farthest:.0%}"
    slope = segment.line.slope
    rate = f"{format_rate(8e9 / slope)}" if slope > 0 else "no bandwidth"
    return f"t0 = {format_time(segment.line.intercept)}, {rate}"


def _burst_in_words(highest_bit_per_s: float, path: Mapping[str, Any]) -> str:
    """Why a rate is above that of an emulated link; nothing where it is not."""
    rate, burst = path.get("rate_bit_per_s"), path.get("burst_bytes")
    if not rate or not burst or highest_bit_per_s <= ABOVE * rate:
        return ""
    return (
        f" More than the link's {format_rate(rate)}: it is emulated and passes {_bytes(burst)} at "
        "once after a pause, so that short messages do not see its rate."
    )


def _dip_finding(case: Case) -> Finding:
    dip, causes = case.dip, causes_of(case)
    decided = [cause for cause in causes if cause.is_decided]
    near = [cause for cause in causes if not cause.is_decided]
    what = (
        f"{title(case.sweep)}: throughput is {dip.depth:.0%} lower at {_bytes(dip.bottom)} than "
        "the sizes beside it let expect"
        if dip.after
        else f"{title(case.sweep)}: throughput falls by {dip.depth:.0%} and does not come back"
    )
    until = f", until before {_bytes(dip.after)}" if dip.after else ", the lowest at "
    until += "" if dip.after else _bytes(dip.bottom)
    cause = f" The cause is {' and '.join(c.name for c in decided)}." if decided else ""
    evidence = (
        f"It begins between {_bytes(dip.before)} and {_bytes(dip.first)}{until}; the depth is "
        f"{dip.depth_low:.1%} to {dip.depth_high:.1%}, measured {_times(case)}. "
    )
    shown = [case.before, case.first, case.bottom]
    of_lab = bool(decided) and all(cause.is_of_lab for cause in decided)
    return Finding(
        "warning" if dip.depth >= 0.1 and not of_lab else "note",
        f"{what}.{cause}",
        evidence + _causes_in_words(decided, near),
        "" if decided else _advice(near),
        tuple(dict.fromkeys(point.id for point in shown)),
    )


def _times(case: Case) -> str:
    count = case.sweep.worth_at(case.dip.bottom)
    return {1: "once", 2: "twice"}.get(count, f"{count} times, of which the middle one counts")


def _causes_in_words(decided: Sequence[Cause], near: Sequence[Cause]) -> str:
    words = [f"{cause.evidence[0].upper()}{cause.evidence[1:]}." for cause in decided]
    if not decided:
        words.append("No cause is decided.")
        words += [f"Near: {cause.name} ({cause.evidence})." for cause in near]
    return " ".join(words)


def _advice(near: Sequence[Cause]) -> str:
    advice = dict.fromkeys(cause.advice for cause in near if cause.advice)
    words = "; ".join(advice) or "measure it again and the sizes around it with --refine"
    return f"To decide: {words}."


def _unevenness(sweep: Sweep) -> Iterator[Finding]:
    """Sizes at which a few bytes more or less matter."""
    found = uneven_sizes(sweep)
    if not found:
        return
    worst = max(found, key=lambda u: max(abs(u.step_down), abs(u.step_up)))
    is_peak = [u for u in found if u.decided_down and u.decided_up and u.step_down * u.step_up < 0]
    claim = (
        f"{title(sweep)}: at {format_count(len(found), 'size')} a few bytes more or less matter"
        + (", and the size itself is the odd one: alignment" if len(is_peak) == len(found) else "")
    )
    yield Finding(
        "note",
        f"{claim}.",
        f"Largest at {_bytes(worst.size)}: {_step_in_words(worst)}. All: "
        f"{', '.join(_bytes(u.size) for u in found)}.",
        "The odd one of each was measured three times."
        if all(sweep.count_at(odd_one(u)[0]) > 2 for u in found)
        else "Measured once, so it may have been a disturbance: --refine measures it again.",
        tuple(sweep.point_at(u.size).id for u in found),
    )


def _step_in_words(u: Unevenness) -> str:
    return (
        f"{_bytes(u.size)} take {math.expm1(u.step_down):+.1%} against {_bytes(u.below)}, "
        f"{_bytes(u.above)} take {math.expm1(u.step_up):+.1%} against {_bytes(u.size)}"
    )


def _segment_step(sweep: Sweep) -> Iterator[Finding]:
    """A full TCP segment against one byte more, where both were measured."""
    full = int(sweep.points[0].opened.get(0, {}).get("max_segment_bytes", 0))
    curve = with_scatter(sweep.curve)
    at = {int(size): i for i, size in enumerate(curve.sizes)}
    if full not in at or full + 1 not in at:
        return
    i, j = at[full], at[full + 1]
    step = float(curve.times[j] - curve.times[i])
    ratio, error = step / float(curve.times[i]), math.hypot(curve.errors[i], curve.errors[j])
    if ratio <= PLANNED * error:
        return
    points = [sweep.point_at(size) for size in (full, full + 1)]
    counted = [segments_per_message(point) for point in points]
    words = (
        "" if None in counted else f" Sent for a message: {counted[0]:.2f} and {counted[1]:.2f}."
    )
    yield Finding(
        "note",
        f"{title(sweep)}: a byte more than a full segment of {full} bytes costs "
        f"{format_time(step)} one way ({ratio:.1%}).",
        f"{format_time(curve.times[i])} and {format_time(curve.times[j])}, each within "
        f"{error:.2%}.{words.format(*counted)}",
        points=tuple(point.id for point in points),
    )


def _crossovers(sweeps: Sequence[Sweep]) -> Iterator[Finding]:
    """Pairs of sweeps of which now one and now the other is faster."""
    for first, second in combinations(sweeps[:COMPARED_MOST], 2):
        one, other = first.points[0], second.points[0]
        factor = the_factor(one, other, SIZE)
        if factor is None:
            continue  # it would not be known what makes them cross
        found = find_crossovers(first.curve, second.curve)
        if not found:
            continue
        words = [_crossover_in_words(first, second, crossover) for crossover in found]
        sizes = {size for c in found for size in (c.low, c.high)}
        yield Finding(
            "note",
            f"{title(first)} and {title(second)} cross: {'; '.join(words)}.",
            "; ".join(
                f"at {_bytes(c.low)} the faster leads by {c.lead_below - 1:.1%}, at "
                f"{_bytes(c.high)} by {c.lead_above - 1:.1%}"
                for c in found
            )
            + f"; a lead counts from {DECIDED:g} standard errors on.",
            points=tuple(s.point_at(size).id for s in (first, second) for size in sorted(sizes)),
            sides=tuple(tuple(p.id for p in s.points) for s in (first, second)),
            factor=(factor | SIZE).name,
        )


def _crossover_in_words(first: Sweep, second: Sweep, c: Crossover) -> str:
    leader, follower = (first, second) if c.first_leads else (second, first)
    return (
        f"{title(leader)} is faster up to {_bytes(c.size)} (between {_bytes(c.low)} and "
        f"{_bytes(c.high)}), {title(follower)} from there"
    )


def _bounded(figure: Figure) -> str:
    text = format_rate(figure.value)
    if figure.low is None or figure.high is None:
        return text
    return f"{text} ({format_rate(figure.low)} to {format_rate(figure.high)})"


def _bytes(size: float) -> str:
    text = format_size(round(size))
    return f"{text} bytes" if text.isdecimal() else text
