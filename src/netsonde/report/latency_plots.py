"""Plots of round trips: their distribution, their growth with size, their order, the layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from netsonde.figures import Figure
from netsonde.records.carried import network_in_words
from netsonde.records.data import Point
from netsonde.report.against import (
    ROUND_TRIP_AXIS,
    SIZE_AXIS,
    Between,
    by_size,
    curve,
    estimate_columns,
    figure_rows,
    size_place,
)
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Cell, Column, Curve, Mark, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_figure, format_value, list_in_words, size_text
from netsonde.report.shapes import TAIL_AXIS, fitted_curves, histogram_curve, tail_curve
from netsonde.report.theme import Look, transport_look, transport_name
from netsonde.report.thinning import Sequence as Thinned
from netsonde.report.thinning import sequence
from netsonde.stats.fits import SegmentedFit, fit_segments, transfer_parameters
from netsonde.stats.warmup import find_steady_part
from netsonde.units import change_in_words

QUANTILE_MARKS = (
    ("median", 0.5, "median"),
    ("p90", 0.1, "p90"),
    ("p99", 0.01, "p99"),
    ("p999", 0.001, "p99.9"),
)
ORDERS = {
    "min": "least",
    **{name: label for name, _, label in QUANTILE_MARKS},
    "max": "largest",
}
LEAST_POINTS_FOR_A_FIT = 3


def distribution(study: Study) -> Plot | None:
    """The shape and the tail of the smallest message's round trips, by transport."""
    points = _smallest_points(study)
    if not points:
        return None
    shapes, tails, rows = [], [], list[tuple[Cell, ...]]()
    for point in points:
        samples = point.series("round_trip_ns")
        label = f"{transport_name(point.transport)} {size_text(point.message_bytes)}"
        look = transport_look(point.transport)
        shapes.append(histogram_curve(label, samples, look))
        tails.append(tail_curve(label, samples, look))
        tails.append(_quantile_marks(study, point, f"{label} quantiles"))
        rows.append(_quantile_row(study, point, len(samples)))
    marks = [Mark("y", share, label) for _, share, label in QUANTILE_MARKS]
    return tabled(
        "latency-distribution",
        "How round trips are distributed",
        "Shape: share of round trips per 1 % of width, in log-linear bins of at most 3 %, every "
        "sample counted, the warm-up included; the axis ends at the slowest transport's p99.9. "
        "Tail: share of round trips that took at least so long; symbols mark the quantiles of the "
        "steady part. The curve is thinned, but its slowest and fastest round trips are always "
        "drawn. Of several launches it is the one whose median is nearest to theirs.",
        _distribution_in_words(study, points),
        [
            Panel(
                "Shape",
                _time_axis_of(study, points),
                Axis("share per 1 % of width", "ratio", low=0),
                shapes,
            ),
            Panel("Tail", ROUND_TRIP_AXIS, TAIL_AXIS, tails, marks),
        ],
        (
            Column("transport", "Transport"),
            Column("message_bytes", "Size", "size"),
            Column("samples", "Samples", "count"),
            *(Column(f"{name}_ns", label, "time_ns") for name, label in ORDERS.items()),
        ),
        rows,
        methods=("latency#quantiles", "latency#extremes"),
        heading="Quantiles of round trips",
    )


