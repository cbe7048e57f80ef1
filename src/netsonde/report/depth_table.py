"""How long the workers and their packets waited inside the hosts: a table for each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from netsonde.catalogue.method import method_anchor
from netsonde.figures.depth import CAUSES, ENDS, EndDepth, Wait, depth_of, is_deep
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
    "time_out": "after a time-out",
    "fast": "shown by acknowledgements",
    "probe": "as a probe of the last segment",
    "other": "for another cause",
}
HEADINGS = ("median", "p99", "largest", "count")
WIDTHS = (15, 15, 10, 8)
"""Of their columns on the terminal."""


@dataclass(frozen=True)
class DepthRow:
    """``cells`` are those under HEADINGS; ``anchor`` leads to the method."""

    end: str
    name: str
    cells: tuple[str, ...]
    anchor: str


@dataclass(frozen=True)
class PointDepth:
    """``notes`` are sentences that belong to the whole table."""

    point: str
    label: str
    rows: list[DepthRow]
    notes: list[str]


def depth_of_points(study: Study) -> list[PointDepth]:
    """Every point of which an end was watched."""
    return [_of_point(study, point) for point in study.run.select() if is_deep(point)]


def _of_point(study: Study, point: Point) -> PointDepth:
    rows: list[DepthRow] = []
    notes: list[str] = []
    for rank, end in ENDS.items():
        depth = depth_of(point, rank)
        if depth is None:
            continue
        rows += [row for name in WAIT_TITLES if (row := _wait_row(study, point, end, name))]
        rows += [
            DepthRow(end, f"Softirq {kind}", _of_wait(wait), method_anchor("depth#softirqs"))
            for kind, wait in sorted(depth.softirqs.items(), key=lambda item: -item[1].sum_ns)
            if wait.count
        ]
        notes += _notes(end, depth)
    return PointDepth(point.id, point_label(point), rows, [*_sent_again(study, point), *notes])


def _wait_row(study: Study, point: Point, end: str, name: str) -> DepthRow | None:
    median, p99, largest = (
        study.figure(point, f"{end}_{name}_wait_{word}_ns") for word in ("median", "p99", "max")
    )
    if median is None or largest is None:
        return None
    tail = "" if p99 is None else format_with_margin(p99)
    most = format_value(largest.value, "time_ns")
    cells = (format_with_margin(median), tail, most, group_digits(median.samples))
    return DepthRow(end, WAIT_TITLES[name], cells, method_anchor(median.method))


def _of_wait(wait: Wait) -> tuple[str, ...]:
    """A softirq has no distribution: its mean stands under the median's heading."""
    mean = format_value(wait.sum_ns / wait.count, "time_ns")
    return (
        f"mean {mean} {NO_INTERVAL}",
        "",
        format_value(wait.max_ns, "time_ns"),
        group_digits(wait.count),
    )


def _sent_again(study: Study, point: Point) -> list[str]:
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


def _notes(end: str, depth: EndDepth) -> list[str]:
    notes = []
    unseen = depth.queue_begun - (depth.waits["queue"].count - depth.queue_cut)
    if unseen > 0:
        why = "dropped, or still waiting"
        if depth.queue_cut:
            why = f"cut into {depth.queue_cut} segments on the way, {why}"
        notes.append(
            f"Of {depth.queue_begun} packets of the {end}, {unseen} did not reach the driver as "
            f"they were: {why}."
        )
    if depth.receive_unknown:
        notes.append(f"The {end} read {depth.receive_unknown} buffers of unknown arrival.")
    if depth.dropped or depth.missed:
        notes.append(
            f"The {end} could not count {depth.dropped + depth.missed} events: a table was full, "
            "or the kernel left a program out."
        )
    return notes


def print_depth(study: Study, console: Console, most: int) -> None:
    """The same for a terminal; of more points than ``most``, the report has the tables."""
    found = depth_of_points(study)
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
