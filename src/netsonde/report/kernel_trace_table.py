"""How long the workers and their packets waited inside the hosts: a table for each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from netsonde.catalogue.method import method_anchor
from netsonde.figures.kernel_trace import CAUSES, ENDS, EndTrace, Wait, is_traced, kernel_trace_of
from netsonde.records.data import Point
from netsonde.report.lookup import Study, point_label
from netsonde.report.quantity import NO_INTERVAL, format_value, format_with_margin, group_digits

WAIT_TITLES = {
    "scheduler": "The worker for a processor",
    "queue": "Packets in the queue",
    "driver": "Packets in the driver",
    "receive": "Received, until read",
}
CAUSE_TITLES = {
    "time_out": "after a timeout",
    "fast": "shown by acknowledgements",
    "probe": "as a probe of the last segment",
    "other": "for another cause",
}
HEADINGS = ("median", "p99", "largest", "count")
WIDTHS = (15, 15, 10, 8)
"""Of their columns on the terminal."""


@dataclass(frozen=True)
class TraceRow:
    """``cells`` are those under HEADINGS; ``anchor`` leads to the method."""

    end: str
    name: str
    cells: tuple[str, ...]
    anchor: str


@dataclass(frozen=True)
class PointTrace:
    """``notes`` are sentences that belong to the whole table."""

    point: str
    label: str
    rows: list[TraceRow]
    notes: list[str]


def traces_of_points(study: Study) -> list[PointTrace]:
    """Every point of which an end was watched."""
    return [_of_point(study, point) for point in study.run.select() if is_traced(point)]


def _of_point(study: Study, point: Point) -> PointTrace:
    rows: list[TraceRow] = []
    notes: list[str] = []
    for rank, end in ENDS.items():
        trace = kernel_trace_of(point, rank)
        if trace is None:
            continue
        rows += [row for name in WAIT_TITLES if (row := _wait_row(study, point, end, name))]
        rows += [
            TraceRow(end, f"Softirq {kind}", _of_wait(wait), method_anchor("kernel-trace#softirqs"))
            for kind, wait in sorted(trace.softirqs.items(), key=lambda item: -item[1].sum_ns)
            if wait.count
        ]
        notes += _notes(end, trace)
    return PointTrace(point.id, point_label(point), rows, [*_retransmitted(study, point), *notes])


def _wait_row(study: Study, point: Point, end: str, name: str) -> TraceRow | None:
    median, p99, largest = (
        study.figure(point, f"{end}_{name}_wait_{word}_ns") for word in ("median", "p99", "max")
    )
    if median is None or largest is None:
        return None
    tail = "" if p99 is None else format_with_margin(p99)
    most = format_value(largest.value, "time_ns")
    cells = (format_with_margin(median), tail, most, group_digits(median.samples))
    return TraceRow(end, WAIT_TITLES[name], cells, method_anchor(median.method))


def _of_wait(wait: Wait) -> tuple[str, ...]:
    """A softirq has no distribution: its mean stands under the median's heading."""
    mean = format_value(wait.sum_ns / wait.count, "time_ns")
    return (
        f"mean {mean} {NO_INTERVAL}",
        "",
        format_value(wait.max_ns, "time_ns"),
        group_digits(wait.count),
    )


def _retransmitted(study: Study, point: Point) -> list[str]:
    found = [study.figure(point, f"retransmits_{cause}") for cause in CAUSES]
    counts = {
        cause: figure.value
        for cause, figure in zip(CAUSES, found, strict=True)
        if figure is not None
    }
    if not counts:
        return []
    if not any(counts.values()):
        return ["No segment was retransmitted."]
    parts = [f"{n:.0f} {CAUSE_TITLES[cause]}" for cause, n in counts.items() if n]
    return [f"Retransmitted segments: {', '.join(parts)}."]


def _notes(end: str, trace: EndTrace) -> list[str]:
    notes = []
    unseen = trace.queue_begun - (trace.waits["queue"].count - trace.queue_cut)
    if unseen > 0:
        why = "dropped, or still waiting"
        if trace.queue_cut:
            why = f"cut into {trace.queue_cut} segments on the way, {why}"
        notes.append(
            f"Of {trace.queue_begun} packets of the {end}, {unseen} did not reach the driver as "
            f"they were: {why}."
        )
    if trace.receive_unknown:
        notes.append(f"The {end} read {trace.receive_unknown} buffers of unknown arrival.")
    if trace.dropped or trace.missed:
        notes.append(
            f"The {end} could not count {trace.dropped + trace.missed} events: a table was full, "
            "or the kernel left a program out."
        )
    return notes


def print_kernel_traces(study: Study, console: Console, most: int) -> None:
    """The same for a terminal; of more points than ``most``, the report has the tables."""
    found = traces_of_points(study)
    for point in found if len(found) <= most else ():
        console.print()
        console.print(Text(f"Inside the hosts: {point.label}", style="bold"))
        console.print(Text(f"  {'':<30}{_in_columns(HEADINGS)}", style="dim"))
        last, without = "", False
        for row in (row for row in point.rows if not row.name.startswith("Softirq")):
            if row.end != last:
                console.print(Text(f"  {row.end}", style="dim"))
                last = row.end
            short = [cell.replace(f" {NO_INTERVAL}", "*") for cell in row.cells]
            without |= short != list(row.cells)
            console.print(Text(f"    {row.name:<26}{_in_columns(short)}"))
        for note in [*point.notes, *(["*: no interval: too few samples"] if without else [])]:
            console.print(Text(f"  {note}", style="dim"))


def _in_columns(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
