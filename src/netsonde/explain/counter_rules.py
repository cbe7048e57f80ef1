"""Whether the interfaces counted what the tests sent and received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import ids_of, point_in_words
from netsonde.explain.own_queue import dropped_in_batch
from netsonde.records.data import Point
from netsonde.units import format_count

LATE_FRAMES = 2
"""Frames that may be under way when counters are read: a bare acknowledgement of either
connection, or what a switch that is late still holds."""
LEAST_FRAME_BYTES = 40
LARGEST_FRAME_BYTES = 65550
"""Without Ethernet's header, and with it and all that offloads join."""
APART = 0.1
"""Of what a queue dropped: what its counter and the connections' may be apart."""
CAUSES = {
    "": "are not what the test sent.",
    "dropped": "lack what the sender's own queue dropped: TCP counts it as sent, its card not.",
    "late": "differ by a frame or two from what the test sent: those that were under way when they "
    "were read.",
}
"""What explains differences, in words; nothing, first."""
DIRECTIONS = {"tx": "sent", "rx": "received"}


def counters_exact(seen: Seen) -> Iterator[Finding]:
    checked = [p for p in seen.run.points if "counters" in p.checks]
    wrong = [p for p in checked if p.checks["counters"]["exact"] is False]
    if not any(p.checks["counters"]["compared"] for p in checked):
        return
    compared = sum(p.checks["counters"]["compared"] for p in checked)
    if not wrong:
        yield Finding(
            "good",
            "Interface counters equal what the tests sent and received, to the "
            "packet and the byte.",
            f"{compared} comparisons at {format_count(len(checked), 'point')}.",
        )
        return
    by_cause: dict[str, list[Point]] = {}
    for point in wrong:
        by_cause.setdefault(_cause(point), []).append(point)
    yield from (
        _counters_differ(by_cause[cause], checked, cause) for cause in CAUSES if cause in by_cause
    )


def _cause(point: Point) -> str:
    """What explains all differences of a point; empty where nothing does."""
    differences = point.checks["counters"]["differences"]
    if all(map(_is_late_frame, differences)):
        return "late"
    if all(_is_late_frame(d) or _was_dropped(point, d) for d in differences):
        return "dropped"
    return ""


def _was_dropped(point: Point, difference: Mapping[str, Any]) -> bool:
    """Whether what the sender's own queue dropped explains it: TCP counts a segment as sent before
    the queue has it, the card only what comes out. The queue's counter is read at another moment
    than the connections'."""
    packets = difference["packets_expected"] - difference["packets_counted"]
    size = difference["bytes_expected"] - difference["bytes_counted"]
    if not point.carrier.has_connection or difference["direction"] != "tx" or packets <= 0:
        return False
    dropped = dropped_in_batch(point, difference.get("batch"), difference["rank"])
    slack = max(LATE_FRAMES, APART * dropped)
    sized = LEAST_FRAME_BYTES <= size / packets <= LARGEST_FRAME_BYTES
    return dropped > 0 and abs(packets - dropped) <= slack and sized


def _is_late_frame(difference: Mapping[str, int]) -> bool:
    """Whether frames that were under way when the counters were read explain all of it: few, all
    more or all less, and none larger than frames are."""
    packets = difference["packets_counted"] - difference["packets_expected"]
    size = difference["bytes_counted"] - difference["bytes_expected"]
    if not packets or abs(packets) > LATE_FRAMES:
        return False
    return LEAST_FRAME_BYTES <= size / packets <= LARGEST_FRAME_BYTES


def _counters_differ(wrong: Sequence[Point], checked: Sequence[Point], cause: str) -> Finding:
    differences = wrong[0].checks["counters"]["differences"]
    is_late, what = cause == "late", CAUSES[cause]
    example = next((d for d in differences if is_late or not _is_late_frame(d)), differences[0])
    return Finding(
        "note" if cause else "warning",
        f"At {len(wrong)} of {len(checked)} points the interface counters {what}",
        f"{point_in_words(wrong[0])}: h{example['rank'] + 1} {DIRECTIONS[example['direction']]} "
        f"{example['packets_counted']} packets and {example['bytes_counted']} bytes by its "
        f"interface, {example['packets_expected']} and {example['bytes_expected']} by its "
        "connections.",
        points=ids_of(wrong),
        confidence="likely" if cause else "",
    )
