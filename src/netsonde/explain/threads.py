"""What it costs that several threads call MPI at the same time, and that they may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netsonde.catalogue.point import Threads
from netsonde.explain.data import Finding, Seen
from netsonde.figures.alike import THREADS, alike
from netsonde.figures.data import Figure
from netsonde.figures.rank_growth import is_crowded
from netsonde.figures.threads import MEDIAN, RATE, one_thread
from netsonde.records.data import Point
from netsonde.units import bytes_in_words, format_count, format_time

LEAST_JOINT = 0.5
"""Of a point's round trips: with fewer, threads were hardly at it at the same time."""


def threads_together(seen: Seen) -> list[Finding]:
    points = seen.run.where(lambda p: p.kind.has_threads)
    if not points:
        return []
    return [
        *_cost_of_multiple(seen, points),
        *_contention(seen, points),
        *_crowded(seen, points),
        *_apart(seen, points),
    ]


def _cost_of_multiple(seen: Seen, points: Sequence[Point]) -> Iterator[Finding]:
    """That threads may call MPI, where one does: of the smallest size."""
    for point in points:
        ratio = seen.figure("thread_multiple_times", point.id)
        if ratio is None or ratio.low is None or ratio.high is None:
            continue
        decided = ratio.low > 1 or ratio.high < 1
        words = (
            f"makes one thread's round trip {ratio.value:.2f} times as long"
            if decided
            else "costs one thread nothing that can be seen"
        )
        yield Finding(
            "note",
            f"MPI_THREAD_MULTIPLE {words}, at {bytes_in_words(point.message_bytes)}.",
            f"{ratio.value:.3f} times ({ratio.low:.3f} to {ratio.high:.3f}) the round trip of "
            "one thread under MPI_THREAD_FUNNELED, in a program beside it.",
            "Launches (--launches) say how far another start would differ.",
            (point.id,),
        )
        return
    return


def _contention(seen: Seen, points: Sequence[Point]) -> Iterator[Finding]:
    """The most threads of the smallest size, with a communicator each and with one of all."""
    several = [p for p in points if _threads(p) > 1]
    if not several:
        return
    size = several[0].message_bytes
    first = alike(several, THREADS)[0]
    most = max(_threads(p) for p in first)
    chosen = [p for p in first if _threads(p) == most]
    words, evidence = [], []
    for point in {p.spec.of(Threads).communicators: p for p in reversed(chosen)}.values():
        ratio, rate = (seen.figure(n, point.id) for n in ("thread_contention_times", RATE))
        median = seen.figure(MEDIAN, point.id)
        if ratio is None or median is None:
            continue
        kind = _kind(point)
        words.append(f"{ratio.value:.3g} times {kind}")
        evidence.append(_in_numbers(seen, points, point, median, rate, kind))
    if not words:
        return
    yield Finding(
        "note",
        f"{most} threads at the same time: a round trip of {bytes_in_words(size)} takes "
        f"{' and '.join(words)}, against one thread.",
        " ".join(evidence),
        points=tuple(p.id for p in chosen),
        sides=tuple((p.id,) for p in chosen) if len(words) > 1 else (),
        factor=THREADS.name if len(words) > 1 else "",
    )


def _threads(point: Point) -> int:
    return point.spec.of(Threads).threads


def _kind(point: Point) -> str:
    shared = point.spec.of(Threads).communicators == "shared"
    return "on one communicator" if shared else "with a communicator each"


def _in_numbers(
    seen: Seen,
    points: Sequence[Point],
    point: Point,
    median: Figure,
    rate: Figure | None,
    kind: str,
) -> str:
    quick, slow = (
        seen.figure(f"{word}_thread_{MEDIAN}", point.id) for word in ("quickest", "slowest")
    )
    words = f"{kind[0].upper()}{kind[1:]}: {format_time(median.value)}"
    if quick is not None and slow is not None:
        words += f" (threads {format_time(quick.value)} to {format_time(slow.value)})"
    base = one_thread(points, point, "multiple")
    alone = seen.figure(RATE, base.id) if base is not None else None
    if rate is not None and alone is not None:
        words += f", together {rate.value / alone.value:.2f} times one thread's messages a second"
    return f"{words}."


def _crowded(seen: Seen, points: Sequence[Point]) -> Iterator[Finding]:
    crowded = [p for p in points if is_crowded(seen.run, p)]
    if not crowded:
        return
    numbers = sorted({_threads(p) for p in crowded})
    yield Finding(
        "warning",
        f"With {', '.join(map(str, numbers))} threads of each rank there were more of them "
        "than CPUs: their times are those of the scheduler as well.",
        f"{format_count(len(crowded), 'point')}. Whoever waits in MPI keeps a CPU from the others.",
        "Put the ranks on different hosts, or take fewer threads.",
        tuple(p.id for p in crowded),
    )


def _apart(seen: Seen, points: Sequence[Point]) -> Iterator[Finding]:
    """Points whose threads hardly met: what they measured says little of contention."""
    found = [
        p
        for p in points
        if (ratio := seen.figure("joint_ratio", p.id)) is not None and ratio.value < LEAST_JOINT
    ]
    if not found:
        return
    yield Finding(
        "warning",
        f"At {format_count(len(found), 'point')} of several threads fewer than half of the "
        "round trips were made while all threads were at it.",
        "Only those are in the figures; threads began or ended long before others.",
        "Give more time (--time) or a larger --count.",
        tuple(p.id for p in found),
    )