def against_size(study: Study) -> Plot | None:
    """Median round trip against message size, with the fitted line of each segment."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for transport in study.transports:
        medians = _medians(study, transport)
        if len(medians) < 2:
            continue
        measured = _median_curve(transport, medians)
        fit = _fit(medians)
        lines = fitted_curves(fit.segments, 1.2) if fit else []
        panels.append(
            Panel(
                transport_name(transport),
                SIZE_AXIS,
                ROUND_TRIP_AXIS,
                [*lines, measured],
                note="\n".join(_fit_in_words(fit)) if fit else "",
            )
        )
        rows += figure_rows({(transport,): medians})
        words.append(
            f"{transport_name(transport)} from {format_figure(medians[0])} at "
            f"{size_text(medians[0].message_bytes)} to {format_figure(medians[-1])} at "
            f"{size_text(medians[-1].message_bytes)}"
        )
    return tabled(
        "latency-size",
        "Round trip against message size",
        "Medians with 95 % intervals (often smaller than the symbol). Lines: t(m) = t0 + 2 m / B "
        "fitted to each segment by least squares of relative errors; t0 is a whole round trip of "
        "an empty message, B counts each byte in both directions.",
        f"Median round trip: {list_in_words(words)}.",
        panels,
        (
            Column("transport", "Transport"),
            Column("message_bytes", "Size", "size"),
            *estimate_columns("median_ns", "Median"),
            Column("samples", "Samples", "count"),
        ),
        rows,
        methods=("latency#quantiles", "sweeps#start-up"),
        heading="Median round trip by size",
    )


def layers(study: Study) -> Plot | None:
    """MPI, TCP, UDP and ICMP on one axis, and what each adds to the layer before it."""
    medians = {t: _medians(study, t) for t in study.transports}
    medians = {t: found for t, found in medians.items() if found}
    if len(medians) < 2:
        return None
    together = [_median_curve(t, found) for t, found in medians.items()]
    added, rows, words = [], list[tuple[Cell, ...]](), []
    below = next(iter(medians))
    for transport, found in list(medians.items())[1:]:
        pairs = _same_size(medians[below], found)
        if pairs:
            label = f"{transport_name(transport)} − {transport_name(below)}"
            added.append(_difference(transport, label, pairs))
            rows += [
                (
                    transport,
                    below,
                    upper.message_bytes,
                    upper.value - lower.value,
                    *_difference_bounds(lower, upper),
                    change_in_words(upper.value / lower.value, "ns"),
                    _carried(study, transport, upper.message_bytes),
                )
                for lower, upper in pairs
            ]
            words.append(_added_in_words(transport, below, *pairs[0]))
        below = transport
    size = SIZE_AXIS
    panels = [Panel("Median round trips", size, ROUND_TRIP_AXIS, together)]
    if added:
        panels.append(
            Panel(
                "Added to the layer below",
                size,
                Axis("share of the layer below", "ratio"),
                added,
                [Mark("y", 0.0, "", dash="solid")],
                note=f"{list_in_words(words)}.",
            )
        )
    return tabled(
        "layers",
        f"What each layer adds: {', '.join(transport_name(t) for t in medians)}",
        "The same medians on one axis, and what each layer adds to the one below as a share of it, "
        "where both were measured at the same size; the table has it in time, in per cent of the "
        "time and of the rate, and what a library says that it goes over. Bars reach from the "
        "least to the largest that the two intervals allow, which is wider than 95 %.",
        f"{list_in_words(words) or 'The layers share no message size'}.",
        panels,
        (
            *columns("text", transport="Layer", below="Above"),
            Column("message_bytes", "Size", "size"),
            *estimate_columns("added_ns", "Adds"),
            *columns("text", change="In per cent", carried="Over"),
        ),
        rows,
        methods=("latency#quantiles",),
        heading="What each layer adds",
    )


def _carried(study: Study, transport: str, size: int) -> str:
    """What a library says that carries a transport's messages of a size."""
    points = study.run.where(
        lambda p: p.transport == transport and p.message_bytes == size and p.kind.asks_round_trip
    )
    said = dict.fromkeys(map(network_in_words, points))
    return " or ".join(filter(None, said))


def order(study: Study) -> Plot | None:
    """The smallest message's round trips in the order in which they were measured."""
    panels, rows, thinned = [], list[tuple[Cell, ...]](), False
    for point in _smallest_points(study):
        samples = point.series("round_trip_ns")
        begin = find_steady_part(samples).begin
        drawn = sequence(samples)
        thinned = thinned or drawn.thinned
        marks = [Mark("x", float(begin), f"steady from {begin}")] if begin else []
        panels.append(
            Panel(
                f"{transport_name(point.transport)} {size_text(point.message_bytes)}",
                Axis("sample", "count"),
                ROUND_TRIP_AXIS,
                _sequence_curves(point, drawn),
                marks,
                height=240,
            )
        )
        rows += [
            (point.transport, point.message_bytes, i, a, m, z)
            for i, a, m, z in zip(
                drawn.index.tolist(),
                drawn.least.tolist(),
                drawn.middle.tolist(),
                drawn.largest.tolist(),
                strict=True,
            )
        ]
    how = (
        "Long series are drawn in 600 stretches of equal length: the median as a line, least and "
        "largest of each as a band, so that no extreme is lost. "
        if thinned
        else "Every sample is drawn. "
    )
    return tabled(
        "latency-order",
        "Round trips in the order they were measured",
        how + "The pause between batches is not shown. A dotted line marks where the steady part "
        "begins; quantiles leave out what is before it, extremes do not.",
        "Shows drift, steps and bursts over the time of measurement.",
        panels,
        (
            Column("transport", "Transport"),
            Column("message_bytes", "Size", "size"),
            Column("first_index", "From sample", "count"),
            *columns("time_ns", least="Least", median="Median", largest="Largest"),
        ),
        rows,
        methods=("latency#quantiles",),
        heading="Round trips in order",
        wide=True,
    )


def _time_axis_of(study: Study, points: list[Point]) -> Axis:
    """The time axis up to the largest p99.9, so that a few late ones do not squeeze the shape."""
    lows = [f.value for p in points if (f := study.figure(p, "round_trip_min_ns"))]
    highs = [f.value for p in points if (f := study.figure(p, "round_trip_p999_ns"))]
    if not lows or not highs:
        return ROUND_TRIP_AXIS
    return replace(ROUND_TRIP_AXIS, low=min(lows) / 1.05, high=max(highs) * 1.05)


