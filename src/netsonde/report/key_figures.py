"""The table that a reader looks at first: one row per transport."""

from __future__ import annotations

from dataclasses import dataclass

from netsonde.figures import Figure
from netsonde.records.data import Point
from netsonde.report.lookup import Study
from netsonde.report.methods import method_anchor
from netsonde.report.quantity import (
    format_value,
    format_value_and_interval,
    group_digits,
    size_text,
)
from netsonde.report.theme import transport_name


@dataclass(frozen=True)
class KeyCell:
    """``of`` says what was measured, ``worth`` how many samples stand behind it, ``anchor`` leads
    to the method; empty where there is nothing to say."""

    label: str
    value: str
    interval: str = ""
    of: str = ""
    worth: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class KeyRow:
    transport: str
    name: str
    cells: tuple[KeyCell, ...]


KEY_TESTS = ("latency", "stream", "pingpong", "duplex")
HEADINGS = (
    "Round trip, median",
    "Round trip, p99",
    "Throughput, one way",
    "Both ways at once",
    "Lost",
)


def key_rows(study: Study) -> list[KeyRow]:
    """Latency of the smallest message, throughput of the fastest stream, and what was lost; no row
    for a transport whose tests are all of another kind."""
    tested = {point.transport for point in study.run.points if point.test in KEY_TESTS}
    return [KeyRow(t, transport_name(t), _cells(study, t)) for t in study.transports if t in tested]


def _cells(study: Study, transport: str) -> tuple[KeyCell, ...]:
    latency = study.smallest_latency_point(transport)
    latency = latency or study.smallest_imported_latency(transport)
    stream = study.fastest_point(transport, ("stream", "pingpong"))
    duplex = study.fastest_point(transport, ("duplex",))
    median, tail, one_way, both_ways, lost = HEADINGS
    return (
        _cell(study, median, latency, "round_trip_median_ns"),
        _cell(study, tail, latency, "round_trip_p99_ns"),
        _cell(study, one_way, stream, "throughput_bit_per_s"),
        _cell(study, both_ways, duplex, "throughput_sum_bit_per_s"),
        _loss(study, lost, transport, stream),
    )


def _cell(study: Study, label: str, point: Point | None, name: str) -> KeyCell:
    figure = study.figure(point, name) if point else None
    if point is None or figure is None:
        return KeyCell(label, "not measured")
    value, interval = format_value_and_interval(figure)
    return KeyCell(
        label,
        value,
        interval or _no_interval(point),
        _of(point),
        _worth(point, figure),
        method_anchor(figure.method),
    )


def _no_interval(point: Point) -> str:
    if point.imported is not None and not point.batches:
        return f"no interval: {point.imported.tool} gives none"
    return "no interval: too few samples"


def _loss(study: Study, label: str, transport: str, stream: Point | None) -> KeyCell:
    if stream is None:
        return KeyCell(label, "not measured")
    if transport == "udp":
        return _cell(study, label, stream, "lost_ratio")
    again = study.figure(stream, "retransmitted_segments")
    if transport == "tcp" and again:
        return KeyCell(
            label,
            "none",
            of=f"{format_value(again.value, 'count')} segments sent again",
            anchor=method_anchor(again.method),
        )
    return KeyCell(label, "none", of="repaired below" if transport == "mpi" else "")


def _of(point: Point) -> str:
    return f"{point.test}, {size_text(point.message_bytes)}"


def _worth(point: Point, figure: Figure) -> str:
    if not point.batches and figure.samples == 1:
        return "one run"
    if figure.test in ("stream", "duplex") and figure.unit == "bit_per_s":
        return f"{figure.samples} batches"
    worth = figure.effective_samples
    if worth is None or worth >= 0.995 * figure.samples:
        return f"{group_digits(figure.samples)} samples"
    return f"{group_digits(figure.samples)} samples, worth {group_digits(round(worth))}"