def _smallest_points(study: Study) -> list[Point]:
    points = (study.smallest_latency_point(t) for t in study.transports)
    return [p for p in points if p is not None]


def _quantile_marks(study: Study, point: Point, label: str) -> Curve:
    found = [
        (figure.value, share)
        for name, share, _ in QUANTILE_MARKS
        if (figure := study.figure(point, f"round_trip_{name}_ns"))
    ]
    look, x, y = transport_look(point.transport), [v for v, _ in found], [s for _, s in found]
    return Curve(label, [*x], [*y], look.colour, "points", look.dash, look.symbol, in_legend=False)


def _quantile_row(study: Study, point: Point, samples: int) -> tuple[Cell, ...]:
    orders = (study.value(point, f"round_trip_{name}_ns") for name in ORDERS)
    return (point.transport, point.message_bytes, samples, *orders)


def _distribution_in_words(study: Study, points: list[Point]) -> str:
    words = []
    for point in points:
        median = study.figure_of([point], "round_trip_median_ns")
        tail = study.figure_of([point], "round_trip_p99_ns")
        if median and tail:
            words.append(
                f"{transport_name(point.transport)} median {format_figure(median)}, p99 "
                f"{format_figure(tail)}"
            )
    return f"Round trips of the smallest message: {'; '.join(words)}."


def _medians(study: Study, transport: str) -> list[Figure]:
    return [h.figure for h in study.plain_headlines(transport, lambda test: test.asks_round_trip)]


def _median_curve(transport: str, medians: list[Figure]) -> Curve:
    look = replace(transport_look(transport), dash="solid")
    return curve(transport_name(transport), by_size(medians), look, draw="points")


def _fit(medians: list[Figure]) -> SegmentedFit | None:
    if len(medians) < LEAST_POINTS_FOR_A_FIT:
        return None
    return fit_segments([f.message_bytes for f in medians], [f.value for f in medians])


def _fit_in_words(fit: SegmentedFit) -> Iterator[str]:
    """Start-up time and bandwidth of each segment."""
    for segment in fit.segments:
        span = f"{size_text(int(segment.low))}–{size_text(int(segment.high))}: "
        if not segment.holds:
            yield f"{span}no line: the nearest misses by {segment.farthest:.0%}"
            continue
        start = segment.line.intercept
        note = f"{span}t0 {'= ' + format_value(start, 'time_ns') if start > 0 else 'not resolved'}"
        if segment.line.slope_interval.low > 0:
            both_ways = 2 * transfer_parameters(segment.line).bandwidth_bit_per_s
            note += f", B = {format_value(both_ways, 'bit_per_s')}"
        else:
            note += ", B not resolved"
        yield note


def _same_size(lower: list[Figure], upper: list[Figure]) -> list[tuple[Figure, Figure]]:
    by_size = {f.message_bytes: f for f in lower}
    return [(by_size[f.message_bytes], f) for f in upper if f.message_bytes in by_size]


def _difference(transport: str, label: str, pairs: list[tuple[Figure, Figure]]) -> Curve:
    """What a layer adds, relative to the one below, so that all sizes fit on one axis."""
    look = replace(transport_look(transport), dash="dot")
    places = []
    for lower, upper in pairs:
        ends = _difference_bounds(lower, upper)
        shares = [None if end is None else end / lower.value for end in ends]
        added = Between((upper.value - lower.value) / lower.value, *shares)
        places.append((size_place(upper.message_bytes), added))
    return curve(label, places, look)


def _added_in_words(transport: str, below: str, lower: Figure, upper: Figure) -> str:
    least, most = _difference_bounds(lower, upper)
    size = size_text(upper.message_bytes)
    names = transport_name(transport), transport_name(below)
    if least is not None and most is not None and least <= 0 <= most:
        return f"{names[0]} and {names[1]} cannot be told apart at {size}"
    added = format_value(abs(upper.value - lower.value), "time_ns")
    verb = "adds" if upper.value >= lower.value else "saves"
    return f"{names[0]} {verb} {added} {'to' if verb == 'adds' else 'of'} {names[1]} at {size}"


def _difference_bounds(lower: Figure, upper: Figure) -> tuple[float | None, float | None]:
    least = upper.low - lower.high if upper.low is not None and lower.high is not None else None
    most = upper.high - lower.low if upper.high is not None and lower.low is not None else None
    return least, most


def _sequence_curves(point: Point, drawn: Thinned) -> list[Curve]:
    index, middle = [float(i) for i in drawn.index], drawn.middle.tolist()
    look = transport_look(point.transport)
    if not drawn.thinned:
        drawn_alone = Curve("round trip", [*index], middle, look.colour, draw="points", opacity=0.7)
        return [replace(drawn_alone, symbol=look.symbol)]
    band = zip(index, map(Between, middle, drawn.least, drawn.largest), strict=True)
    return [
        curve("least to largest", band, Look(look.colour), draw="area", opacity=0.25),
        Curve("median", [*index], middle, look.colour, width=1.2),
    ]
